// The named string hashes of PHP code that keeps Bloom filters in Redis, with
// PHP's arithmetic on 64-bit machines (docs/shared_filters.md,
// "php-named-hashes"). Frozen: bitmaps filled by PHP depend on them.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_PHP_HASHES_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_PHP_HASHES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {

using PhpHash = uint32_t (*)(std::string_view key);

// The hash of that name: JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV; "JSHash" and
// the like are the same. Null if there is none.
PhpHash FindPhpHash(std::string_view name);

// "JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV".
std::string PhpHashNames();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_PHP_HASHES_H_
