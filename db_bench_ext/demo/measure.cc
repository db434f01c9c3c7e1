#include "db_bench_ext/demo/measure.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::demo {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeysPerTurn = 250;
constexpr size_t kWarmUpKeys = 1000;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

LookupStats ReadTickers(const Database& database) {
  const uint64_t positive =
      database.Ticker(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  const uint64_t true_positive =
      database.Ticker(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  LookupStats stats;
  stats.data_block_reads = database.Ticker(rocksdb::BLOCK_CACHE_DATA_MISS);
  stats.filter_useful = database.Ticker(rocksdb::BLOOM_FILTER_USEFUL);
  stats.filter_false_positives = positive - true_positive;
  return stats;
}

size_t PresentFor(size_t absent) {
  return (absent + kAbsentPerPresent - 1) / kAbsentPerPresent;
}

// One turn: each database gets the same keys, and each goes first as often as
// the others.
void TakeTurn(const std::vector<std::unique_ptr<Database>>& databases,
              size_t first, const std::vector<std::string>& absent,
              const std::vector<std::string>& present,
              std::vector<Measurement>* measurements) {
  for (size_t i = 0; i < databases.size(); ++i) {
    const size_t at = (first + i) % databases.size();
    (*measurements)[at].absent += LookUp(*databases[at], absent);
    (*measurements)[at].present += LookUp(*databases[at], present);
  }
}

void RequireSound(const Database& database, const Measurement& measurement,
                  uint64_t compaction_bytes_before) {
  if (database.Ticker(rocksdb::COMPACT_READ_BYTES) != compaction_bytes_before) {
    throw std::runtime_error(database.name() +
                             ": a compaction ran while measuring");
  }
  if (measurement.absent.found != 0) {
    throw std::runtime_error(database.name() +
                             ": found a key that was not inserted");
  }
  if (database.has_filter() && measurement.absent.filter_useful == 0) {
    throw std::runtime_error(database.name() +
                             ": the filter was built but never used");
  }
}

}  // namespace

LookupStats& LookupStats::operator+=(const LookupStats& other) {
  lookups += other.lookups;
  found += other.found;
  micros += other.micros;
  data_block_reads += other.data_block_reads;
  filter_useful += other.filter_useful;
  filter_false_positives += other.filter_false_positives;
  return *this;
}

LookupStats LookUp(const Database& database,
                   const std::vector<std::string>& keys) {
  const LookupStats before = ReadTickers(database);
  rocksdb::DB* const db = database.db();
  const rocksdb::ReadOptions read_options;
  std::vector<std::string> values;
  for (const std::string& key : keys) values.push_back(KeySet::Value(key));
  rocksdb::PinnableSlice value;
  rocksdb::Status failed;
  uint64_t found = 0;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < keys.size(); ++i) {
    value.Reset();
    const rocksdb::Status status =
        db->Get(read_options, db->DefaultColumnFamily(), keys[i], &value);
    if (status.ok()) {
      found += value == values[i];
    } else if (!status.IsNotFound()) {
      failed = status;
    }
  }
  const double seconds = SecondsSince(start);
  if (!failed.ok()) {
    throw std::runtime_error(database.name() +
                             ": Get failed: " + failed.ToString());
  }

  LookupStats stats = ReadTickers(database);
  stats.data_block_reads -= before.data_block_reads;
  stats.filter_useful -= before.filter_useful;
  stats.filter_false_positives -= before.filter_false_positives;
  stats.lookups = keys.size();
  stats.found = found;
  stats.micros = seconds * 1e6;
  return stats;
}

KeyCheck CheckKeys(const Database& database, uint64_t expected_keys,
                   double max_seconds, bench::ProgressBar* progress) {
  constexpr size_t kStep = 256;
  rocksdb::DB* const db = database.db();
  const rocksdb::ReadOptions read_options;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db->NewIterator(read_options));
  std::vector<std::string> keys(kStep);
  std::vector<rocksdb::Slice> slices(kStep);
  KeyCheck check;
  const Clock::time_point start = Clock::now();
  for (iterator->SeekToFirst(); iterator->Valid();) {
    size_t n = 0;
    for (; iterator->Valid() && n < kStep; iterator->Next(), ++n) {
      keys[n] = iterator->key().ToString();
      slices[n] = keys[n];
    }
    std::vector<rocksdb::PinnableSlice> values(n);
    std::vector<rocksdb::Status> statuses(n);
    db->MultiGet(read_options, db->DefaultColumnFamily(), n, slices.data(),
                 values.data(), statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < n; ++i) {
      check.missed += !statuses[i].ok() || values[i] != KeySet::Value(keys[i]);
    }
    check.looked_up += n;
    progress->Advance(static_cast<double>(n));
    if (SecondsSince(start) > max_seconds) return check;
  }
  if (!iterator->status().ok()) {
    throw std::runtime_error(database.name() + ": cannot read all keys: " +
                             iterator->status().ToString());
  }
  check.missed += expected_keys - std::min(check.looked_up, expected_keys);
  return check;
}

LookupKeys::LookupKeys(const KeySet& keys, std::string smallest,
                       std::string largest, uint64_t seed)
    : keys_(keys),
      smallest_(std::move(smallest)),
      largest_(std::move(largest)),
      seed_(bench::Mix(seed)) {}

std::vector<std::string> LookupKeys::Absent(size_t n) {
  std::vector<std::string> keys;
  while (keys.size() < n) {
    std::string key = keys_.AbsentKey(absent_drawn_++);
    if (smallest_ < key && key < largest_) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> LookupKeys::Present(size_t n) {
  std::vector<std::string> keys;
  while (keys.size() < n) {
    keys.push_back(
        keys_.Key(bench::Mix(seed_ + present_drawn_++) % keys_.size()));
  }
  return keys;
}

std::vector<Measurement> Measure(
    const std::vector<std::unique_ptr<Database>>& databases,
    LookupKeys* lookup_keys, const MeasurePlan& plan,
    bench::ProgressBar* progress) {
  std::vector<Measurement> measurements(databases.size());
  TakeTurn(databases, 0, lookup_keys->Absent(kWarmUpKeys),
           lookup_keys->Present(PresentFor(kWarmUpKeys)), &measurements);
  measurements.assign(databases.size(), Measurement());
  std::vector<uint64_t> compaction_bytes;
  for (const std::unique_ptr<Database>& database : databases) {
    compaction_bytes.push_back(database->Ticker(rocksdb::COMPACT_READ_BYTES));
  }

  const Clock::time_point start = Clock::now();
  uint64_t done = 0;
  for (size_t turn = 0; done < plan.lookups; ++turn) {
    const size_t n = static_cast<size_t>(
        std::min<uint64_t>(kKeysPerTurn, plan.lookups - done));
    TakeTurn(databases, turn % databases.size(), lookup_keys->Absent(n),
             lookup_keys->Present(PresentFor(n)), &measurements);
    done += n;
    progress->Advance(static_cast<double>(n) * plan.steps_per_lookup);
    if (SecondsSince(start) > plan.max_seconds) break;
  }

  for (size_t i = 0; i < databases.size(); ++i) {
    RequireSound(*databases[i], measurements[i], compaction_bytes[i]);
    measurements[i].missed_present_keys =
        measurements[i].present.lookups - measurements[i].present.found;
  }
  return measurements;
}

}  // namespace deltabloom::demo
