#include "db_bench_ext/demo/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kBatchKeys = 500;

double ThreadCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

Database::Database(std::string name, Policy policy, std::string path,
                   const DatabaseOptions& options, KeyOf key_of)
    : name_(std::move(name)),
      policy_(std::move(policy)),
      path_(std::move(path)),
      options_(options),
      key_of_(std::move(key_of)) {}

Database::~Database() {
  if (db_ != nullptr) (void)db_->Close();
}

void Database::Check(const rocksdb::Status& status, const char* action) const {
  if (status.ok()) return;
  throw std::runtime_error(path_ + ": cannot " + action + ": " +
                           status.ToString());
}

uint64_t Database::Ticker(rocksdb::Tickers ticker) const {
  return statistics_->getTickerCount(ticker);
}

rocksdb::Options Database::CommonOptions() const {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy_.filters;
  // By default filters and indexes are in memory beside the cache, so that the
  // cache has data blocks only.
  table.cache_index_and_filter_blocks = options_.filters_in_cache;
  if (partitioned_) {
    table.partition_filters = true;
    table.index_type =
        rocksdb::BlockBasedTableOptions::IndexType::kTwoLevelIndexSearch;
  }
  // A shortened key in the index sends some absent keys to the block in front
  // of theirs first: a false positive would not be one block exactly.
  table.index_shortening =
      rocksdb::BlockBasedTableOptions::IndexShorteningMode::kNoShortening;
  // The default from RocksDB 9.2 on: sizes would follow the allocator.
  table.optimize_filters_for_memory = false;
  // The cache has one shard: the blocks that stay in it hardly vary from run to
  // run.
  table.block_cache =
      rocksdb::NewLRUCache(options_.cache_bytes, /*num_shard_bits=*/0);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.max_open_files = -1;
  options.max_write_buffer_number = 3;
  options.target_file_size_base = options_.table_bytes;
  options.level_compaction_dynamic_level_bytes = false;
  // Tables end at their size only, not at those of the level below, whose bytes
  // depend on the filter.
  options.max_compaction_bytes = std::numeric_limits<uint64_t>::max() / 2;
  options.use_direct_reads = options_.direct_io;
  options.use_direct_io_for_flush_and_compaction = options_.direct_io;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.disable_auto_compactions = true;
  if (policy_.add_to) policy_.add_to(&options);
  return options;
}

void Database::Open(const rocksdb::Options& options) {
  Close();
  rocksdb::Options with_statistics = options;
  statistics_ = rocksdb::CreateDBStatistics();
  with_statistics.statistics = statistics_;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(with_statistics, path_, &db), "open");
  db_.reset(db);
}

void Database::Close() {
  if (db_ == nullptr) return;
  Check(db_->Close(), "close");
  db_.reset();
}

void Database::Build(const TreePlan& plan, bench::ProgressBar* progress) {
  partitioned_ = plan.partitioned;
  const Clock::time_point start = Clock::now();
  BuildRuns(plan, progress);
  Close();
  if (policy_.refilters) Refilter();
  load_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  Open(CommonOptions());
  UpdateTree();
  CheckTree(plan);
}

void Database::Rewrite() {
  for (const Run& run : tree_.runs) {
    std::vector<std::string> files;
    for (const Table& table : run.tables) files.push_back(table.name);
    Compact(files, run.level);
  }
  UpdateTree();
}

void Database::Reopen(size_t cache_bytes, bool filters_in_cache) {
  options_.cache_bytes = cache_bytes;
  options_.filters_in_cache = filters_in_cache;
  Open(CommonOptions());
}

void Database::OpenToGrow(std::function<void(rocksdb::Options*)> shape) {
  rocksdb::Options options = CommonOptions();
  options.disable_auto_compactions = false;
  options.max_compaction_bytes = 0;  // RocksDB's default
  shape(&options);
  Open(options);
}

void Database::Flush() { Check(db_->Flush(rocksdb::FlushOptions()), "flush"); }

void Database::Ingest(uint64_t begin, uint64_t end) {
  std::vector<std::string> keys;
  for (uint64_t i = begin; i < end; ++i) keys.push_back(key_of_(i));
  std::sort(keys.begin(), keys.end());
  const std::string path =
      path_ + "/to-ingest-" + std::to_string(ingested_++) + ".sst";
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db_->GetOptions());
  Check(writer.Open(path), "create a table");
  for (const std::string& key : keys) {
    Check(writer.Put(key, KeySet::Value(key, options_.value_bytes)),
          "write a table");
  }
  Check(writer.Finish(), "finish a table");
  rocksdb::IngestExternalFileOptions ingestion;
  ingestion.move_files = true;
  Check(db_->IngestExternalFile({path}, ingestion), "ingest a table");
}

void Database::CompactAll() {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction =
      rocksdb::BottommostLevelCompaction::kForceOptimized;
  Check(db_->CompactRange(options, nullptr, nullptr), "compact");
}

void Database::UpdateTree() { tree_ = ReadTree(db()); }

