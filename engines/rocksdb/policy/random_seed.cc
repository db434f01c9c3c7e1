#include "engines/rocksdb/policy/random_seed.h"

#include <sys/random.h>

#include <atomic>
#include <cerrno>

namespace deltabloom::internal {
namespace {

// So few bytes come whole, or not at all.
bool SystemRandom(void* bytes, size_t size) {
  ssize_t got;
  do {
    got = getrandom(bytes, size, 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(size);
}

std::atomic<RandomSource> random_source{SystemRandom};

}  // namespace

bool RandomSeed(SipHashKey* seed) {
  unsigned char bytes[kSipHashKeySize];
  if (!random_source.load()(bytes, sizeof(bytes))) return false;
  *seed = LoadSipHashKey(bytes);
  return true;
}

void SetRandomSource(RandomSource source) {
  random_source = source == nullptr ? SystemRandom : source;
}

}  // namespace deltabloom::internal
