// Rebuilds while writers go on: from one process, from several, cancelled, and
// with either side killed at random.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <new>
#include <set>
#include <thread>

#include "tests/random.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

Server& TheServer() {
  static Server server;
  return server;
}

RedisFilterOptions OptionsOf(const std::string& name, const char* scheme,
                             uint64_t keys) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = scheme;
  options.expected_keys = keys;
  options.own_writers_only = true;
  return options;
}

class RebuildTest : public testing::Test {
 protected:
  void SetUp() override { TheServer().Run({"FLUSHALL"}); }

  static std::unique_ptr<RedisFilter> Create(
      const RedisFilterOptions& options) {
    return test::Create(TheServer().Options(), options);
  }
  static std::unique_ptr<RedisFilter> Open(const std::string& name) {
    return test::Open(TheServer().Options(), name);
  }
};

TEST_F(RebuildTest, ReplacesAndKeepsWhatCameMeanwhile) {
  for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
    TheServer().Run({"FLUSHALL"});
    auto filter = Create(OptionsOf("f", scheme, 1000));
    auto writer = Open("f");
    ASSERT_TRUE(filter->Add("goes").ok());
    auto rebuild = Start(filter.get());
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_TRUE(info.rebuilding);
    rebuild->Add("stays");
    ASSERT_TRUE(writer->Add("comes").ok());
    EXPECT_TRUE(Finds(filter.get(), "goes"));
    RedisRebuildResult result;
    const RedisStatus status = rebuild->Finish(&result);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(result.replaced);
    EXPECT_EQ(result.keys, 1u);
    EXPECT_TRUE(Finds(writer.get(), "stays"));
    EXPECT_TRUE(Finds(writer.get(), "comes"));
    EXPECT_FALSE(Finds(writer.get(), "goes"));
    EXPECT_EQ(TheServer().Run({"DBSIZE"}), "2") << "live and descriptor";
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_FALSE(info.rebuilding);
    EXPECT_EQ(info.rebuilds, 1u);
    EXPECT_EQ(rebuild->Finish().error, RedisError::kInvalidArgument);
  }
}

TEST_F(RebuildTest, OfLostBitsBringsThemBack) {
  RedisFilterOptions options = OptionsOf("f", "local", 1000);
  options.expire_after = milliseconds(600000);
  auto filter = Create(options);
  TheServer().Run({"DEL", "f"});
  EXPECT_EQ(filter->Add("x").error, RedisError::kMissing);
  auto rebuild = Start(filter.get());
  rebuild->Add("back");
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(Finds(filter.get(), "back"));
  EXPECT_GT(std::stol(TheServer().Run({"PTTL", "f"})), 1000);
}

TEST_F(RebuildTest, GivenUpLeavesNothing) {
  auto filter = Create(OptionsOf("f", "local", 1000));
  ASSERT_TRUE(filter->Add("k").ok());
  Start(filter.get())->Add("x");
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), "2");
  EXPECT_TRUE(Finds(filter.get(), "k"));
}

TEST_F(RebuildTest, OneAtATime) {
  auto filter = Create(OptionsOf("f", "go-murmur3", 1000));
  auto first = Start(filter.get());
  std::unique_ptr<RedisRebuild> second;
  EXPECT_EQ(filter->StartRebuild({}, &second).error, RedisError::kBusy);
  RedisRebuildOptions take_over;
  take_over.take_over = true;
  second = Start(filter.get(), take_over);
  ASSERT_TRUE(filter->Add("both").ok());
  first->Add("of the first");
  EXPECT_EQ(first->Finish().error, RedisError::kBusy);
  first.reset();
  second->Add("of the second");
  ASSERT_TRUE(second->Finish().ok());
  EXPECT_TRUE(Finds(filter.get(), "both"));
  EXPECT_TRUE(Finds(filter.get(), "of the second"));
  EXPECT_FALSE(Finds(filter.get(), "of the first"));
}

