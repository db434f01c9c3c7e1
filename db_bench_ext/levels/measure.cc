#include "db_bench_ext/levels/measure.h"

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/levels/keys.h"

namespace deltabloom::levels {
namespace {

uint64_t DataBlocks(const Database& database) {
  return database.Ticker(rocksdb::BLOCK_CACHE_DATA_HIT) +
         database.Ticker(rocksdb::BLOCK_CACHE_DATA_MISS);
}

// Counts keys per level on this thread while it lives.
class PerLevel {
 public:
  PerLevel() {
    rocksdb::SetPerfLevel(rocksdb::kEnableCount);
    rocksdb::get_perf_context()->ClearPerLevelPerfContext();
    rocksdb::get_perf_context()->EnablePerLevelPerfContext();
  }
  ~PerLevel() {
    rocksdb::get_perf_context()->ClearPerLevelPerfContext();
    rocksdb::SetPerfLevel(rocksdb::kDisable);
  }
  PerLevel(const PerLevel&) = delete;
  PerLevel& operator=(const PerLevel&) = delete;

  static std::map<int, uint64_t> Found() {
    std::map<int, uint64_t> found;
    const auto* levels = rocksdb::get_perf_context()->level_to_perf_context;
    if (levels == nullptr) return found;
    for (const auto& [level, context] : *levels) {
      found[static_cast<int>(level)] = context.user_key_return_count;
    }
    return found;
  }
};

// Looks up `lookups` keys, of which `key_at` makes number i and `present_at`
// says whether it must be found.
template <typename KeyAt, typename PresentAt>
LookupCounts LookUp(const Database& database, uint64_t lookups, KeyAt key_at,
                    PresentAt present_at, bench::ProgressBar* progress) {
  constexpr uint64_t kStep = 10'000;
  using Clock = std::chrono::steady_clock;
  rocksdb::DB* const db = database.db();
  const rocksdb::ReadOptions options;
  rocksdb::PinnableSlice value;
  LookupCounts counts;
  const PerLevel per_level;
  const uint64_t before = DataBlocks(database);
  while (counts.lookups < lookups) {
    const uint64_t end = std::min(lookups, counts.lookups + kStep);
    progress->Advance(static_cast<double>(end - counts.lookups));
    const Clock::time_point start = Clock::now();
    for (; counts.lookups < end; ++counts.lookups) {
      value.Reset();
      const rocksdb::Status status =
          db->Get(options, db->DefaultColumnFamily(),
                  key_at(counts.lookups).slice(), &value);
      const bool expected = present_at(counts.lookups);
      if (expected ? status.ok() : status.IsNotFound()) continue;
      throw std::runtime_error(
          std::string(expected ? "a key that exists" : "an absent key") + ": " +
          status.ToString());
    }
    counts.seconds +=
        std::chrono::duration<double>(Clock::now() - start).count();
  }
  counts.data_blocks = DataBlocks(database) - before;
  counts.found = PerLevel::Found();
  return counts;
}

// For each run and table the share of the lookups that ask its filter.
using Asked = std::vector<std::vector<double>>;

Asked NothingAsked(const Tree& tree) {
  Asked asked;
  for (const Run& run : tree.runs) asked.emplace_back(run.tables.size(), 0);
  return asked;
}

Prediction Predict(const Tree& tree, const Asked& asked, Rates* rates) {
  Prediction prediction;
  double spread = 0, error = 0;
  for (size_t i = 0; i < tree.runs.size(); ++i) {
    double reads = 0;
    for (size_t j = 0; j < tree.runs[i].tables.size(); ++j) {
      const Rate rate = rates->Of(tree.runs[i].tables[j].filter);
      const double share = asked[i][j];
      reads += share * rate.mean;
      spread += std::pow(share * rate.spread, 2);
      error += share * rate.error;
    }
    prediction.reads += reads;
    prediction.variance += reads * std::max(0.0, 1 - reads);
  }
  prediction.error = std::sqrt(spread + error * error);
  return prediction;
}

// The table of a run in which a place in the key space lies; -1: none.
int TableAt(const Run& run, double place) {
  const auto after = std::upper_bound(
      run.tables.begin(), run.tables.end(), place,
      [](double at, const Table& table) { return at < table.begin; });
  if (after == run.tables.begin()) return -1;
  const auto table = after - 1;
  return place <= table->end ? static_cast<int>(table - run.tables.begin())
                             : -1;
}

// Of the keys at a place that exist, the share that is found in each run: keys
// of a level, of which the lookups tell how many there are, lie where its
// entries lie.
std::vector<double> FoundAt(const Tree& tree, const LookupCounts& counts,
                            const std::vector<int>& tables) {
  std::map<int, double> entries;
  for (const Run& run : tree.runs) {
    entries[run.level] += static_cast<double>(run.Entries());
  }
  std::vector<double> found(tree.runs.size(), 0);
  double all = 0;
  for (size_t i = 0; i < tree.runs.size(); ++i) {
    const int level = tree.runs[i].level;
    const auto of_level = counts.found.find(level);
    if (tables[i] < 0 || of_level == counts.found.end()) continue;
    const Table& table = tree.runs[i].tables[static_cast<size_t>(tables[i])];
    if (table.share() <= 0) continue;
    found[i] = static_cast<double>(of_level->second) / entries[level] *
               static_cast<double>(table.entries) / table.share();
    all += found[i];
  }
  for (double& share : found) share = all > 0 ? share / all : 0;
  return found;
}

}  // namespace

LookupCounts LookUpAbsent(const Database& database, uint64_t lookups,
                          uint64_t seed, bench::ProgressBar* progress) {
  return LookUp(
      database, lookups,
      [&](uint64_t i) { return Key(kFirstAbsent + i, seed); },
      [](uint64_t) { return false; }, progress);
}

LookupCounts LookUpMixed(const Database& database, uint64_t lookups,
                         uint64_t seed, bench::ProgressBar* progress) {
  const std::vector<uint64_t>& present = database.present();
  // Other absent keys than those above.
  constexpr uint64_t kFirst = kFirstAbsent + kFirstAbsent / 2;
  const auto is_present = [](uint64_t i) { return i % 2 == 1; };
  const auto key_at = [&](uint64_t i) {
    const uint64_t drawn = bench::Scale(bench::Mix(i), present.size());
    return Key(is_present(i) ? present[drawn] : kFirst + i, seed);
  };
  return LookUp(database, lookups, key_at, is_present, progress);
}

Prediction PredictAbsent(const Tree& tree, Rates* rates) {
  Asked asked = NothingAsked(tree);
  for (size_t i = 0; i < tree.runs.size(); ++i) {
    for (size_t j = 0; j < asked[i].size(); ++j) {
      asked[i][j] = tree.runs[i].tables[j].share();
    }
  }
  return Predict(tree, asked, rates);
}

std::optional<double> FormulaAbsent(const Tree& tree) {
  double reads = 0;
  for (const Run& run : tree.runs) {
    for (const Table& table : run.tables) {
      if (table.filter.bytes != 0 && !table.formula_rate) return std::nullopt;
      reads += table.share() * table.formula_rate.value_or(1);
    }
  }
  return tree.FilterBytes() == 0 ? std::nullopt : std::optional(reads);
}

Prediction PredictMixed(const Tree& tree, const LookupCounts& counts,
                        Rates* rates) {
  constexpr int kPlaces = 20'000;
  Asked asked = NothingAsked(tree);
  std::vector<int> tables(tree.runs.size());
  for (int k = 0; k < kPlaces; ++k) {
    const double place = (k + 0.5) / kPlaces;
    for (size_t i = 0; i < tables.size(); ++i) {
      tables[i] = TableAt(tree.runs[i], place);
    }
    const std::vector<double> found = FoundAt(tree, counts, tables);
    double below = 1;
    for (size_t i = 0; i < tables.size(); ++i) {
      below -= found[i];
      if (tables[i] < 0) continue;
      // An absent key asks every run, a present one those above its own.
      asked[i][static_cast<size_t>(tables[i])] +=
          (1 + std::max(0.0, below)) / 2 / kPlaces;
    }
  }
  Prediction prediction = Predict(tree, asked, rates);
  prediction.reads += 0.5;  // the block with the key
  return prediction;
}

double CountingError(const LookupCounts& counts, const Prediction& prediction) {
  return std::sqrt(prediction.variance / static_cast<double>(counts.lookups));
}

double StandardErrors(const LookupCounts& counts,
                      const Prediction& prediction) {
  const double error =
      std::hypot(CountingError(counts, prediction), prediction.error);
  const double difference = counts.Reads() - prediction.reads;
  return error > 0 ? difference / error : 0;
}

}  // namespace deltabloom::levels
