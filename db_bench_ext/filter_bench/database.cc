#include "db_bench_ext/filter_bench/database.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/competitor.h"
#include "db_bench_ext/filter_bench/counting_policy.h"
#include "db_bench_ext/filter_bench/keys.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table_properties.h"

namespace deltabloom::bench {
namespace {

constexpr size_t kValueBytes = 32;
constexpr size_t kBatch = 32;
constexpr uint64_t kMostWarmLookups = 50'000;

void Check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("RocksDB: " + status.ToString());
}

enum class Keys : uint8_t { kAbsent, kAbsentNeighbours, kPresent };

// One table file at the bottom, all of it in the block cache.
class Database {
 public:
  // A null policy: no filter.
  Database(const std::string& path,
           std::shared_ptr<const rocksdb::FilterPolicy> policy,
           bool partitioned, const Setting& setting, const Options& options)
      : path_(path),
        policy_(std::move(policy)),
        partitioned_(partitioned),
        setting_(setting),
        warm_lookups_(std::min(options.samples, kMostWarmLookups)),
        maker_(options.key_kind, setting.key_bytes, options.seed) {
    OpenWith(policy_);
  }

  void Load();

  // Counts the calls of MultiGet to the filter, and what it lets through.
  void Count(DatabaseRow* row);

  double TimeGets(Keys kind);
  double TimeMultiGets(Keys kind);

 private:
  void OpenWith(std::shared_ptr<const rocksdb::FilterPolicy> policy);
  void SetKeys(Keys kind);
  void CheckFound(uint64_t found, Keys kind) const;
  double KeysPerBatch(Keys kind, const FilterCalls& calls);
  uint64_t MultiGetAll();

  std::string path_;
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  bool partitioned_;
  Setting setting_;
  uint64_t warm_lookups_;
  KeyMaker maker_;
  std::unique_ptr<rocksdb::DB> db_;
  // Few: the less time a chunk takes, the fewer of them are interrupted.
  KeyChunk chunk_{maker_, 1};
  MixedNumbers random_{1};
};

void Database::OpenWith(std::shared_ptr<const rocksdb::FilterPolicy> policy) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = std::move(policy);
  table.cache_index_and_filter_blocks = true;
  table.block_cache = rocksdb::NewLRUCache(size_t{4} << 30);
  if (partitioned_) {
    table.partition_filters = true;
    table.index_type =
        rocksdb::BlockBasedTableOptions::IndexType::kTwoLevelIndexSearch;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.info_log_level = rocksdb::InfoLogLevel::ERROR_LEVEL;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  db_.reset();
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, path_, &db));
  db_.reset(db);
}

void Database::Load() {
  std::vector<std::string> keys(setting_.keys);
  for (uint64_t i = 0; i < setting_.keys; ++i) {
    keys[i].resize(setting_.key_bytes);
    maker_.Write(i, true, keys[i].data());
  }
  std::sort(keys.begin(), keys.end());
  const std::string file = path_ + "/loaded.sst";
  const std::string value(kValueBytes, 'v');
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db_->GetOptions());
  Check(writer.Open(file));
  for (const std::string& key : keys) Check(writer.Put(key, value));
  Check(writer.Finish());
  rocksdb::IngestExternalFileOptions ingest;
  ingest.move_files = true;
  Check(db_->IngestExternalFile({file}, ingest));
}

void Database::SetKeys(Keys kind) {
  if (kind == Keys::kAbsentNeighbours) {
    for (size_t i = 0; i < chunk_.capacity(); i += kBatch) {
      const uint64_t first = TakeAbsent(kBatch);
      for (size_t j = 0; j < kBatch; ++j) {
        maker_.WriteNeighbour(first, j,
                              chunk_.data() + (i + j) * maker_.size());
      }
    }
    return;
  }
  const bool present = kind == Keys::kPresent;
  for (size_t i = 0; i < chunk_.capacity(); ++i) {
    const uint64_t number =
        present ? random_.Below(setting_.keys) : TakeAbsent(1);
    chunk_.Set(i, maker_, number, present);
  }
}

