#include "db_bench_ext/demo/scans.h"

#include <rocksdb/table_properties.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/range_filters.h"
#include "db_bench_ext/demo/schemas.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {
namespace {

using Clock = std::chrono::steady_clock;

// RocksDB's Bloom filter for keys: of every database, so that range filters are
// all in which they differ.
constexpr double kBitsForKeys = 10;

// Room for the keys of a scan, so that no allocation is timed.
constexpr size_t kFoundBytes = 2048;

Policy PolicyOf(const RangeFilter& filter) {
  Policy policy = MakePolicy(kRocksDBBloom, kBitsForKeys);
  policy.add_to = [&filter](rocksdb::Options* options) {
    filter.AddTo(options);
  };
  return policy;
}

uint64_t DataBlocks(const Database& database) {
  return database.Ticker(rocksdb::BLOCK_CACHE_DATA_MISS) +
         database.Ticker(rocksdb::BLOCK_CACHE_DATA_HIT);
}

void AppendKey(std::string_view key, std::string* text) {
  text->append(key).push_back('\n');
}

// Returns the keys that a scan should find, as text.
std::string Expected(const SchemaKeys& keys, const Scan& scan, bool backward) {
  std::vector<std::string_view> found = keys.KeysIn(scan);
  if (backward) std::reverse(found.begin(), found.end());
  std::string text;
  for (const std::string_view key : found) AppendKey(key, &text);
  return text;
}

std::vector<Scan> ScansOf(const SchemaKeys& keys, Finds finds, uint64_t first,
                          uint64_t count) {
  std::vector<Scan> scans;
  for (uint64_t i = 0; i < count; ++i) {
    scans.push_back(keys.ScanOf(finds, first + i));
  }
  return scans;
}

}  // namespace

ScannedDatabase::ScannedDatabase(const std::string& name,
                                 std::unique_ptr<RangeFilter> filter,
                                 std::string path,
                                 const DatabaseOptions& options,
                                 const SchemaKeys& keys)
    : name_(name),
      filter_(std::move(filter)),
      keys_(keys),
      database_(name, PolicyOf(*filter_), std::move(path), options,
                [&keys](uint64_t i) { return keys.Key(i % keys.size()); }) {}

void ScannedDatabase::Build(TreeState state, bench::ProgressBar* progress) {
  const uint64_t keys = keys_.size();
  TreePlan plan = DemoTree(keys);
  if (state == TreeState::kFresh) {
    plan.runs = {{3, keys - keys / 10}, {2, keys / 10}};
  } else if (state != TreeState::kFiveRuns) {
    plan.runs = {{3, keys}, {2, keys / 10}, {1, keys / 100}, {0, keys / 100}};
  }
  database_.Build(plan, progress);
  if (state == TreeState::kCompacted) {
    database_.CompactAll();
    database_.UpdateTree();
  }
  const std::unique_ptr<rocksdb::Iterator> all(
      database_.db()->NewIterator(rocksdb::ReadOptions()));
  for (all->SeekToFirst(); all->Valid(); all->Next()) continue;
}

void ScannedDatabase::Run(const std::vector<Scan>& scans, size_t kind) {
  const bool backward = kScanKinds[kind].backward;
  std::vector<std::string> found(scans.size());
  for (std::string& keys : found) keys.reserve(kFoundBytes);
  rocksdb::Status status;
  ScanCounts* const counts = &counts_[kind];
  counts->data_blocks -= DataBlocks(database_);
  counts->tables_asked -= filter_->TablesAsked();
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < scans.size(); ++i) {
    const RangeFilter::Bounds bounds(scans[i]);
    const std::unique_ptr<rocksdb::Iterator> at =
        filter_->NewIterator(database_.db(), bounds);
    if (backward) {
      filter_->SeekToLast(bounds, at.get());
    } else {
      at->Seek(bounds.lower);
    }
    while (at->Valid()) {
      AppendKey(at->key().ToStringView(), &found[i]);
      backward ? at->Prev() : at->Next();
    }
    if (!at->status().ok()) status = at->status();
  }
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  counts->data_blocks += DataBlocks(database_);
  counts->tables_asked += filter_->TablesAsked();
  if (!status.ok()) {
    throw std::runtime_error(name_ + ": a scan failed: " + status.ToString());
  }
  counts->micros.push_back(1e6 * seconds / static_cast<double>(scans.size()));
  counts->scans += scans.size();
  for (size_t i = 0; i < scans.size(); ++i) {
    counts->wrong += found[i] != Expected(keys_, scans[i], backward);
  }
}

void ScannedDatabase::WriteTable() {
  // Enough for a rate, and few enough for a table.
  constexpr size_t kMostKeys = 500'000;
  const std::vector<std::string_view>& all = keys_.InOrder();
  const std::vector<std::string_view> keys(
      all.begin(),
      all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kMostKeys)));
  const auto nanos = [&](rocksdb::CompressionType compression) {
    return 1e9 * database_.SecondsToWriteTable(keys, compression) /
           static_cast<double>(keys.size());
  };
  build_nanos_.push_back(nanos(rocksdb::kNoCompression));
  // RocksDB's default: Snappy, if the library has it.
  compressed_build_nanos_.push_back(nanos(rocksdb::Options().compression));
}

uint64_t ScannedDatabase::PropertyBytes() const {
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status =
      database_.db()->GetPropertiesOfAllTables(&tables);
  if (!status.ok()) throw std::runtime_error(name_ + ": " + status.ToString());
  uint64_t bytes = 0;
  for (const auto& [path, properties] : tables) {
    const auto& collected = properties->user_collected_properties;
    const auto property = collected.find(filter_->Property());
    if (property != collected.end()) bytes += property->second.size();
  }
  return bytes;
}

void MeasureScans(const ScannedDatabases& databases, const SchemaKeys& keys,
                  uint64_t scans, double steps, bench::ProgressBar* progress) {
  // A turn takes some 300 us, so few turns are interrupted by other programs.
  constexpr uint64_t kScansPerTurn = 20;
  for (uint64_t done = 0, turn = 0; done < scans; ++turn) {
    const uint64_t count = std::min(kScansPerTurn, scans - done);
    for (size_t kind = 0; kind < kScanKinds.size(); ++kind) {
      const std::vector<Scan> batch =
          ScansOf(keys, kScanKinds[kind].finds, done, count);
      for (size_t i = 0; i < databases.size(); ++i) {
        databases[(turn + i) % databases.size()]->Run(batch, kind);
      }
    }
    done += count;
    progress->Advance(steps * static_cast<double>(count) /
                      static_cast<double>(scans));
  }
}

void MeasureBuilding(const ScannedDatabases& databases) {
  constexpr size_t kTurns = 9;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < databases.size(); ++i) {
      databases[(turn + i) % databases.size()]->WriteTable();
    }
  }
}

}  // namespace deltabloom::demo
