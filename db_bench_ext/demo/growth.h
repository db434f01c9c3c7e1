// The preset `levels`: trees as RocksDB's own compactions make them. The bits
// of a table depend on what RocksDB says when it makes the table, which no
// planned tree shows.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {

// Keys of one flush of a tree that grows: 360 kB.
inline constexpr uint64_t kKeysPerFlush = 8000;

enum class Load : uint8_t {
  kInserts,
  kOverwrites,  // inserts, then random keys again, twice as many
  kSequential,  // inserts in the order of the keys
  kCompacted,   // inserts, then CompactRange
  kMore,        // the same, then 1 % new keys
  kIngestion,   // tables of SstFileWriter, each a tenth of the one before
};

struct GrownTree {
  const char* name;
  const char* description;
  Load load;
  uint64_t keys;  // different ones
  void (*shape)(rocksdb::Options* options);

  // The keys that are written, with those that are written again.
  uint64_t Writes() const;
};

// Dynamic sizes with a size ratio of 10, RocksDB's default from 8.4 on.
void ShapeByDefault(rocksdb::Options* options);

const std::vector<GrownTree>& GrownTrees();

// Writes keys begin .. end - 1. RocksDB becomes idle after each flush, so that
// trees differ by the bytes of their filters only. Throws std::runtime_error.
void WriteIdly(uint64_t begin, uint64_t end, Database* database,
               bench::ProgressBar* progress);

// Opens the database, whose keys are those of KeysInOrder, and grows the tree.
// Throws std::runtime_error.
void Grow(const GrownTree& tree, Database* database,
          bench::ProgressBar* progress);

// The keys of the tree in the order in which they are written.
KeySet KeysOf(const GrownTree& tree, uint64_t seed);
Database::KeyOf KeysInOrder(const GrownTree& tree, const KeySet& keys);

// All keys once, then random ones again.
Database::KeyOf KeysThenAgain(const KeySet& keys);

// What the tables of a tree with the policy kDefault would have with other bits
// per key, by the formulas of the filters.
struct StepResult {
  double step = 0;
  double upper_share = 0;      // of the keys, in tables that get the step
  double bits_per_key = 0;     // on average, without framing
  double false_positives = 0;  // per lookup of an absent key
  double of_uniform = 0;       // relative to bits_per_key in all tables
  double of_same_bytes = 0;    // relative to this average in all tables
};

// `setting` is the bits_per_key with which the tree was made, `step` what the
// tables that are not bottommost get more, and `absent` a sample of the absent
// keys.
StepResult WithStep(const Tree& tree, double setting, double step,
                    const std::vector<std::string>& absent);

}  // namespace deltabloom::demo
