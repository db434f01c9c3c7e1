// The output of a subcommand: results go to standard output, as text or as one
// JSON document; errors and progress go to standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::tools {

// Members keep their order.
using Json = nlohmann::ordered_json;

// Null for no text, and for no number.
inline Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
inline Json NumberOrNull(const std::optional<double>& number) {
  return number.has_value() ? Json(*number) : Json();
}

// The exit status, the same for all subcommands.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // something was found to be wrong, or could not be done
  kUsage = 2,    // a wrong command line; nothing was done
  kUndecided =
      2,  // if the manual says so: neither success nor failure is known
};

// The bytes as one line of UTF-8 that no terminal acts upon, and from which
// they can be restored: a backslash is written "\\", and as "\x" and two
// lower-case hexadecimal digits each byte that is not UTF-8, of a control
// character, and of one that ends lines, turns the direction of text or has no
// width.
std::string Escaped(std::string_view bytes);

// The text as one word of a POSIX shell, without a backslash, which a console
// would escape.
std::string ShellWord(const std::string& text);

// Prints the number as printf does, in at most 63 characters.
std::string Format(const char* format, double number);
// "0.123 %", "3.4 MB" and "1 key", "2 keys".
std::string Percent(double share);
std::string Megabytes(uint64_t bytes);
std::string Count(uint64_t number, const char* one, const char* many);

struct Streams {
  std::ostream* out;
  std::ostream* err;
  bool out_is_terminal = false;
  // The width of the terminal on `err`. If it is 0, there is no terminal, and
  // no progress is shown.
  size_t err_columns = 0;
};

class Console {
 public:
  // Progress is drawn at most once per `interval`, the first time after it.
  explicit Console(const Streams& streams, std::chrono::milliseconds interval =
                                               std::chrono::milliseconds(200))
      : streams_(streams), interval_(interval) {}
  ~Console() { ClearProgress(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // --- Results as one JSON object, from StartJson() to Finish(). It is written
  // member by member, so that a long one takes no memory. All text in it is
  // escaped. Ignored where results are text.

  void StartJson();
  bool is_json() const { return is_json_; }
  void Add(std::string_view key, const Json& value);
  void AddAll(const Json& object);  // its members
  // An array as the next member, and an element of it. The next member ends it.
  void StartArray(std::string_view key);
  void AddElement(const Json& value);

  // --- Results as text. Ignored where results are JSON.

  // A line, escaped as a whole.
  void Line(std::string_view text);
  // Lines of cells, in columns as wide as they need; the first `left` columns
  // are aligned to the left.
  void Table(const std::vector<std::vector<std::string>>& rows, size_t left);
  // Bytes as they are, for another program; escaped if standard output is a
  // terminal.
  void Raw(std::string_view bytes, char end);

  // --- Standard error.

  // A line, escaped as a whole.
  void Error(std::string_view text);
  // One line, redrawn in place: "[####      ] 3 of 8 files: name", where 3 are
  // done and `name` is next; with an unknown total "3 files: name".
  static constexpr uint64_t kUnknown = UINT64_MAX;
  void ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                    std::string_view name);
  // Erases the line, so that other output can follow.
  void ClearProgress();

  // Ends the JSON document, if any, and erases the progress. Returns false
  // when standard output could not be written.
  bool Finish();

 private:
  void StartMember(std::string_view key);
  void EndArray();

  const Streams streams_;
  const std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_ =
      std::chrono::steady_clock::now();
  bool drawn_ = false;
  bool is_json_ = false;
  bool first_ = true;  // of the members
  bool in_array_ = false;
  bool first_element_ = true;
};

}  // namespace deltabloom::tools
