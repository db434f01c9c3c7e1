// deltabloom verify on databases of RocksDB: what it counts, and that it denies
// the very keys that the database loses.
#include <gtest/gtest.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/snapshot.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/key_transform.h"
#include "deltabloom/prefix_function.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/ranges/property.h"
#include "rocksdb/table_properties.h"
#include "tools/sst/sst.h"
#include "tests/folder.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/test_db.h"
#include "tests/tools/tool_test.h"
#include "util/range/filter_builder.h"
#include "util/range/functions.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"

namespace deltabloom {
namespace {

using nlohmann::json;
using rocksdb::Slice;
using test::ExpectHas;
using test::Missed;
using testing::Key;

constexpr int kTableKeys = 3000;

enum class Filtering { kWholeKeys, kPrefixes, kBoth };

class VerifyRocksDB : public test::ToolTest {
 protected:
  VerifyRocksDB() : ToolTest("verify") {}

  // Keys in prefixes of ten: "user0000001" and a digit.
  static rocksdb::Options MakeOptions(
      const std::string& policy, bool partitioned,
      Filtering filtering = Filtering::kWholeKeys) {
    testing::DbConfig config;
    config.policy = testing::PolicyFromString(policy);
    config.partitioned = partitioned;
    config.change = [filtering](auto* options, auto* table) {
      table->block_size = 512;
      table->whole_key_filtering = filtering != Filtering::kPrefixes;
      if (filtering != Filtering::kWholeKeys) {
        options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(11));
      }
    };
    return testing::MakeOptions(config);
  }

  // A new database of one table, of kTableKeys keys. Sets path_ and table_.
  void Load(const rocksdb::Options& options) {
    NewPath();
    const auto db = testing::Open(options, path_);
    testing::Load(db.get(), 0, kTableKeys);
    FindTable(db.get());
  }
  // Loads a database, and returns what verify says of it.
  json LoadAndVerify(const rocksdb::Options& options, int status) {
    Load(options);
    return Verify(status);
  }
  json Verify(int status, const std::string& cpu = "") {
    return RunJson("--show 100000 " + path_, status,
                   "DELTABLOOM_CPU='" + cpu + "'")
        .at("files")
        .at(0);
  }

  void NewPath() { path_ = File("db" + std::to_string(databases_++)); }

  void FindTable(rocksdb::DB* db) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    ASSERT_EQ(files.size(), 1u);
    table_ = path_ + files.at(0).name;
  }

  // Keys that the database does not find any more.
  std::set<std::string> LostKeys(const rocksdb::Options& options) const {
    const auto db = testing::Open(options, path_);
    std::set<std::string> lost;
    std::string value;
    for (int i = 0; i < kTableKeys; ++i) {
      const rocksdb::Status status = db->Get({}, Key(2 * i), &value);
      EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
      if (status.IsNotFound()) lost.insert(Key(2 * i));
    }
    return lost;
  }

  void ExpectFinds(const std::string& policy, bool partitioned,
                   Filtering filtering);

  int databases_ = 0;
  std::string path_;
  std::string table_;
};

// Within five standard errors of the binomial distribution.
void ExpectRate(const json& file) {
  const double n = file.at("absent_asked");
  const double expected = file.at("expected_rate");
  EXPECT_GT(n, 0);
  EXPECT_NEAR(file.at("rate").get<double>(), expected,
              5 * std::sqrt(expected * (1 - expected) / n) + 1 / n);
}

