// Redis restarts, perhaps from an older snapshot, or another server takes over:
// no acknowledged key is ever absent in a filter that Deltabloom created.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "tests/random.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

RedisFilterOptions Local(const std::string& name = "f") {
  RedisFilterOptions options;
  options.name = name;
  options.expected_keys = 20000;
  return options;
}

RedisFilterOptions Durable() {
  RedisFilterOptions options = Local();
  options.durable = true;
  return options;
}

// The error of a check; every key may match.
RedisError ErrorOf(RedisFilter* filter) {
  bool found = false;
  const RedisStatus status = filter->Check("was never added", &found);
  EXPECT_EQ(found, !status.ok());
  RedisFilterInfo info;
  EXPECT_TRUE(filter->Info(&info).ok());
  EXPECT_EQ(info.verified, status.ok());
  EXPECT_EQ(info.unverified.empty(), status.ok());
  return status.error;
}

TEST(Restart, FromAnOlderSnapshot) {
  Server server;
  auto filter = Create(server.Options(), Local());
  auto idle = Open(server.Options(), "f");
  ASSERT_TRUE(filter->Add("before").ok());
  EXPECT_TRUE(Finds(idle.get(), "before"));
  server.Run({"SAVE"});
  ASSERT_TRUE(filter->Add("after").ok());
  server.Stop();
  server.Start();
  // `idle` connects anew within this check.
  ExpectFailure(idle.get(), RedisError::kUnverified, PlaceOf(server));
  EXPECT_TRUE(idle->MayMatch("after"));
  std::string bits;
  EXPECT_EQ(idle->ReadBits(&bits).error, RedisError::kUnverified);
  // Adds go on, and verify nothing.
  ASSERT_TRUE(filter->Add("later").ok());
  EXPECT_EQ(ErrorOf(Open(server.Options(), "f").get()),
            RedisError::kUnverified);
  // The owner takes the loss.
  ASSERT_TRUE(filter->Confirm().ok());
  EXPECT_TRUE(Finds(idle.get(), "before"));
  EXPECT_TRUE(Finds(idle.get(), "later"));
  EXPECT_FALSE(Finds(idle.get(), "after"));
  // Or a rebuild brings all back.
  server.Stop();
  server.Start();
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kUnverified);
  auto rebuild = Start(filter.get());
  for (const char* key : {"before", "after", "later"}) rebuild->Add(key);
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kUnverified);
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(Finds(idle.get(), "after"));
  EXPECT_EQ(ErrorOf(idle.get()), RedisError::kNone);
}

TEST(Restart, DuringARebuild) {
  Server server;
  auto filter = Create(server.Options(), Local());
  auto rebuild = Start(filter.get());
  rebuild->Add("before");
  server.Run({"SAVE"});
  ASSERT_TRUE(filter->Add("meanwhile").ok());
  server.Stop();
  server.Start();
  // The rebuild's bitmap is there, without that key.
  EXPECT_EQ(server.Run({"EXISTS", "{f}:rebuild"}), "1");
  EXPECT_EQ(rebuild->Finish().error, RedisError::kUnverified);
  EXPECT_TRUE(filter->MayMatch("meanwhile"));
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kUnverified);
}

TEST(Restart, DescriptorsWithoutAnIdentity) {
  Server server;
  auto filter = Create(server.Options(), Local());
  server.Run({"HDEL", "{f}:deltabloom", "run_id"});
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kUnverified);
  ASSERT_TRUE(filter->Confirm().ok());
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kNone);
  server.Run({"HSET", "{f}:deltabloom", "replid", "0"});
  EXPECT_EQ(ErrorOf(filter.get()), RedisError::kUnverified);
  EXPECT_TRUE(filter->Delete().ok());
  EXPECT_EQ(filter->Confirm().error, RedisError::kMissing);
}

