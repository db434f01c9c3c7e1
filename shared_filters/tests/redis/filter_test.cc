// Filters in a real Redis, created or adopted: filled, checked, described,
// moved, deleted.
#include <gtest/gtest.h>

#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/examples/guard_a_store/own_connection.h"
#include "shared_filters/tests/redis/server.h"
#include "tests/random.h"

namespace deltabloom::test {
namespace {

using FilterTest = RedisTest;

// --- Every scheme ------------------------------------------------------------

struct Case {
  const char* scheme;
  bool doubled = false;
  uint64_t shard_bytes = uint64_t{512} << 20;
};

class SchemesTest : public RedisTest, public testing::WithParamInterface<Case> {
 protected:
  TestFilter Create(uint64_t keys) const {
    RedisFilterOptions options = Sized("f", GetParam().scheme, keys);
    options.doubled_string = GetParam().doubled;
    options.shard_bytes = GetParam().shard_bytes;
    return RedisTest::Create(options);
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, SchemesTest,
    testing::Values(Case{"local"}, Case{"local", false, 6400},
                    Case{"go-murmur3"}, Case{"go-murmur3-14"},
                    Case{"guava-helper"}, Case{"guava-helper", true}));

TEST_P(SchemesTest, FindsEveryKeyAtTheRequestedRate) {
  FreshRandom random;
  constexpr size_t kKeys = 4000, kOthers = 20000;
  const TestFilter writer = Create(kKeys);
  const TestFilter reader = Open("f");
  EXPECT_EQ(reader.Info().keys_estimate, 0);
  EXPECT_EQ(reader.Info().false_positive_rate, 0);
  const Words keys = random.Keys(kKeys, 12);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto is_new = std::make_unique<bool[]>(kKeys);
  ExpectOk(writer->Add(views.data(), kKeys / 2, is_new.get()));
  EXPECT_TRUE(is_new[0]);
  for (size_t i = kKeys / 2; i < kKeys; i += 250) {
    ExpectOk(writer->Add(views.data() + i, 250));
  }
  ExpectOk(writer->Add(keys[7], is_new.get()));
  EXPECT_FALSE(is_new[0]);
  EXPECT_TRUE(reader.Finds(keys));

  const Words others = random.Keys(kOthers, 13);
  const auto count = static_cast<double>(reader.Count(others));
  // Five standard deviations of the binomial, and the variation of the filter
  // itself.
  const double rate = 0.01 * 1.08;
  EXPECT_LT(count, kOthers * rate + 5 * std::sqrt(kOthers * rate * (1 - rate)));
  EXPECT_GT(count, 0);

  const RedisFilterInfo info = reader.Info();
  EXPECT_NEAR(info.keys_estimate, kKeys, 0.05 * kKeys);
  EXPECT_NEAR(info.false_positive_rate, count / kOthers,
              5 * std::sqrt(rate / kOthers) + 0.001);
  uint64_t set = 0;
  for (const char byte : writer.Bits()) {
    set += std::bitset<8>(static_cast<unsigned char>(byte)).count();
  }
  const uint64_t markers = info.scheme == "local" ? info.bits / 512 : 0;
  EXPECT_EQ(set, info.set_bits + markers);
  EXPECT_FALSE(info.adopted);
  EXPECT_EQ(info.doubled_string, GetParam().doubled);
  EXPECT_EQ(info.expires_in, milliseconds(-1));
  const RedisFilterStatistics statistics = reader->Statistics();
  EXPECT_EQ(statistics.checks, kKeys + kOthers);
  EXPECT_EQ(statistics.absent, kOthers - static_cast<uint64_t>(count));
  EXPECT_EQ(statistics.failed_open, 0u);

  ExpectOk(writer->Delete());
  EXPECT_EQ(Run({"DBSIZE"}), "0");
  EXPECT_TRUE(reader->MayMatch(others[0]));
  EXPECT_EQ(reader->Statistics().failed_open, 1u);
}

TEST_P(SchemesTest, TakesAnyKey) {
  const TestFilter filter = Create(100);
  const Words keys = {"", std::string(1, '\0'), "\xff\xff\xff", "\r\n$3\r\n",
                      std::string(size_t{1} << 20, 'x')};
  for (const std::string& key : keys) filter.Add({key});
  EXPECT_TRUE(filter.Finds(keys));
  const std::string long_key((size_t{1} << 20) + 1, 'x');
  EXPECT_EQ(filter->Add(long_key).error, RedisError::kInvalidArgument);
  EXPECT_EQ(filter.Error(long_key), RedisError::kInvalidArgument);
  filter.Add({});
  EXPECT_TRUE(filter.Finds({}));
}

// Bits that expired, were evicted or flushed reject no key.
TEST_P(SchemesTest, LostBitsMayMatch) {
  const TestFilter filter = Create(1000);
  filter.Add({"here"});
  const uint32_t shards = filter.Info().shards;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    const std::string live =
        shards == 1 ? "f" : "{f}:shard" + std::to_string(shard);
    Run({"DEL", live});
    Run({"SETBIT", live, "40000", "0"});  // by a foreign program
  }
  EXPECT_EQ(filter.Error("here"), RedisError::kMissing);
  EXPECT_TRUE(filter->MayMatch("here"));
  EXPECT_TRUE(filter->MayMatch("elsewhere"));
  EXPECT_EQ(filter->Statistics().lost_bits, 3u);
  EXPECT_EQ(filter->Statistics().failed_open, 2u);
  EXPECT_EQ(filter->Add("more").error, RedisError::kMissing);

