// deltabloom refilter on databases of RocksDB: which bytes it changes, that no
// key is lost whatever happens, and what it leaves as it is.
#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/backup_engine.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "tests/folder.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"
#include "tests/tools/tool_test.h"
#include "tools/sst/sst.h"

namespace deltabloom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using rocksdb::BlockBasedTableOptions;
using rocksdb::Options;
using test::ExpectHas;
using testing::Key;

constexpr int kKeys = 4500;  // in the last level
constexpr int kAllKeys = 6000;

// Filters with as many bits per key as fit.
constexpr char kFit[] = "--filter deltabloom:1000:compact ";

using Change = std::function<void(Options*, BlockBasedTableOptions*)>;
using Contents = std::vector<std::pair<std::string, std::string>>;

void Partitioned(Options*, BlockBasedTableOptions* table) {
  table->partition_filters = true;
  table->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
}

// Returns whether RocksDB cuts partitions of filters where those of the index
// are cut, by default, as it did before 10.6.
bool CutsWithIndex() {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
  return !BlockBasedTableOptions().decouple_partitioned_filters;
#else
  return true;
#endif
}

void CutWithIndex([[maybe_unused]] BlockBasedTableOptions* table) {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
  table->decouple_partitioned_filters = false;
#endif
}

class Refilter : public test::ToolTest {
 protected:
  Refilter() : ToolTest("refilter"), path_(File("db")) {}

  static Options MakeOptions(const std::string& policy,
                             const Change& change = nullptr) {
    testing::DbConfig config;
    config.policy = testing::PolicyFromString(policy);
    config.change = [&change](auto* options, auto* table) {
      table->metadata_block_size = 2048;
      options->num_levels = 3;
      if (change) change(options, table);
    };
    return testing::MakeOptions(config);
  }

  // A table in the last level, and two of level 0.
  void Load(const Options& options) {
    fs::remove_all(path_);
    const auto db = testing::Open(options, path_);
    testing::Load(db.get(), 0, kKeys);
    ASSERT_OK(db->CompactRange({}, nullptr, nullptr));
    testing::Load(db.get(), kKeys, kKeys + 750);
    testing::Load(db.get(), kKeys + 750, kAllKeys);
  }

  // Everything, in order; and what seeks within prefixes find.
  static Contents Scan(rocksdb::DB* db, bool prefixes) {
    Contents contents;
    rocksdb::ReadOptions read;
    read.total_order_seek = true;
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      contents.emplace_back(it->key().ToString(), it->value().ToString());
    }
    EXPECT_OK(it->status());
    if (!prefixes) return contents;
    read.total_order_seek = false;
    read.prefix_same_as_start = true;
    it.reset(db->NewIterator(read));
    for (int i = 0; i < 2 * kAllKeys; i += 7) {
      for (it->Seek(Key(i)); it->Valid(); it->Next()) {
        contents.emplace_back(it->key().ToString(), "");
      }
      EXPECT_OK(it->status());
    }
    // A key after the last key of a partition is looked up in the next one.
    for (int i = 0; i < kAllKeys; ++i) {
      it->SeekForPrev(Key(2 * i) + "x");
      contents.emplace_back(it->Valid() ? it->key().ToString() : "", "");
      EXPECT_OK(it->status());
    }
    return contents;
  }

  Contents ScanClosed(const Options& options) const {
    return Scan(testing::Open(options, path_).get(),
                options.prefix_extractor != nullptr);
  }

  std::map<std::string, std::string> Tables() const {
    std::map<std::string, std::string> tables;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".sst") {
        tables[entry.path()] = test::ReadFile(entry.path());
      }
    }
    return tables;
  }

  json Do(const std::string& arguments, int status = 0) {
    return RunJson(arguments + " " + path_, status);
  }
  // Returns what deltabloom verify finds.
  json Verify(int status = 0) {
    command_ = "verify";
    const json document = Do("", status);
    command_ = "refilter";
    return document;
  }
  json Summary(const std::string& arguments, int status = 0) {
    return Do(arguments, status).at("summary");
  }

  // Refilters, and expects that all tables have another filter, and that
  // everything else is as it was; then that the database works on.
  void ExpectReplaced(Options options, const std::string& filter,
                      const std::string& policy);

  // Opens the database with two column families, creates what is missing, and
  // calls use(db, family, key) for each key.
  template <typename Use>
  void ForEachKey(const Options& options, const std::string& name,
                  const Options& other, const Use& use) {
    rocksdb::DBOptions both(options);
    both.create_missing_column_families = true;
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_OK(rocksdb::DB::Open(both, path_,
                                {{"default", options}, {name, other}},
                                &families, testing::OpensInto(&db)));
    for (auto* family : families) {
      for (int i = 0; i < kKeys; ++i) use(db.get(), family, Key(2 * i));
      ASSERT_OK(db->Flush({}, family));
      ASSERT_OK(db->DestroyColumnFamilyHandle(family));
    }
  }

  // Random operations, whose results are those of a map.
  static void WorkBesideModel(rocksdb::DB* db);

  const std::string path_;
};

