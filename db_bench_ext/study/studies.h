// The studies. Each returns its rows as a JSON array of flat objects, so
// that one printer and one report serve all.
#ifndef DELTABLOOM_DB_BENCH_EXT_STUDY_STUDIES_H_
#define DELTABLOOM_DB_BENCH_EXT_STUDY_STUDIES_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db_bench_ext/study/key_sets.h"

namespace deltabloom::study {

using Rows = nlohmann::ordered_json;

// Called now and then with what is being done.
using Progress = std::function<void(const std::string& doing)>;

// One row per bits per key 2..32 and k 1..8: the two formulas, and the rates
// measured on the classic layout and on a filter with k independent hashes,
// both of `keys` keys and asked for `queries` absent ones.
Rows StudyRates(uint64_t keys, uint64_t queries, uint64_t seed,
                const Progress& progress);

// One row per layout and number of keys, from 1,000 to `max_keys`, at 10 bits
// per key: how the rate grows with the filter.
Rows StudyGrowth(uint64_t max_keys, uint64_t queries, uint64_t seed,
                 const Progress& progress);

// One row per bits per key and number of keys: the rates of classic filters of
// every size within half a percent (32 of them), and of the good sizes that a
// writer takes instead (docs/format.md), `bytes_added` larger on average.
Rows StudySizes(uint64_t max_keys, uint64_t queries, uint64_t seed,
                const Progress& progress);

// One row per number of keys up to `max_keys`, with the excess of classic
// filters for each number of probes: the rate of the worst of eight sizes, as
// a multiple of what theory and the collisions of their hash say. What
// util/layouts/classic/rate.cc holds.
Rows StudyClassicRates(uint64_t max_keys, uint64_t seed,
                       const Progress& progress);

// One row per key set and hash: nanoseconds per key, collisions against the
// birthday expectation, avalanche (of some `flipped_keys` keys, every bit in
// turn), false positives of a filter made with it.
Rows StudyHashes(const std::vector<KeySet>& sets, int repetitions,
                 size_t flipped_keys, const Progress& progress);

// One row per key set, layout and bits per key 10, 15, 20: bytes of keys and
// of the filter, space saved, false positives with their error.
Rows StudySpace(const std::vector<KeySet>& sets, const Progress& progress);

// One row per kind of filter (filter_kinds.h), of filters of each of these
// numbers of keys: how many flips of a bit in the payload and in the framing
// behind it, and how many truncations to each length, there are; and how many
// of them make the filter miss a key that was added.
Rows StudyDamage(const std::vector<size_t>& numbers_of_keys, uint64_t seed,
                 const Progress& progress);

// One row per layout of sealed filters and number of keys up to `max_keys`:
// bytes, nanoseconds per opening and per lookup of an absent key, without
// payload_check and with it, medians of `repetitions` in turns.
Rows StudyPayloadCheck(uint64_t max_keys, uint64_t seed, int repetitions,
                       const Progress& progress);

// Half the width of the 95 % interval of a rate measured as hits / queries
// (Wilson's score interval, so that no hit does not look like no error).
double RateError(uint64_t hits, uint64_t queries);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_STUDIES_H_