  Run({"FLUSHALL"});
  EXPECT_TRUE(filter->MayMatch("here"));
  EXPECT_EQ(filter->Add("more").error, RedisError::kMissing);
}

// --- Sizes, names and expiry -------------------------------------------------

// A marker in each block, and nothing after the last one: beyond what a script
// writes at once.
TEST_F(FilterTest, LargeBitmapsAreEmpty) {
  RedisFilterOptions options = Sized("f", "local", 0);
  options.bits = 512 * (16384 + 7);
  options.probes = 1;
  const TestFilter filter = Create(options);
  EXPECT_EQ(Run({"STRLEN", "f"}), std::to_string(options.bits / 8));
  EXPECT_EQ(Run({"BITCOUNT", "f"}), std::to_string(options.bits / 512));
  EXPECT_EQ(Run({"GETBIT", "f", std::to_string(options.bits - 512)}), "1");
  EXPECT_EQ(filter.Info().set_bits, 0u);
}

// More words than a script can pass to a command at once.
TEST_F(FilterTest, TheMostProbesInLargeBatches) {
  RedisFilterOptions options = Sized("f", "go-murmur3", 0);
  options.bits = 1000003;
  options.probes = 255;
  const TestFilter filter = Create(options);
  const Words keys = Random(SeedOr(8)).Keys(300, 6);
  filter.Add(keys);
  EXPECT_TRUE(filter.Finds(keys));
  EXPECT_NEAR(filter.Info().keys_estimate, 300, 5);
  bool is_new = true;
  ExpectOk(filter->Add(keys[0], &is_new));
  EXPECT_FALSE(is_new);
}

TEST_F(FilterTest, ExistingNamesAreLeftAlone) {
  Create(Small());
  const auto expect_exists = [this](const RedisFilterOptions& options) {
    ExpectError(Make(RedisFilter::Create, server_.Options(), options),
                RedisError::kExists, {options.name});
  };
  expect_exists(Small());
  Run({"SETBIT", "theirs", "5", "1"});
  expect_exists(Small("theirs"));
  // Nothing stays of an attempt in shards.
  RedisFilterOptions sharded = Sized("sharded", "local", 0);
  sharded.bits = 512 * 4;
  sharded.probes = 5;
  sharded.shard_bytes = 64;
  Run({"SET", "{sharded}:shard2", "x"});
  expect_exists(sharded);
  EXPECT_EQ(Run({"DBSIZE"}), "4");
}

TEST_F(FilterTest, ExpiryIsSetOnceAndNeverLost) {
  RedisFilterOptions options = Small("e");
  options.expire_after = milliseconds(9000000);
  const TestFilter filter = Create(options);
  const auto expect_expiry = [&](long most) {
    for (const long left :
         {Ttl("e"), Ttl("{e}:deltabloom"),
          static_cast<long>(filter.Info().expires_in.count())}) {
      EXPECT_LE(left, most);
      EXPECT_GT(left, most - 1000000);
    }
  };
  expect_expiry(9000000);
  // As if much of the time had passed.
  for (const char* key : {"e", "{e}:deltabloom"}) {
    Run({"PEXPIRE", key, "5000000"});
  }
  filter.Add({"k"});
  expect_expiry(5000000);
  filter.Rebuild({});
  expect_expiry(5000000);
  Run({"DEL", "e"});  // lost bits come back with the expiry
  EXPECT_EQ(filter->Add("x").error, RedisError::kMissing);
  filter.Rebuild({"back"});
  EXPECT_TRUE(filter.Finds({"back"}));
  expect_expiry(5000000);
}

// A client that knew a filter must not read another of its name as that one.
TEST_F(FilterTest, ReplacedFiltersAreSeen) {
  const TestFilter old = Create(Small("r"));
  old.Add({"a"});
  const TestFilter other = Open("r");
  ExpectOk(other->Delete());
  const TestFilter fresh = Create(Sized("r", "local", 50000));
  fresh.Add({"b"});
  EXPECT_TRUE(old.Finds({"b"}, {"a"}));
  other.Add({"c"});
  EXPECT_TRUE(fresh.Finds({"c"}));
}

TEST_F(FilterTest, MovesToAnotherSize) {
  const TestFilter small = Create(Sized("small", "local", 100));
  const TestFilter reader = Open("small");
  const TestFilter large = Create(Sized("large", "go-murmur3", 10000));
  small.Add({"k"});
  large.Add({"k"});
  ExpectOk(small->MoveTo("large"));
  EXPECT_TRUE(reader.Finds({"k"}));
  reader.Add({"l"});
  EXPECT_TRUE(large.Finds({"l"}));
  EXPECT_EQ(Open("small").Info().name, "large");
  EXPECT_EQ(large->MoveTo("small").error, RedisError::kInvalidArgument);
  EXPECT_EQ(large->MoveTo("none").error, RedisError::kMissing);
}

// --- Connections -------------------------------------------------------------

// Opened while Redis is away, it fails open until Redis is there.
TEST(LazyFilter, OpensWithoutRedis) {
  Server server;
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  server.Stop();
  std::unique_ptr<RedisFilter> filter;
  ExpectOk(RedisFilter::OpenLazily(redis, "f", &filter));
  bool found = false;
  EXPECT_EQ(filter->Check("a", &found).error, RedisError::kUnavailable);
  EXPECT_TRUE(found);
  EXPECT_TRUE(filter->MayMatch("a"));
  EXPECT_EQ(filter->Statistics().failed_open, 1u);
  EXPECT_EQ(filter->Add("a").error, RedisError::kUnavailable);
  std::unique_ptr<RedisRebuild> rebuild;
  EXPECT_EQ(filter->StartRebuild({}, &rebuild).error, RedisError::kUnavailable);
  server.Start();
  EXPECT_EQ(filter->Check("a", &found).error, RedisError::kMissing);
  ExpectOk(filter->Delete());
  const TestFilter created(redis, Small());
  ExpectOk(filter->Add("a"));
  EXPECT_TRUE(filter->MayMatch("a"));
  EXPECT_FALSE(filter->MayMatch("b"));
  EXPECT_EQ(RedisFilter::OpenLazily(redis, "a}b", &filter).error,
            RedisError::kInvalidArgument);
  redis.port = 0;
  EXPECT_EQ(RedisFilter::OpenLazily(redis, "f", &filter).error,
            RedisError::kInvalidArgument);
}

TEST_F(FilterTest, ConnectionsOfTheUserAreUsed) {
  RedisOptions redis = server_.Options();
  int opened = 0;
  redis.connect = [&opened](const auto&... arguments) {
    ++opened;
    return OwnConnection::Open(arguments...);
  };
  const TestFilter filter(redis, Small());
  Words keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(std::to_string(i));
  filter.Rebuild({"rebuilt"});
  filter.Add(keys);
  EXPECT_TRUE(filter.Finds(keys));
  EXPECT_TRUE(filter.Finds({"rebuilt"}));
  EXPECT_EQ(opened, 1);
  // A dead server raises no SIGPIPE, and a slow one does not stop us.
  Server other;
  redis.port = other.port();
  redis.circuit_failures = 0;
  redis.command_timeout = milliseconds(200);
  const TestFilter there = TestFilter::Impatient(redis, Small());
  other.Pause();
  there.ExpectFailure(RedisError::kUnavailable, other.Place());
  other.Resume();
  other.Stop();
  for (int i = 0; i < 3; ++i) EXPECT_NE(there.Error(), RedisError::kNone);
  EXPECT_EQ(TryOpen(redis).error, RedisError::kUnavailable);
}

// --- Bitmaps of other programs -----------------------------------------------

// No descriptor, no marker.
TEST_F(FilterTest, AdoptedBitmapsPromiseLess) {
  const RedisOptions redis = server_.Options();
  const TestFilter filter = TestFilter::Adopt(redis, Small("theirs"));
  // It was lost, or nothing was written yet.
  filter.ExpectFailure(RedisError::kMissing, server_.Place(), "'theirs'");
  filter.Add({"ours"});
  EXPECT_EQ(Run({"DBSIZE"}), "1");
  EXPECT_TRUE(filter.Finds({"ours"}, {"others"}));
  EXPECT_EQ(filter->Confirm().error, RedisError::kInvalidArgument);
  const RedisFilterInfo info = filter.Info();
  EXPECT_TRUE(info.adopted);
  EXPECT_FALSE(info.verified);
  EXPECT_EQ(info.set_bits, info.probes);
  EXPECT_EQ(Make(RedisFilter::Adopt, redis, Sized("theirs", "local", 9)).error,
            RedisError::kInvalidArgument);
  Create(Small("ours"));
  EXPECT_EQ(Make(RedisFilter::Adopt, redis, Small("ours")).error,
            RedisError::kMismatch);
}

// 512 MiB in Redis, and the last offset it has: of a bitmap of ours the marker
// is there.
TEST_F(FilterTest, PhpReachesTheLastBit) {
  const RedisFilterOptions options = Sized("php", "php-named-hashes", 0);
  Create(options).Add({});
  EXPECT_EQ(Run({"BITPOS", "php", "1"}), "4294967295");
  const TestFilter ours = Open("php");
  ours.Add({"user:1"});
  EXPECT_TRUE(ours.Finds({"user:1"}, {"user:2"}));
  const RedisFilterInfo info = ours.Info();
  EXPECT_EQ(info.set_bits, 3u);
  EXPECT_EQ(info.hashes, (Words{"BKDR", "SDBM", "JS"}));
  EXPECT_LT(info.occupancy, 0.5);
  Run({"DEL", "php"});
  EXPECT_EQ(ours.Error("user:2"), RedisError::kMissing);
  ExpectOk(ours->Delete());
  const TestFilter theirs = TestFilter::Adopt(server_.Options(), options);
  theirs.Add({"user:1"});
  EXPECT_TRUE(theirs.Finds({"user:1"}, {"user:2"}));
}

}  // namespace
}  // namespace deltabloom::test
