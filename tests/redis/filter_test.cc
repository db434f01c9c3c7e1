// Filters in a real Redis: made, filled, asked, described, deleted.
#include "deltabloom/filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <thread>

#include "tests/random.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

// One server for all tests of this program.
Server& TheServer() {
  static Server server;
  return server;
}

std::vector<std::string_view> Views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

struct Case {
  const char* scheme;
  uint32_t probes;  // 0: as many as the size asks for
  bool doubled = false;
  uint64_t shard_bytes = uint64_t{512} << 20;
  uint32_t generations = 1;
};

RedisFilterOptions OptionsOf(const Case& one, const std::string& name,
                             uint64_t keys) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = one.scheme;
  options.expected_keys = keys;
  options.doubled_string = one.doubled;
  options.shard_bytes = one.shard_bytes;
  options.generations = one.generations;
  if (one.generations > 1) options.max_age = milliseconds(60000);
  return options;
}

class RedisFilterTest : public testing::Test {
 protected:
  void SetUp() override { TheServer().Run({"FLUSHALL"}); }

  std::unique_ptr<RedisFilter> Create(const RedisFilterOptions& options) {
    std::unique_ptr<RedisFilter> filter;
    const RedisStatus status =
        RedisFilter::Create(TheServer().Options(), options, &filter);
    EXPECT_TRUE(status.ok()) << status.message;
    return filter;
  }

  std::unique_ptr<RedisFilter> Open(const std::string& name) {
    std::unique_ptr<RedisFilter> filter;
    const RedisStatus status =
        RedisFilter::Open(TheServer().SocketOptions(), name, &filter);
    EXPECT_TRUE(status.ok()) << status.message;
    return filter;
  }
};

class SchemesTest : public RedisFilterTest,
                    public testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(
    All, SchemesTest,
    testing::Values(Case{"local", 0}, Case{"local", 0, false, 6400},
                    Case{"local", 0, false, 64 * 20, 3}, Case{"go-murmur3", 0},
                    Case{"go-murmur3-14", 0}, Case{"guava-helper", 0},
                    Case{"guava-helper", 0, true},
                    Case{"guava-helper", 0, false, uint64_t{512} << 20, 2}));

TEST_P(SchemesTest, FindsEveryKeyAtTheRateAskedFor) {
  const uint64_t seed = SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  constexpr size_t kKeys = 4000;
  auto writer = Create(OptionsOf(GetParam(), "f", kKeys));
  auto reader = Open("f");
  RedisFilterInfo empty;
  ASSERT_TRUE(reader->Info(&empty).ok());
  EXPECT_EQ(empty.keys_estimate, 0);
  EXPECT_EQ(empty.false_positive_rate, 0);
  const auto keys = random.Keys(kKeys, 12);
  const auto views = Views(keys);
  const auto is_new = std::make_unique<bool[]>(kKeys);
  ASSERT_TRUE(writer->Add(views.data(), kKeys / 2, is_new.get()).ok());
  EXPECT_TRUE(is_new[0]);
  for (size_t i = kKeys / 2; i < kKeys; i += 250) {
    ASSERT_TRUE(writer->Add(views.data() + i, 250).ok());
  }
  bool again = true;
  ASSERT_TRUE(writer->Add(keys[7], &again).ok());
  EXPECT_FALSE(again);

  const auto found = std::make_unique<bool[]>(kKeys);
  ASSERT_TRUE(reader->Check(views.data(), kKeys, found.get()).ok());
  for (size_t i = 0; i < kKeys; ++i) ASSERT_TRUE(found[i]) << i;
  EXPECT_TRUE(reader->MayMatch(keys[0]));

  constexpr size_t kOthers = 20000;
  const auto others = random.Keys(kOthers, 13);
  const auto other_views = Views(others);
  const auto false_positives = std::make_unique<bool[]>(kOthers);
  ASSERT_TRUE(
      reader->Check(other_views.data(), kOthers, false_positives.get()).ok());
  const auto count = static_cast<double>(
      std::count(false_positives.get(), false_positives.get() + kOthers, true));
  // 1 % asked for; the bits of all schemes but local are Bloom's own, and sizes
  // are kept by their formulas. Five standard deviations of the binomial, and
  // the variation of the filter itself.
  const double rate = 0.01 * 1.08;
  const double bound =
      kOthers * rate + 5 * std::sqrt(kOthers * rate * (1 - rate));
  EXPECT_LT(count, bound);
  EXPECT_GT(count, 0);

  RedisFilterInfo info;
  const RedisStatus status = reader->Info(&info);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_NEAR(info.keys_estimate, kKeys, 0.05 * kKeys);
  EXPECT_NEAR(info.false_positive_rate, count / kOthers,
              5 * std::sqrt(rate / kOthers) + 0.001);
  EXPECT_FALSE(info.adopted);
  EXPECT_EQ(info.expires_in, milliseconds(-1));
  const RedisFilterStatistics statistics = reader->Statistics();
  EXPECT_EQ(statistics.checks, kKeys + 1 + kOthers);
  EXPECT_EQ(statistics.absent, kOthers - static_cast<uint64_t>(count));
  EXPECT_EQ(statistics.failed_open, 0u);

  ASSERT_TRUE(writer->Delete().ok());
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), "0");
  EXPECT_TRUE(reader->MayMatch(others[0]));
  EXPECT_EQ(reader->Statistics().failed_open, 1u);
}

