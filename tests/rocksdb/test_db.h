// The fixture of all tests on RocksDB: policies, filters outside a database,
// databases in temporary folders that are filled with numbered keys, and
// lookups that are counted. Brings GoogleTest and the headers of the standard
// library that most tests need.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/version.h"
#include "tests/folder.h"
#include "util/layouts/layout.h"

namespace deltabloom::testing {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyHandle;
using rocksdb::ColumnFamilyOptions;
using rocksdb::Comparator;
using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Iterator;
using rocksdb::Options;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;

using internal::NewBitsBuilder;
using internal::NewBitsReader;
using test::ReadFile;
using test::TempDir;

using PolicyPtr = std::shared_ptr<const FilterPolicy>;

#define ASSERT_OK(expression)                        \
  do {                                               \
    const rocksdb::Status status_ = (expression);    \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define EXPECT_OK(expression)                        \
  do {                                               \
    const rocksdb::Status status_ = (expression);    \
    EXPECT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define EXPECT_CONTAINS(text, part) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, text)
#define EXPECT_LACKS(text, part) \
  EXPECT_PRED_FORMAT2(::testing::IsNotSubstring, part, text)

// Returns how often `text` contains `part`.
inline int CountIn(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// A logger whose lines a test can read.
class LineLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[1000];
    std::vsnprintf(line, sizeof(line), format, arguments);
    lines.push_back(line);
  }
  std::vector<std::string> Lines(const std::string& part) const {
    std::vector<std::string> found;
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  std::vector<std::string> lines;
};

inline std::unique_ptr<rocksdb::FilterBitsBuilder> NewBuilder(
    const FilterPolicy& policy, rocksdb::Logger* log, int level = -1,
    bool bottommost = false) {
  static const BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.level_at_creation = level;
  context.is_bottommost = bottommost;
  context.info_log = log;
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(
      policy.GetBuilderWithContext(context));
}

inline PolicyPtr Deltabloom(
    double bits_per_key = 10,
    RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits_per_key;
  options.compatibility = compatibility;
  return NewRocksDBFilterPolicyOrThrow(options);
}

// Creates a policy from text as an OPTIONS file or the command line of a tool
// does.
inline Status CreatePolicy(const std::string& text, PolicyPtr* policy) {
  std::string error;
  EXPECT_TRUE(RegisterRocksDB(&error)) << error;
  policy->reset();
  return FilterPolicy::CreateFromString(ConfigOptions(), text, policy);
}

inline PolicyPtr PolicyFromString(const std::string& text) {
  PolicyPtr policy;
  EXPECT_OK(CreatePolicy(text, &policy));
  EXPECT_NE(policy, nullptr) << text;
  return policy;
}

// Expects that `text` makes no policy, and an error of one line that contains
// `answer`.
inline void ExpectRefused(const std::string& text, const std::string& answer) {
  PolicyPtr policy;
  const Status status = CreatePolicy(text, &policy);
  EXPECT_TRUE(status.IsInvalidArgument()) << text;
  EXPECT_CONTAINS(status.ToString(), answer) << text;
  EXPECT_LACKS(status.ToString(), "\n");
}

// Every layout that a sealed filter can have.
inline std::vector<std::string> LayoutNames() {
  std::vector<std::string> names;
  for (const internal::LayoutRow* row : internal::kLayouts) {
    if (row->classic_hash == Hash::kMurmurHash2) names.push_back(row->name);
  }
  return names;
}

inline PolicyPtr RocksDBBloom(double bits_per_key = 10) {
  return PolicyPtr(rocksdb::NewBloomFilterPolicy(bits_per_key));
}

inline PolicyPtr RocksDBRibbon(double bits_per_key = 10) {
  return PolicyPtr(rocksdb::NewRibbonFilterPolicy(bits_per_key, -1));
}

inline std::string Build(const FilterPolicy& policy,
                         const std::vector<std::string>& keys) {
  const auto builder = NewBitsBuilder(policy);
  for (const std::string& key : keys) builder->AddKey(key);
  std::unique_ptr<const char[]> owner;
  const std::string filter = builder->Finish(&owner).ToString();
  EXPECT_OK(builder->MaybePostVerify(filter));
  return filter;
}

// The answers to a batch, each of which was `before`.
inline std::vector<bool> MatchBatch(rocksdb::FilterBitsReader* reader,
                                    const std::vector<std::string>& keys,
                                    bool before = false) {
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const size_t n = keys.size();
  const std::unique_ptr<bool[]> answers(new bool[n + 1]);
  std::fill_n(answers.get(), n + 1, before);
  reader->MayMatch(static_cast<int>(n), pointers.data(), answers.get());
  EXPECT_EQ(answers[n], before) << "written past the batch";
  return std::vector<bool>(answers.get(), answers.get() + n);
}

inline int Matches(rocksdb::FilterBitsReader* reader,
                   const std::vector<std::string>& keys) {
  return static_cast<int>(std::count_if(
      keys.begin(), keys.end(),
      [reader](const auto& key) { return reader->MayMatch(key); }));
}
inline int Matches(const FilterPolicy& policy, const std::string& filter,
                   const std::vector<std::string>& keys) {
  return Matches(NewBitsReader(policy, filter).get(), keys);
}

// The even numbers are keys, the odd ones are absent from the same range.
inline std::string Key(int i) {
  char text[16];
  std::snprintf(text, sizeof(text), "user%08d", i);
  return text;
}
inline std::string Value(const std::string& key) { return "value of " + key; }

// Key(2 * i + odd) for i in [begin, end).
inline std::vector<std::string> Keys(int begin, int end, int odd = 0) {
  std::vector<std::string> keys;
  for (int i = begin; i < end; ++i) keys.push_back(Key(2 * i + odd));
  return keys;
}

// The layout of a test database; the defaults are a full filter in an
// uncompressed table.
using Change = std::function<void(Options*, BlockBasedTableOptions*)>;

struct DbConfig {
  PolicyPtr policy;
  bool partitioned = false;
  Change change = nullptr;
};

inline Options MakeOptions(const DbConfig& config) {
  Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  options.write_buffer_size = 4 << 20;
  options.allow_fallocate = false;  // which fills memory in /dev/shm
  options.statistics = rocksdb::CreateDBStatistics();
  BlockBasedTableOptions table;
  table.filter_policy = config.policy;
  if (config.partitioned) {
    table.partition_filters = true;
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 512;
  }
  if (config.change) config.change(&options, &table);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// The out parameter of DB::Open and its variants: a raw pointer until RocksDB
// 10, a unique_ptr from 11 on. Open(..., OpensInto(&db)) fills db with either.
class OpensInto {
 public:
  using Owner = std::unique_ptr<rocksdb::DB>;
  explicit OpensInto(Owner* owner) : owner_(owner) {}
  OpensInto(const OpensInto&) = delete;
  OpensInto& operator=(const OpensInto&) = delete;
#if ROCKSDB_MAJOR >= 11
  operator Owner*() const { return owner_; }
#else
  ~OpensInto() { owner_->reset(raw_); }
  operator rocksdb::DB**() { return &raw_; }
#endif

 private:
  Owner* owner_;
#if ROCKSDB_MAJOR < 11
  rocksdb::DB* raw_ = nullptr;
#endif
};

inline std::unique_ptr<rocksdb::DB> Open(const Options& options,
                                         const std::string& path) {
  std::unique_ptr<rocksdb::DB> db;
  const Status status = rocksdb::DB::Open(options, path, OpensInto(&db));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return db;
}

inline PolicyPtr PolicyIn(const Options& options) {
  return options.table_factory->GetOptions<BlockBasedTableOptions>()
      ->filter_policy;
}

inline std::string Option(const FilterPolicy& policy, const std::string& name) {
  std::string value;
  EXPECT_OK(policy.GetOption(ConfigOptions(), name, &value));
  return value;
}

// Waits for flushes and compactions that run or are scheduled. RocksDB wakes
// who waits for one before it calls listeners and deletes files.
inline void FinishJobs(rocksdb::DB* db) {
  EXPECT_OK(db->PauseBackgroundWork());
  EXPECT_OK(db->ContinueBackgroundWork());
}

// Puts Key(2 * i) for i in [begin, end) and flushes them into a table.
inline void Load(rocksdb::DB* db, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const std::string key = Key(2 * i);
    ASSERT_OK(db->Put({}, key, Value(key)));
  }
  ASSERT_OK(db->Flush({}));
}

// The results of lookups of Load()'s keys and of as many absent keys between
// them, each by Get and by MultiGet.
struct Lookups {
  int missed = 0;   // stored keys not found, or found with another value
  int phantom = 0;  // absent keys found
  uint64_t absent = 0;
  uint64_t useful = 0;  // absent keys that a filter rejected
};

inline void ExpectNoneMissed(const Lookups& lookups) {
  EXPECT_EQ(lookups.missed, 0);
  EXPECT_EQ(lookups.phantom, 0);
}

// Expects that filters rejected absent keys: without filters, and with filters
// that match everything, useful is 0.
inline void ExpectFiltered(const Lookups& lookups) {
  ExpectNoneMissed(lookups);
  EXPECT_GT(lookups.useful, lookups.absent * 9 / 10);
}

// Expects that every key was found, without the help of a filter.
inline void ExpectUnfiltered(const Lookups& lookups) {
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
}

// Spells a key for lookups.
using Spelling = std::function<std::string(const std::string& key)>;

// Looks up Key(2 * i) and Key(2 * i + 1) for i in [begin, end), by MultiGet in
// batches of 2 to 40 keys.
inline Lookups GetAll(rocksdb::DB* db, int begin, int end,
                      const Spelling& spell = nullptr) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  const auto count = [&](int number, const Status& status, const Slice& value) {
    if (number % 2 == 1) {
      ++result.absent;
      result.phantom += status.IsNotFound() ? 0 : 1;
    } else if (!status.ok() || value != Value(Key(number))) {
      ++result.missed;
    }
  };
  int batch = 2;
  for (int first = 2 * begin; first < 2 * end; batch = batch % 40 + 2) {
    std::vector<std::string> spelt;
    for (int i = first; i < std::min(first + batch, 2 * end); ++i) {
      spelt.push_back(spell ? spell(Key(i)) : Key(i));
    }
    const std::vector<Slice> keys(spelt.begin(), spelt.end());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<Status> statuses(keys.size());
    db->MultiGet({}, db->DefaultColumnFamily(), keys.size(), keys.data(),
                 values.data(), statuses.data());
    for (size_t k = 0; k < keys.size(); ++k, ++first) {
      count(first, statuses[k], values[k]);
      std::string value;
      const Status status = db->Get({}, keys[k], &value);
      count(first, status, value);
    }
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  return result;
}

// An extractor that no program but these tests knows.
class FirstHalf : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "first half"; }
  Slice Transform(const Slice& key) const override {
    return {key.data(), key.size() / 2};
  }
  bool InDomain(const Slice&) const override { return true; }
};