void Refilter::WorkBesideModel(rocksdb::DB* db) {
  const auto read = [db] {
    const Contents contents = Scan(db, false);
    return std::map<std::string, std::string>(contents.begin(), contents.end());
  };
  auto model = read();
  test::FreshRandom random;
  for (int i = 1; i <= 1000; ++i) {
    const std::string key = Key(static_cast<int>(random.Below(2 * kAllKeys)));
    std::string value = std::to_string(i);
    const uint64_t kind = random.Below(4);
    if (kind == 0) {
      ASSERT_OK(db->Put({}, key, value));
      model[key] = value;
    } else if (kind == 1) {
      ASSERT_OK(db->Delete({}, key));
      model.erase(key);
    } else {
      const bool found = db->Get({}, key, &value).ok();
      ASSERT_EQ(found, model.count(key) == 1) << key;
      ASSERT_TRUE(!found || value == model.at(key)) << key;
    }
    if (i % 500 != 0) continue;
    ASSERT_OK(i % 1000 == 0 ? db->CompactRange({}, nullptr, nullptr)
                            : db->Flush({}));
    ASSERT_TRUE(read() == model);
  }
}

// Only filters, and the block with their handles, differ.
void ExpectSameElsewhere(const std::string& path, std::string before,
                         std::string now) {
  ASSERT_EQ(before.size(), now.size());
  EXPECT_TRUE(before != now);
  const internal::SstFile file = test::Walked(before).file;
  // Filters lie where the old ones were; with differences in the index of
  // partitions, where these were together.
  std::vector<internal::BlockHandle> changed = test::FilterBlocksOf(before);
  changed.push_back(file.filters.at(0).scope ==
                            internal::FilterScope::kPartitioned
                        ? file.filters.at(0).handle
                        : file.metaindex);
  for (const internal::BlockHandle& block : changed) {
    const size_t size = block.size + internal::kBlockTrailerSize;
    before.replace(block.offset, size, size, '\0');
    now.replace(block.offset, size, size, '\0');
  }
  EXPECT_TRUE(before == now) << path;
}

void Refilter::ExpectReplaced(Options options, const std::string& filter,
                              const std::string& policy) {
  const Contents contents = ScanClosed(options);
  const auto before = Tables();
  ASSERT_GE(before.size(), 2u);
  for (const auto& [path, bytes] : before)
    ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(Summary("--dry-run " + filter).at("planned"), before.size());
  EXPECT_TRUE(Tables() == before);
  EXPECT_EQ(Summary(filter).at("replaced"), before.size());
  auto* const table =
      options.table_factory->GetOptions<BlockBasedTableOptions>();
  if (table->filter_policy->Name() == std::string("deltabloom")) {
    EXPECT_EQ(err_, "");
  } else {
    ExpectHas(err_, "which does not use Deltabloom's filters: until it is");
  }
  const auto now = Tables();
  ASSERT_EQ(now.size(), before.size());
  for (const auto& [path, bytes] : before) {
    ExpectSameElsewhere(path, bytes, now.at(path));
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
  }
  EXPECT_EQ(Summary(filter).at("replaced"), 0);
  EXPECT_TRUE(Tables() == now);
  EXPECT_EQ(Verify().at("summary").at("sound"), before.size());

  table->filter_policy = testing::PolicyFromString(policy);
  table->block_cache = nullptr;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(*table));
  options.paranoid_checks = true;
  const auto db = testing::Open(options, path_);
  ASSERT_OK(db->VerifyChecksum());
  const bool prefixes = options.prefix_extractor != nullptr;
  EXPECT_TRUE(Scan(db.get(), prefixes) == contents);
  if (options.merge_operator == nullptr) {
    const testing::Lookups lookups = testing::GetAll(db.get(), 0, kAllKeys);
    table->whole_key_filtering ? testing::ExpectFiltered(lookups)
                               : testing::ExpectNoneMissed(lookups);
  }
  WorkBesideModel(db.get());
}

constexpr char kCompact[] = "deltabloom:10:compact";

constexpr char kLowercase[] = "id=deltabloom;key_transform=ascii_lowercase";

// --- Changes of the options with which RocksDB writes the tables -------------

void Prefixes(Options* options, BlockBasedTableOptions*) {
  options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(11));
}

void OnlyPrefixes(Options* options, BlockBasedTableOptions* table) {
  options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
  table->whole_key_filtering = false;
}

void Dictionary(Options* options, BlockBasedTableOptions*) {
  options->compression_opts.max_dict_bytes = 16384;
  options->compression_opts.zstd_max_train_bytes = 65536;
}

void HashIndexOfDataBlocks(Options*, BlockBasedTableOptions* table) {
  table->data_block_index_type =
      BlockBasedTableOptions::kDataBlockBinaryAndHash;
}

#if ROCKSDB_MAJOR > 10
void SeparateValues(Options*, BlockBasedTableOptions* table) {
  table->separate_key_value_in_data_block = true;
}
#endif

Change Format(uint32_t version) {
  return [version](auto*, auto* table) { table->format_version = version; };
}

Change Checksum(rocksdb::ChecksumType type) {
  return [type](auto*, auto* table) { table->checksum = type; };
}

// Tables are not compressed if RocksDB was built without this compression.
Change Compressed(rocksdb::CompressionType type) {
  return [type](auto* options, auto*) {
    const auto supported = rocksdb::GetSupportedCompressions();
    if (std::find(supported.begin(), supported.end(), type) !=
        supported.end()) {
      options->compression = type;
    }
  };
}

// --- Filters and tables that are replaced ------------------------------------

struct ReplacedCase {
  const char* name;
  std::vector<Change> changes;
  std::string old = "bloomfilter:10";
  std::string filter = kFit;
  std::string policy = kCompact;
};

