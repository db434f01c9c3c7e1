#include "tools/deltabloom/option_types.h"

#include <charconv>

namespace deltabloom::tools {

using std::chrono::milliseconds;

bool ParseDuration(const std::string& text, milliseconds* time) {
  constexpr struct {
    const char* name;
    uint64_t ms;
  } kUnits[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
  constexpr uint64_t kMaxMs = uint64_t{100} * 366 * 86400000;
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc()) return false;
  for (const auto& unit : kUnits) {
    if (std::string(parsed.ptr, end) != unit.name) continue;
    if (number > kMaxMs / unit.ms) return false;
    *time = milliseconds(number * unit.ms);
    return true;
  }
  return false;
}

CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         milliseconds* time, const std::string& what) {
  return app
      ->add_option_function<std::string>(
          name,
          [name, time](const std::string& text) {
            if (!ParseDuration(text, time)) {
              throw CLI::ValidationError(
                  name,
                  "'" + text +
                      "' is no duration: 500ms, 90s, 5m, 12h and 30d are");
            }
          },
          what)
      ->type_name("DURATION");
}

CLI::Validator NotNegative() {
  return {[](const std::string& text) {
            return std::string(text.find('-') == std::string::npos
                                   ? ""
                                   : "must not be negative");
          },
          ""};
}

}  // namespace deltabloom::tools
