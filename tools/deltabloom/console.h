// What every subcommand says, and how: results on standard output, as text or
// as one JSON document; errors, notes and progress on standard error.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_

#include <optional>
#include <ostream>
#include <string_view>

#include "tools/deltabloom/json_output.h"
#include "tools/deltabloom/progress.h"

namespace deltabloom::tools {

// How the program ends, the same for all subcommands.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // something was found to be wrong, or could not be done
  kUsage = 2,    // a wrong command line; nothing was done
  // Where a manual says so: neither 0 nor 1 can be told.
  kUndecided = kUsage,
};

// Where the two outputs go.
struct Streams {
  std::ostream* out;
  std::ostream* err;
  bool out_is_terminal = false;
  size_t err_columns =
      0;  // of the terminal; 0: none, and with that no progress
};

class Console {
 public:
  explicit Console(const Streams& streams);

  // From here on results are a JSON document: an object that the destructor
  // closes.
  void StartJson();

  // Null unless results are JSON.
  JsonOutput* json() { return json_.has_value() ? &*json_ : nullptr; }

  // A line of text, which may hold bytes of others: it is escaped as a whole.
  // Only where results are not JSON.
  void Line(std::string_view text);

  // The bytes of others as they are, for another program; escaped if standard
  // output is a terminal. Only where results are not JSON.
  void Raw(std::string_view bytes, char end);

  // A line on standard error.
  void Error(std::string_view text);

  // See Progress.
  void ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                    std::string_view name);

  // Closes the JSON document, if any, and erases the progress. False when
  // standard output could not be written.
  bool Finish();

 private:
  const Streams streams_;
  Progress progress_;
  std::optional<JsonOutput> json_;
  std::optional<JsonOutput::Scope> document_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_CONSOLE_H_
