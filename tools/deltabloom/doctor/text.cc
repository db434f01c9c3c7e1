#include "tools/deltabloom/doctor/text.h"

#include <cstdint>
#include <ctime>
#include <string>

#include "tools/program/console.h"

namespace deltabloom::tools {

std::string TimeText(uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts;
  char text[64];
  if (seconds == 0 || seconds > 253402300799 ||  // the end of the year 9999
      gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return "an unknown time";
  }
  return text;
}

std::string TimeText(uint64_t oldest, uint64_t newest) {
  if (oldest == newest) return TimeText(oldest);
  return TimeText(oldest) + " to " + TimeText(newest);
}

std::string Size(double bytes) {
  return bytes < 1e6 ? Format("%.1f kB", bytes / 1e3)
                     : Format("%.1f MB", bytes / 1e6);
}
std::string Size(uint64_t bytes) { return Size(static_cast<double>(bytes)); }

std::string FamilyText(const std::string& name) {
  return name.empty() ? "tables that name no column family"
                      : "column family " + name;
}

}  // namespace deltabloom::tools
