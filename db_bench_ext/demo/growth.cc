#include "db_bench_ext/demo/growth.h"

#include <rocksdb/universal_compaction.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/tree.h"
#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/sizing.h"

namespace deltabloom::demo {
namespace {

// Level 1, or the base level, has one or two tables.
constexpr uint64_t kBaseBytes = 512 << 10;
constexpr uint64_t kTableBytes = 256 << 10;

template <int kRatio, bool kDynamic>
void Leveled(rocksdb::Options* options) {
  options->level_compaction_dynamic_level_bytes = kDynamic;
  options->max_bytes_for_level_multiplier = kRatio;
  options->max_bytes_for_level_base = kBaseBytes;
  options->target_file_size_base = kTableBytes;
}

// All levels but the last stay empty.
void LastLevelOnly(rocksdb::Options* options) {
  ShapeByDefault(options);
  options->max_bytes_for_level_base = 64 << 20;
}

template <int kNumLevels>
void Universal(rocksdb::Options* options) {
  options->compaction_style = rocksdb::kCompactionStyleUniversal;
  options->num_levels = kNumLevels;
  options->target_file_size_base = kTableBytes;
}

void Fifo(rocksdb::Options* options) {
  options->compaction_style = rocksdb::kCompactionStyleFIFO;
  options->compaction_options_fifo.max_table_files_size = uint64_t{1} << 40;
}

}  // namespace

void ShapeByDefault(rocksdb::Options* options) { Leveled<10, true>(options); }

const std::vector<GrownTree>& GrownTrees() {
  constexpr auto kDynamic10 = ShapeByDefault;
  static const auto* const trees = new std::vector<GrownTree>{
      {"dynamic-150k", "dynamic sizes, T = 10, inserts", Load::kInserts,
       150'000, kDynamic10},
      {"dynamic-300k", "the same", Load::kInserts, 300'000, kDynamic10},
      {"dynamic-600k", "the same", Load::kInserts, 600'000, kDynamic10},
      {"overwrites", "dynamic sizes, T = 10, each key three times",
       Load::kOverwrites, 200'000, kDynamic10},
      {"sequential", "dynamic sizes, T = 10, ascending keys", Load::kSequential,
       300'000, kDynamic10},
      {"compacted", "dynamic sizes, T = 10, then CompactRange",
       Load::kCompacted, 300'000, kDynamic10},
      {"one-percent-more", "the same, then 1 % new keys", Load::kMore, 300'000,
       kDynamic10},
      {"dynamic-T4", "dynamic sizes, T = 4, inserts", Load::kInserts, 300'000,
       Leveled<4, true>},
      {"static-4x", "static sizes, T = 10, level 3 has 4 times level 2",
       Load::kInserts, 570'000, Leveled<10, false>},
      {"static-2x", "the same, 2 times", Load::kInserts, 350'000,
       Leveled<10, false>},
      {"static-1.5x", "the same, 1.5 times", Load::kInserts, 290'000,
       Leveled<10, false>},
      {"static-level-2", "static sizes, T = 10, level 2 is the last",
       Load::kInserts, 80'000, Leveled<10, false>},
      {"static-T4", "static sizes, T = 4, level 3 is the last", Load::kInserts,
       190'000, Leveled<4, false>},
      {"static-level-4", "static sizes, T = 4, level 4 is the last",
       Load::kInserts, 680'000, Leveled<4, false>},
      {"static-level-5", "static sizes, T = 3, level 5 is the last",
       Load::kInserts, 1'100'000, Leveled<3, false>},
      {"universal", "universal, seven levels", Load::kInserts, 300'000,
       Universal<7>},
      {"universal-one-level", "universal, one level", Load::kInserts, 300'000,
       Universal<1>},
      {"fifo", "FIFO", Load::kInserts, 100'000, Fifo},
      {"level-0-and-last", "dynamic sizes, level 0 and the last",
       Load::kInserts, 152'000, LastLevelOnly},
      {"level-0", "level 0 only", Load::kInserts, 24'000, LastLevelOnly},
      {"ingestion", "tables of SstFileWriter", Load::kIngestion, 222'000,
       kDynamic10},
  };
  return *trees;
}

uint64_t GrownTree::Writes() const {
  switch (load) {
    case Load::kOverwrites:
      return 3 * keys;
    case Load::kMore:
      return keys + keys / 100;
    default:
      return keys;
  }
}

KeySet KeysOf(const GrownTree& tree, uint64_t seed) {
  const bool again = tree.load == Load::kOverwrites;
  return KeySet(again ? tree.keys : tree.Writes(), seed);
}

Database::KeyOf KeysInOrder(const GrownTree& tree, const KeySet& keys) {
  if (tree.load == Load::kSequential) {
    auto sorted = std::make_shared<std::vector<std::string>>();
    for (uint64_t i = 0; i < keys.size(); ++i) sorted->push_back(keys.Key(i));
    std::sort(sorted->begin(), sorted->end());
    return [sorted](uint64_t i) { return (*sorted)[i]; };
  }
  return KeysThenAgain(keys);
}

Database::KeyOf KeysThenAgain(const KeySet& keys) {
  return [keys](uint64_t i) {
    if (i < keys.size()) return keys.Key(i);
    const uint64_t random = bench::Mix(bench::Mix(keys.seed()) + i);
    return keys.Key(bench::Scale(random, keys.size()));
  };
}

void WriteIdly(uint64_t begin, uint64_t end, Database* database,
               bench::ProgressBar* progress) {
  while (begin < end) {
    const uint64_t next = std::min(begin + kKeysPerFlush, end);
    database->Write(begin, next, progress);
    database->Flush();
    database->WaitUntilIdle();
    begin = next;
  }
}

void Grow(const GrownTree& tree, Database* database,
          bench::ProgressBar* progress) {
  constexpr uint64_t kFewestIngested = 1000;
  database->OpenToGrow(tree.shape);
  if (tree.load == Load::kIngestion) {
    for (uint64_t end = tree.keys; end > 0;) {
      const uint64_t rest = end / 10;
      const uint64_t begin = rest < kFewestIngested ? 0 : rest;
      database->Ingest(begin, end);
      progress->Advance(static_cast<double>(end - begin));
      end = begin;
    }
  } else {
    WriteIdly(0, tree.keys, database, progress);
  }
  if (tree.load == Load::kCompacted || tree.load == Load::kMore) {
    database->CompactAll();
  }
  WriteIdly(tree.keys, tree.Writes(), database, progress);
  database->WaitUntilIdle();
  database->UpdateTree();
}

StepResult WithStep(const Tree& tree, double setting, double step,
                    const std::vector<std::string>& absent) {
  const auto false_positives = [&](const auto& bits_of) {
    Tree other = tree;
    for (Run& run : other.runs) {
      for (Table& table : run.tables) {
        table.rate = RateForBitsPerKey(Layout::kCompact, bits_of(table),
                                       table.filter_keys);
      }
    }
    return Predict(other, absent).absent.value_or(0);
  };
  const auto is_upper = [&](const Table& table) {
    const double stored = 8 * static_cast<double>(table.filter_bytes) /
                          static_cast<double>(table.filter_keys);
    return stored > setting + kUpperStepBits / 2;
  };
  uint64_t upper_keys = 0, keys = 0;
  for (const Run& run : tree.runs) {
    for (const Table& table : run.tables) {
      keys += table.filter_keys;
      if (is_upper(table)) upper_keys += table.filter_keys;
    }
  }
  const auto uniform = [&](double bits) {
    return false_positives([=](const Table&) { return bits; });
  };
  StepResult result;
  result.step = step;
  result.upper_share =
      static_cast<double>(upper_keys) / static_cast<double>(keys);
  result.bits_per_key = setting + step * result.upper_share;
  result.false_positives = false_positives([&](const Table& table) {
    return is_upper(table) ? setting + step : setting;
  });
  result.of_uniform = result.false_positives / uniform(setting);
  result.of_same_bytes = result.false_positives / uniform(result.bits_per_key);
  return result;
}

}  // namespace deltabloom::demo
