// Real databases in temporary folders, and what the tests count in them.
#ifndef DELTABLOOM_TESTS_ROCKSDB_TEST_DB_H_
#define DELTABLOOM_TESTS_ROCKSDB_TEST_DB_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "util/layouts/layout.h"

namespace deltabloom::testing {

using PolicyPtr = std::shared_ptr<const rocksdb::FilterPolicy>;

#define ASSERT_ROCKSDB_OK(expression)                \
  do {                                               \
    const rocksdb::Status status_ = (expression);    \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define EXPECT_ROCKSDB_OK(expression)                \
  do {                                               \
    const rocksdb::Status status_ = (expression);    \
    EXPECT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

inline PolicyPtr Deltabloom(
    double bits_per_key = 10,
    RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits_per_key;
  options.compatibility = compatibility;
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  EXPECT_NE(policy, nullptr) << error;
  return policy;
}

// As from an OPTIONS file or the command line of a tool.
inline PolicyPtr PolicyFromString(const std::string& text) {
  std::string error;
  EXPECT_TRUE(RegisterRocksDB(&error)) << error;
  PolicyPtr policy;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), text, &policy);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_NE(policy, nullptr) << text;
  return policy;
}

// Every layout that a sealed filter can have.
inline std::vector<std::string> LayoutNames() {
  std::vector<std::string> names;
  for (const internal::LayoutRow* const* row = internal::kLayouts;
       *row != nullptr; ++row) {
    if ((*row)->classic_hash == Hash::kMurmurHash2) {
      names.push_back((*row)->name);
    }
  }
  return names;
}

inline PolicyPtr RocksDBBloom(double bits_per_key = 10) {
  return PolicyPtr(rocksdb::NewBloomFilterPolicy(bits_per_key));
}

inline PolicyPtr RocksDBRibbon(double bits_per_key = 10) {
  return PolicyPtr(rocksdb::NewRibbonFilterPolicy(bits_per_key, -1));
}

// A folder that goes away with its owner; in memory where there is room for
// it, for RocksDB syncs every file.
class TempDir {
 public:
  TempDir() {
    std::filesystem::path parent = "/dev/shm";
    if (std::getenv("TMPDIR") != nullptr || access(parent.c_str(), W_OK) != 0) {
      parent = std::filesystem::temp_directory_path();
    }
    std::string name = (parent / "deltabloom-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string Path(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// The even numbers are keys, the odd ones are absent from the same range.
inline std::string Key(int i) {
  char text[16];
  std::snprintf(text, sizeof(text), "user%08d", i);
  return text;
}
inline std::string Value(const std::string& key) { return "value of " + key; }

// How a test database is laid out; the defaults are a full filter in an
// uncompressed table.
struct DbConfig {
  PolicyPtr policy;
  bool partitioned = false;
  std::function<void(rocksdb::Options*, rocksdb::BlockBasedTableOptions*)>
      change;
};

inline rocksdb::Options MakeOptions(const DbConfig& config) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  options.write_buffer_size = 4 << 20;
  options.statistics = rocksdb::CreateDBStatistics();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = config.policy;
  if (config.partitioned) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 512;
  }
  if (config.change) config.change(&options, &table);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Where DB::Open and its kin leave a database: a raw pointer until RocksDB 10,
// a unique_ptr from 11 on. Open(..., OpensInto(&db)) fills db with either.
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

inline std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options,
                                         const std::string& path) {
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status status =
      rocksdb::DB::Open(options, path, OpensInto(&db));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return db;
}

inline PolicyPtr PolicyIn(const rocksdb::Options& options) {
  return options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
      ->filter_policy;
}

inline std::string Option(const rocksdb::FilterPolicy& policy,
                          const std::string& name) {
  std::string value;
  EXPECT_ROCKSDB_OK(policy.GetOption(rocksdb::ConfigOptions(), name, &value));
  return value;
}

// Puts Key(2 * i) for i in [begin, end) and flushes them into a table.
inline void Load(rocksdb::DB* db, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const std::string key = Key(2 * i);
    ASSERT_ROCKSDB_OK(db->Put({}, key, Value(key)));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
}

// What lookups of Load()'s keys and of as many absent ones between them did.
struct Lookups {
  int missed = 0;  // stored keys not found, or found with another value
  int phantom = 0;
  uint64_t useful = 0;         // absent keys that a filter turned away
  uint64_t full_positive = 0;  // keys that a filter let through
};

inline void ExpectNoneMissed(const Lookups& lookups) {
  EXPECT_EQ(lookups.missed, 0);
  EXPECT_EQ(lookups.phantom, 0);
}

// That filters were there and did their work: without one, useful is 0; a
// filter that matches everything has useful 0, too.
inline void ExpectFiltered(const Lookups& lookups, int absent) {
  ExpectNoneMissed(lookups);
  EXPECT_GT(lookups.useful, static_cast<uint64_t>(absent) * 9 / 10);
}

inline Lookups GetAll(rocksdb::DB* db, int begin, int end) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  std::string value;
  for (int i = begin; i < end; ++i) {
    const std::string key = Key(2 * i);
    const rocksdb::Status status = db->Get({}, key, &value);
    if (!status.ok() || value != Value(key)) ++result.missed;
    if (!db->Get({}, Key(2 * i + 1), &value).IsNotFound()) ++result.phantom;
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  result.full_positive =
      statistics->getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  return result;
}

// The same through MultiGet, in batches of 1 to 40 keys.
inline Lookups MultiGetAll(rocksdb::DB* db, int begin, int end) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  size_t batch = 1;
  for (int i = begin; i < end;) {
    std::vector<std::string> names;
    for (; i < end && names.size() < batch; ++i) {
      names.push_back(Key(2 * i));
      names.push_back(Key(2 * i + 1));
    }
    batch = batch % 20 + 1;
    const std::vector<rocksdb::Slice> keys(names.begin(), names.end());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db->MultiGet({}, db->DefaultColumnFamily(), keys.size(), keys.data(),
                 values.data(), statuses.data(), /*sorted_input=*/true);
    for (size_t k = 0; k < keys.size(); ++k) {
      if (k % 2 == 0) {
        if (!statuses[k].ok() || values[k] != Value(names[k])) ++result.missed;
      } else if (!statuses[k].IsNotFound()) {
        ++result.phantom;
      }
    }
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  return result;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_TEST_DB_H_