TEST(Restart, InShards) {
  Server server;
  RedisFilterOptions options = Local();
  options.shard_bytes = 6400;
  auto filter = Create(server.Options(), options);
  server.Run({"SAVE"});
  server.Stop();
  server.Start();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(filter->MayMatch(std::to_string(i)));
  }
  EXPECT_EQ(filter->Statistics().failed_open, 20u);
  ASSERT_TRUE(filter->Confirm().ok());
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Finds(filter.get(), std::to_string(i)));
  }
}

TEST(Durable, NeedsNoConfirmation) {
  Server server({"--appendonly", "yes", "--appendfsync", "always"});
  auto filter = Create(server.Options(), Durable());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(filter->Add(std::to_string(i)).ok());
    server.Stop();
    server.Start();
    for (int k = 0; k <= i; ++k) {
      EXPECT_TRUE(Finds(filter.get(), std::to_string(k)));
    }
    EXPECT_EQ(ErrorOf(filter.get()), RedisError::kNone);
  }
}

TEST(Durable, IsRefusedWithReplicas) {
  Server server({"--repl-diskless-sync-delay", "0"});
  Server replica;
  MakeReplica(replica, server);
  std::unique_ptr<RedisFilter> filter;
  EXPECT_EQ(RedisFilter::Create(server.Options(), Durable(), &filter).error,
            RedisError::kUnverified);
  EXPECT_EQ(server.Run({"EXISTS", "f", "{f}:deltabloom"}), "0");
}

class TakeOver : public testing::TestWithParam<bool> {
 protected:
  TakeOver() : a_(Arguments()), b_(Arguments()) {
    filter_ = Create(a_.Options(), GetParam() ? Durable() : Local());
    EXPECT_TRUE(filter_->Add("first").ok());
  }

  static std::vector<std::string> Arguments() {
    return {"--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--repl-diskless-sync-delay",
            "0"};
  }

  Server a_, b_;
  std::unique_ptr<RedisFilter> filter_;
};

INSTANTIATE_TEST_SUITE_P(DefaultAndDurable, TakeOver, testing::Bool());

