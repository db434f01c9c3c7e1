// The writes from which a tree grows.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_HISTORY_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::levels {

// How a tree comes to be.
enum class Growth { kSettled, kInsert, kOverwrite, kDelete, kMixed };

// "settled", "insert", "overwrite", "delete", "mixed".
const char* GrowthName(Growth growth);
// False, and *growth stays, for another name.
bool ParseGrowth(const std::string& name, Growth* growth);

// Keys are inserted in random order, for they are spread by their numbers:
//   insert     new keys only
//   overwrite  new keys for half of the writes, then any of them again
//   delete     of three writes two new keys and a deletion of any
//   mixed      of ten writes five new keys, three old ones, two deletions
class History {
 public:
  struct Write {
    uint64_t key = 0;
    bool remove = false;
  };

  History(Growth growth, uint64_t writes, uint64_t seed)
      : growth_(growth), writes_(writes), random_(seed) {}

  Write Next();

  // The keys that exist after the writes so far.
  std::vector<uint64_t> Present() const;

 private:
  enum class Kind { kNew, kOld, kRemove };
  Kind NextKind();

  const Growth growth_;
  const uint64_t writes_;
  bench::MixedNumbers random_;
  uint64_t written_ = 0;
  std::vector<bool> exists_;  // by number of key
};

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_HISTORY_H_
