// Texts that doctor's findings and its report have in common.
#pragma once

#include <cstdint>
#include <string>

namespace deltabloom::tools {

// "2026-11-21 22:07:27 UTC"; "an unknown time" for 0.
std::string TimeText(uint64_t seconds);
// "... to ...", if they differ.
std::string TimeText(uint64_t oldest, uint64_t newest);

// "46.2 kB", "3.4 MB".
std::string Size(double bytes);
std::string Size(uint64_t bytes);

// "column family default".
std::string FamilyText(const std::string& name);

}  // namespace deltabloom::tools