std::vector<ReplacedCase> KindsOfFilters() {
  return {
      {"full", {}},
      {"ribbon, two jobs",
       {},
       "ribbonfilter:8",
       kFit + std::string("--jobs 2")},
      {"local", {}, "deltabloom:10:local", "--filter deltabloom:10:compact"},
      {"prefixes", {Prefixes}},
      {"only prefixes", {OnlyPrefixes}},
      {"partitioned with prefixes", {Partitioned, Prefixes}},
      {"partitioned, only prefixes", {Partitioned, OnlyPrefixes}},
      {"delta-encoded index of partitions",
       {Partitioned,
        [](auto*, auto* table) { table->index_block_restart_interval = 16; }}},
      {"capped prefixes",
       {Partitioned,
        [](auto* options, auto*) {
          options->prefix_extractor.reset(
              rocksdb::NewCappedPrefixTransform(10));
        }}},
      {"seeded",
       {},
       "bloomfilter:10",
       "--filter 'id=deltabloom:20:compact;seeded=on;payload_check=on'"},
      {"seeded partitions",
       {Partitioned},
       "deltabloom:10:local",
       "--filter 'id=deltabloom:20:compact;seeded=on'"},
      {"key transform",
       {},
       std::string(kLowercase) + ";layout=local",
       std::string("--filter '") + kLowercase +
           ";layout=compact;bits_per_key=20'",
       kLowercase},
      {"by level, Zstd",
       {Compressed(rocksdb::kZSTD)},
       "bloomfilter:16",
       "--filter deltabloom:16:compact:levels"},
      {"reverse order",
       {Partitioned,
        [](auto* options, auto*) {
          options->comparator = rocksdb::ReverseBytewiseComparator();
        }}},
      {"partitions that end with a key",
       {Partitioned,
        [](auto* options, auto* table) {
          options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
          table->index_shortening =
              BlockBasedTableOptions::IndexShorteningMode::kNoShortening;
        }}},
  };
}

std::vector<ReplacedCase> FormatsAndCompressions() {
  std::vector<ReplacedCase> cases = {
      {"format 2, hash index of data blocks, Snappy, no checksums",
       {Format(2), Compressed(rocksdb::kSnappyCompression),
        Checksum(rocksdb::kNoChecksum), HashIndexOfDataBlocks}},
      {"format 3, first keys in the index, BZip2, CRC32c",
       {Format(3), Compressed(rocksdb::kBZip2Compression),
        Checksum(rocksdb::kCRC32c),
        [](auto*, auto* table) {
          table->index_type = BlockBasedTableOptions::kBinarySearchWithFirstKey;
        }}},
      {"format 4, hash index, LZ4, xxHash",
       {Format(4), Prefixes, Compressed(rocksdb::kLZ4Compression),
        Checksum(rocksdb::kxxHash),
        [](auto*, auto* table) {
          table->index_type = BlockBasedTableOptions::kHashSearch;
        }}},
      {"partitioned, Zlib, xxHash64",
       {Partitioned, Compressed(rocksdb::kZlibCompression),
        Checksum(rocksdb::kxxHash64)}},
      {"LZ4HC with a dictionary, XXH3",
       {Compressed(rocksdb::kLZ4HCCompression), Dictionary,
        Checksum(rocksdb::kXXH3)}},
      {"Zstd with a dictionary", {Compressed(rocksdb::kZSTD), Dictionary}},
      {"Zlib with a dictionary",
       {Compressed(rocksdb::kZlibCompression), Dictionary}},
  };
#if ROCKSDB_MAJOR > 10
  cases.push_back({"separate values", {SeparateValues}});
  cases.push_back({"separate values and hash index",
                   {Partitioned, SeparateValues, HashIndexOfDataBlocks}});
#endif
  const uint32_t last_format = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 1112 ? 8
                               : ROCKSDB_MAJOR > 10                        ? 7
                               : ROCKSDB_MAJOR > 8                         ? 6
                                                                           : 5;
  for (uint32_t version = 2; version <= last_format; ++version) {
    cases.push_back({"partitioned", {Partitioned, Format(version)}});
    if (version > 5) cases.push_back({"full", {Format(version)}});
  }
  return cases;
}