TEST_F(RebuildTest, LeasesRunOutAndAreRenewed) {
  auto filter = Create(OptionsOf("f", "go-murmur3", 1000));
  RedisRebuildOptions options;
  options.lease = milliseconds(100);
  auto dead = Start(filter.get(), options);
  std::this_thread::sleep_for(milliseconds(200));
  ASSERT_TRUE(filter->Add("k").ok()) << "writers do not mind";
  EXPECT_EQ(TheServer().Run({"EXISTS", "{f}:rebuild"}), "0");
  auto next = Start(filter.get());  // not busy
  EXPECT_EQ(dead->Finish().error, RedisError::kBusy);
  next.reset();
  EXPECT_TRUE(Finds(filter.get(), "k"));
  // While it is fed, or settles, a rebuild lives as long as it takes.
  options.lease = milliseconds(2000);
  options.settle = milliseconds(2500);
  auto fed = Start(filter.get(), options);
  fed->Add("k");
  ASSERT_TRUE(fed->Finish().ok());
}

TEST_F(RebuildTest, AdoptedBitmapsAreAddedToUnlessWritersRest) {
  TheServer().Run({"SETBIT", "theirs", "12", "1"});
  TheServer().Run({"PEXPIRE", "theirs", "500000"});
  std::unique_ptr<RedisFilter> filter;
  ASSERT_TRUE(RedisFilter::Adopt(TheServer().Options(),
                                 OptionsOf("theirs", "go-murmur3", 1000),
                                 &filter)
                  .ok());
  ASSERT_TRUE(filter->Add("old").ok());
  auto rebuild = Start(filter.get());
  rebuild->Add("new");
  TheServer().Run({"SETBIT", "theirs", "13", "1"});  // a foreign writer
  RedisRebuildResult result;
  ASSERT_TRUE(rebuild->Finish(&result).ok());
  EXPECT_FALSE(result.replaced);
  EXPECT_TRUE(Finds(filter.get(), "old"));
  EXPECT_TRUE(Finds(filter.get(), "new"));
  EXPECT_EQ(TheServer().Run({"GETBIT", "theirs", "13"}), "1");
  EXPECT_GT(std::stol(TheServer().Run({"PTTL", "theirs"})), 1000);
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), "1");

  RedisRebuildOptions stopped;
  stopped.writers_stopped = true;
  rebuild = Start(filter.get(), stopped);
  rebuild->Add("new");
  ASSERT_TRUE(filter->Add("ours meanwhile").ok());
  ASSERT_TRUE(rebuild->Finish(&result).ok());
  EXPECT_TRUE(result.replaced);
  EXPECT_FALSE(Finds(filter.get(), "old"));
  EXPECT_TRUE(Finds(filter.get(), "new"));
  EXPECT_TRUE(Finds(filter.get(), "ours meanwhile"));
  EXPECT_GT(std::stol(TheServer().Run({"PTTL", "theirs"})), 1000);
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), "1");
}

// Programs that know nothing of rebuilds may write a bitmap of these schemes,
// unless its creator says that none does.
TEST_F(RebuildTest, PlainWritesOfOthersAreKept) {
  for (const char* scheme : {"go-murmur3", "guava-helper"}) {
    TheServer().Run({"FLUSHALL"});
    RedisFilterOptions options = OptionsOf("f", scheme, 1000);
    options.own_writers_only = false;
    auto filter = Create(options);
    auto other = Create(OptionsOf("same", scheme, 1000));
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_FALSE(info.own_writers_only);
    ASSERT_TRUE(filter->Add("old").ok());
    ASSERT_TRUE(other->Add("theirs").ok());
    const auto write_theirs = [&] {
      std::string bits;
      ASSERT_TRUE(other->ReadBits(&bits).ok());
      for (uint64_t bit = 0; bit < info.bits; ++bit) {
        if ((bits[bit / 8] >> bit % 8 & 1) != 0) {
          TheServer().Run({"SETBIT", "f", std::to_string(bit), "1"});
        }
      }
    };
    auto rebuild = Start(filter.get());
    rebuild->Add("new");
    write_theirs();
    ASSERT_TRUE(filter->Add("meanwhile").ok());
    RedisRebuildResult result;
    const RedisStatus status = rebuild->Finish(&result);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_FALSE(result.replaced);
    for (const char* key : {"old", "new", "theirs", "meanwhile"}) {
      EXPECT_TRUE(Finds(filter.get(), key)) << key;
    }
    RedisRebuildOptions stopped;
    stopped.writers_stopped = true;
    rebuild = Start(filter.get(), stopped);
    rebuild->Add("new");
    ASSERT_TRUE(rebuild->Finish(&result).ok());
    EXPECT_TRUE(result.replaced);
    EXPECT_TRUE(Finds(filter.get(), "new"));
    EXPECT_FALSE(Finds(filter.get(), "theirs"));
  }
}

