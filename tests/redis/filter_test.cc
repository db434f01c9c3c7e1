// Filters in a real Redis, created or adopted: filled, checked, described,
// moved, deleted.
#include "deltabloom/filter.h"

#include <gtest/gtest.h>
#include <hiredis.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <thread>

#include "examples/guard_a_store/own_connection.h"
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
};

RedisFilterOptions OptionsOf(const Case& one, const std::string& name,
                             uint64_t keys) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = one.scheme;
  options.expected_keys = keys;
  options.doubled_string = one.doubled;
  options.shard_bytes = one.shard_bytes;
  return options;
}

class RedisFilterTest : public testing::Test {
 protected:
  void SetUp() override { TheServer().Run({"FLUSHALL"}); }

  static std::unique_ptr<RedisFilter> Create(
      const RedisFilterOptions& options) {
    return test::Create(TheServer().Options(), options);
  }
  static std::unique_ptr<RedisFilter> Open(const std::string& name) {
    return test::Open(TheServer().SocketOptions(), name);
  }
};

class SchemesTest : public RedisFilterTest,
                    public testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(
    All, SchemesTest,
    testing::Values(Case{"local", 0}, Case{"local", 0, false, 6400},
                    Case{"go-murmur3", 0}, Case{"go-murmur3-14", 0},
                    Case{"guava-helper", 0}, Case{"guava-helper", 0, true}));

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
  EXPECT_TRUE(Finds(old.get(), "b"));
  EXPECT_FALSE(Finds(old.get(), "a"));
  ASSERT_TRUE(other->Add("c").ok());
  EXPECT_TRUE(Finds(fresh.get(), "c"));
}

TEST_F(RedisFilterTest, MovesToAnotherSize) {
  auto small = Create(OptionsOf({"local", 0}, "small", 100));
  auto reader = Open("small");
  auto large = Create(OptionsOf({"go-murmur3", 0}, "large", 10000));
  ASSERT_TRUE(small->Add("k").ok());
  ASSERT_TRUE(large->Add("k").ok());
  const RedisStatus status = small->MoveTo("large");
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(Finds(reader.get(), "k"));
  ASSERT_TRUE(reader->Add("l").ok());
  EXPECT_TRUE(Finds(large.get(), "l"));
  RedisFilterInfo info;
  ASSERT_TRUE(Open("small")->Info(&info).ok());
  EXPECT_EQ(info.name, "large");
  EXPECT_EQ(large->MoveTo("small").error, RedisError::kInvalidArgument);
  EXPECT_EQ(large->MoveTo("none").error, RedisError::kMissing);
}

// All processes find the script missing at first.
TEST_P(SchemesTest, ProcessesFillOneFilterTogether) {
  constexpr int kProcesses = 4;
  constexpr int kKeys = 300;  // of each
  const auto key_of = [](int process, int i) {
    return std::to_string(process) + "/" + std::to_string(i);
  };
  TheServer().Run({"SCRIPT", "FLUSH"});
  auto filter = Create(OptionsOf(GetParam(), "f", kProcesses * kKeys));
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      std::unique_ptr<RedisFilter> mine;
      if (!RedisFilter::Open(TheServer().Options(), "f", &mine).ok()) _exit(1);
      for (int i = 0; i < kKeys; ++i) {
        bool found = false;
        if (!mine->Add(key_of(process, i)).ok()) _exit(2);
        if (!mine->Check(key_of(process, i), &found).ok() || !found) _exit(3);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int state = 0;
    waitpid(child, &state, 0);
    EXPECT_TRUE(WIFEXITED(state));
    EXPECT_EQ(WEXITSTATUS(state), 0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(Finds(filter.get(), key_of(process, i)));
    }
  }
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_NEAR(info.keys_estimate, kProcesses * kKeys, 100);
}

// Opened while Redis is away, it fails open until Redis is there.
TEST_F(RedisFilterTest, OpensLazily) {
  Server server;
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  const uint16_t port = redis.port;
  server.Stop();
  std::unique_ptr<RedisFilter> filter;
  ASSERT_TRUE(RedisFilter::OpenLazily(redis, "f", &filter).ok());
  ExpectFailure(filter.get(), RedisError::kUnavailable, std::to_string(port),
                "{f}");
  EXPECT_EQ(filter->Add("a").error, RedisError::kUnavailable);
  RedisFilterInfo info;
  EXPECT_EQ(filter->Info(&info).error, RedisError::kUnavailable);
  std::unique_ptr<RedisRebuild> rebuild;
  EXPECT_EQ(filter->StartRebuild({}, &rebuild).error, RedisError::kUnavailable);
  server.Start();
  ExpectFailure(filter.get(), RedisError::kMissing, std::to_string(port));
  EXPECT_TRUE(filter->Delete().ok());
  test::Create(redis, Small());
  EXPECT_TRUE(filter->Add("a").ok());
  EXPECT_TRUE(Finds(filter.get(), "a"));
  EXPECT_FALSE(Finds(filter.get(), "b"));
  EXPECT_EQ(RedisFilter::OpenLazily(redis, "a}b", &filter).error,
            RedisError::kInvalidArgument);
  redis.port = 0;
  EXPECT_EQ(RedisFilter::OpenLazily(redis, "f", &filter).error,
            RedisError::kInvalidArgument);
}

