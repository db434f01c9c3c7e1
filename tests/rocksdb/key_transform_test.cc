// Databases whose comparator calls different bytes equal: no key is lost in
// any spelling, and filters still turn absent keys away.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "rocksdb/slice_transform.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 2000;

std::string Ask(rocksdb::DB* db, const std::string& key) {
  std::string value;
  const rocksdb::Status status = db->Get({}, key, &value);
  return status.ok() ? value : status.ToString();
}

// Puts Key(2 * i) in spelling `spelling`.
void LoadSpelt(rocksdb::DB* db, const Equality& equality, unsigned spelling,
               int begin = 0, int end = kKeys) {
  for (int i = begin; i < end; ++i) {
    ASSERT_ROCKSDB_OK(
        db->Put({}, equality.spell(Key(2 * i), spelling), Value(Key(2 * i))));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
}

Lookups GetSpelt(rocksdb::DB* db, const Equality& equality, unsigned spelling) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = Key(2 * i);
    result.missed += Ask(db, equality.spell(key, spelling)) != Value(key);
    std::string value;
    result.phantom +=
        !db->Get({}, equality.spell(Key(2 * i + 1), spelling), &value)
             .IsNotFound();
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  return result;
}

Lookups MultiGetSpelt(rocksdb::DB* db, const Equality& equality,
                      unsigned spelling) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  for (int begin = 0; begin < kKeys; begin += 20) {
    std::vector<std::string> names;
    for (int i = 2 * begin; i < 2 * begin + 40; ++i) {
      names.push_back(equality.spell(Key(i), spelling));
    }
    const std::vector<rocksdb::Slice> keys(names.begin(), names.end());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db->MultiGet({}, db->DefaultColumnFamily(), keys.size(), keys.data(),
                 values.data(), statuses.data());
    for (size_t k = 0; k < keys.size(); ++k) {
      const std::string key = Key(2 * begin + static_cast<int>(k));
      if (k % 2 == 0) {
        result.missed += !statuses[k].ok() || values[k] != Value(key);
      } else {
        result.phantom += !statuses[k].IsNotFound();
      }
    }
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  return result;
}

void ExpectAllFiltered(rocksdb::DB* db, const Equality& equality) {
  for (unsigned spelling : {0u, 5u, 10u}) {
    SCOPED_TRACE("spelling " + std::to_string(spelling));
    ExpectFiltered(GetSpelt(db, equality, spelling), kKeys);
    ExpectFiltered(MultiGetSpelt(db, equality, spelling), kKeys);
  }
}

struct Variant {
  const char* layout;
  bool partitioned;
  bool seeded;
};

using Parameters = std::tuple<Equality, Variant>;

class KeyTransformTest : public ::testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override {
    const auto [equality, variant] = GetParam();
    equality_ = equality;
    comparator_ = std::make_unique<EqualityComparator>(equality_);
    policy_ = PolicyWith(equality.transform, variant.layout, variant.seeded);
    config_ = ConfigFor(*comparator_, policy_, variant.partitioned);
  }

  Equality equality_{};
  std::unique_ptr<EqualityComparator> comparator_;
  PolicyPtr policy_;
  DbConfig config_;
  TempDir dir_;
};

TEST_P(KeyTransformTest, EveryKeyInEverySpelling) {
  auto db = Open(MakeOptions(config_), dir_.Path("db"));
  LoadSpelt(db.get(), equality_, 3);
  ExpectAllFiltered(db.get(), equality_);
  db.reset();
  db = Open(MakeOptions(config_), dir_.Path("db"));
  ExpectAllFiltered(db.get(), equality_);
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  ExpectAllFiltered(db.get(), equality_);
}