void Database::CheckFound(uint64_t found, Keys kind) const {
  if (found != (kind == Keys::kPresent ? chunk_.capacity() : 0)) {
    throw std::runtime_error(
        "the database lost a key, or found one that was never put");
  }
}

double Database::TimeGets(Keys kind) {
  SetKeys(kind);
  const rocksdb::ReadOptions options;
  rocksdb::ColumnFamilyHandle* family = db_->DefaultColumnFamily();
  rocksdb::PinnableSlice value;
  uint64_t found = 0;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < chunk_.capacity(); ++i) {
    found += db_->Get(options, family, chunk_[i], &value).ok();
    value.Reset();
  }
  const std::chrono::duration<double, std::nano> spent =
      std::chrono::steady_clock::now() - start;
  CheckFound(found, kind);
  return spent.count() / static_cast<double>(chunk_.capacity());
}

uint64_t Database::MultiGetAll() {
  const rocksdb::ReadOptions options;
  rocksdb::ColumnFamilyHandle* family = db_->DefaultColumnFamily();
  std::array<Slice, kBatch> keys;
  std::array<rocksdb::PinnableSlice, kBatch> values;
  std::array<rocksdb::Status, kBatch> statuses;
  uint64_t found = 0;
  for (size_t i = 0; i < chunk_.capacity(); i += kBatch) {
    for (size_t j = 0; j < kBatch; ++j) keys[j] = chunk_[i + j];
    db_->MultiGet(options, family, kBatch, keys.data(), values.data(),
                  statuses.data());
    for (size_t j = 0; j < kBatch; ++j) {
      found += statuses[j].ok();
      values[j].Reset();
    }
  }
  return found;
}

double Database::TimeMultiGets(Keys kind) {
  SetKeys(kind);
  const auto start = std::chrono::steady_clock::now();
  const uint64_t found = MultiGetAll();
  const std::chrono::duration<double, std::nano> spent =
      std::chrono::steady_clock::now() - start;
  CheckFound(found, kind);
  return spent.count() / static_cast<double>(chunk_.capacity());
}

// What the filters count in `calls` while MultiGet asks for such keys.
double Database::KeysPerBatch(Keys kind, const FilterCalls& calls) {
  const uint64_t keys_before = calls.batch_keys;
  const uint64_t batches_before = calls.batches;
  for (uint64_t done = 0; done < warm_lookups_; done += chunk_.capacity()) {
    TimeMultiGets(kind);
  }
  const uint64_t batches = calls.batches - batches_before;
  if (batches == 0) return 0;
  return static_cast<double>(calls.batch_keys - keys_before) /
         static_cast<double>(batches);
}

void Database::Count(DatabaseRow* row) {
  FilterCalls calls;
  if (policy_ != nullptr) OpenWith(NewCountingPolicy(policy_, &calls));
  rocksdb::TablePropertiesCollection all;
  Check(db_->GetPropertiesOfAllTables(&all));
  for (const auto& [file, properties] : all) {
    row->stored_bits_per_key += static_cast<double>(properties->filter_size) *
                                8 / static_cast<double>(setting_.keys);
  }
  if (policy_ != nullptr) {
    if (row->stored_bits_per_key == 0) {
      throw std::runtime_error(row->competitor + " wrote no filter");
    }
    row->keys_per_batch = KeysPerBatch(Keys::kAbsent, calls);
    row->neighbours_per_batch = KeysPerBatch(Keys::kAbsentNeighbours, calls);
    const auto batched = static_cast<double>(calls.batch_keys);
    const auto single = static_cast<double>(calls.single_keys);
    if (batched > 0) row->batched_share = batched / (batched + single);
    OpenWith(policy_);
  }
  // So that everything is in the cache.
  for (uint64_t done = 0; done < std::max(setting_.keys, warm_lookups_);
       done += chunk_.capacity()) {
    TimeMultiGets(Keys::kPresent);
  }
}

