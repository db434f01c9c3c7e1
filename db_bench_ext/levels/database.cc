#include "db_bench_ext/levels/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/metadata.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/levels/keys.h"

namespace deltabloom::levels {
namespace {

constexpr size_t kValueBytes = 16;
// On disk, headers and restart points included.
constexpr uint64_t kBytesPerEntry = 45;
constexpr uint64_t kTableFileBytes = 4 << 20;
constexpr size_t kBlockCacheBytes = 64 << 20;
constexpr uint32_t kBatchKeys = 500;
constexpr int kLevel0Tables = 4;  // that start a compaction
constexpr int kLevels = 7;

const rocksdb::Slice kValue("sixteen bytes...", kValueBytes);

double Power(unsigned base, unsigned exponent) {
  return std::pow(static_cast<double>(base), static_cast<double>(exponent));
}

}  // namespace

std::string TreePlan::Name() const {
  const std::string tail =
      std::to_string(runs) + "-T" + std::to_string(size_ratio);
  return std::string(GrowthName(growth)) + "-" + tail +
         (dynamic_level_bytes && growth != Growth::kSettled ? "-dynamic" : "");
}

std::vector<uint64_t> SettledRuns(const TreePlan& plan) {
  // unit * (1 + T + T^2 + ...) keys in all.
  double all = 0;
  for (unsigned i = 0; i < plan.runs; ++i) all += Power(plan.size_ratio, i);
  const double unit = static_cast<double>(plan.keys) / all;
  constexpr double kLeast = 2;  // a range of keys, however small
  if (unit < kLeast) {
    throw bench::UsageError(
        "--keys: " + std::to_string(plan.keys) + " are too few for " +
        std::to_string(plan.runs) + " runs at a size ratio of " +
        std::to_string(plan.size_ratio) + "; at least " +
        std::to_string(static_cast<uint64_t>(kLeast * all)) + " are needed");
  }
  std::vector<uint64_t> runs;
  uint64_t sum = 0;
  for (unsigned i = 0; i + 1 < plan.runs; ++i) {
    runs.push_back(
        static_cast<uint64_t>(std::lround(unit * Power(plan.size_ratio, i))));
    sum += runs.back();
  }
  runs.push_back(plan.keys - sum);
  return runs;
}

Database::Database(std::string path, PolicyPointer policy,
                   ListenerPointer listener)
    : path_(std::move(path)),
      policy_(std::move(policy)),
      listener_(std::move(listener)) {}

Database::~Database() {
  if (db_ != nullptr) (void)db_->Close();
}

void Database::Check(const rocksdb::Status& status, const char* doing) const {
  if (status.ok()) return;
  throw std::runtime_error(path_ + ": cannot " + doing + ": " +
                           status.ToString());
}

uint64_t Database::Ticker(rocksdb::Tickers ticker) const {
  return statistics_->getTickerCount(ticker);
}

rocksdb::Options Database::CommonOptions() const {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy_;
  // Outside the cache, in memory: the accesses to the cache are data blocks.
  table.cache_index_and_filter_blocks = false;
  // A shortened key in the index sends some absent keys to the block in front
  // of theirs first: then a filter's yes is not one block exactly.
  table.index_shortening =
      rocksdb::BlockBasedTableOptions::IndexShorteningMode::kNoShortening;
  // The default from RocksDB 9.2 on; sizes then follow the allocator.
  table.optimize_filters_for_memory = false;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.num_levels = kLevels;
  options.max_open_files = -1;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  if (listener_ != nullptr) options.listeners.push_back(listener_);
  return options;
}

void Database::Open(const rocksdb::Options& options) {
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, path_, &db), "open");
  db_.reset(db);
}

void Database::OpenForLookups() {
  Check(db_->Flush(rocksdb::FlushOptions()), "flush");
  Check(db_->Close(), "close");
  db_.reset();
  rocksdb::Options options = CommonOptions();
  options.create_if_missing = false;
  // Any limit will do: without one RocksDB reads a database of a single run in
  // another way (CompactedDBImpl), which counts no blocks.
  options.max_open_files = 1 << 20;
  statistics_ = rocksdb::CreateDBStatistics();
  options.statistics = statistics_;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::OpenForReadOnly(options, path_, &db), "open");
  db_.reset(db);
}