TEST_P(SchemesTest, TakesAnyKey) {
  auto filter = Create(OptionsOf(GetParam(), "any", 100));
  const std::string keys[] = {"", std::string(1, '\0'), std::string(3, '\xff'),
                              "\r\n$3\r\n", std::string(size_t{1} << 20, 'x')};
  for (const std::string& key : keys) {
    ASSERT_TRUE(filter->Add(key).ok());
    bool found = false;
    ASSERT_TRUE(filter->Check(key, &found).ok());
    EXPECT_TRUE(found);
  }
  const std::string long_key((size_t{1} << 20) + 1, 'x');
  EXPECT_EQ(filter->Add(long_key).error, RedisError::kInvalidArgument);
  bool found = false;
  EXPECT_EQ(filter->Check(long_key, &found).error,
            RedisError::kInvalidArgument);
  EXPECT_TRUE(found);
  EXPECT_TRUE(filter->Check(nullptr, 0, nullptr).ok());
  EXPECT_TRUE(filter->Add(nullptr, 0).ok());
}

TEST_P(SchemesTest, BitsReadAreThoseOfTheString) {
  auto filter = Create(OptionsOf(GetParam(), "bits", 300));
  ASSERT_TRUE(filter->Add("a key").ok());
  std::string bits;
  ASSERT_TRUE(filter->ReadBits(&bits).ok());
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  ASSERT_EQ(bits.size(), (info.bits + 7) / 8);
  uint64_t set = 0;
  for (uint64_t bit = 0; bit < info.bits; ++bit) {
    const bool mine = (bits[bit / 8] >> bit % 8 & 1) != 0;
    set += mine ? 1 : 0;
    if (info.shards == 1) {
      ASSERT_EQ(TheServer().Run({"GETBIT", "bits", std::to_string(bit)}),
                mine ? "1" : "0");
    }
  }
  const uint64_t markers = info.scheme == "local" ? info.bits / 512 : 0;
  EXPECT_EQ(set, info.set_bits + markers);
}

// The bits of scheme local are those of the layout local in memory.
TEST_F(RedisFilterTest, LocalIsTheLayoutLocal) {
  RedisFilterOptions options;
  options.name = "local";
  options.bits = 512 * 20;
  options.probes = 6;
  auto filter = Create(options);
  FilterOptions layout;
  layout.layout = Layout::kLocal;
  layout.bits_per_key = 10;
  FilterBuilder builder(layout);
  Random random(SeedOr(1));
  for (const std::string& key : random.Keys(1024, 9)) {
    builder.AddKey(key);
    ASSERT_TRUE(filter->Add(key).ok());
  }
  std::string expected, bits;
  builder.Finish(&expected);
  ASSERT_EQ(expected.size(), 20u * 64 + 1);
  for (size_t i = 0; i < 20; ++i) expected[64 * i] |= 1;  // markers
  ASSERT_TRUE(filter->ReadBits(&bits).ok());
  EXPECT_EQ(bits, expected.substr(0, bits.size()));
}