TEST_P(TakeOver, APromotedReplicaIsUnverified) {
  MakeReplica(b_, a_);
  auto on_b = Open(b_.Options(), "f");
  EXPECT_EQ(ErrorOf(on_b.get()), RedisError::kUnverified);
  a_.Pause();  // a partition: this key reaches A only
  b_.Run({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(ErrorOf(on_b.get()), RedisError::kUnverified);
  EXPECT_EQ(ErrorOf(Open(b_.Options(), "f").get()), RedisError::kUnverified);
  // A durable filter takes no keys there, of which A, should it come back,
  // would not know.
  EXPECT_EQ(on_b->Add("on b").error,
            GetParam() ? RedisError::kUnverified : RedisError::kNone);
  ASSERT_TRUE(on_b->Confirm().ok());
  EXPECT_EQ(ErrorOf(on_b.get()), RedisError::kNone);
  EXPECT_TRUE(on_b->Add("on b").ok());
  b_.Stop();
  b_.Start();
  EXPECT_TRUE(on_b->MayMatch("was never added"));
  a_.Resume();
}

// A -> B -> A, with a connection to A that lives on.
TEST_P(TakeOver, AFailbackIsUnverified) {
  EXPECT_EQ(ErrorOf(filter_.get()), RedisError::kNone);
  MakeReplica(b_, a_);
  ASSERT_TRUE(filter_->Add("second").ok());
  b_.Run({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(filter_->Add("on a only").ok());
  MakeReplica(a_, b_);
  EXPECT_TRUE(filter_->MayMatch("on a only"));
  EXPECT_EQ(ErrorOf(filter_.get()), RedisError::kUnverified);
  a_.Run({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(filter_->MayMatch("on a only"));
  EXPECT_EQ(ErrorOf(filter_.get()), RedisError::kUnverified);
  EXPECT_EQ(filter_->Statistics().reconnects, 0u);
}

// The same, but A was down meanwhile and kept its own data.
TEST_P(TakeOver, AFailbackAfterARestartIsUnverified) {
  MakeReplica(b_, a_);
  ASSERT_TRUE(filter_->Add("second").ok());
  a_.Stop();
  b_.Run({"REPLICAOF", "NO", "ONE"});
  auto on_b = Open(b_.Options(), "f");
  if (!on_b->Add("on b").ok()) {
    ASSERT_TRUE(on_b->Confirm().ok());
    ASSERT_TRUE(on_b->Add("on b").ok());
  }
  b_.Stop();
  a_.Start();
  EXPECT_TRUE(filter_->MayMatch("on b"));
  EXPECT_EQ(ErrorOf(filter_.get()), RedisError::kUnverified);
}

struct Persistence {
  const char* name;
  std::vector<std::string> arguments;
};

class KillNine : public testing::TestWithParam<Persistence> {};

INSTANTIATE_TEST_SUITE_P(
    All, KillNine,
    testing::Values(
        Persistence{"rdb", {"--save", "1 1"}},
        Persistence{"everysec",
                    {"--appendonly", "yes", "--appendfsync", "everysec"}},
        Persistence{"always",
                    {"--appendonly", "yes", "--appendfsync", "always"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Writers and a builder work while the server is killed again and again.
TEST_P(KillNine, NoAcknowledgedKeyIsAbsent) {
  const uint64_t seed = SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  Server server(GetParam().arguments);
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  redis.command_timeout = redis.connect_timeout = milliseconds(1000);
  Create(redis, Local());
  auto filter = Open(redis, "f");
  server.Run({"SAVE"});
  std::atomic<bool> stop{false};
  std::atomic<int> acknowledged{0}, rebuilds{0};
  std::mutex mutex;
  std::vector<std::string> source;  // a key is here before its Add
  std::set<std::string> acknowledged_keys;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        {
          const std::lock_guard lock(mutex);
          source.push_back(key);
        }
        if (filter->Add(key).ok()) {
          const std::lock_guard lock(mutex);
          acknowledged_keys.insert(key);
          ++acknowledged;
        }
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  threads.emplace_back([&] {
    RedisRebuildOptions options;
    options.take_over = true;
    while (!stop) {
      std::unique_ptr<RedisRebuild> rebuild;
      if (!filter->StartRebuild(options, &rebuild).ok()) continue;
      std::vector<std::string> keys;
      {
        const std::lock_guard lock(mutex);
        keys = source;
      }
      for (const std::string& key : keys) rebuild->Add(key);
      if (rebuild->Finish().ok()) ++rebuilds;
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const auto check_all = [&](bool must_answer) {
    std::vector<std::string> keys;
    {
      const std::lock_guard lock(mutex);
      keys.assign(acknowledged_keys.begin(), acknowledged_keys.end());
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto found = std::make_unique<bool[]>(views.size());
    const RedisStatus status =
        filter->Check(views.data(), views.size(), found.get());
    if (must_answer) {
      EXPECT_TRUE(status.ok()) << status.message;
    }
    for (size_t i = 0; i < views.size(); ++i) {
      EXPECT_TRUE(found[i]) << views[i] << ": " << status.message;
    }
  };
  for (int round = 0; round < 4; ++round) {
    const auto end = std::chrono::steady_clock::now() +
                     milliseconds(200 + random.Below(700));
    while (std::chrono::steady_clock::now() < end) check_all(false);
    server.Stop();
    server.Start();
    check_all(false);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  check_all(false);
  auto last = Start(filter.get());
  for (const std::string& key : source) last->Add(key);
  ASSERT_TRUE(last->Finish().ok());
  check_all(true);
  std::cout << acknowledged << " keys, " << rebuilds << " rebuilds\n";
  EXPECT_GT(acknowledged, 100);
  EXPECT_GT(rebuilds, 0);
}

}  // namespace
}  // namespace deltabloom::test
