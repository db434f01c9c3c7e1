// The kinds of keys that the studies run on: generated ones of the published
// shapes, real ones found on a Debian system, and the user's own.
#ifndef DELTABLOOM_DB_BENCH_EXT_STUDY_KEY_SETS_H_
#define DELTABLOOM_DB_BENCH_EXT_STUDY_KEY_SETS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deltabloom::study {

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

// Real keys: every second line is a key, the others are the absent ones. Empty
// sets where the system has none (the origin says what was looked for).
KeySet Words();
KeySet FilePaths();
KeySet Urls();

// What a file of keys held, for the report.
struct FileSummary {
  uint64_t lines = 0;
  uint64_t duplicates = 0;
  uint64_t empty = 0;  // at most one of them is kept: the empty key
  uint64_t longest = 0;
};

// One key per line, any bytes but the newline; a carriage return before it is
// dropped. Duplicates are dropped. Returns an empty string, or one line saying
// what is wrong and what to do.
std::string ReadKeys(const std::string& path, KeySet* set,
                     FileSummary* summary);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_KEY_SETS_H_
