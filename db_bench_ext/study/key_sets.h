// The keys of the study of hashes: generated ones of the published shapes, real
// ones of a Debian system, and the user's own.
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

// Real keys: every second line is a key, the others are absent keys. Sets are
// empty where the system has none; the origin says where they were searched.
KeySet Words();
KeySet FilePaths();
KeySet Urls();

// One key per line, any bytes but the newline; a carriage return before it is
// dropped, and so are duplicates. Throws bench::UsageError with one line that
// says what to do.
KeySet ReadKeys(const std::string& path);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_KEY_SETS_H_