class RefilterReplaces : public Refilter {
 protected:
  void ExpectAllReplaced(const std::vector<ReplacedCase>& cases) {
    for (const ReplacedCase& c : cases) {
      SCOPED_TRACE(std::string(c.name) + " " +
                   std::to_string(&c - cases.data()));
      const Options options = MakeOptions(c.old, [&](auto* o, auto* table) {
        for (const Change& change : c.changes) change(o, table);
      });
      Load(options);
      ExpectReplaced(options, c.filter, c.policy);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(RefilterReplaces, FiltersOfEveryKind) {
  ExpectAllReplaced(KindsOfFilters());
}

TEST_F(RefilterReplaces, FiltersInTablesOfEveryFormat) {
  ExpectAllReplaced(FormatsAndCompressions());
}

// --- Databases of every kind -------------------------------------------------

// Deletions, merges, range deletions, values in blob files, ingested tables.
TEST_F(Refilter, EntriesOfEveryKind) {
  Options options = MakeOptions("bloomfilter:10");
  ASSERT_OK(rocksdb::MergeOperator::CreateFromString(
      rocksdb::ConfigOptions(), "stringappend", &options.merge_operator));
  options.enable_blob_files = true;
  options.min_blob_size = 100;
  {
    const auto db = testing::Open(options, path_);
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = Key(2 * i);
        const int kind = (i + part) % 5;
        ASSERT_OK(kind == 0   ? db->Put({}, key, std::string(200, 'b'))
                  : kind == 1 ? db->Delete({}, key)
                  : kind == 2 ? db->Merge({}, key, "merged")
                              : db->Put({}, key, "value"));
      }
      ASSERT_OK(db->DeleteRange({}, db->DefaultColumnFamily(), Key(100 * part),
                                Key(100 * part + 50)));
      ASSERT_OK(db->Flush({}));
    }
    testing::WriteSst(options, File("ingested.sst"), testing::Keys(500, 6000));
    rocksdb::IngestExternalFileOptions ingest;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR < 1110
    ingest.write_global_seqno = true;
#endif
    ASSERT_OK(db->IngestExternalFile({File("ingested.sst")}, ingest));
  }
  // All but the 25 of a deleted range, which a flush leaves out.
  const std::string ingested = Tables().rbegin()->first;
  for (const json& file : json(Verify().at("files"))) {
    EXPECT_EQ(file.at("keys_asked"),
              file.at("file") == ingested ? 5500 : kKeys - 25);
  }
  ExpectReplaced(options, kFit, kCompact);
}

// Column families with policies and directories of their own: without --filter
// each gets the filters of its policy, as large as the old ones.
TEST_F(Refilter, FamiliesAndPaths) {
  const auto elsewhere = [this](auto* options, auto* table) {
    Partitioned(options, table);
    table->metadata_block_size = 2048;
    options->cf_paths = {{File("elsewhere"), 1 << 30}};
  };
  const auto get = [](auto* db, auto* family, const std::string& key) {
    std::string value;
    ASSERT_OK(db->Get({}, family, key, &value));
  };
  ForEachKey(MakeOptions("bloomfilter:10"), "other:2",
             MakeOptions("bloomfilter:16", elsewhere),
             [](auto* db, auto* family, const std::string& key) {
               ASSERT_OK(db->Put({}, family, key, "value"));
             });
  const std::string lowercase =
      "id=deltabloom;bits_per_key=5;key_transform=ascii_lowercase";
  const std::string seeded =
      "id=deltabloom;bits_per_key=16;layout=compact;seeded=on";
  const auto use = [&] {
    ForEachKey(MakeOptions(lowercase), "other:2",
               MakeOptions(seeded, elsewhere), get);
  };
  use();
  EXPECT_EQ(Summary("", 1).at("replaced"), 1);
  ExpectHas(err_, "it is not there: name its directory by --path");
  // The directory of the database is known under any name.
  const std::string path = "--path " + path_ + "/. --path " + File("elsewhere");
  // Limits of --filter are part of the plan: with layout local only filters of
  // 16 bits are better than RocksDB's.
  EXPECT_EQ(
      Summary(path + " --dry-run --filter "
                     "'id=deltabloom;layout=compact;max_build_bytes=1000'")
          .at("planned"),
      1);
  struct stat lock;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
    fs::remove(path_ + "/LOCK");
  }
  const json document = Do(path);
  ASSERT_EQ(stat((path_ + "/LOCK").c_str(), &lock), 0);
  EXPECT_EQ(lock.st_uid, geteuid() == 0 ? 65534u : geteuid());
  EXPECT_EQ(err_, "");
  EXPECT_EQ(document.at("summary").at("replaced"), 1);
  for (const json& file : document.at("files")) {
    EXPECT_EQ(file.at("after").at("filter"), "Deltabloom compact");
    EXPECT_LT(file.at("after").at("rate"), 0.0013);
  }
  // One has no gain, because it has the key transform or the seed; the other
  // one's policy has another key transform.
  for (const std::string& filter : {lowercase, seeded}) {
    const json summary = Summary(path + " --filter '" + filter + "'");
    EXPECT_EQ(summary.at("no_gain"), 1) << filter;
    EXPECT_EQ(summary.at("left"), 1) << filter;
  }
  use();
}

// Timestamps, which are not part of what filters hold.
TEST_F(Refilter, Timestamps) {
  const rocksdb::Comparator* order = nullptr;
  rocksdb::Comparator::CreateFromString(
      rocksdb::ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &order);
  if (order == nullptr) GTEST_SKIP() << "an older RocksDB";
  static constexpr const char* kTimes[] = {"00000001", "00000002", "00000003",
                                           "00000004", "00000005"};
  for (const bool partitioned : {false, true}) {
    fs::remove_all(path_);
    const auto run = [&](const std::string& policy, const auto& use) {
      Options timed = MakeOptions(policy, [&](Options* o, auto* table) {
        if (partitioned) Partitioned(o, table);
        table->block_size = 512;
        table->metadata_block_size = 2048;
      });
      timed.comparator = order;
      ForEachKey(MakeOptions(policy), "timed", timed,
                 [&](auto* db, auto* family, const std::string& key) {
                   if (family->GetID() != 0) use(db, family, key);
                 });
    };
    run("bloomfilter:10", [](auto* db, auto* family, const std::string& key) {
      for (const std::string time : kTimes) {
        ASSERT_OK(db->Put({}, family, key, time, "value"));
      }
    });
    EXPECT_EQ(Summary(kFit).at("replaced"), 1);
    const json file = Verify().at("files").at(0);
    EXPECT_EQ(file.at("column_family"), "timed");
    EXPECT_EQ(file.at("entries"), std::size(kTimes) * kKeys);
    // The versions of a key can be in two partitions, which both are asked if
    // the index's are cut there.
    EXPECT_EQ(file.at("keys_asked") > kKeys, partitioned && CutsWithIndex());
    run(kCompact, [](auto* db, auto* family, const std::string& key) {
      for (const rocksdb::Slice time : kTimes) {
        rocksdb::ReadOptions read;
        read.timestamp = &time;
        std::string value;
        ASSERT_OK(db->Get(read, family, key, &value));
      }
    });
  }
}