void Database::Settle(const TreePlan& plan, bench::ProgressBar* progress) {
  rocksdb::Options options = CommonOptions();
  options.disable_auto_compactions = true;
  // Sorts once, at the flush: the memtable made for loading in bulk.
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;
  options.write_buffer_size = 64 << 20;
  options.target_file_size_base = kTableFileBytes;
  options.level_compaction_dynamic_level_bytes = false;
  options.max_compaction_bytes = std::numeric_limits<uint64_t>::max() / 2;
  options.listeners.clear();
  Open(options);
  const std::vector<uint64_t> runs = SettledRuns(plan);
  uint64_t next = 0;
  const auto fill = [&](uint64_t keys) {
    Insert(next, next + keys, plan.seed, progress);
    next += keys;
    Check(db_->Flush(rocksdb::FlushOptions()), "flush");
  };
  for (size_t i = runs.size(); i-- > 2;) {
    fill(runs[i]);
    CompactLevel(0, static_cast<int>(i));
  }
  if (listener_ != nullptr) {
    Check(db_->Close(), "close");
    options.listeners.push_back(listener_);
    Open(options);
  }
  if (runs.size() > 1) {
    // Flushes that are like those of level 0.
    for (uint64_t left = runs[1]; left > 0;) {
      const uint64_t keys = std::min(left, runs[0]);
      fill(keys);
      left -= keys;
    }
    CompactLevel(0, 1);
    if (listener_ != nullptr) WriteAgain(runs.size());
  }
  fill(runs[0]);
  present_.resize(next);
  std::iota(present_.begin(), present_.end(), uint64_t{0});
  OpenForLookups();
}

void Database::WriteAgain(size_t levels) {
  // Until a policy that learns from compactions comes to rest.
  constexpr int kTimes = 2;
  for (int time = 0; time < kTimes; ++time) {
    for (size_t level = levels; level-- > 1;) {
      CompactLevel(static_cast<int>(level), static_cast<int>(level));
    }
  }
}

void Database::Insert(uint64_t begin, uint64_t end, uint64_t seed,
                      bench::ProgressBar* progress) {
  rocksdb::WriteOptions write_options;
  write_options.disableWAL = true;
  rocksdb::WriteBatch batch;
  for (uint64_t i = begin; i < end; ++i) {
    Check(batch.Put(Key(i, seed).slice(), kValue), "write");
    if (batch.Count() < kBatchKeys && i + 1 < end) continue;
    Check(db_->Write(write_options, &batch), "write");
    progress->Advance(static_cast<double>(batch.Count()));
    batch.Clear();
  }
}

// All of a level becomes one sorted run on level `to`, which is the same or
// empty, as are the levels between.
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
  Check(db_->CompactFiles(options, inputs, to), "compact");
}

void Database::Grow(const TreePlan& plan, bench::ProgressBar* progress) {
  // The levels below level 0 are runs - 1, each size_ratio times the one above;
  // the last is to be filled in the middle of the history, not at its end.
  const double bytes =
      static_cast<double>(plan.keys) * static_cast<double>(kBytesPerEntry);
  const auto base =
      static_cast<uint64_t>(bytes / Power(plan.size_ratio, plan.runs - 2) / 2);
  rocksdb::Options options = CommonOptions();
  options.level_compaction_dynamic_level_bytes = plan.dynamic_level_bytes;
  options.write_buffer_size = std::max<uint64_t>(64 << 10, base / 2);
  options.level0_file_num_compaction_trigger = kLevel0Tables;
  options.max_bytes_for_level_base =
      std::max<uint64_t>(base, kLevel0Tables * options.write_buffer_size / 4);
  options.max_bytes_for_level_multiplier = plan.size_ratio;
  options.target_file_size_base =
      std::clamp<uint64_t>(base / 2, 128 << 10, kTableFileBytes);
  options.max_background_jobs = 2;
  Open(options);
  WriteHistory(plan, progress);
  Check(db_->Flush(rocksdb::FlushOptions()), "flush");
  WaitForCompactions();
  OpenForLookups();
}

void Database::WriteHistory(const TreePlan& plan,
                            bench::ProgressBar* progress) {
  rocksdb::WriteOptions write_options;
  write_options.disableWAL = true;
  rocksdb::WriteBatch batch;
  History history(plan.growth, plan.keys, plan.seed);
  for (uint64_t i = 0; i < plan.keys; ++i) {
    const History::Write write = history.Next();
    const Key key(write.key, plan.seed);
    Check(write.remove ? batch.Delete(key.slice())
                       : batch.Put(key.slice(), kValue),
          "write");
    if (batch.Count() < kBatchKeys && i + 1 < plan.keys) continue;
    Check(db_->Write(write_options, &batch), "write");
    progress->Advance(static_cast<double>(batch.Count()));
    batch.Clear();
  }
  present_ = history.Present();
}

// DB::WaitForCompact exists from RocksDB 8 on only.
void Database::WaitForCompactions() {
  constexpr int kQuiet = 5;
  for (int quiet = 0; quiet < kQuiet;) {
    uint64_t running = 0, flushes = 0, pending = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions,
                        &running);
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes, &flushes);
    db_->GetIntProperty(rocksdb::DB::Properties::kCompactionPending, &pending);
    quiet = running + flushes + pending == 0 ? quiet + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

uint64_t EstimateDiskBytes(const TreePlan& plan) {
  // A compaction holds its input and its output at the same time.
  return plan.keys * kBytesPerEntry * 3 + (64 << 20);
}

}  // namespace deltabloom::levels
