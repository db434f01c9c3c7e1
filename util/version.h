// The version of Deltabloom. CMakeLists.txt and the Conan recipe read it here.
#ifndef DELTABLOOM_UTIL_VERSION_H_
#define DELTABLOOM_UTIL_VERSION_H_

namespace deltabloom::internal {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_VERSION_H_
