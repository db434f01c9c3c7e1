#include "shared_filters/redis/batch.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/filter.h"

namespace deltabloom::internal {

RedisStatus CheckKeySizes(const std::string& name, const std::string_view* keys,
                          size_t n) {
  size_t largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, keys[i].size());
  if (largest <= size_t{1} << 20) return {};
  return Invalid(name, "a key has " + std::to_string(largest) +
                           " bytes: at most 1 MiB is allowed");
}

}  // namespace deltabloom::internal