// Sound first; then with a bit that is flipped.
void VerifyRocksDB::ExpectFinds(const std::string& policy, bool partitioned,
                                Filtering filtering) {
  const bool keys = filtering != Filtering::kPrefixes;
  const bool prefixes = filtering != Filtering::kWholeKeys;

  json file = LoadAndVerify(MakeOptions(policy, partitioned, filtering), 0);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(file.at("file"), table_);
  EXPECT_EQ(file.at("entries"), kTableKeys);
  EXPECT_EQ(file.at("keys_asked"), keys ? kTableKeys : 0);
  // A prefix is asked once in each partition that keys or seeks lead to.
  const int asked = file.at("prefixes_asked");
  EXPECT_TRUE(prefixes ? asked >= kTableKeys / 5 : asked == 0) << asked;
  EXPECT_EQ(file.at("false_negatives"), 0);
  // Prefixes here follow each other with nothing between.
  if (keys) ExpectRate(file);

  const auto blocks = test::FilterBlocks(table_);
  EXPECT_EQ(blocks.size() > 1, partitioned);
  const internal::BlockHandle block = blocks.at(blocks.size() / 2);
  test::ClearABit(table_, block, block.size / 3);
  // The database is opened with a new block cache: the old one holds the
  // partition from before the damage.
  const std::set<std::string> lost =
      LostKeys(MakeOptions(policy, partitioned, filtering));
  EXPECT_FALSE(lost.empty());
  std::vector<std::string> cpus = {""};
  if (filtering == Filtering::kWholeKeys) cpus = {"portable", "avx2", "avx512"};
  for (const std::string& cpu : cpus) {
    file = Verify(1, cpu);
    EXPECT_GT(file.at("false_negatives"), 0);
    EXPECT_EQ(file.at("false_negatives"), file.at("missed").size());
    for (const json& missed : file.at("missed")) {
      EXPECT_EQ(missed.at("offset"), block.offset);
      EXPECT_TRUE(missed.at("alone"));
      EXPECT_TRUE(missed.at("in_batch"));
    }
    if (keys) {
      EXPECT_EQ(Missed(file), lost);
      continue;
    }
    std::set<std::string> lost_prefixes;
    for (const std::string& key : lost) lost_prefixes.insert(key.substr(0, 11));
    // More are missed where the prefix of a partition's first key is denied by
    // the partition in front, which only iterators ask for it.
    for (const std::string& prefix : lost_prefixes) {
      EXPECT_EQ(Missed(file, "prefix").count(prefix), 1u) << prefix;
    }
    EXPECT_LE(Missed(file, "prefix").size(), lost_prefixes.size() + 1);
  }
}

// --- Filters of every kind, sound and damaged --------------------------------

TEST_F(VerifyRocksDB, FindsAFlippedBitInEveryKindOfFilter) {
  std::vector<std::string> policies = {
      "bloomfilter:10", "deltabloom:10:local",
      "id=deltabloom;layout=compact;key_transform=ascii_lowercase"};
  // The lookups depend on the filtering, not on the layout.
  const size_t with_prefixes = policies.size();
  for (const std::string& layout : testing::LayoutNames()) {
    if (layout != "local") policies.push_back("deltabloom:10:" + layout);
  }
  policies.insert(
      policies.end(),
      {"ribbonfilter:10", "id=deltabloom;layout=local;compatibility=own",
       "id=deltabloom;layout=local;seeded=true"});
  for (size_t i = 0; i < policies.size(); ++i) {
    for (const bool partitioned : {false, true}) {
      SCOPED_TRACE(policies[i] + (partitioned ? " partitioned" : " full"));
      ExpectFinds(policies[i], partitioned, Filtering::kWholeKeys);
      if (i >= with_prefixes) continue;
      ExpectFinds(policies[i], partitioned, Filtering::kPrefixes);
      ExpectFinds(policies[i], partitioned, Filtering::kBoth);
    }
  }
}

// Changes bytes under their old checksums: in the middle of data, in the
// filter, and in the index of its partitions.
TEST_F(VerifyRocksDB, DamagedTablesAndFilters) {
  for (const bool partitioned : {false, true}) {
    Load(MakeOptions("deltabloom:10:local", partitioned));
    const std::string sound = test::ReadFile(table_);
    const internal::SstFile file = test::Walked(sound).file;
    const auto blocks = test::FilterBlocks(table_);
    const std::pair<uint64_t, bool> damages[] = {
        {blocks[0].offset / 2, false},
        {blocks.back().offset + 1, true},
        {file.filters.at(0).handle.offset + 1, true}};
    for (const auto& [at, in_filter] : damages) {
      Write(table_, sound);
      FlipBit(table_, at);
      const json document = RunJson(path_, in_filter ? 1 : 2);
      ExpectHas(err_, table_ + ": ");
      EXPECT_TRUE(document.at("files").at(0).contains("error"));
      const char* list = in_filter ? "damaged" : "not_checked";
      EXPECT_EQ(document.at("summary").at(list), json({table_}));
    }
  }
}

// --- Comparators, prefix extractors and key transforms -----------------------