struct Contestant {
  std::unique_ptr<Competitor> competitor;
  std::unique_ptr<Database> database;
  DatabaseRow row;
};

std::string NameOf(const std::string& figure, const DatabaseRow& row) {
  std::ostringstream name;
  name << figure << '/' << row.competitor << '/'
       << (row.partitioned ? "partitioned" : "full")
       << "/keys:" << row.setting.keys << "/key_bytes:" << row.setting.key_bytes
       << "/bits_per_key:" << row.setting.bits_per_key;
  return name.str();
}

void Register(Contestant* contestant) {
  for (const char* figure : AllDatabaseFigures()) {
    const std::string_view name = figure;
    const bool multi = name.find("multi") == 0;
    const Keys kind = name.find("hit") != name.npos ? Keys::kPresent
                      : name.find("neighbours") != name.npos
                          ? Keys::kAbsentNeighbours
                          : Keys::kAbsent;
    Database* database = contestant->database.get();
    // Per key, so that few keys make a repetition.
    RegisterMeasurement(NameOf(figure, contestant->row), 1,
                        [database, kind, multi] {
                          return multi ? database->TimeMultiGets(kind)
                                       : database->TimeGets(kind);
                        });
  }
}

class Bench {
 public:
  Bench(const Options& options, Collector* collector)
      : options_(options), collector_(collector) {}

  void Measure(const Setting& setting, std::vector<DatabaseRow>* rows) {
    contestants_.clear();
    for (const CompetitorEntry& entry : AllCompetitors()) {
      const auto& names = options_.competitors;
      if (entry.has_policy &&
          std::find(names.begin(), names.end(), entry.name) != names.end()) {
        Add(entry.name, entry.make(setting.bits_per_key), setting);
      }
    }
    Add("none", nullptr, setting);

    ShowProgress(progress_ + ": timing");
    benchmark::ClearRegisteredBenchmarks();
    for (const auto& contestant : contestants_) Register(contestant.get());
    benchmark::RunSpecifiedBenchmarks(collector_);
    benchmark::ClearRegisteredBenchmarks();
    const auto medians = collector_->TakeMedians();
    for (const auto& contestant : contestants_) {
      for (const char* figure : AllDatabaseFigures()) {
        const auto median = medians.find({NameOf(figure, contestant->row), 1});
        if (median != medians.end()) {
          contestant->row.times[figure] = median->second;
        }
      }
      rows->push_back(contestant->row);
    }
    contestants_.clear();
    ShowProgress("");
  }

 private:
  void Add(const std::string& name, std::unique_ptr<Competitor> competitor,
           const Setting& setting) {
    for (bool partitioned : {false, true}) {
      progress_ = WithThousands(setting.keys) + " keys in a database";
      ShowProgress(progress_ + ": loading, " + name);
      auto contestant = std::make_unique<Contestant>();
      contestant->row.competitor = name;
      contestant->row.partitioned = partitioned;
      contestant->row.setting = setting;
      contestant->database = std::make_unique<Database>(
          scratch_.path() + "/" + std::to_string(next_++),
          competitor == nullptr ? nullptr : competitor->Policy(), partitioned,
          setting, options_);
      contestant->database->Load();
      contestant->database->Count(&contestant->row);
      contestants_.push_back(std::move(contestant));
    }
  }

  const Options& options_;
  Collector* collector_;
  ScratchDirectory scratch_{"filter_bench"};
  std::string progress_;
  int next_ = 0;
  std::vector<std::unique_ptr<Contestant>> contestants_;
};

}  // namespace

std::vector<DatabaseRow> MeasureDatabases(const Options& options,
                                          Collector* collector) {
  Bench bench(options, collector);
  std::vector<DatabaseRow> rows;
  for (const Setting& setting : SettingsOf(options)) {
    bench.Measure(setting, &rows);
  }
  return rows;
}

}  // namespace deltabloom::bench