// Versions of a key in several spellings, some more than one partition of a
// filter is for, kept apart by snapshots; then deleted under another spelling.
TEST_P(KeyTransformTest, VersionsAndDeletes) {
  auto db = Open(MakeOptions(config_), dir_.Path("db"));
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (unsigned version = 0; version < 40; ++version) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_ROCKSDB_OK(db->Put({}, equality_.spell(Key(2 * i), version % 16),
                                std::to_string(version)));
    }
    snapshots.push_back(db->GetSnapshot());
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  for (int i = 0; i < 50; i += 2) {
    ASSERT_ROCKSDB_OK(db->Delete({}, equality_.spell(Key(2 * i), 7)));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  for (int compacted = 0; compacted < 2; ++compacted) {
    for (unsigned spelling = 0; spelling < 16; ++spelling) {
      for (int i = 0; i < 50; ++i) {
        const std::string key = equality_.spell(Key(2 * i), spelling);
        ASSERT_EQ(Ask(db.get(), key), i % 2 == 0 ? "NotFound: " : "39") << key;
        rocksdb::ReadOptions past;
        past.snapshot = snapshots[spelling];
        std::string value;
        ASSERT_ROCKSDB_OK(db->Get(past, key, &value));
        ASSERT_EQ(value, std::to_string(spelling));
      }
    }
    ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  }
  for (const auto* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
}

// With a prefix extractor beside it, with and without whole keys.
TEST_P(KeyTransformTest, Prefixes) {
  // 8 bytes that count. The transform drops a timestamp's 8 bytes from a
  // prefix as well.
  const bool timestamps = equality_.name == std::string("suffix_timestamp");
  const auto prefixes = std::shared_ptr<const rocksdb::SliceTransform>(
      rocksdb::NewFixedPrefixTransform(timestamps ? 16 : 8));
  for (const bool whole_keys : {true, false}) {
    DbConfig config = config_;
    config.change = [&, whole_keys](rocksdb::Options* options,
                                    rocksdb::BlockBasedTableOptions* table) {
      config_.change(options, table);
      options->prefix_extractor = prefixes;
      table->whole_key_filtering = whole_keys;
    };
    auto db = Open(MakeOptions(config),
                   dir_.Path(whole_keys ? "whole_keys" : "prefixes"));
    // "user0000" to "user0039", in groups of ten keys each.
    for (int i = 0; i < 400; ++i) {
      const std::string key = Key(2000 * (i / 10) + 2 * (i % 10));
      ASSERT_ROCKSDB_OK(db->Put({}, equality_.spell(key, 6), key));
    }
    ASSERT_ROCKSDB_OK(db->Flush({}));
    int missed = 0;
    for (int i = 0; i < 400; ++i) {
      const std::string key = Key(2000 * (i / 10) + 2 * (i % 10));
      const std::string asked =
          equality_.spell(key, static_cast<unsigned>(i % 16));
      missed += Ask(db.get(), asked) != key;
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
      it->Seek(asked);
      missed += !it->Valid() || it->value() != key;
    }
    EXPECT_EQ(missed, 0);
    // Prefixes between them.
    const auto statistics = db->GetOptions().statistics;
    statistics->Reset();
    for (int i = 0; i < 400; ++i) {
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
      it->Seek(equality_.spell(Key(1000000 + 10000 * i), 9));
      std::string value;
      EXPECT_TRUE(
          db->Get({}, equality_.spell(Key(1000000 + 10000 * i), 9), &value)
              .IsNotFound());
    }
    // Without whole keys newer releases count a Get as one of a prefix.
    EXPECT_GT(
        statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) +
            statistics->getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL),
        380u);
  }
}

