#include "db_bench_ext/demo/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <utility>

namespace deltabloom::demo {

namespace {

constexpr size_t kWriteBufferBytes = 4 << 20;
constexpr uint64_t kTableFileBytes = 4 << 20;
constexpr size_t kBlockCacheBytes = 1 << 20;
constexpr uint64_t kBatchKeys = 500;

}  // namespace

std::vector<RunPlan> PlanRuns(uint64_t keys) {
  // In quarters of level 1: 400 + 40 + 4 + 1 + 1.
  const uint64_t unit = std::max<uint64_t>(1, keys / 446);
  const uint64_t bottom = keys - 46 * unit;
  return {{3, bottom}, {2, 40 * unit}, {1, 4 * unit}, {0, unit}, {0, unit}};
}

Database::Database(Competitor competitor, std::filesystem::path path,
                   bool direct_io)
    : competitor_(std::move(competitor)),
      path_(std::move(path)),
      direct_io_(direct_io) {}

rocksdb::Options Database::MakeOptions(Purpose purpose) const {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = competitor_.policy;
  // Index and filter blocks stay outside the cache, in memory: the cache and
  // its misses are data blocks alone.
  table.cache_index_and_filter_blocks = false;
  // The default from RocksDB 9.2 on: sizes that follow the allocator are not
  // those that were asked for, nor the same in every run.
  table.optimize_filters_for_memory = false;
  // One shard: which blocks stay in it then hardly varies from run to run.
  table.block_cache =
      rocksdb::NewLRUCache(kBlockCacheBytes, /*num_shard_bits=*/0);

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  if (purpose == Purpose::kLoad) {
    // Sorts once, at the flush: the memtable made for loading in bulk.
    options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
    options.allow_concurrent_memtable_write = false;
  }
  options.write_buffer_size = kWriteBufferBytes;
  options.max_write_buffer_number = 3;
  options.target_file_size_base = kTableFileBytes;
  options.level_compaction_dynamic_level_bytes = false;
  // Tables end at their size alone, not at those of the level below, whose
  // bytes depend on the filter.
  options.max_compaction_bytes = std::numeric_limits<uint64_t>::max() / 2;
  options.use_direct_reads = direct_io_;
  options.use_direct_io_for_flush_and_compaction = direct_io_;
  options.statistics = statistics_;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  if (listening_) options.listeners.push_back(competitor_.listener);
  return options;
}

void Database::Open(Purpose purpose) {
  statistics_ = rocksdb::CreateDBStatistics();
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(MakeOptions(purpose), path_.string(), &db);
  if (!status.ok()) Fail("open", status);
  db_.reset(db);
}

void Database::Close() {
  if (db_ == nullptr) return;
  const rocksdb::Status status = db_->Close();
  db_.reset();
  if (!status.ok()) Fail("close", status);
}

void Database::Fail(const std::string& doing,
                    const rocksdb::Status& status) const {
  throw std::runtime_error(path_.string() + ": cannot " + doing + ": " +
                           status.ToString());
}

uint64_t Database::Ticker(rocksdb::Tickers ticker) const {
  return statistics_->getTickerCount(ticker);
}

void Database::Load(const KeySet& keys, const std::vector<RunPlan>& plan,
                    bench::ProgressBar* progress) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Open(Purpose::kLoad);
  uint64_t begin = 0;
  for (const RunPlan& run : plan) {
    if (run.level == 1) Listen();
    const uint64_t end = begin + run.keys;
    // Level 1 comes of flushes that are like those that stay in level 0.
    const uint64_t flush = run.level == 1 ? plan.back().keys : run.keys;
    for (; begin < end; begin += std::min(flush, end - begin)) {
      Insert(keys, begin, std::min(begin + flush, end), progress);
    }
    if (run.level > 0) CompactLevel(0, run.level);
    if (run.level == 1 && listening_) {
      const Clock::time_point stopped = Clock::now();
      WriteAgain(plan);
      start += Clock::now() - stopped;
    }
  }
  Close();
  load_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void Database::Listen() {
  if (competitor_.listener == nullptr) return;
  Close();
  listening_ = true;
  Open(Purpose::kLoad);
}

void Database::WriteAgain(const std::vector<RunPlan>& plan) {
  // Until the policy, which learns from compactions, comes to rest.
  constexpr int kTimes = 2;
  for (int time = 0; time < kTimes; ++time) {
    for (const RunPlan& run : plan) {
      if (run.level > 0) CompactLevel(run.level, run.level);
    }
  }
}

void Database::Insert(const KeySet& keys, uint64_t begin, uint64_t end,
                      bench::ProgressBar* progress) {
  rocksdb::WriteOptions write_options;
  write_options.disableWAL = true;
  rocksdb::WriteBatch batch;
  for (uint64_t i = begin; i < end; ++i) {
    const std::string key = keys.Key(i);
    rocksdb::Status status = batch.Put(key, KeySet::Value(key));
    if (status.ok() && (batch.Count() == kBatchKeys || i + 1 == end)) {
      status = db_->Write(write_options, &batch);
      progress->Advance(static_cast<double>(batch.Count()));
      batch.Clear();
    }
    if (!status.ok()) Fail("write", status);
  }
  const rocksdb::Status status = db_->Flush(rocksdb::FlushOptions());
  if (!status.ok()) Fail("flush", status);
}

void Database::CompactLevel(int from, int to) {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  std::vector<std::string> inputs;
  const auto& level = metadata.levels[static_cast<size_t>(from)];
  for (const rocksdb::SstFileMetaData& file : level.files) {
    inputs.push_back(file.name);
  }
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  options.output_file_size_limit = kTableFileBytes;
  rocksdb::CompactionJobInfo done;
  const rocksdb::Status status =
      db_->CompactFiles(options, inputs, to, /*output_path_id=*/-1,
                        /*output_file_names=*/nullptr, &done);
  if (!status.ok()) Fail("compact", status);
  // RocksDB tells listeners of its own compactions only.
  if (listening_) competitor_.listener->OnCompactionCompleted(db_.get(), done);
}

void Database::OpenForMeasuring() {
  Open(Purpose::kMeasure);
  CheckFilters();
}

std::vector<SortedRun> Database::Runs() const {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  std::vector<SortedRun> runs;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (size_t i = 0; i < level.files.size(); ++i) {
      if (i == 0 || level.level == 0) runs.push_back({level.level, 0, 0, 0});
      runs.back().files += 1;
      runs.back().keys += level.files[i].num_entries;
      runs.back().bytes += level.files[i].size;
    }
  }
  return runs;
}

