// Where a subcommand writes: results to standard output, as text or as one
// JSON document; errors and progress to standard error.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_

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

// The exit status, the same for all subcommands.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // something was found to be wrong, or could not be done
  kUsage = 2,    // a wrong command line; nothing was done
  // For subcommands whose manual says so: neither success nor failure is known.
  kUndecided = kUsage,
};

// The bytes as one line of UTF-8 that no terminal acts upon, and from which
// they can be restored: a backslash is written "\\", and as "\x" and two
// lower-case hexadecimal digits each byte of
//   - a control character (U+0000..U+001F, U+007F..U+009F),
//   - a character that ends lines or turns the direction of text (U+061C,
//     U+200E, U+200F, U+2028..U+202E, U+2066..U+2069) or has no width (U+200B,
//     U+FEFF),
//   - what is not UTF-8.
std::string Escaped(std::string_view bytes);

// "0.123 %", "3.4 MB" and "1 key", "2 keys".
std::string Percent(double share);
std::string Megabytes(uint64_t bytes);
std::string Count(uint64_t number, const char* one, const char* many);

// The progress of a long run: one line, redrawn in place.
class Progress {
 public:
  // Draws nothing if `out` is null. Lines have at most `columns` bytes and are
  // drawn at most once per `interval`, the first one after it.
  Progress(std::ostream* out, size_t columns,
           std::chrono::milliseconds interval);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  static constexpr uint64_t kUnknown = UINT64_MAX;  // a total

  // "[####      ] 3 of 8 files: name", where 3 are done and `name` is next;
  // with an unknown total "3 files: name".
  void Show(uint64_t done, uint64_t total, std::string_view unit,
            std::string_view name);

  // Erases the line, so that other output can follow.
  void Clear();

 private:
  std::ostream* const out_;
  const size_t columns_;
  const std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_;
  bool drawn_ = false;
};

// A JSON object that is written member by member, so that a long one takes no
// memory. All text in it is written as Escaped() returns it.
class JsonOutput {
 public:
  explicit JsonOutput(std::ostream* out);

  void Add(std::string_view key, const Json& value);
  // An array as the next member, and an element of it. The next member ends it.
  void StartArray(std::string_view key);
  void AddElement(const Json& value);
  // Writes the end of the object.
  void Finish();

  void Text(std::string_view key, std::string_view text) {
    Add(key, std::string(text));
  }
  void Number(std::string_view key, uint64_t number) { Add(key, number); }
  void Number(std::string_view key, double number) { Add(key, number); }
  void Boolean(std::string_view key, bool value) { Add(key, value); }
  void Null(std::string_view key) { Add(key, nullptr); }

 private:
  void StartMember(std::string_view key);
  void EndArray();

  std::ostream* const out_;
  bool first_ = true;  // of the members
  bool in_array_ = false;
  bool first_element_ = true;
};

struct Streams {
  std::ostream* out;
  std::ostream* err;
  bool out_is_terminal = false;
  // Of the terminal on `err`; 0: there is none, so no progress is shown.
  size_t err_columns = 0;
};

class Console {
 public:
  explicit Console(const Streams& streams);

  // From here on results are a JSON document, which Finish() ends.
  void StartJson() { json_.emplace(streams_.out); }

  // Null unless results are JSON.
  JsonOutput* json() { return json_.has_value() ? &*json_ : nullptr; }

  // A line of text, escaped as a whole. Ignored where results are JSON.
  void Line(std::string_view text);

  // Lines of cells, in columns as wide as they need; the first `left` columns
  // are aligned to the left.
  void Table(const std::vector<std::vector<std::string>>& rows, size_t left);

  // Bytes as they are, for another program; escaped if standard output is a
  // terminal. Only where results are not JSON.
  void Raw(std::string_view bytes, char end);

  // A line on standard error, escaped as a whole.
  void Error(std::string_view text);

  // See Progress.
  void ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                    std::string_view name);

  // Ends the JSON document, if any, and erases the progress. Returns false
  // when standard output could not be written.
  bool Finish();

 private:
  const Streams streams_;
  Progress progress_;
  std::optional<JsonOutput> json_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_
