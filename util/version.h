// The version of Deltabloom, the same as in CMakeLists.txt.
#ifndef DELTABLOOM_UTIL_VERSION_H_
#define DELTABLOOM_UTIL_VERSION_H_

namespace deltabloom::internal {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_VERSION_H_