std::string NameOf(const ::testing::TestParamInfo<Parameters>& instance) {
  const auto& [equality, variant] = instance.param;
  return std::string(equality.name) + "_" + variant.layout +
         (variant.partitioned ? "_partitioned" : "_full") +
         (variant.seeded ? "_seeded" : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, KeyTransformTest,
    ::testing::Combine(::testing::Values(kIgnoreCase, kPadSpace,
                                         kSuffixTimestamp),
                       ::testing::Values(Variant{"local", false, false},
                                         Variant{"classic", true, false},
                                         Variant{"compact", true, true},
                                         Variant{"auto", false, true})),
    NameOf);

// What the tests above would see if the transform were not applied.
TEST(NoKeyTransformTest, KeysOfOtherSpellingsAreLost) {
  for (const Equality& equality : {kIgnoreCase, kPadSpace, kSuffixTimestamp}) {
    const EqualityComparator comparator(equality);
    TempDir dir;
    const auto db = Open(
        MakeOptions(ConfigFor(comparator, PolicyWith("none", "local"), false)),
        dir.Path("db"));
    LoadSpelt(db.get(), equality, 3);
    EXPECT_EQ(GetSpelt(db.get(), equality, 3).missed, 0);
    EXPECT_GT(GetSpelt(db.get(), equality, 5).missed, kKeys * 9 / 10);
  }
}

// RocksDB's own timestamps are stripped before the transform sees a key.
class TimestampComparator final : public rocksdb::Comparator {
 public:
  TimestampComparator() : rocksdb::Comparator(8) {}
  const char* Name() const override { return "test.ignore_case.u64ts"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    const int keys = CompareWithoutTimestamp(a, true, b, true);
    return keys != 0 ? keys : -CompareTimestamp(Timestamp(a), Timestamp(b));
  }
  using rocksdb::Comparator::CompareWithoutTimestamp;
  int CompareWithoutTimestamp(const rocksdb::Slice& a, bool a_has_timestamp,
                              const rocksdb::Slice& b,
                              bool b_has_timestamp) const override {
    return Counts(a, a_has_timestamp).compare(Counts(b, b_has_timestamp));
  }
  int CompareTimestamp(const rocksdb::Slice& a,
                       const rocksdb::Slice& b) const override {
    uint64_t times[2];
    std::memcpy(&times[0], a.data(), 8);
    std::memcpy(&times[1], b.data(), 8);
    return times[0] < times[1] ? -1 : times[0] > times[1];
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static rocksdb::Slice Timestamp(const rocksdb::Slice& key) {
    return {key.data() + key.size() - 8, 8};
  }
  static std::string Counts(const rocksdb::Slice& key, bool has_timestamp) {
    return Lower({key.data(), key.size() - (has_timestamp ? 8 : 0)});
  }
};

TEST(KeyTransformWithTimestampsTest, EveryKeyInEverySpelling) {
  const TimestampComparator comparator;
  for (const bool partitioned : {false, true}) {
    TempDir dir;
    const auto db =
        Open(MakeOptions(ConfigFor(comparator, PolicyWith("ascii_lowercase"),
                                   partitioned)),
             dir.Path("db"));
    const auto at = [](uint64_t time) {
      return std::string(reinterpret_cast<const char*>(&time), sizeof(time));
    };
    for (uint64_t time : {1u, 2u, 3u}) {
      for (int i = 0; i < kKeys; ++i) {
        ASSERT_ROCKSDB_OK(db->Put(
            {}, kIgnoreCase.spell(Key(2 * i), static_cast<unsigned>(time)),
            at(time), std::to_string(time)));
      }
      ASSERT_ROCKSDB_OK(db->Flush({}));
    }
    const auto statistics = db->GetOptions().statistics;
    statistics->Reset();
    int missed = 0;
    for (int i = 0; i < kKeys; ++i) {
      const std::string time = at(static_cast<uint64_t>(i % 3 + 1));
      const rocksdb::Slice timestamp = time;
      rocksdb::ReadOptions read;
      read.timestamp = &timestamp;
      std::string value;
      const std::string key = kIgnoreCase.spell(Key(2 * i), 12);
      missed += !db->Get(read, key, &value).ok() ||
                value != std::to_string(i % 3 + 1);
      const std::string absent = kIgnoreCase.spell(Key(2 * i + 1), 12);
      EXPECT_TRUE(db->Get(read, absent, &value).IsNotFound());
    }
    EXPECT_EQ(missed, 0);
    // Newer releases leave out tables that are younger than the timestamp.
    EXPECT_GT(statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL),
              uint64_t{2 * kKeys * 9 / 10});
  }
}

}  // namespace
}  // namespace deltabloom::testing