// A faster way to add many keys: it vouches for no others.
TEST_F(RebuildTest, KeepsKeysIfAsked) {
  auto filter = Create(OptionsOf("f", "local", 1000));
  ASSERT_TRUE(filter->Add("old").ok());
  RedisRebuildOptions keep;
  keep.keep_keys = true;
  auto rebuild = Start(filter.get(), keep);
  rebuild->Add("new");
  ASSERT_TRUE(filter->Add("meanwhile").ok());
  RedisRebuildResult result;
  ASSERT_TRUE(rebuild->Finish(&result).ok());
  EXPECT_FALSE(result.replaced);
  for (const char* key : {"old", "new", "meanwhile"}) {
    EXPECT_TRUE(Finds(filter.get(), key)) << key;
  }
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_EQ(info.rebuilds, 0u);
  // Lost bits stay lost, unverified ones unverified.
  rebuild = Start(filter.get(), keep);
  TheServer().Run({"DEL", "f"});
  EXPECT_EQ(rebuild->Finish().error, RedisError::kMissing);
  bool found = false;
  EXPECT_EQ(filter->Check("old", &found).error, RedisError::kMissing);
  rebuild = Start(filter.get());
  ASSERT_TRUE(rebuild->Finish().ok());
  TheServer().Run({"HSET", "{f}:deltabloom", "run_id", "another"});
  rebuild = Start(filter.get(), keep);
  rebuild->Add("new");
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_EQ(filter->Check("old", &found).error, RedisError::kUnverified);
  rebuild = Start(filter.get());
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_FALSE(Finds(filter.get(), "old"));
}

TEST_F(RebuildTest, TakesBitsFromElsewhere) {
  auto source = Create(OptionsOf("source", "guava-helper", 5000));
  Random random(SeedOr(4));
  const auto keys = random.Keys(3000, 8);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  ASSERT_TRUE(source->Add(views.data(), views.size()).ok());
  std::string bits;
  ASSERT_TRUE(source->ReadBits(&bits).ok());
  auto copy = Create(OptionsOf("copy", "guava-helper", 5000));
  RedisRebuildOptions options;
  uint64_t done = 0, all = 0;
  options.progress = [&](uint64_t part, uint64_t whole) {
    EXPECT_LE(done, part);
    done = part;
    all = whole;
  };
  auto rebuild = Start(copy.get(), options);
  EXPECT_FALSE(rebuild->AddBits(bits + "x"));
  EXPECT_TRUE(rebuild->AddBits(bits));
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_EQ(all, bits.size());
  EXPECT_EQ(done, all);
  EXPECT_EQ(TheServer().Run({"GET", "copy"}),
            TheServer().Run({"GET", "source"}));
}

// An upload that was tampered with is not put in place.
TEST_F(RebuildTest, VerifiesTheUpload) {
  auto filter = Create(OptionsOf("f", "go-murmur3", 100000));
  ASSERT_TRUE(filter->Add("k").ok());
  auto rebuild = Start(filter.get());
  rebuild->Add("x");
  const std::string token =
      TheServer().Run({"HGET", "{f}:deltabloom", "rebuild"});
  // Behind all that the upload will write.
  TheServer().Run({"SETBIT", "{f}:upload:" + token, "2000000", "1"});
  EXPECT_EQ(rebuild->Finish().error, RedisError::kMismatch);
  EXPECT_TRUE(Finds(filter.get(), "k"));
  EXPECT_EQ(TheServer().Run({"DBSIZE"}), "2");
}

