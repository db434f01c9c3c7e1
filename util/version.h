// The version of Deltabloom. CMakeLists.txt and the Conan recipe read it here.
#pragma once

namespace deltabloom::internal {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace deltabloom::internal
