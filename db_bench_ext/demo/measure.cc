#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMultiGetKeys = 32;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Adds the tickers of a database, or subtracts them.
void AddTickers(const Database& database, bool subtract, Counts* counts) {
  const auto add = [&](rocksdb::Tickers ticker, uint64_t* sum) {
    const uint64_t count = database.Ticker(ticker);
    *sum = subtract ? *sum - count : *sum + count;
  };
  add(rocksdb::BLOCK_CACHE_DATA_MISS, &counts->data_block_reads);
  add(rocksdb::BLOCK_CACHE_DATA_MISS, &counts->data_blocks);
  add(rocksdb::BLOCK_CACHE_DATA_HIT, &counts->data_blocks);
  add(rocksdb::BLOOM_FILTER_USEFUL, &counts->filter_useful);
  add(rocksdb::BLOOM_FILTER_FULL_POSITIVE, &counts->positives);
  add(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE, &counts->true_positives);
}

// Calls take(status, value, i) for each key i.
template <typename Take>
void Get(rocksdb::DB* db, const Batch& batch, const Take& take) {
  rocksdb::PinnableSlice value;
  for (size_t i = 0; i < batch.keys.size(); ++i) {
    value.Reset();
    take(db->Get({}, db->DefaultColumnFamily(), batch.keys[i], &value), value,
         i);
  }
}

template <typename Take>
void MultiGet(rocksdb::DB* db, const Batch& batch, const Take& take) {
  std::array<rocksdb::Slice, kMultiGetKeys> keys;
  std::array<rocksdb::PinnableSlice, kMultiGetKeys> values;
  std::array<rocksdb::Status, kMultiGetKeys> statuses;
  for (size_t i = 0; i < batch.keys.size(); i += kMultiGetKeys) {
    const size_t n = std::min(kMultiGetKeys, batch.keys.size() - i);
    for (size_t j = 0; j < n; ++j) keys[j] = batch.keys[i + j];
    db->MultiGet({}, db->DefaultColumnFamily(), n, keys.data(), values.data(),
                 statuses.data());
    for (size_t j = 0; j < n; ++j) {
      take(statuses[j], values[j], i + j);
      values[j].Reset();
    }
  }
}

}  // namespace

const char* LookupName(Lookup lookup) {
  constexpr const char* kNames[] = {"absent", "present", "multiget_absent"};
  return kNames[static_cast<size_t>(lookup)];
}

void LookUp(const Database& database, const Batch& batch, Counts* counts) {
  std::vector<std::string> values;
  if (batch.lookup == Lookup::kPresent) {
    for (const std::string& key : batch.keys) {
      values.push_back(KeySet::Value(key, database.value_bytes()));
    }
  }
  uint64_t found = 0;
  rocksdb::Status failed;
  const auto take = [&](const rocksdb::Status& status,
                        const rocksdb::Slice& value, size_t i) {
    if (status.ok()) {
      found += values.empty() || value == values[i];
    } else if (!status.IsNotFound()) {
      failed = status;
    }
  };
  AddTickers(database, /*subtract=*/true, counts);
  const Clock::time_point start = Clock::now();
  if (batch.lookup == Lookup::kMultiAbsent) {
    MultiGet(database.db(), batch, take);
  } else {
    Get(database.db(), batch, take);
  }
  counts->micros += 1e6 * SecondsSince(start);
  AddTickers(database, /*subtract=*/false, counts);
  counts->lookups += batch.keys.size();
  counts->found += found;
  const std::string& name = database.name();
  if (!failed.ok()) {
    throw std::runtime_error(name + ": a lookup failed: " + failed.ToString());
  }
  if (found > 0 && batch.lookup != Lookup::kPresent) {
    throw std::runtime_error(name + ": found a key that was not inserted");
  }
}

LookupKeys::LookupKeys(const KeySet& keys, const Database& database)
    : keys_(keys) {
  for (const Run& run : database.tree().runs) {
    for (const Table& table : run.tables) {
      if (largest_.empty() || table.smallest < smallest_) {
        smallest_ = table.smallest;
      }
      largest_ = std::max(largest_, table.largest);
    }
  }
}

Batch LookupKeys::Draw(Lookup lookup, size_t n) {
  Batch batch;
  batch.lookup = lookup;
  while (batch.keys.size() < n) {
    if (lookup == Lookup::kPresent) {
      const uint64_t random =
          bench::Mix(bench::Mix(keys_.seed()) + present_drawn_++);
      batch.keys.push_back(keys_.Key(bench::Scale(random, keys_.size())));
      continue;
    }
    std::string key = keys_.AbsentKey(absent_drawn_++);
    if (key < smallest_ || largest_ < key) continue;
    batch.keys.push_back(std::move(key));
  }
  return batch;
}

std::vector<std::vector<Counts>> Measure(const Databases& databases,
                                         LookupKeys* lookup_keys,
                                         const MeasurePlan& plan,
                                         bench::ProgressBar* progress) {
  constexpr size_t kWarmUpTurns = 4;
  // A lookup without a filter reads from every run, always.
  constexpr size_t kTurnsWithoutFilter = 8;
  std::vector<std::vector<Counts>> counts;
  Clock::time_point start;
  uint64_t done = 0;
  for (size_t turn = 0; turn <= kWarmUpTurns || done < plan.lookups; ++turn) {
    if (turn <= kWarmUpTurns) {
      start = Clock::now();
      done = 0;
      counts.assign(databases.size(), std::vector<Counts>(plan.turn.size()));
    }
    // The last turn is cut short, in proportion.
    const size_t first = plan.turn.front().keys;
    const size_t n =
        static_cast<size_t>(std::min<uint64_t>(first, plan.lookups - done));
    for (size_t part = 0; part < plan.turn.size(); ++part) {
      const size_t keys = (plan.turn[part].keys * n + first - 1) / first;
      const Batch batch = lookup_keys->Draw(plan.turn[part].lookup, keys);
      for (size_t i = 0; i < databases.size(); ++i) {
        const size_t at = (turn + i) % databases.size();
        if (!databases[at]->has_filter() &&
            turn % kTurnsWithoutFilter != kWarmUpTurns) {
          continue;
        }
        LookUp(*databases[at], batch, &counts[at][part]);
      }
    }
    done += n;
    progress->Advance(static_cast<double>(n) * plan.steps_per_lookup);
    if (turn > kWarmUpTurns && SecondsSince(start) > plan.max_seconds) break;
  }
  for (size_t i = 0; i < databases.size(); ++i) {
    if (databases[i]->has_filter() && counts[i][0].filter_useful == 0) {
      throw std::runtime_error(databases[i]->name() +
                               ": the filter was built but never used");
    }
  }
  return counts;
}

}  // namespace deltabloom::demo