// Many threads and processes fill and ask one filter while it is rebuilt over
// and over.
TEST_F(RebuildTest, NothingIsLostBetweenThreads) {
  auto filter = Create(OptionsOf("f", "local", 20000));
  std::atomic<bool> stop{false};
  // The source: a key is readable there before its Add, so a rebuild need not
  // settle.
  std::atomic<int> readable[4] = {};
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        readable[t] = i + 1;
        ASSERT_TRUE(filter->Add(key).ok());
        ASSERT_TRUE(Finds(filter.get(), key));
      }
    });
  }
  for (int round = 0; round < 10; ++round) {
    auto rebuild = Start(filter.get());
    for (int t = 0; t < 4; ++t) {
      const int known = readable[t];
      for (int i = 0; i < known; ++i) {
        rebuild->Add(std::to_string(t) + "/" + std::to_string(i));
      }
    }
    const RedisStatus status = rebuild->Finish();
    ASSERT_TRUE(status.ok()) << status.message;
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < readable[t]; ++i) {
      ASSERT_TRUE(
          Finds(filter.get(), std::to_string(t) + "/" + std::to_string(i)));
    }
  }
}

// Shared between processes: the source, and what was acknowledged. A writer
// makes a key readable, adds it, and then counts it as acknowledged.
struct Shared {
  std::atomic<int> readable;      // keys 0 .. readable-1 are in the source
  std::atomic<int> acknowledged;  // of these, Add has said OK for all but the
                                  // one at which a writer was killed
};

std::string KeyOf(int i) { return "row:" + std::to_string(i); }

[[noreturn]] void WriteUntilKilled(Shared* shared) {
  std::unique_ptr<RedisFilter> filter;
  if (!RedisFilter::Open(TheServer().SocketOptions(), "f", &filter).ok()) {
    _exit(1);
  }
  while (true) {
    const int i = shared->readable.fetch_add(1);
    if (!filter->Add(KeyOf(i)).ok()) _exit(1);
    shared->acknowledged = i + 1;
    usleep(100);  // so that all can be asked for, round after round
  }
}

[[noreturn]] void RebuildUntilKilled(Shared* shared) {
  std::unique_ptr<RedisFilter> filter;
  if (!RedisFilter::Open(TheServer().SocketOptions(), "f", &filter).ok()) {
    _exit(1);
  }
  RedisRebuildOptions options;
  options.take_over = true;  // from those that were killed
  while (true) {
    std::unique_ptr<RedisRebuild> rebuild;
    if (!filter->StartRebuild(options, &rebuild).ok()) _exit(1);
    const int end = shared->readable;
    for (int i = 0; i < end; ++i) rebuild->Add(KeyOf(i));
    if (!rebuild->Finish().ok()) _exit(1);
  }
}

pid_t Fork(void (*run)(Shared*), Shared* shared) {
  const pid_t child = fork();
  if (child == 0) run(shared);
  return child;
}

void Kill(pid_t child) {
  kill(child, SIGKILL);
  int state = 0;
  waitpid(child, &state, 0);
  EXPECT_TRUE(WIFSIGNALED(state)) << "it failed before it was killed";
}

