#include "tools/deltabloom/console.h"

#include "tools/deltabloom/escape.h"

namespace deltabloom::tools {
namespace {

constexpr std::chrono::milliseconds kProgressInterval(200);

}  // namespace

Console::Console(const Streams& streams)
    : streams_(streams),
      progress_(streams.err_columns > 0 ? streams.err : nullptr,
                streams.err_columns, kProgressInterval) {}

void Console::StartJson() {
  json_.emplace(streams_.out);
  document_.emplace(json_->Object());
}

void Console::Line(std::string_view text) {
  progress_.Clear();
  *streams_.out << Escaped(text) << '\n';
}

void Console::Raw(std::string_view bytes, char end) {
  if (streams_.out_is_terminal) {
    Line(bytes);
  } else {
    *streams_.out << bytes << end;
  }
}

void Console::Error(std::string_view text) {
  progress_.Clear();
  streams_.out
      ->flush();  // on a terminal, results stay in front of what follows them
  *streams_.err << Escaped(text) << '\n' << std::flush;
}

void Console::ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                           std::string_view name) {
  // It would stand between the parts of a document on the same terminal.
  if (json_.has_value() && streams_.out_is_terminal) return;
  progress_.Show(done, total, unit, name);
}

bool Console::Finish() {
  progress_.Clear();
  document_.reset();
  return static_cast<bool>(streams_.out->flush());
}

}  // namespace deltabloom::tools