// RocksDB's comparator of timestamps under a name that it does not know.
class Timed : public rocksdb::Comparator {
 public:
  explicit Timed(const Comparator* to) : Comparator(8), to_(to) {}
  const char* Name() const override { return "deltabloom.test.timed"; }
  int Compare(const Slice& a, const Slice& b) const override {
    return to_->Compare(a, b);
  }
  using Comparator::CompareWithoutTimestamp;
  int CompareWithoutTimestamp(const Slice& a, bool a_has_ts, const Slice& b,
                              bool b_has_ts) const override {
    return to_->CompareWithoutTimestamp(a, a_has_ts, b, b_has_ts);
  }
  int CompareTimestamp(const Slice& a, const Slice& b) const override {
    return to_->CompareTimestamp(a, b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const Comparator* const to_;
};

// The size of timestamps is a property of the table.
TEST_F(VerifyRocksDB, TimestampsOfAnUnknownComparator) {
  const rocksdb::Comparator* known = nullptr;
  rocksdb::Comparator::CreateFromString(
      rocksdb::ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &known);
  if (known == nullptr) GTEST_SKIP() << "an older RocksDB";
  const Timed own(known);
  rocksdb::Options options =
      MakeOptions("deltabloom:10:local", false, Filtering::kBoth);
  options.comparator = &own;
  NewPath();
  const auto db = testing::Open(options, path_);
  for (const char* time : {"00000001", "00000002", "00000003"}) {
    for (int i = 0; i < kTableKeys; ++i) {
      ASSERT_OK(db->Put({}, Key(i), time, "value"));
    }
  }
  ASSERT_OK(db->Flush({}));
  const json file = Verify(0);
  EXPECT_EQ(file.at("entries"), 3 * kTableKeys);
  EXPECT_EQ(file.at("keys_asked"), kTableKeys);
  ExpectRate(file);
}

// Versions of a key that snapshots keep fill partitions; only the last of these
// has the prefix of the next key.
TEST_F(VerifyRocksDB, VersionsInSeveralPartitions) {
  NewPath();
  const auto db = testing::Open(
      MakeOptions("deltabloom:20:local", true, Filtering::kBoth), path_);
  std::vector<std::unique_ptr<rocksdb::ManagedSnapshot>> snapshots;
  for (int i = 0; i < kTableKeys; ++i) {
    ASSERT_OK(db->Put({}, Key(i / 1000 * 10), "value"));
    snapshots.push_back(std::make_unique<rocksdb::ManagedSnapshot>(db.get()));
  }
  ASSERT_OK(db->Flush({}));
  EXPECT_EQ(Verify(0).at("entries"), kTableKeys);
  FindTable(db.get());
  EXPECT_GT(test::FilterBlocks(table_).size(), ROCKSDB_MAJOR < 11 ? 4u : 0u);
}

// Comparators, prefix extractors and key transforms of the user: what verify
// asks, and what it names that it cannot check.
TEST_F(VerifyRocksDB, OrdersAndTransforms) {
  const testing::TestComparator by_last_digit(
      "\x1b[31mlast digit", [](std::string_view key) {
        return std::string(key.substr(key.empty() ? 0 : key.size() - 1))
            .append(key);
      });
  const auto* const reverse = rocksdb::ReverseBytewiseComparator();
  // An extractor with gaps between its prefixes.
  const std::shared_ptr<const rocksdb::SliceTransform> capped(
      rocksdb::NewCappedPrefixTransform(12));
  const auto first_half = std::make_shared<const testing::FirstHalf>();
  KeyTransform shorten;
  shorten.name = "verify_test";
  shorten.function = [](std::string_view key, KeyScratch*) {
    return key.substr(0, key.size() - 1);
  };
  ASSERT_TRUE(RegisterKeyTransform(shorten));
  const char* const transform = "id=deltabloom;key_transform=verify_test";
  const char* const no_transform = "no key transform known here has ";
  const char* const odd_order = "\\x1b[31mlast digit";
  const struct {
    const char* policy;
    bool partitioned;
    const rocksdb::Comparator* comparator;
    std::shared_ptr<const rocksdb::SliceTransform> prefix;
    bool whole_keys;
    int status, keys, prefixes;
    const char* error;
  } cases[] = {
      {"deltabloom:10:classic", false, reverse, {}, true, 0, kTableKeys, 0, ""},
      {"deltabloom:10:classic", true, reverse, {}, true, 0, kTableKeys, 0, ""},
      {"deltabloom", false, nullptr, capped, false, 0, 0, kTableKeys, ""},
      {"deltabloom", false, nullptr, first_half, true, 2, kTableKeys, 0,
       "prefixes: no prefix extractor known here has the name "},
      {"deltabloom", false, &by_last_digit, {}, true, 0, kTableKeys, 0, ""},
      // The partition that has a key is not known.
      {"deltabloom", true, &by_last_digit, {}, true, 2, 0, 0, odd_order},
      {transform, false, nullptr, {}, true, 2, 0, 0, no_transform},
      {transform, true, nullptr, {}, true, 2, 0, 0, no_transform},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(&c - cases);
    rocksdb::Options options =
        MakeOptions(c.policy, c.partitioned,
                    c.whole_keys ? Filtering::kBoth : Filtering::kPrefixes);
    options.prefix_extractor = c.prefix;
    if (c.comparator != nullptr) options.comparator = c.comparator;
    const json file = LoadAndVerify(options, c.status);
    EXPECT_EQ(file.at("keys_asked"), c.keys);
    EXPECT_EQ(file.at("prefixes_asked"), c.prefixes);
    EXPECT_EQ(file.at("false_negatives"), 0);
    ExpectHas(err_, c.error);
    EXPECT_EQ(err_.find('\x1b'), std::string::npos);
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), c.status / 2);
    if (c.status != 0) continue;
    EXPECT_GT(file.at("absent_asked"), kTableKeys / 2);
    ExpectRate(file);
    if (c.comparator != &by_last_digit) continue;
    const internal::BlockHandle block = test::FilterBlocks(table_).at(0);
    test::ClearABit(table_, block, block.size / 2);
    EXPECT_EQ(Missed(Verify(1)), LostKeys(options));
  }
}

