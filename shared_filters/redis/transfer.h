// Whole bitmaps on their way between memory and Redis.
//
// In Redis, bit 0 of a string is the highest bit of its first byte. Bitmaps
// here have that order unless they say otherwise.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_TRANSFER_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_TRANSFER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "shared_filters/redis/client.h"

namespace deltabloom::internal {

// The byte with its bits in the other order.
unsigned char ReverseBits(unsigned char byte);

inline void SetRedisBit(unsigned char* bitmap, uint64_t offset) {
  bitmap[offset / 8] =
      static_cast<unsigned char>(bitmap[offset / 8] | 0x80u >> offset % 8);
}

uint64_t CountBits(const unsigned char* bytes, size_t size);

// Writes `size` bytes to the string `key`, which must not exist and will expire
// after `lease`; stretches of zeros are left out. `between` is called after
// every few MiB with the bytes that are done: an error of it ends the upload.
// *sent: bytes, added to.
RedisStatus Upload(Client* client, const std::string& key,
                   const unsigned char* bytes, size_t size,
                   std::chrono::milliseconds lease,
                   const std::function<RedisStatus(uint64_t)>& between,
                   uint64_t* sent);

// Reads the first `size` bytes of a string; what it has not, is zero.
RedisStatus Download(Client* client, const std::string& key, size_t size,
                     unsigned char* bytes);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_TRANSFER_H_