// The number of restart points of the indexes contains a hint, as RocksDB 11.1
// sets it.
TEST_F(Refilter, HintOfUniformKeys) {
  Load(MakeOptions("bloomfilter:10", [](auto* options, auto*) {
    options->compression = rocksdb::kNoCompression;
  }));
  for (const auto& [path, bytes] : Tables()) {
    test::ChangeBlock(
        path, test::Walked(bytes).file.index,
        [](char* block, size_t n) { block[n - 1] |= 1 << (29 - 24); });
  }
  EXPECT_EQ(Summary(kFit).at("replaced"), 3);
}

// Whatever bits_per_key of the policy is, a filter keeps its bytes.
TEST_F(Refilter, BitsOfThePolicyDoNotCount) {
  for (const char* policy : {"id=deltabloom;bits_per_key=2",
                             "id=deltabloom;bits_per_key=0;"
                             "upper_bits_per_key=30"}) {
    Load(MakeOptions("bloomfilter:10"));
    testing::Open(MakeOptions(policy), path_);
    EXPECT_EQ(Summary("").at("replaced"), 3) << policy;
    std::filesystem::remove_all(path_);
  }
}

// An incremental backup recognises a table by its session and size, and keeps
// the old filter: every key is found.
TEST_F(Refilter, IncrementalBackupKeepsTheOldFilter) {
  const Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const Contents contents = ScanClosed(options);
  const auto before = Tables();
  rocksdb::BackupEngine* raw = nullptr;
  ASSERT_OK(
      rocksdb::BackupEngine::Open(rocksdb::BackupEngineOptions(File("backup")),
                                  rocksdb::Env::Default(), &raw));
  const std::unique_ptr<rocksdb::BackupEngine> backup(raw);
  for (const bool now : {false, true}) {
    if (now) Do(kFit);
    const auto db = testing::Open(options, path_);
    ASSERT_OK(backup->CreateNewBackup(db.get()));
  }
  ASSERT_OK(backup->VerifyBackup(2, /*verify_with_checksum=*/true));
  ASSERT_OK(backup->RestoreDBFromLatestBackup(path_, path_));
  EXPECT_TRUE(Tables() == before);
  EXPECT_TRUE(ScanClosed(options) == contents);
}

// --- Tables that are left as they are ----------------------------------------

// A filter that cannot be replaced stays as it is, byte by byte, with the
// reason.
TEST_F(Refilter, LeavesAsItIs) {
  const struct {
    const char* policy;
    Change change;
    const char* result;
    const char* reason;
    const char* filter = kFit;
  } cases[] = {
      {"id=deltabloom;compatibility=own", nullptr, "left",
       "its filter has the name deltabloom.SealedFilter", ""},
      {"id=deltabloom;layout=compact", nullptr, "no_gain", "null"},
      {"bloomfilter:10",
       [](auto* options, auto*) {
         options->file_checksum_gen_factory =
             rocksdb::GetFileChecksumGenCrc32cFactory();
       },
       "left", "the MANIFEST has a checksum of the file"},
      {"bloomfilter:10",
       [](auto* options, auto*) {
         options->prefix_extractor = std::make_shared<testing::FirstHalf>();
       },
       "left", "no prefix extractor known here has the name first half"},
      {"bloomfilter:10",
       [](auto*, auto* table) { table->filter_policy = nullptr; }, "left",
       "it has no filter"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(&c - cases);
    Load(MakeOptions(c.policy, c.change));
    const auto before = Tables();
    const json document = Do(c.filter);
    EXPECT_EQ(document.at("summary").at(c.result), 3) << document;
    EXPECT_TRUE(Tables() == before);
    ExpectHas(document.at("files").at(0).at("reason").dump(), c.reason);
  }
  Load(MakeOptions("id=deltabloom;seeded=on"));
  Do("--dry-run --filter deltabloom:10");
  ExpectHas(err_, "with seeded=on, which the new filters lack");
  // A key transform that only the program of the database has.
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (entry.path().filename().string().rfind("OPTIONS", 0) != 0) continue;
    std::string text = test::ReadFile(entry.path());
    Write(entry.path(),
          text.replace(text.find("transform=none"), 14, "transform=their"));
  }
  for (const char* filter : {"", " --filter deltabloom:20:compact"}) {
    const json document = Do(std::string("--dry-run") + filter);
    EXPECT_EQ(document.at("summary").at("left"), 3);
    ExpectHas(document.at("files").at(0).at("reason"), "their");
  }
  EXPECT_EQ(std::system(("rm " + path_ + "/OPTIONS*").c_str()), 0);
  ExpectHas(Run(path_).err, "has no OPTIONS file: use --filter");
  EXPECT_EQ(Summary("--dry-run --filter deltabloom:20:compact").at("left"), 0);
  ExpectHas(err_, "warning: " + path_ + ": has no OPTIONS file: if the policy");
  EXPECT_EQ(Run("--filter 'id=deltabloom;compatibility=own' " + path_).status,
            2);
  EXPECT_EQ(Run("--keep-old '' " + path_).status, 2);
  ExpectHas(Run("--filter '' " + path_).err, "expected a policy, found none");
  ExpectHas(Run("--dryrun missing").err, "was not expected: --dryrun;");
}

