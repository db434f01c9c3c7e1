#include "tools/deltabloom/progress.h"

#include <algorithm>

#include "tools/deltabloom/escape.h"

namespace deltabloom::tools {

Progress::Progress(std::ostream* out, size_t columns,
                   std::chrono::milliseconds interval)
    : out_(out),
      columns_(columns),
      interval_(interval),
      last_(std::chrono::steady_clock::now()) {}

void Progress::Show(uint64_t done, uint64_t total, std::string_view unit,
                    std::string_view name) {
  if (out_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < interval_) return;
  last_ = now;
  constexpr size_t kWidth = 20;
  const double share =
      total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  std::string bar(static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kWidth),
                  '#');
  bar.resize(kWidth, ' ');
  std::string line = std::to_string(done) + " ";
  if (total != kUnknown) {
    line = "[" + bar + "] " + line + "of " + std::to_string(total) + " ";
  }
  line += std::string(unit) + ": " + Escaped(name);
  if (line.size() > columns_) {
    // Not within a character of several bytes.
    size_t end = columns_;
    while (end > 0 && (static_cast<unsigned char>(line[end]) >> 6) == 2) --end;
    line.resize(end);
  }
  *out_ << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) *out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace deltabloom::tools