// --- Range filters -----------------------------------------------------------

// Stores a range filter that has not seen every seventh key, and says that its
// table has `more` entries than it has.
class LosingRanges : public rocksdb::TablePropertiesCollector {
 public:
  explicit LosingRanges(uint64_t more)
      : builder_(OfKeys(), internal::range::Order::kBytewise, 24) {
    property_.comparator = rocksdb::BytewiseComparator()->Name();
    property_.entries = more;
  }
  const char* Name() const override { return internal::kRangePropertyName; }
  rocksdb::Status AddUserKey(const Slice& key, const Slice&, rocksdb::EntryType,
                             rocksdb::SequenceNumber, uint64_t) override {
    if (++entries_ % 7 != 3) {
      EXPECT_TRUE(builder_.Add(key.ToStringView()));
    }
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(
      rocksdb::UserCollectedProperties* properties) override {
    if (bytes_.empty()) {  // RocksDB may call it again, for listeners
      property_.entries += entries_;
      bytes_ = RangePropertyHeader(property_);
      EXPECT_EQ(builder_.Finish({}, &bytes_), "");
    }
    properties->emplace(internal::kRangePropertyName, bytes_);
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override {
    return {};
  }

 private:
  static internal::range::PlacesToHold OfKeys() {
    internal::range::PlacesToHold places;
    EXPECT_EQ(internal::range::ParsePrefixes(
                  "12", internal::range::FindBuiltInFunction, &places),
              "");
    return places;
  }

  internal::RangeProperty property_;
  uint64_t entries_ = 0;
  internal::range::FilterBuilder builder_;
  std::string bytes_;  // of the property
};

class LosingRangesFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit LosingRangesFactory(uint64_t more) : more_(more) {}
  const char* Name() const override { return "LosingRanges"; }
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      Context) override {
    return new LosingRanges(more_);
  }

 private:
  const uint64_t more_;
};

rocksdb::Options WithRanges(rocksdb::Options options,
                            RocksDBRangeOptions of = {}) {
  if (of.prefixes == "auto") of.prefixes = "12";
  EXPECT_TRUE(RocksDBRanges::New(of)->AddTo(&options));
  return options;
}

TEST_F(VerifyRocksDB, RangeFilters) {
  RocksDBRangeOptions transformed;
  transformed.key_transform = "ascii_lowercase";
  rocksdb::Options no_filter = MakeOptions("deltabloom:10", false);
  no_filter.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
      ->filter_policy.reset();
  for (const auto& options :
       {WithRanges(MakeOptions("deltabloom:10", false)),
        WithRanges(MakeOptions("deltabloom:10", true)), WithRanges(no_filter),
        WithRanges(MakeOptions("deltabloom:10", false), transformed)}) {
    const json file = LoadAndVerify(options, 0);
    EXPECT_EQ(err_, "");
    EXPECT_EQ(file.at("entries"), kTableKeys);
    // Each alone, with the one before, and all that begin like it: up to the
    // first byte that differs, up to its end, and to its place and before.
    EXPECT_EQ(file.at("ranges"), json({{"keys", kTableKeys},
                                       {"asked", 6 * kTableKeys},
                                       {"false_negatives", 0},
                                       {"missed", json::array()}}));
    ExpectHas(
        Run(path_).out,
        "  range filter: 18000 ranges around 3000 keys, no false negative");
  }
  // A table without a range filter has no such result.
  EXPECT_TRUE(LoadAndVerify(MakeOptions("deltabloom:10", false), 0)
                  .at("ranges")
                  .is_null());
}