void Database::WaitUntilIdle() {
  // Between the end of a compaction and the start of the next one each of the
  // properties may be 0 while another was read.
  constexpr int kTimesIdle = 3;
  // Universal compaction may find nothing to do, but remain pending.
  constexpr int kTimesPending = 100;
  const auto number = [&](const std::string& property) {
    uint64_t value = 0;
    if (!db_->GetIntProperty(property, &value)) {
      throw std::runtime_error(path_ + ": RocksDB does not say " + property);
    }
    return value;
  };
  for (int idle = 0, waiting = 0;
       idle < kTimesIdle && waiting < kTimesPending;) {
    const bool works =
        number(rocksdb::DB::Properties::kNumRunningFlushes) > 0 ||
        number(rocksdb::DB::Properties::kNumRunningCompactions) > 0;
    const bool pending =
        number(rocksdb::DB::Properties::kCompactionPending) > 0;
    waiting = works ? 0 : waiting + 1;
    idle = works || pending ? 0 : idle + 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

double Database::SecondsToWriteTable(
    const std::vector<std::string_view>& keys,
    rocksdb::CompressionType compression) const {
  // Values can be compressed to half their size, as those of db_bench. There
  // are few: to compute each would take time of its own.
  constexpr uint64_t kValues = 1000;
  std::string bytes;
  for (uint64_t i = 0; i < kValues; ++i) {
    const std::string half =
        KeySet::Value(std::to_string(i), options_.value_bytes / 2);
    bytes += half + half;
  }
  const std::string path = path_ + "/table-of-its-own";
  rocksdb::Options options = CommonOptions();
  options.compression = compression;
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  Check(writer.Open(path), "create a table");
  const double start = ThreadCpuSeconds();
  size_t at = 0;
  for (const std::string_view key : keys) {
    Check(writer.Put({key.data(), key.size()},
                     {&bytes[at], options_.value_bytes}),
          "write a table");
    at = (at + options_.value_bytes) % (bytes.size() - options_.value_bytes);
  }
  Check(writer.Finish(), "finish a table");
  const double seconds = ThreadCpuSeconds() - start;
  std::filesystem::remove(path);
  return seconds;
}

void Database::Refilter() {
  const std::string command = "'" DELTABLOOM_TOOL
                              "' refilter --filter deltabloom:100:compact '" +
                              path_ + "' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("this command failed: " + command);
  }
  policy_ = MakePolicy(kDefault, policy_.bits_per_key);  // reads the filters
}

void Database::BuildRuns(const TreePlan& plan, bench::ProgressBar* progress) {
  rocksdb::Options options = CommonOptions();
  options.write_buffer_size = 16 << 20;
  // This memtable is made for loading: it sorts once, at the flush.
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;
  Open(options);
  uint64_t begin = 0;
  for (const RunPlan& run : plan.runs) {
    // Level 1 comes from flushes like those that stay in level 0.
    const uint64_t flush = run.level == 1 && plan.runs.back().level == 0
                               ? plan.runs.back().keys
                               : run.keys;
    for (const uint64_t end = begin + run.keys; begin < end;) {
      const uint64_t next = std::min(begin + flush, end);
      Write(begin, next, progress);
      Flush();
      begin = next;
    }
    if (run.level > 0) CompactLevel(0, run.level);
  }
}

void Database::Write(uint64_t begin, uint64_t end,
                     bench::ProgressBar* progress) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  rocksdb::WriteBatch batch;
  for (uint64_t i = begin; i < end; ++i) {
    const std::string key = key_of_(i);
    Check(batch.Put(key, KeySet::Value(key, options_.value_bytes)), "write");
    if (batch.Count() < kBatchKeys && i + 1 < end) continue;
    Check(db_->Write(options, &batch), "write");
    progress->Advance(static_cast<double>(batch.Count()));
    batch.Clear();
  }
}

void Database::CompactLevel(int from, int to) {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  std::vector<std::string> inputs;
  for (const auto& file : metadata.levels[static_cast<size_t>(from)].files) {
    inputs.push_back(file.name);
  }
  Compact(inputs, to);
}

void Database::Compact(const std::vector<std::string>& files, int to) {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  options.output_file_size_limit = options_.table_bytes;
  Check(db_->CompactFiles(options, files, to), "compact");
}

void Database::CheckTree(const TreePlan& plan) const {
  bool planned = plan.runs.size() == tree_.runs.size();
  for (size_t i = 0; planned && i < plan.runs.size(); ++i) {
    const RunPlan& run = plan.runs[plan.runs.size() - 1 - i];
    planned = tree_.runs[i].level == run.level &&
              tree_.runs[i].Sum(&Table::entries) == run.keys;
  }
  if (!planned) {
    throw std::runtime_error(name_ + ": the tree is not as planned");
  }
  for (const Run& run : tree_.runs) {
    for (const Table& table : run.tables) {
      const bool built = table.filter_bytes > 0 && table.filter_keys > 0;
      if (built == has_filter()) continue;
      throw std::runtime_error(path_ + ": a table has " +
                               (built ? "a filter" : "no filter"));
    }
  }
}

}  // namespace deltabloom::demo
