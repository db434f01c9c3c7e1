// Keys and empty ranges for measuring range filters.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGE_SETS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGE_SETS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::bench {

struct KeyRange {
  std::string lower;
  std::string upper;
};

struct RangeSet {
  std::string name;
  std::vector<std::string> keys;  // sorted, distinct
  // Of ranges: how many numbers they hold, or how many bytes at the end of a
  // text are free.
  std::vector<uint64_t> lengths;
  bool texts = false;
  // A range of that length, which may hold keys.
  std::function<KeyRange(MixedNumbers* random, uint64_t length)> draw;
  // Sizes of prefixes for the prefix Bloom filters beside.
  std::vector<size_t> prefix_bytes;

  bool Holds(const KeyRange& range) const;
};

// uniform, clustered, correlated, urls, and words where the word list is
// installed; about `keys` keys each, as many words as there are at most.
std::vector<RangeSet> MakeRangeSets(uint64_t keys, uint64_t seed);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGE_SETS_H_
