// Rebuilds while writers go on: from one process, from several, cancelled, and
// with either side killed at random.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "deltabloom/redis_filter.h"
#include "shared_filters/tests/redis/server.h"
#include "tests/random.h"

namespace deltabloom::test {
namespace {

RedisRebuildOptions With(bool RedisRebuildOptions::*option) {
  RedisRebuildOptions options;
  options.*option = true;
  return options;
}

const auto kStopped = With(&RedisRebuildOptions::writers_stopped);
const auto kKeep = With(&RedisRebuildOptions::keep_keys);
const auto kTakeOver = With(&RedisRebuildOptions::take_over);

using RebuildTest = RedisTest;

// --- Every scheme ------------------------------------------------------------

class SchemesTest : public RedisTest,
                    public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, SchemesTest,
                         testing::Values("local", "go-murmur3",
                                         "guava-helper"));

TEST_P(SchemesTest, ReplacesAndKeepsWhatCameMeanwhile) {
  const TestFilter filter = Create(Sized("f", GetParam(), 1000));
  const TestFilter writer = Open("f");
  filter.Add({"goes"});
  const auto rebuild = filter.Start();
  EXPECT_TRUE(filter.Info().rebuilding);
  writer.Add({"comes"});
  EXPECT_TRUE(filter.Finds({"goes"}));
  EXPECT_TRUE(TestFilter::Finish(rebuild.get(), {"stays"}));
  EXPECT_TRUE(writer.Finds({"stays", "comes"}, {"goes"}));
  EXPECT_EQ(Run({"DBSIZE"}), "2") << "live and descriptor";
  EXPECT_FALSE(filter.Info().rebuilding);
  EXPECT_EQ(filter.Info().rebuilds, 1u);
  EXPECT_EQ(rebuild->Finish().error, RedisError::kInvalidArgument);
}

// One for keys that exist already rejects none before it has them all.
TEST_P(SchemesTest, FilledByRebuildMayMatchUntilItIs) {
  RedisFilterOptions options = Sized("f", GetParam(), 1000);
  options.expire_after = milliseconds(3600000);
  options.filled_by_rebuild = true;
  const TestFilter filter = Create(options);
  const TestFilter reader = Open("f");
  EXPECT_EQ(reader.Error("any"), RedisError::kMissing);
  EXPECT_EQ(reader->Add("any").error, RedisError::kMissing);
  filter.Rebuild({"key"});
  EXPECT_TRUE(reader.Finds({"key"}, {"any"}));
  reader.Add({"any"});
  EXPECT_TRUE(reader.Finds({"any"}));
  EXPECT_GT(Ttl("f"), 3000000);
}

// Programs that know nothing of rebuilds may write a bitmap of these schemes,
// unless its creator says that none does.
TEST_P(SchemesTest, PlainWritesOfOthersAreKept) {
  if (GetParam() == std::string("local")) GTEST_SKIP() << "has no others";
  RedisFilterOptions options = Sized("f", GetParam(), 1000);
  const TestFilter other = Create(Sized("same", GetParam(), 1000));
  other.Add({"theirs"});
  options.own_writers_only = false;
  const TestFilter filter = Create(options);
  EXPECT_FALSE(filter.Info().own_writers_only);
  filter.Add({"old"});
  const auto rebuild = filter.Start();
  const std::string bits = other.Bits();
  for (uint64_t bit = 0; bit < 8 * bits.size(); ++bit) {
    if ((bits[bit / 8] >> bit % 8 & 1) != 0) {
      Run({"SETBIT", "f", std::to_string(bit), "1"});
    }
  }
  filter.Add({"meanwhile"});
  EXPECT_FALSE(TestFilter::Finish(rebuild.get(), {"new"}));
  EXPECT_TRUE(filter.Finds({"old", "new", "theirs", "meanwhile"}));
  EXPECT_TRUE(filter.Rebuild({"new"}, kStopped));
  EXPECT_TRUE(filter.Finds({"new"}, {"theirs"}));
}

// --- One rebuild at a time ---------------------------------------------------

// A rebuild is one of the filter that exists now, not of the one that was
// opened.
TEST_F(RebuildTest, AfterTheFilterWasMadeAnew) {
  const TestFilter stale = Create(Sized("f", "go-murmur3", 1000));
  Run({"FLUSHALL"});
  const TestFilter fresh = Create(Sized("f", "go-murmur3", 5000));
  stale.Rebuild({"key"});
  EXPECT_TRUE(fresh.Finds({"key"}));
}

TEST_F(RebuildTest, OneAtATime) {
  const TestFilter filter = Create(Sized("f", "go-murmur3", 1000));
  auto first = filter.Start();
  std::unique_ptr<RedisRebuild> second;
  EXPECT_EQ(filter->StartRebuild({}, &second).error, RedisError::kBusy);
  second = filter.Start(kTakeOver);
  filter.Add({"both"});
  first->Add("of the first");
  EXPECT_EQ(first->Finish().error, RedisError::kBusy);
  first.reset();
  EXPECT_EQ(Run({"DBSIZE"}), "3") << "the second's";
  TestFilter::Finish(second.get(), {"of the second"});
  EXPECT_TRUE(filter.Finds({"both", "of the second"}, {"of the first"}));
  filter.Start()->Add("given up");
  EXPECT_EQ(Run({"DBSIZE"}), "2");
}

TEST_F(RebuildTest, LeasesRunOut) {
  const TestFilter filter = Create(Sized("f", "go-murmur3", 1000));
  RedisRebuildOptions options;
  options.lease = milliseconds(500000);
  auto dead = filter.Start(options);
  EXPECT_GT(Ttl("{f}:rebuild"), 0);
  EXPECT_LE(Ttl("{f}:rebuild"), 500000);
  const auto run_out = [this] { Run({"PEXPIRE", "{f}:rebuild", "0"}); };
  run_out();
  filter.Add({"k"});  // writers do not mind
  EXPECT_EQ(Run({"EXISTS", "{f}:rebuild"}), "0");
  dead.reset();  // given up too late, it leaves nothing
  EXPECT_EQ(Run({"HEXISTS", "{f}:deltabloom", "rebuild"}), "0");
  dead = filter.Start(options);
  run_out();
  auto next = filter.Start();  // not busy
  EXPECT_EQ(dead->Finish().error, RedisError::kBusy);
  next.reset();
  EXPECT_TRUE(filter.Finds({"k"}));
}

// A rebuild that settles renews its lease until it is cancelled. The longer
// lease that the test sets shows the renewal, and cannot run out before it.
TEST_F(RebuildTest, LeasesAreRenewed) {
  const TestFilter filter = Create(Sized("f", "go-murmur3", 1000));
  RedisRebuildOptions options;
  options.lease = milliseconds(4000);
  options.settle = milliseconds(3600000);
  bool is_longer = false;
  options.cancelled = [&] {
    if (!is_longer) Run({"PEXPIRE", "{f}:rebuild", "500000"});
    return std::exchange(is_longer, true) && Ttl("{f}:rebuild") <= 4000;
  };
  std::unique_ptr<RedisRebuild> rebuild;
  EXPECT_EQ(filter->StartRebuild(options, &rebuild).error,
            RedisError::kCancelled);
}

// --- Keys that are kept, bits that are taken ---------------------------------

TEST_F(RebuildTest, AdoptedBitmapsAreAddedToUnlessWritersRest) {
  Run({"SETBIT", "theirs", "12", "1"});
  Run({"PEXPIRE", "theirs", "500000"});
  const TestFilter filter =
      TestFilter::Adopt(server_.Options(), Sized("theirs", "go-murmur3", 1000));
  filter.Add({"old"});
  for (const bool stopped : {false, true}) {
    const auto rebuild =
        filter.Start(stopped ? kStopped : RedisRebuildOptions());
    if (stopped) {
      filter.Add({"ours meanwhile"});
    } else {
      Run({"SETBIT", "theirs", "13", "1"});  // a foreign writer
    }
    EXPECT_EQ(TestFilter::Finish(rebuild.get(), {"new"}), stopped);
    EXPECT_EQ(filter.Finds({"old"}), !stopped);
    EXPECT_TRUE(filter.Finds({"new"}));
    EXPECT_EQ(filter.Finds({"ours meanwhile"}), stopped);
    EXPECT_EQ(Run({"GETBIT", "theirs", "13"}), stopped ? "0" : "1");
    EXPECT_GT(Ttl("theirs"), 1000);
    EXPECT_EQ(Run({"DBSIZE"}), "1");
  }
}

// A faster way to add many keys: it vouches for no others.
TEST_F(RebuildTest, KeepsKeysIfAsked) {
  const TestFilter filter = Create(Sized("f", "local", 1000));
  filter.Add({"old"});
  auto rebuild = filter.Start(kKeep);
  filter.Add({"meanwhile"});
  EXPECT_FALSE(TestFilter::Finish(rebuild.get(), {"new"}));
  EXPECT_TRUE(filter.Finds({"old", "new", "meanwhile"}));
  EXPECT_EQ(filter.Info().rebuilds, 0u);
  // Lost bits stay lost, unverified ones unverified.
  rebuild = filter.Start(kKeep);
  Run({"DEL", "f"});
  EXPECT_EQ(rebuild->Finish().error, RedisError::kMissing);
  EXPECT_EQ(filter.Error("old"), RedisError::kMissing);
  filter.Rebuild({});
  Run({"HSET", "{f}:deltabloom", "run_id", "another"});
  filter.Rebuild({"new"}, kKeep);
  EXPECT_EQ(filter.Error("old"), RedisError::kUnverified);
  filter.Rebuild({});
  EXPECT_FALSE(filter.Finds({"old"}));
}

// More of them than are read or sent at once.
TEST_F(RebuildTest, TakesBitsFromElsewhere) {
  const TestFilter source = Create(Sized("source", "guava-helper", 2000000));
  source.Add(Random(SeedOr(4)).Keys(3000, 8));
  const std::string bits = source.Bits();
  const TestFilter copy = Create(Sized("copy", "guava-helper", 2000000));
  RedisRebuildOptions options;
  uint64_t done = 0;
  options.progress = [&](uint64_t part, uint64_t whole) {
    EXPECT_LE(done, part);
    EXPECT_EQ(whole, bits.size());
    done = part;
  };
  const auto rebuild = copy.Start(options);
  EXPECT_FALSE(rebuild->AddBits(bits + "x"));
  EXPECT_TRUE(rebuild->AddBits(bits));
  ExpectOk(rebuild->Finish());
  EXPECT_EQ(done, bits.size());
  EXPECT_EQ(Run({"GET", "copy"}), Run({"GET", "source"}));
}

// --- Rebuilds that do not end ------------------------------------------------

TEST_F(RebuildTest, VerifiesTheUpload) {
  const TestFilter filter = Create(Sized("f", "go-murmur3", 100000));
  filter.Add({"k"});
  auto rebuild = filter.Start();
  rebuild->Add("x");
  const std::string token = Run({"HGET", "{f}:deltabloom", "rebuild"});
  // The bit is behind all that the upload will write.
  Run({"SETBIT", "{f}:upload:" + token, "2000000", "1"});
  EXPECT_EQ(rebuild->Finish().error, RedisError::kMismatch);
  EXPECT_TRUE(filter.Finds({"k"}));
  EXPECT_EQ(Run({"DBSIZE"}), "2");
}

// A rebuild can be cancelled in the upload, to a filter of ours or an adopted
// one, and in the wait before the first key.
TEST_F(RebuildTest, CanBeCancelled) {
  RedisFilterOptions options = Sized("f", "go-murmur3", 0);
  options.bits = 100000;
  options.probes = 3;
  bool stop = false;
  RedisRebuildOptions cancelled, waiting;
  cancelled.cancelled = waiting.cancelled = [&] { return stop; };
  waiting.settle = milliseconds(3600000);
  for (const bool adopted : {false, true}) {
    Run({"FLUSHALL"});
    const TestFilter filter =
        adopted ? TestFilter::Adopt(server_.Options(), options)
                : Create(options);
    filter.Add({"stays"});
    const std::string before = Run({"KEYS", "*"});
    stop = false;
    auto rebuild = filter.Start(cancelled);
    rebuild->Add("comes");
    stop = true;
    EXPECT_EQ(rebuild->Finish().error, RedisError::kCancelled);
    EXPECT_EQ(Run({"KEYS", "*"}), before);
    EXPECT_TRUE(filter.Finds({"stays"}, {"comes"}));

    rebuild.reset();
    const RedisStatus status = filter->StartRebuild(waiting, &rebuild);
    EXPECT_STREQ(RedisErrorName(status.error), "cancelled");
    ExpectError(status, RedisError::kCancelled,
                {"'f': the rebuild was cancelled"});
    EXPECT_EQ(rebuild, nullptr);
    EXPECT_EQ(Run({"KEYS", "*"}), before);
  }
}

pid_t Fork(Traffic* traffic, const RedisOptions& redis, bool builder) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::unique_ptr<RedisFilter> filter;
  if (!RedisFilter::Open(redis, "f", &filter).ok()) _exit(1);
  if (!builder) traffic->Write(filter.get(), milliseconds(1));
  while (builder && traffic->Build(filter.get()).ok()) {
  }
  _exit(1);
}