TEST_F(RebuildTest, NoAcknowledgedAddIsLostWhoeverDies) {
  const uint64_t seed = SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const shared = new (memory) Shared{{0}, {0}};
  auto filter = Create(OptionsOf("f", "local", 200000));
  pid_t writer = Fork(WriteUntilKilled, shared);
  pid_t builder = Fork(RebuildUntilKilled, shared);
  std::set<int> unacknowledged;
  int rebuilds = 0;
  for (int round = 0; round < 40; ++round) {
    usleep(static_cast<useconds_t>(random.Below(60000)));
    if (random.Below(3) == 0) {
      Kill(writer);
      for (int i = shared->acknowledged; i < shared->readable; ++i) {
        unacknowledged.insert(i);
      }
      writer = Fork(WriteUntilKilled, shared);
    } else {
      Kill(builder);
      builder = Fork(RebuildUntilKilled, shared);
    }
    const int acknowledged = shared->acknowledged;
    std::vector<std::string> keys;
    for (int i = 0; i < acknowledged; ++i) keys.push_back(KeyOf(i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto found = std::make_unique<bool[]>(views.size());
    const RedisStatus status =
        filter->Check(views.data(), views.size(), found.get());
    ASSERT_TRUE(status.ok()) << status.message;
    for (size_t i = 0; i < views.size(); ++i) {
      EXPECT_TRUE(found[i] || unacknowledged.count(static_cast<int>(i)) != 0)
          << "key " << i << " of " << acknowledged << ", round " << round;
    }
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    rebuilds = static_cast<int>(info.rebuilds);
  }
  Kill(writer);
  Kill(builder);
  std::cout << shared->acknowledged << " keys, " << rebuilds << " rebuilds\n";
  EXPECT_GT(shared->acknowledged, 100);
  EXPECT_GT(rebuilds, 0);
  munmap(memory, sizeof(Shared));
}

class RebuildCancelTest : public testing::Test {
 protected:
  RebuildCancelTest() {
    options_.cancelled = [this] { return stop_; };
    filter_options_.name = "f";
    filter_options_.scheme = "go-murmur3";
    filter_options_.bits = 100000;
    filter_options_.probes = 3;
  }

  void Create() { filter_ = test::Create(server_.Options(), filter_options_); }
  std::string AllKeys() const { return server_.Run({"KEYS", "*"}); }

  // A rebuild with a key, cancelled before its upload is through.
  RedisError CancelInFinish() {
    auto rebuild = Start(filter_.get(), options_);
    rebuild->Add("comes");
    stop_ = true;
    return rebuild->Finish().error;
  }

  const Server server_;
  RedisFilterOptions filter_options_;
  RedisRebuildOptions options_;
  std::unique_ptr<RedisFilter> filter_;
  bool stop_ = false;
};

TEST_F(RebuildCancelTest, TheUpload) {
  Create();
  ASSERT_TRUE(filter_->Add("stays").ok());
  const std::string before = AllKeys();
  EXPECT_EQ(CancelInFinish(), RedisError::kCancelled);
  EXPECT_EQ(AllKeys(), before);
  EXPECT_TRUE(filter_->MayMatch("stays"));
  EXPECT_FALSE(filter_->MayMatch("comes"));
}

TEST_F(RebuildCancelTest, TheWaitBeforeTheFirstKey) {
  Create();
  const std::string before = AllKeys();
  options_.settle = milliseconds(3600000);
  stop_ = true;
  std::unique_ptr<RedisRebuild> rebuild;
  const RedisStatus status = filter_->StartRebuild(options_, &rebuild);
  EXPECT_EQ(status.error, RedisError::kCancelled);
  EXPECT_STREQ(RedisErrorName(status.error), "cancelled");
  EXPECT_NE(status.message.find("'f': the rebuild was cancelled"),
            std::string::npos)
      << status.message;
  EXPECT_EQ(rebuild, nullptr);
  EXPECT_EQ(AllKeys(), before);
}

TEST_F(RebuildCancelTest, AnUploadToAnAdoptedBitmap) {
  const RedisStatus status =
      RedisFilter::Adopt(server_.Options(), filter_options_, &filter_);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(CancelInFinish(), RedisError::kCancelled);
  EXPECT_EQ(AllKeys(), "[]");
}

// Made for keys that exist already, it refuses none before it has them all.
TEST(FilledByRebuild, MayMatchUntilItIs) {
  const Server server;
  for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
    RedisFilterOptions options;
    options.name = scheme;
    options.scheme = scheme;
    options.expected_keys = 1000;
    options.expire_after = milliseconds(3600000);
    options.filled_by_rebuild = true;
    auto filter = Create(server.Options(), options);
    auto reader = Open(server.Options(), scheme);
    auto rebuild = Start(filter.get());
    bool may_match = false;
    EXPECT_EQ(reader->Check("any", &may_match).error, RedisError::kMissing);
    EXPECT_TRUE(may_match);
    EXPECT_EQ(reader->Add("any").error, RedisError::kMissing);
    rebuild->Add("key");
    ASSERT_TRUE(rebuild->Finish().ok());
    EXPECT_TRUE(reader->Check("any", &may_match).ok());
    EXPECT_FALSE(may_match);
    EXPECT_TRUE(reader->MayMatch("key"));
    EXPECT_TRUE(reader->Add("any").ok());
    EXPECT_TRUE(reader->MayMatch("any"));
    EXPECT_GT(std::stol(server.Run({"PTTL", scheme})), 3000000);
  }
}

}  // namespace
}  // namespace deltabloom::test