// Writes a table that can be ingested.
inline void WriteSst(const Options& options, const std::string& path,
                     const std::vector<std::string>& keys,
                     ColumnFamilyHandle* family = nullptr) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options, family);
  ASSERT_OK(writer.Open(path));
  for (const auto& key : keys) ASSERT_OK(writer.Put(key, Value(key)));
  ASSERT_OK(writer.Finish());
}

// A database in a folder of its own, which is opened by the constructor or by
// Open, as often as a test likes.
class TestDb {
 public:
  TestDb() = default;
  explicit TestDb(const Options& options) { Open(options); }
  explicit TestDb(PolicyPtr policy, bool partitioned = false,
                  Change change = nullptr)
      : TestDb(
            MakeOptions({std::move(policy), partitioned, std::move(change)})) {}

  // Closes the database if it is open.
  Status TryOpen(const Options& options) {
    Close();
    options_ = options;
    return rocksdb::DB::Open(options, path_, OpensInto(&db_));
  }
  void Open(const Options& options) { EXPECT_OK(TryOpen(options)); }
  void Open(PolicyPtr policy) { Open(MakeOptions({std::move(policy)})); }
  void Reopen() { Open(options_); }
  void Close() { db_.reset(); }

  rocksdb::DB* get() const { return db_.get(); }
  rocksdb::DB* operator->() const { return db_.get(); }
  operator rocksdb::DB*() const { return db_.get(); }
  const Options& options() const { return options_; }
  const std::string& path() const { return path_; }
  // A path in the folder of the database's folder.
  std::string Path(const std::string& name) const { return dir_.Path(name); }
  std::string Log() const { return ReadFile(path_ + "/LOG"); }