TableTotals Database::Totals() const {
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status = db_->GetPropertiesOfAllTables(&tables);
  if (!status.ok()) Fail("read the table properties", status);
  TableTotals totals;
  for (const auto& [file, properties] : tables) {
    totals.filter_bytes += properties->filter_size;
    totals.filter_entries += properties->num_filter_entries;
  }
  return totals;
}

void Database::CheckFilters() const {
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status = db_->GetPropertiesOfAllTables(&tables);
  if (!status.ok()) Fail("read the table properties", status);
  for (const auto& [file, properties] : tables) {
    const bool built =
        properties->filter_size > 0 && properties->num_filter_entries > 0;
    if (built != has_filter()) {
      throw std::runtime_error(file + ": " + name() + ": the table has " +
                               (built ? "a" : "no") + " filter, expected " +
                               (built ? "none" : "one"));
    }
  }
}

std::string Database::SmallestKey() const {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  std::string smallest;
  bool first = true;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      if (first || file.smallestkey < smallest) smallest = file.smallestkey;
      first = false;
    }
  }
  return smallest;
}

std::string Database::LargestKey() const {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  std::string largest;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      largest = std::max(largest, file.largestkey);
    }
  }
  return largest;
}

void RequireSameTree(const std::vector<std::unique_ptr<Database>>& databases) {
  const std::vector<SortedRun> expected = databases.front()->Runs();
  for (const std::unique_ptr<Database>& database : databases) {
    const std::vector<SortedRun> runs = database->Runs();
    const bool same = std::equal(
        runs.begin(), runs.end(), expected.begin(), expected.end(),
        [](const SortedRun& a, const SortedRun& b) {
          return a.level == b.level && a.files == b.files && a.keys == b.keys;
        });
    if (!same) {
      throw std::runtime_error("the trees of " + databases.front()->name() +
                               " and " + database->name() +
                               " differ: their reads cannot be compared");
    }
  }
}

uint64_t EstimateDiskBytes(const KeySet& keys, size_t databases) {
  constexpr uint64_t kSample = 1000;
  constexpr uint64_t kOverheadPerKey = 16;  // entry header, index and filter
  uint64_t sample_bytes = 0;
  for (uint64_t i = 0; i < kSample; ++i) {
    sample_bytes += keys.Key(i % keys.size()).size();
  }
  const uint64_t bytes_per_key =
      sample_bytes / kSample + KeySet::kValueBytes + kOverheadPerKey;
  // A compaction holds its input and its output at the same time.
  return keys.size() * bytes_per_key * (databases + 1) + (16 << 20);
}

}  // namespace deltabloom::demo