TEST_F(RedisFilterTest, TakesAClassOfTheUser) {
  RedisOptions redis = TheServer().Options();
  redis.connect = OwnConnection::Open;
  auto filter = test::Create(redis, Small());
  auto rebuild = Start(filter.get());
  rebuild->Add("a");
  ASSERT_TRUE(rebuild->Finish().ok());
  ASSERT_TRUE(filter->Add("b").ok());
  EXPECT_TRUE(Finds(filter.get(), "a"));
  EXPECT_TRUE(Finds(filter.get(), "b"));
  EXPECT_FALSE(Finds(filter.get(), "c"));
  redis.port = FreePort();
  EXPECT_EQ(RedisFilter::Open(redis, "f", &filter).error,
            RedisError::kUnavailable);
}

// Connections over a hiredis context of the user.
TEST_F(RedisFilterTest, TakesConnectionsOfTheUser) {
  RedisOptions redis = TheServer().Options();
  int opened = 0;
  redis.connect = [&opened](const std::string& host, uint16_t port,
                            milliseconds,
                            std::unique_ptr<RedisConnection>* connection) {
    ++opened;
    redisContext* const context = redisConnect(host.c_str(), port);
    *connection = RedisConnectionOf(context);
    return context->err == 0
               ? RedisStatus()
               : RedisStatus{RedisError::kUnavailable, context->errstr};
  };
  auto filter = test::Create(redis, Small());
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(std::to_string(i));
  const auto views = Views(keys);
  const auto found = std::make_unique<bool[]>(views.size());
  ASSERT_TRUE(filter->Add(views.data(), views.size()).ok());
  ASSERT_TRUE(filter->Check(views.data(), views.size(), found.get()).ok());
  for (size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(found[i]);
  EXPECT_EQ(opened, 1);
  // A dead server raises no SIGPIPE, and a slow one does not stop us.
  Server other;
  redis.port = other.port();
  redis.circuit_failures = 0;
  redis.command_timeout = milliseconds(200);
  filter = test::Create(redis, Small());
  other.Pause();
  ExpectFailure(filter.get(), RedisError::kTimeout, PlaceOf(other));
  other.Resume();
  other.Stop();
  for (int i = 0; i < 3; ++i) {
    bool may_match = false;
    EXPECT_FALSE(filter->Check(views.data(), 1, &may_match).ok());
    EXPECT_TRUE(may_match);
  }
  redis.port = FreePort();
  EXPECT_EQ(RedisFilter::Open(redis, "f", &filter).error,
            RedisError::kUnavailable);
}

TEST(Adopted, TheWeakerPromise) {
  Server server;
  std::unique_ptr<RedisFilter> filter;
  RedisFilterOptions options = Small("theirs");
  RedisStatus status = RedisFilter::Adopt(server.Options(), options, &filter);
  ASSERT_TRUE(status.ok()) << status.message;
  // It was lost, or nothing was written yet.
  ExpectFailure(filter.get(), RedisError::kMissing, PlaceOf(server),
                "'theirs'");
  ASSERT_TRUE(filter->Add("ours").ok());
  EXPECT_EQ(server.Run({"DBSIZE"}), "1") << "no descriptor, no marker";
  EXPECT_TRUE(Finds(filter.get(), "ours"));
  EXPECT_FALSE(Finds(filter.get(), "others"));
  EXPECT_EQ(filter->Confirm().error, RedisError::kInvalidArgument);
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_TRUE(info.adopted);
  EXPECT_FALSE(info.verified);
  EXPECT_EQ(info.set_bits, info.probes);
  options.scheme = "local";
  EXPECT_EQ(RedisFilter::Adopt(server.Options(), options, &filter).error,
            RedisError::kInvalidArgument);
  Create(server.Options(), Small("ours"));
  EXPECT_EQ(RedisFilter::Adopt(server.Options(), Small("ours"), &filter).error,
            RedisError::kMismatch);
}

// 512 MiB in Redis, and the last offset it has: of a bitmap of ours the marker
// is there.
TEST(Adopted, PhpReachesTheLastBit) {
  Server server;
  {
    RedisFilterOptions ours;
    ours.name = "ours";
    ours.scheme = "php-named-hashes";
    auto filter = Create(server.Options(), ours);
    EXPECT_EQ(server.Run({"BITPOS", "ours", "1"}), "4294967295");
    ASSERT_TRUE(filter->Add("user:1").ok());
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_EQ(info.set_bits, 3u);
    EXPECT_EQ(info.hashes, (std::vector<std::string>{"BKDR", "SDBM", "JS"}));
    EXPECT_LT(info.occupancy, 0.5);
    auto again = Open(server.Options(), "ours");
    EXPECT_TRUE(Finds(again.get(), "user:1"));
    EXPECT_FALSE(Finds(again.get(), "user:2"));
    server.Run({"DEL", "ours"});
    bool found = false;
    EXPECT_EQ(again->Check("user:2", &found).error, RedisError::kMissing);
  }
  RedisFilterOptions options;
  options.name = "php";
  options.scheme = "php-named-hashes";
  std::unique_ptr<RedisFilter> filter;
  ASSERT_TRUE(RedisFilter::Adopt(server.Options(), options, &filter).ok());
  ASSERT_TRUE(filter->Add("user:1").ok());
  EXPECT_TRUE(Finds(filter.get(), "user:1"));
  EXPECT_FALSE(Finds(filter.get(), "user:2"));
}

}  // namespace
}  // namespace deltabloom::test
