// Seeds of filters from the operating system.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_RANDOM_SEED_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_RANDOM_SEED_H_

#include <cstddef>

#include "util/siphash.h"

namespace deltabloom::internal {

// False, and *seed stays, if the system gives no random bytes. There is no
// weaker source to fall back on.
bool RandomSeed(SipHashKey* seed);

// For tests: where the bytes come from; null: the system. Fills `size` bytes
// and returns true, or returns false.
using RandomSource = bool (*)(void* bytes, size_t size);
void SetRandomSource(RandomSource source);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_RANDOM_SEED_H_