// Deletions and merges are keys, deleted ranges are not; bytes 0xff.
TEST_F(VerifyRocksDB, RangeFiltersOfEntriesOfEveryKind) {
  NewPath();
  rocksdb::Options options = WithRanges(MakeOptions("deltabloom:10", false));
  ASSERT_OK(rocksdb::MergeOperator::CreateFromString(
      rocksdb::ConfigOptions(), "stringappend", &options.merge_operator));
  const auto db = testing::Open(options, path_);
  for (int i = 0; i < 100; ++i) {
    const std::string key =
        Key(i) + std::string(static_cast<size_t>(i), '\xff');
    ASSERT_OK(i % 3 == 0   ? db->Put({}, key, "value")
              : i % 3 == 1 ? db->Delete({}, key)
                           : db->Merge({}, key, "value"));
  }
  ASSERT_OK(db->Put({}, std::string(9, '\xff'), "value"));
  ASSERT_OK(db->DeleteRange({}, db->DefaultColumnFamily(), "a", "b"));
  ASSERT_OK(db->Flush({}));
  const json file = Verify(0);
  EXPECT_EQ(file.at("ranges").at("keys"), 101);
  EXPECT_EQ(file.at("ranges").at("false_negatives"), 0);
}

// The command has the functions that are built in, and says which it lacks.
TEST_F(VerifyRocksDB, PrefixFunctions) {
  PrefixFunction own;
  own.name = "of_a_test";
  own.function = [](std::string_view key, std::vector<size_t>* ends) {
    ends->push_back(key.size());
  };
  ASSERT_TRUE(RegisterPrefixFunction(own));
  RocksDBRangeOptions ranges;
  ranges.prefixes = "of_a_test";
  const auto options = WithRanges(MakeOptions("deltabloom:10", false), ranges);
  EXPECT_TRUE(LoadAndVerify(options, 2).at("ranges").is_null());
  ExpectHas(err_,
            "range filter: no scan uses it: prefix function of_a_test@1 is not "
            "registered here");
  ranges.prefixes = "4+groups_of_8,kvrocks,12";
  const json file =
      LoadAndVerify(WithRanges(MakeOptions("deltabloom:10", false), ranges), 0);
  EXPECT_EQ(file.at("ranges").at("false_negatives"), 0);
}

TEST_F(VerifyRocksDB, KeysThatARangeFilterLost) {
  rocksdb::Options options = MakeOptions("deltabloom:10", false);
  const auto load = [&](uint64_t more, int status) {
    options.table_properties_collector_factories = {
        std::make_shared<LosingRangesFactory>(more)};
    return LoadAndVerify(options, status);
  };
  const json ranges = load(0, 1).at("ranges");
  EXPECT_EQ(ranges.at("keys"), kTableKeys);
  // All but false positives of those that were lost, and no others.
  EXPECT_GT(ranges.at("false_negatives"), kTableKeys / 7 * 9 / 10);
  EXPECT_EQ(ranges.at("missed").size(), ranges.at("false_negatives"));
  for (const json& missed : ranges.at("missed")) {
    const std::string key = missed.at("key");
    EXPECT_EQ(std::stoi(key.substr(4)) / 2 % 7, 2) << key;
    EXPECT_EQ(missed.at("lower"), key);
    EXPECT_EQ(missed.at("upper"), key + "\\x00");
  }
  ExpectHas(Run("--show 1 " + path_).out,
            "  false negative: range filter, key: user00000004, range: "
            "user00000004 to user00000004\\x00\n  and ");
  // No scan asks it.
  EXPECT_TRUE(load(1, 2).at("ranges").is_null());
  ExpectHas(err_,
            "range filter: no scan uses it: it is of 3001 entries, and the "
            "table has 3000");
}

}  // namespace
}  // namespace deltabloom