// Two writing processes and a builder; the first calls find no script.
TEST_P(SchemesTest, NoAcknowledgedAddIsLostWhoeverDies) {
  FreshRandom random;
  const auto traffic = std::make_unique<Traffic>();
  const TestFilter filter = Create(Sized("f", GetParam(), 50000));
  Run({"SCRIPT", "FLUSH"});
  const RedisOptions redis = server_.SocketOptions();
  pid_t children[3];
  for (int i = 0; i < 3; ++i) {
    children[i] = Fork(traffic.get(), redis, i == 2);
  }
  const auto stop = [](pid_t child) {
    kill(child, SIGKILL);
    int state = 0;
    waitpid(child, &state, 0);
    EXPECT_TRUE(WIFSIGNALED(state)) << "it failed before it was killed";
  };
  // On a slow machine rebuilds need longer than the first rounds last.
  for (int round = 0; round < 20 || !traffic->IsEnough(); ++round) {
    usleep(static_cast<useconds_t>(random.Below(60000)) << round / 20);
    const size_t victim = 1 + random.Below(2);
    stop(children[victim]);
    children[victim] = Fork(traffic.get(), redis, victim == 2);
    ExpectOk(traffic->CheckAll(filter.get()));
  }
  for (const pid_t child : children) stop(child);
  EXPECT_EQ(traffic->failed, 0);
}

}  // namespace
}  // namespace deltabloom::test
