// The studies. Each returns its rows as a JSON array of flat objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/results.h"

namespace deltabloom::study {

using bench::Json;

// One row per bits per key 2..32 and k 1..8: the two formulas, and the rates
// measured on the classic layout and on a filter with k independent hashes,
// both of `keys` keys, with `queries` absent keys.
Json StudyRates(uint64_t keys, uint64_t queries, uint64_t seed);

// One row per layout and number of keys, from 1,000 to `max_keys`, at 10 bits
// per key: how the rate grows with the filter.
Json StudyGrowth(uint64_t max_keys, uint64_t queries, uint64_t seed);

// One row per bits per key and number of keys: the rates of classic filters of
// every size within half a percent (32 of them), and of the good sizes that a
// writer takes instead (docs/format.md), `bytes_added` larger on average.
Json StudySizes(uint64_t max_keys, uint64_t queries, uint64_t seed);

// One row per number of keys up to `max_keys`, with the excess of classic
// filters for each number of probes: the rate of the worst of eight sizes, as
// a multiple of the formula with the collisions of a 32-bit hash. The table of
// util/layouts/classic/rate.cc.
Json StudyClassicRates(uint64_t max_keys, uint64_t seed);

// String hashes that filters and hash tables have used, written from their
// public definitions, for comparison only: none of them is on disk anywhere.
struct StringHash {
  const char* name;
  // The 32 bits that a filter would use: the value itself, or the low half of
  // a 64-bit hash.
  uint32_t (*hash)(std::string_view key);
  const char* source;  // of the definition
};

// The seventeen of a published study in its order, then XXH3 and Deltabloom's.
const std::vector<StringHash>& StringHashes();

// The keys of the study of hashes: generated ones of the published shapes, real
// ones, and the user's own.
struct KeySet {
  std::string name;
  std::string origin;               // one line for the report
  std::vector<std::string> keys;    // distinct
  std::vector<std::string> absent;  // distinct, of the same kind, none in keys

  uint64_t KeyBytes() const;
};

// `count` keys of a published shape and `absent` ones that are not in the set,
// reproducible from the seed.
KeySet RandomStrings(size_t count, size_t absent,
                     uint64_t seed);  // 8..32 letters and digits
KeySet VideoIds(size_t count, size_t absent,
                uint64_t seed);  // numbers of 1..9 digits
KeySet AppAccounts(size_t count, size_t absent,
                   uint64_t seed);  // 2..28 characters

// Real keys of a Debian system: words, paths and addresses. Every second line
// is a key, the others are absent keys. Sets are empty where the system has
// none; the origin says where they were searched.
std::vector<KeySet> RealKeys();

// One key per line, any bytes but the newline; a carriage return before it is
// dropped, and so are duplicates. Throws bench::UsageError with one line that
// says what to do.
KeySet ReadKeys(const std::string& path);

// One row per key set and hash: nanoseconds per key, collisions and their
// expected number, avalanche (of about `flipped_keys` keys, every bit in turn),
// false positives of a filter with this hash.
Json StudyHashes(const std::vector<KeySet>& sets, int repetitions,
                 size_t flipped_keys);

// Half the width of the 95 % interval of a rate measured as hits / queries
// (Wilson's score interval, which is not 0 for no hits).
double RateError(uint64_t hits, uint64_t queries);

}  // namespace deltabloom::study