// A policy whose builders get more keys than the rules of today give them, as
// those of a later RocksDB could.
class MoreKeysBuilder : public rocksdb::FilterBitsBuilder {
 public:
  explicit MoreKeysBuilder(std::unique_ptr<FilterBitsBuilder> base)
      : base_(std::move(base)) {}

  void AddKey(const rocksdb::Slice& key) override {
    base_->AddKey(key);
    if (++added_ % 100 == 0) base_->AddKey(key.ToString() + "of a later rule");
  }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const rocksdb::Slice& key,
                    const rocksdb::Slice& alt) override {
    AddKey(alt);
    AddKey(key);
  }
#endif
  size_t EstimateEntriesAdded() override {
    return base_->EstimateEntriesAdded();
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* owner) override {
    return base_->Finish(owner);
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* owner,
                        rocksdb::Status* status) override {
    return base_->Finish(owner, status);
  }
  rocksdb::Status MaybePostVerify(const rocksdb::Slice& filter) override {
    return base_->MaybePostVerify(filter);
  }
  size_t ApproximateNumEntries(size_t bytes) override {
    return base_->ApproximateNumEntries(bytes);
  }
  size_t CalculateSpace(size_t entries) override {
    return base_->CalculateSpace(entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    return base_->EstimatedFpRate(entries, bytes);
  }

 private:
  const std::unique_ptr<FilterBitsBuilder> base_;
  uint64_t added_ = 0;
};

class MoreKeysPolicy : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "later"; }
  const char* CompatibilityName() const override {
    return base_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return new MoreKeysBuilder(std::unique_ptr<rocksdb::FilterBitsBuilder>(
        base_->GetBuilderWithContext(context)));
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return base_->GetFilterBitsReader(contents);
  }

 private:
  const std::unique_ptr<const rocksdb::FilterPolicy> base_{
      rocksdb::NewBloomFilterPolicy(10)};
};

// Adds a property that a later RocksDB could write.
class LaterProperty : public rocksdb::TablePropertiesCollector {
 public:
  const char* Name() const override { return "later"; }
  rocksdb::Status Finish(
      rocksdb::UserCollectedProperties* properties) override {
    properties->insert({"rocksdb.filter.rule", "2"});
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override {
    return {};
  }
};

class LaterPropertyFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      rocksdb::TablePropertiesCollectorFactory::Context) override {
    return new LaterProperty();
  }
  const char* Name() const override { return "later"; }
};

// Which keys and prefixes a filter must hold is RocksDB's rule, which a later
// one may change: what shows that it wrote a table keeps the filter, or lookups
// would lose what the rules known here leave out.
TEST_F(Refilter, TablesOfALaterRocksDB) {
  const struct {
    Change change;
    const char* reason;
  } cases[] = {
      {[](auto*, auto* table) {
         table->filter_policy = std::make_shared<MoreKeysPolicy>();
       },
       " keys and prefixes in its filter, and by the rules known here it has "},
      {[](auto* options, auto* table) {
         Partitioned(options, table);
         table->filter_policy = std::make_shared<MoreKeysPolicy>();
       },
       " keys and prefixes in its filter, and by the rules known here it has "},
      {[](auto* options, auto*) {
         options->table_properties_collector_factories.push_back(
             std::make_shared<LaterPropertyFactory>());
       },
       "it has the property rocksdb.filter.rule, which no RocksDB up to"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(&c - cases);
    Load(MakeOptions("bloomfilter:10", c.change));
    const auto before = Tables();
    const json document = Do(kFit);
    EXPECT_EQ(document.at("summary").at("left"), 3) << document;
    EXPECT_TRUE(Tables() == before);
    ExpectHas(document.at("files").at(0).at("reason"), c.reason);
    EXPECT_EQ(Summary(kFit + std::string("--untested")).at("replaced"), 3);
  }
}

TEST_F(Refilter, DatabasesOfALaterRocksDB) {
  Load(MakeOptions("bloomfilter:10"));
  const auto before = Tables();
  const auto set_version = [this](const std::string& version) {
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().filename().string().rfind("OPTIONS", 0) != 0) continue;
      std::string text = test::ReadFile(entry.path());
      const size_t at = text.find("rocksdb_version=") + 16;
      Write(entry.path(), text.replace(at, text.find('\n', at) - at, version));
    }
  };
  for (const char* version : {"11.13.0", "12.0.1", "100.1"}) {
    set_version(version);
    for (const char* flag : {"", "--dry-run "}) {
      const test::Result refused = Run(flag + std::string(kFit) + path_);
      EXPECT_EQ(refused.status, 1);
      ExpectHas(refused.err, std::string("was last opened by RocksDB ") +
                                 version + ", and which keys and prefixes");
      ExpectHas(refused.err, "lookups lose the keys and prefixes");
      EXPECT_EQ(refused.out, "");
    }
  }
  EXPECT_TRUE(Tables() == before);
  EXPECT_EQ(Summary(kFit + std::string("--dry-run --untested")).at("planned"),
            3);
  for (const char* version : {"7.0.3", "11.12.9", "6.29.5"}) {
    set_version(version);
    EXPECT_EQ(Summary(kFit + std::string("--dry-run")).at("planned"), 3);
  }
}

