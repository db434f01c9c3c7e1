// String hashes that filters and hash tables have used, written from their
// public definitions, for comparison only: none of them is on disk anywhere.
#ifndef DELTABLOOM_DB_BENCH_EXT_STUDY_STRING_HASHES_H_
#define DELTABLOOM_DB_BENCH_EXT_STUDY_STRING_HASHES_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace deltabloom::study {

struct StringHash {
  const char* name;
  // The 32 bits that a filter would use: the value itself, or the low half of
  // a 64-bit hash.
  uint32_t (*hash)(std::string_view key);
  // Where the definition stands.
  const char* source;
};

// The seventeen of the published study in its order, then today's.
const std::vector<StringHash>& StringHashes();

// SipHash-2-4 (Aumasson, Bernstein 2012) with the key 00 01 .. 0f of its
// published vectors.
uint64_t SipHash24(std::string_view key);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_STRING_HASHES_H_