// More words than a script can hand to a command at once.
TEST_F(RedisFilterTest, TheMostProbesInLargeBatches) {
  RedisFilterOptions options;
  options.name = "many";
  options.scheme = "go-murmur3";
  options.bits = 1000003;
  options.probes = 255;
  auto filter = Create(options);
  const auto keys = Random(SeedOr(8)).Keys(300, 6);
  const auto views = Views(keys);
  ASSERT_TRUE(filter->Add(views.data(), views.size()).ok());
  const auto found = std::make_unique<bool[]>(views.size());
  ASSERT_TRUE(filter->Check(views.data(), views.size(), found.get()).ok());
  for (size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(found[i]);
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_NEAR(info.keys_estimate, 300, 5);
  bool is_new = true;
  ASSERT_TRUE(filter->Add(keys[0], &is_new).ok());
  EXPECT_FALSE(is_new);
}

TEST_F(RedisFilterTest, ExistingNamesAreLeftAlone) {
  const RedisFilterOptions options = OptionsOf({"go-murmur3", 0}, "n", 10);
  auto filter = Create(options);
  std::unique_ptr<RedisFilter> second;
  RedisStatus status =
      RedisFilter::Create(TheServer().Options(), options, &second);
  EXPECT_EQ(status.error, RedisError::kExists);
  EXPECT_NE(status.message.find("'n'"), std::string::npos) << status.message;
  EXPECT_EQ(second, nullptr);

  TheServer().Run({"SETBIT", "theirs", "5", "1"});
  RedisFilterOptions theirs = OptionsOf({"local", 0}, "theirs", 10);
  EXPECT_EQ(RedisFilter::Create(TheServer().Options(), theirs, &second).error,
            RedisError::kExists);
  // In shards: nothing of the attempt stays.
  theirs.name = "sharded";
  theirs.bits = 512 * 4;
  theirs.probes = 5;
  theirs.expected_keys = 0;
  theirs.shard_bytes = 64;
  TheServer().Run({"SET", "{sharded}:shard2", "x"});
  const std::string before = TheServer().Run({"DBSIZE"});
  EXPECT_EQ(RedisFilter::Create(TheServer().Options(), theirs, &second).error,
            RedisError::kExists);
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), before);
}

TEST_F(RedisFilterTest, ExpiryIsSetOnceAndNeverLost) {
  RedisFilterOptions options = OptionsOf({"local", 0}, "e", 1000);
  options.expire_after = milliseconds(100000);
  auto filter = Create(options);
  const auto ttl = [](const char* key) {
    return std::stol(TheServer().Run({"PTTL", key}));
  };
  std::this_thread::sleep_for(milliseconds(30));
  ASSERT_TRUE(filter->Add("k").ok());
  EXPECT_LT(ttl("e"), 99980);
  EXPECT_GT(ttl("e"), 50000);
  std::unique_ptr<RedisRebuild> rebuild;
  ASSERT_TRUE(filter->StartRebuild({}, &rebuild).ok());
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_LT(ttl("e"), 99980);
  EXPECT_GT(ttl("e"), 50000);
  EXPECT_GT(ttl("{e}:deltabloom"), 50000);
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_GT(info.expires_in.count(), 50000);
}