  void Put(const std::string& key, const std::string& value = "value",
           ColumnFamilyHandle* family = nullptr) {
    EXPECT_OK(db_->Put({},
                       family == nullptr ? db_->DefaultColumnFamily() : family,
                       key, value));
  }
  void Flush() { EXPECT_OK(db_->Flush({})); }
  void Load(int begin, int end) { testing::Load(db_.get(), begin, end); }
  void Compact() { EXPECT_OK(db_->CompactRange({}, nullptr, nullptr)); }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& read = {}) const {
    return std::unique_ptr<Iterator>(db_->NewIterator(read));
  }
  // Compacts, and rewrites the tables of the last level as well.
  void Rewrite() {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    EXPECT_OK(db_->CompactRange(all, nullptr, nullptr));
    FinishJobs(db_.get());
  }
  ColumnFamilyHandle* NewFamily(const ColumnFamilyOptions& options,
                                const std::string& name) {
    ColumnFamilyHandle* family = nullptr;
    EXPECT_OK(db_->CreateColumnFamily(options, name, &family));
    return family;
  }
  void CloseFamily(ColumnFamilyHandle* family) {
    EXPECT_OK(db_->DestroyColumnFamilyHandle(family));
  }

  void ExpectFiltered(int begin, int end, const Spelling& spell = nullptr) {
    testing::ExpectFiltered(GetAll(db_.get(), begin, end, spell));
  }
  void ExpectUnfiltered(int begin, int end, const Spelling& spell = nullptr) {
    testing::ExpectUnfiltered(GetAll(db_.get(), begin, end, spell));
  }
  uint64_t Ticker(uint32_t ticker) const {
    return options_.statistics->getTickerCount(ticker);
  }
  // Seeks to a prefix that a filter rejected.
  uint64_t FilteredSeeks() const {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 803
    return Ticker(rocksdb::LAST_LEVEL_SEEK_FILTERED) +
           Ticker(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED);
#else
    return Ticker(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
#endif
  }
  rocksdb::TablePropertiesCollection Tables() const {
    rocksdb::TablePropertiesCollection tables;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&tables));
    return tables;
  }

  // Returns the value of an option in the policy in use.
  std::string Option(const std::string& name) const {
    return testing::Option(*PolicyIn(db_->GetOptions()), name);
  }
  // SetOptions on a field of the policy by its whole name.
  Status SetField(const std::string& name, const std::string& value) {
    return db_->SetOptions(
        {{"table_factory.filter_policy.deltabloom." + name, value}});
  }
  // SetOptions on the policy within the braces of the table factory.
  Status SetPolicy(const std::string& text) {
    return db_->SetOptions(
        {{"block_based_table_factory", "{filter_policy=" + text + "}"}});
  }
  // Returns the options with which a program that loads the OPTIONS file opens
  // the database. Adds statistics, which no OPTIONS file has.
  Options Loaded(bool strict = true) const {
    ConfigOptions config;
    config.ignore_unknown_options = !strict;
    config.ignore_unsupported_options = !strict;
    rocksdb::DBOptions db;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    EXPECT_OK(rocksdb::LoadLatestOptions(config, path_, &db, &families));
    if (strict) {
      EXPECT_OK(
          rocksdb::CheckOptionsCompatibility(config, path_, db, families));
    }
    Options loaded(db, families.at(0).options);
    EXPECT_NE(PolicyIn(loaded), nullptr);
    loaded.statistics = rocksdb::CreateDBStatistics();
    return loaded;
  }

 private:
  TempDir dir_;
  const std::string path_ = dir_.Path("db");
  Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace deltabloom::testing