// Filters that nothing will use are made only where --filter asks for them.
TEST_F(Refilter, PolicyThatDoesNotUseTheFilters) {
  const Options bloom = MakeOptions("bloomfilter:10");
  Load(bloom);
  const auto before = Tables();
  for (const char* flag : {"", "--dry-run "}) {
    const test::Result refused = Run(flag + path_);
    EXPECT_EQ(refused.status, 1);
    ExpectHas(refused.err,
              "no column family was last opened with Deltabloom's "
              "policy");
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_TRUE(Tables() == before);

  // A family of each kind: that of Deltabloom goes on.
  const auto use = [](auto* db, auto* family, const std::string& key) {
    ASSERT_OK(db->Put({}, family, key, "value"));
  };
  ForEachKey(bloom, "rolled out", bloom, use);
  ForEachKey(bloom, "rolled out", MakeOptions("deltabloom:10"), use);
  const json document = Do("--dry-run");
  EXPECT_EQ(document.at("not_used"), json::object());
  for (const json& file : document.at("files")) {
    const bool other = file.at("column_family") == "default";
    const bool ours = file.at("before").at("filter") == "Deltabloom compact";
    EXPECT_EQ(file.at("result"), other  ? "left"
                                 : ours ? "no_gain"
                                        : "planned")
        << file;
    if (!other) continue;
    ExpectHas(file.at("reason"),
              "its column family was last opened with filter_policy="
              "bloomfilter:10");
  }
  const json forced = Do(kFit);
  const uint64_t unused = forced.at("not_used").at("default");
  EXPECT_GT(unused, 0u);
  EXPECT_FALSE(forced.at("not_used").contains("rolled out"));
  ExpectHas(err_,
            "warning: column family default was last opened with "
            "filter_policy=bloomfilter:10");
  ExpectHas(err_, "lookups of absent keys read a data block in each of " +
                      std::to_string(unused) + " tables\n");
}

// An open database is refused; a damaged table is not touched.
TEST_F(Refilter, RefusesOpenAndDamaged) {
  const Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const auto before = Tables();
  {
    const auto db = testing::Open(options, path_);
    EXPECT_EQ(Run(kFit + path_).status, 1);
    EXPECT_EQ(Run("--dry-run " + (kFit + path_)).status, 0);
  }
  EXPECT_TRUE(Tables() == before);
  const std::string missing = before.rbegin()->first;
  fs::rename(missing, missing + ".elsewhere");
  EXPECT_EQ(Summary(std::string("--dry-run ") + kFit, 1).at("failed"), 1);
  fs::rename(missing + ".elsewhere", missing);
  const std::string empty = File("empty");
  fs::create_directory(empty);
  EXPECT_EQ(Run(empty).status, 1);
  EXPECT_TRUE(fs::is_empty(empty));
  // A bit of a data block, which is noticed when the keys are read.
  const std::string damaged = before.begin()->first;
  FlipBit(damaged, 100);
  const std::string bytes = test::ReadFile(damaged);
  const json summary = Summary(kFit, 1);
  ExpectHas(err_, damaged);
  EXPECT_EQ(summary.at("failed"), 1);
  EXPECT_EQ(summary.at("replaced"), 2);
  EXPECT_TRUE(test::ReadFile(damaged) == bytes);
  // Closed standard output: the report of many tables goes into no file.
  for (int i = 0; i < 20; ++i) {
    testing::Load(testing::Open(options, path_).get(), i, i + 1);
  }
  ASSERT_GT(Tables().size(), 20u);
  ExpectHas(Run("--json " + (kFit + path_) + " >&-").err, "cannot be written");
  EXPECT_EQ(fs::file_size(path_ + "/LOCK"), 0u);
#if ROCKSDB_MAJOR < 9
  Load(MakeOptions("bloomfilter:10", [](auto* o, auto* table) {
    o->compression = rocksdb::kZlibCompression;
    table->format_version = 1;
  }));
  EXPECT_EQ(Summary(kFit, 1).at("failed"), 3);
  ExpectHas(err_, "format_version 2 or later with compression 2, found 1");
#endif
}

// A seed takes the place of some of the bits, where that costs little; then
// there is nothing to do. Only partitions, whose keys are estimated, can be
// planned again.
TEST_F(Refilter, SeedsOnce) {
  const std::string filter = "--filter 'id=deltabloom:20:compact;seeded=on' ";
  for (const unsigned bytes : {0u, 2048u, 1000u, 600u, 100u}) {
    SCOPED_TRACE(bytes);
    Load(MakeOptions("deltabloom:10:compact", [&](auto* o, auto* table) {
      if (bytes > 0) Partitioned(o, table);
      CutWithIndex(table);
      table->metadata_block_size = std::max(bytes, 1u);
    }));
    const json summary = Summary(filter);
    EXPECT_EQ(summary.at("left"), 0);
    EXPECT_EQ(summary.at("replaced") > 0, bytes == 0 || bytes >= 2048);
    if (bytes > 0) continue;
    EXPECT_EQ(Summary("--dry-run " + filter).at("no_gain"), 3);
  }
}

// --- Files, kills and full disks ---------------------------------------------

// Tables that compactions delete meanwhile are gone, whenever that is.
TEST_F(Refilter, DryRunOfABusyDatabase) {
  const Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const auto db = testing::Open(options, path_);
  std::atomic<bool> done{false};
  std::thread compact([&] {
    for (int i = 0; !done; i = (i + 1) % kAllKeys) {
      testing::Load(db.get(), i, i + 1);
      if (i % 8 == 7) ASSERT_OK(db->CompactRange({}, nullptr, nullptr));
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Summary(std::string("--dry-run ") + kFit).at("failed"), 0)
        << err_;
  }
  done = true;
  compact.join();
}

// The old files stay, and moving them back undoes it; what a killed run left
// is removed, by the next run and by RocksDB.
TEST_F(Refilter, KeepsOldFilesAndRemovesItsOwn) {
  const Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const auto before = Tables();
  const std::string left = path_ + "/000001.dbtmp";
  Write(left, "part of a table");
  const std::string keep = kFit + std::string("--keep-old ");
  EXPECT_EQ(Run(keep + path_ + " " + path_).status, 1);
  fs::create_symlink("nowhere", File("dangling"));
  ExpectHas(Run(keep + File("dangling") + " " + path_).err,
            "dangling: cannot be made a directory: ");
  ExpectHas(Run("--dry-run " + keep + path_ + "/old " + path_).out,
            "3 to be replaced");
  EXPECT_FALSE(fs::exists(path_ + "/old"));
  Do(keep + path_ + "/old");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(Tables() == before);
  for (const auto& [path, bytes] : before) {
    const fs::path kept = fs::path(path_) / "old" / fs::path(path).filename();
    EXPECT_TRUE(test::ReadFile(kept) == bytes);
    fs::rename(kept, path);
  }
  EXPECT_TRUE(Tables() == before);
  // A file of another database is not taken for a kept one.
  Write(path_ + "/old/" + fs::path(before.begin()->first).filename().string(),
        "");
  const json summary = Summary(keep + path_ + "/old", 1);
  EXPECT_EQ(summary.at("failed"), 1);
  EXPECT_EQ(summary.at("replaced"), 2);
  ExpectHas(err_, "File exists");
  EXPECT_TRUE(Tables().at(before.begin()->first) == before.begin()->second);
  Write(left, "part of a table");
  testing::Open(options, path_).reset();
  EXPECT_FALSE(fs::exists(left));
}

// Killed at random moments: the database opens, has every key, and the next run
// continues. DELTABLOOM_KILLS is how often (default 20).
TEST_F(Refilter, KilledAtAnyTime) {
  const char* const wish = std::getenv("DELTABLOOM_KILLS");
  const int most = wish == nullptr ? 20 : std::atoi(wish);
  Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const Contents contents = ScanClosed(options);
  const std::string original = File("original");
  fs::copy(path_, original, fs::copy_options::recursive);
  test::FreshRandom random;
  // At times that span the whole run, whatever it takes here.
  uint64_t longest = 80;  // milliseconds
  for (int kills = 0; kills < most;) {
    SCOPED_TRACE(kills);
    fs::remove_all(path_);
    fs::copy(original, path_, fs::copy_options::recursive);
    // In the foreground it waits until the program has ended.
    const uint64_t ms = 1 + random.Below(longest);
    const bool killed = Run(kFit + path_, "timeout --foreground -s KILL " +
                                              std::to_string(ms) + "e-3")
                            .status != 0;
    kills += killed ? 1 : 0;
    longest = killed ? 2 * longest : ms;
    if (kills % 2 == 0) {
      EXPECT_TRUE(ScanClosed(options) == contents);
    }
    EXPECT_EQ(Summary(kFit).at("left"), 0);
    EXPECT_TRUE(ScanClosed(MakeOptions(kCompact)) == contents);
    for (const auto& entry : fs::directory_iterator(path_)) {
      EXPECT_NE(entry.path().extension(), ".dbtmp");
    }
  }
}

// Too few descriptors: the last one that is needed syncs the directory.
TEST_F(Refilter, ReportsWhatWasReplacedButNotSynced) {
  Load(MakeOptions("bloomfilter:10"));
  test::Result result;
  std::string errors;
  for (int n = 4; result.status != 0 && n < 200; ++n) {
    result = Run(kFit + path_,
                 "sh -c 'ulimit -n " + std::to_string(n) + "; exec \"$@\"' sh");
    errors += result.err;
  }
  ExpectHas(errors,
            "was replaced, but its directory cannot be synced: Too many open");
  EXPECT_EQ(Summary(kFit).at("no_gain"), 3);
}

// A full disk: nothing is lost, and the run goes on once there is room.
TEST_F(Refilter, FullDisk) {
  const std::string disk = directory_.path();
  const auto mount = [&disk](const char* option, uint64_t bytes) {
    return std::system(("mount -t tmpfs -o " + std::string(option) +
                        "size=" + std::to_string(bytes) + " tmpfs " + disk +
                        " 2>/dev/null")
                           .c_str());
  };
  if (geteuid() != 0 || mount("", 100'000'000) != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted";
  }
  const std::shared_ptr<void> unmount(nullptr, [&disk](void*) {
    EXPECT_EQ(std::system(("umount " + disk).c_str()), 0);
  });
  const Options options = MakeOptions("bloomfilter:10");
  Load(options);
  const Contents contents = ScanClosed(options);
  const auto space = fs::space(disk);
  EXPECT_EQ(mount("remount,", space.capacity - space.free + 50'000), 0);
  Do(kFit, 1);
  ExpectHas(err_, "No space left on device");
  EXPECT_EQ(mount("remount,", 100'000'000), 0);
  EXPECT_EQ(Summary(kFit).at("replaced"), 3);
  EXPECT_TRUE(ScanClosed(MakeOptions(kCompact)) == contents);
}

}  // namespace
}  // namespace deltabloom