// What expired, was evicted or flushed must not refuse valid ids.
TEST_P(SchemesTest, LostBitsMayMatch) {
  auto filter = Create(OptionsOf(GetParam(), "lost", 1000));
  ASSERT_TRUE(filter->Add("here").ok());
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  const std::string first = info.shards == 1 ? "lost" : "{lost}:shard0";
  for (uint32_t shard = 0; shard < info.shards; ++shard) {
    const std::string live =
        info.shards == 1 ? first : "{lost}:shard" + std::to_string(shard);
    TheServer().Run({"DEL", live});
    // Somebody without our script begins a string of zeros.
    TheServer().Run({"SETBIT", live, "40000", "0"});
  }
  bool found = false;
  const RedisStatus status = filter->Check("here", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(status.error, RedisError::kMissing) << status.message;
  EXPECT_TRUE(filter->MayMatch("here"));
  EXPECT_TRUE(filter->MayMatch("elsewhere"));
  EXPECT_EQ(filter->Statistics().lost_bits, 3u);
  EXPECT_EQ(filter->Statistics().failed_open, 2u);
  EXPECT_EQ(filter->Add("more").error, RedisError::kMissing);

  TheServer().Run({"FLUSHALL"});
  EXPECT_TRUE(filter->MayMatch("here"));
  EXPECT_EQ(filter->Add("more").error, RedisError::kMissing);
}

// A client that knew a filter must not read another of its name as that one.
TEST_F(RedisFilterTest, ReplacedFiltersAreSeen) {
  auto old = Create(OptionsOf({"go-murmur3", 0}, "r", 1000));
  ASSERT_TRUE(old->Add("a").ok());
  auto other = Open("r");
  ASSERT_TRUE(other->Delete().ok());
  auto fresh = Create(OptionsOf({"local", 0}, "r", 50000));
  ASSERT_TRUE(fresh->Add("b").ok());
  bool found = false;
  ASSERT_TRUE(old->Check("b", &found).ok());
  EXPECT_TRUE(found);
  ASSERT_TRUE(old->Check("a", &found).ok());
  EXPECT_FALSE(found);
  ASSERT_TRUE(other->Add("c").ok());
  ASSERT_TRUE(fresh->Check("c", &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(RedisFilterTest, MovesToAnotherSize) {
  auto small = Create(OptionsOf({"local", 0}, "small", 100));
  auto reader = Open("small");
  auto large = Create(OptionsOf({"go-murmur3", 0}, "large", 10000));
  ASSERT_TRUE(small->Add("k").ok());
  ASSERT_TRUE(large->Add("k").ok());
  const RedisStatus status = small->MoveTo("large");
  ASSERT_TRUE(status.ok()) << status.message;
  bool found = false;
  ASSERT_TRUE(reader->Check("k", &found).ok());
  EXPECT_TRUE(found);
  ASSERT_TRUE(reader->Add("l").ok());
  ASSERT_TRUE(large->Check("l", &found).ok());
  EXPECT_TRUE(found);
  RedisFilterInfo info;
  ASSERT_TRUE(Open("small")->Info(&info).ok());
  EXPECT_EQ(info.name, "large");
  EXPECT_EQ(large->MoveTo("small").error, RedisError::kInvalidArgument);
  EXPECT_EQ(large->MoveTo("none").error, RedisError::kMissing);
}

TEST_F(RedisFilterTest, RotationLetsOldKeysGo) {
  RedisFilterOptions options = OptionsOf({"local", 0}, "g", 1000);
  options.generations = 3;
  options.max_age = milliseconds(3600000);
  options.expire_after = milliseconds(7200000);
  auto filter = Create(options);
  auto reader = Open("g");
  bool found = false, rotated = true;
  ASSERT_TRUE(filter->Add("old").ok());
  ASSERT_TRUE(filter->Rotate(false, &rotated).ok());
  EXPECT_FALSE(rotated);
  for (int i = 0; i < 2; ++i) {
    const RedisStatus status = filter->Rotate(true, &rotated);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(rotated);
    ASSERT_TRUE(reader->Check("old", &found).ok());
    EXPECT_TRUE(found);
  }
  ASSERT_TRUE(reader->Add("new").ok());
  ASSERT_TRUE(filter->Rotate(true).ok());
  ASSERT_TRUE(reader->Check("old", &found).ok());
  EXPECT_FALSE(found);
  ASSERT_TRUE(reader->Check("new", &found).ok());
  EXPECT_TRUE(found);
  EXPECT_GT(std::stol(TheServer().Run({"PTTL", "g"})), 0);
  std::unique_ptr<RedisRebuild> rebuild;
  EXPECT_EQ(filter->StartRebuild({}, &rebuild).error, RedisError::kUnsupported);
  // A lost old generation, too, may have held any key.
  TheServer().Run({"DEL", "{g}:gen1"});
  EXPECT_EQ(reader->Check("x", &found).error, RedisError::kMissing);
  EXPECT_TRUE(found);
  EXPECT_EQ(Create(OptionsOf({"local", 0}, "one", 9))->Rotate().error,
            RedisError::kUnsupported);
}

TEST_F(RedisFilterTest, RotatesWhenDue) {
  RedisFilterOptions options = OptionsOf({"go-murmur3", 0}, "due", 100);
  options.generations = 2;
  options.max_age = milliseconds(50);
  auto filter = Create(options);
  std::this_thread::sleep_for(milliseconds(80));
  bool first = false;
  ASSERT_TRUE(filter->Rotate(false, &first).ok());
  EXPECT_TRUE(first);
}

}  // namespace
}  // namespace deltabloom::test
