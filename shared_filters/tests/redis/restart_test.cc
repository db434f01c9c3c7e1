// Redis restarts, perhaps from an older snapshot, or another server takes over:
// no acknowledged key is ever absent in a filter that Deltabloom created.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/tests/redis/server.h"
#include "tests/random.h"

namespace deltabloom::test {
namespace {

RedisFilterOptions Local(bool durable = false) {
  RedisFilterOptions options = Sized("f", "local", 20000);
  options.durable = durable;
  return options;
}

// kNone or kUnverified, of which Info knows.
RedisError ErrorOf(const TestFilter& filter) {
  const RedisError error = filter.Error("was never added");
  const RedisFilterInfo info = filter.Info();
  EXPECT_EQ(info.verified, error == RedisError::kNone);
  EXPECT_EQ(info.unverified.empty(), error == RedisError::kNone);
  return error;
}

// --- Restarts ----------------------------------------------------------------

TEST(Restart, FromAnOlderSnapshot) {
  Server server;
  RedisFilterOptions options = Local();
  options.shard_bytes = 6400;
  const TestFilter filter(server.Options(), options);
  const TestFilter idle(server.Options(), "f");
  filter.Add({"before"});
  EXPECT_TRUE(idle.Finds({"before"}));
  server.Run({"SAVE"});
  filter.Add({"after"});
  server.Restart();
  // `idle` connects anew within this check.
  idle.ExpectFailure(RedisError::kUnverified, server.Place());
  for (int i = 0; i < 20; ++i) {  // in every shard
    EXPECT_EQ(idle.Error(std::to_string(i)), RedisError::kUnverified);
  }
  EXPECT_TRUE(idle->MayMatch("after"));
  std::string bits;
  EXPECT_EQ(idle->ReadBits(&bits).error, RedisError::kUnverified);
  // Adds go on, and verify nothing.
  filter.Add({"later"});
  EXPECT_EQ(ErrorOf({server.Options(), "f"}), RedisError::kUnverified);
  ExpectOk(filter->Confirm());
  EXPECT_TRUE(idle.Finds({"before", "later"}, {"after"}));
  // Each shard must be there and verified.
  idle.Bits();
  server.Run({"HDEL", "{f}:shard3:deltabloom", "run_id"});
  EXPECT_EQ(idle->ReadBits(&bits).error, RedisError::kUnverified);
  ExpectOk(filter->Confirm());
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(idle.Finds({std::to_string(i)}));
  server.Restart();
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
  const auto rebuild = filter.Start();
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
  TestFilter::Finish(rebuild.get(), {"before", "after", "later"});
  EXPECT_TRUE(idle.Finds({"after"}));
  EXPECT_EQ(ErrorOf(idle), RedisError::kNone);
  server.Run({"DEL", "{f}:shard3"});
  EXPECT_EQ(idle->ReadBits(&bits).error, RedisError::kMissing);
}

TEST(Restart, DuringARebuild) {
  Server server;
  const TestFilter filter(server.Options(), Local());
  const auto rebuild = filter.Start();
  rebuild->Add("before");
  server.Run({"SAVE"});
  filter.Add({"meanwhile"});
  server.Restart();
  // The rebuild's bitmap is there, without that key.
  EXPECT_EQ(server.Run({"EXISTS", "{f}:rebuild"}), "1");
  EXPECT_EQ(rebuild->Finish().error, RedisError::kUnverified);
  EXPECT_TRUE(filter->MayMatch("meanwhile"));
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
}

// A connection that stops once in the middle of a pipeline.
class Interrupted : public RedisConnection {
 public:
  explicit Interrupted(const RedisOptions& to, std::function<void()>* meanwhile)
      : connection_(RedisConnectionOf(redisConnect(to.host.c_str(), to.port))),
        meanwhile_(meanwhile) {}

  RedisStatus Run(const std::vector<const RedisCommand*>& commands,
                  Clock::time_point deadline,
                  std::vector<RedisReply>* replies) override {
    replies->clear();
    for (const RedisCommand* command : commands) {
      std::vector<RedisReply> one;
      const RedisStatus status = connection_->Run({command}, deadline, &one);
      if (!status.ok()) return status;
      replies->push_back(one[0]);
      if ((*command)[0] != "GETRANGE" || *meanwhile_ == nullptr) continue;
      std::exchange(*meanwhile_, nullptr)();
    }
    return {};
  }

 private:
  const std::unique_ptr<RedisConnection> connection_;
  std::function<void()>* const meanwhile_;
};

// The bits that a check has read are older than a rebuild after which another
// thread finds the filter verified.
TEST(Restart, ARebuildDuringACheck) {
  Server server;
  std::function<void()> meanwhile;
  RedisOptions redis = server.Options();
  redis.connect = [&](const std::string&, uint16_t, milliseconds,
                      std::unique_ptr<RedisConnection>* connection) {
    *connection = std::make_unique<Interrupted>(server.Options(), &meanwhile);
    return RedisStatus();
  };
  const TestFilter filter(redis, Local());
  server.Run({"SAVE"});
  filter.Add({"key"});
  server.Restart();
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
  meanwhile = [&] {
    TestFilter(server.Options(), "f").Rebuild({"key"});
    EXPECT_TRUE(filter.Finds({"key"}));
  };
  EXPECT_TRUE(filter.Finds({"key"}));
  EXPECT_EQ(meanwhile, nullptr);
  // All bits are read once more if they were verified anew.
  const Server replica;
  meanwhile = [&] {
    replica.Replicate(server);
    EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
    ExpectOk(filter->Confirm());
    EXPECT_EQ(ErrorOf(filter), RedisError::kNone);
    server.Run({"CONFIG", "RESETSTAT"});
  };
  filter.Bits();
  EXPECT_GE(server.Calls("getrange"), 1);
}

TEST(Restart, AnotherReplidIsUnverified) {
  Server server;
  const TestFilter filter(server.Options(), Local());
  server.Run({"HSET", "{f}:deltabloom", "replid", "0"});
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
  EXPECT_TRUE(filter->Delete().ok());
  EXPECT_EQ(filter->Confirm().error, RedisError::kMissing);
}

// --- Servers that lose nothing -----------------------------------------------

// A restart between two calls fails none: connections and scripts are made
// anew.
TEST(Durable, NeedsNoConfirmation) {
  Server server(kDurable);
  const TestFilter filter(server.Options(), Local(true));
  for (uint64_t i = 0; i < 3; ++i) {
    filter.Add({std::to_string(i)});
    EXPECT_EQ(filter->Statistics().reconnects, i);
    server.Restart();
    for (uint64_t k = 0; k <= i; ++k) {
      EXPECT_TRUE(filter.Finds({std::to_string(k)}));
    }
    EXPECT_EQ(ErrorOf(filter), RedisError::kNone);
  }
  server.Run({"SCRIPT", "FLUSH"});
  filter.Add({"c"});
  EXPECT_TRUE(filter.Info().durable);
  // No replica copies it.
  const Server replica;
  replica.Run({"REPLICAOF", "127.0.0.1", std::to_string(server.port())});
  EXPECT_TRUE(WaitFor([&] {
    return Contains(server.Run({"INFO", "errorstats"}), "errorstat_ERR");
  })) << "PSYNC is no command";
  EXPECT_EQ(replica.Run({"EXISTS", "f"}), "0");
  // A server that loads without its AOF may have old data.
  server.Run({"SAVE"});
  filter.Add({"d"});
  Words without = kDurable;
  without[1] = "no";
  server.Restart(without);
  EXPECT_EQ(ErrorOf(filter), RedisError::kUnverified);
  ExpectOk(filter->Confirm());
  EXPECT_EQ(ErrorOf(filter), RedisError::kNone);
  EXPECT_FALSE(filter.Info().durable);
}

// A connection made while the server loads its AOF would never be durable.
TEST(Durable, IsUnavailableWhileLoading) {
  Words slow = kDurable;
  slow.insert(slow.end(), {"--key-load-delay", "100"});  // microseconds
  Server server(slow);
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  const TestFilter filter(redis, Local(true));
  server.Run({"EVAL", "for i = 1, 4000 do redis.call('SET', i, i) end", "0"});
  std::atomic<bool> loaded{false};
  std::thread reader([&] {
    while (!loaded) EXPECT_NE(filter.Error(), RedisError::kUnverified);
  });
  server.Restart();
  loaded = true;
  reader.join();
  EXPECT_EQ(ErrorOf(filter), RedisError::kNone);
}

TEST(Durable, IsRefusedWhereReplicasCanCopyOrNoAofIs) {
  Words psync = kDurable, sync = kDurable, no_aof = kDurable;
  psync[5] = sync[8] = "ECHO";
  no_aof[1] = "no";
  for (const Words& arguments : {AppendFsync("always"), psync, sync, no_aof}) {
    const Server server(arguments);
    ExpectError(Make(RedisFilter::Create, server.Options(), Local(true)),
                RedisError::kUnverified, {"appendonly", "PSYNC"});
    EXPECT_EQ(server.Run({"EXISTS", "f", "{f}:deltabloom"}), "0");
  }
}

// --- Replicas that take over -------------------------------------------------

// B takes over from A, which was restarted such that B can copy it.
class TakeOver : public testing::TestWithParam<bool> {
 protected:
  TakeOver() {
    filter_.Add({"first"});
    a_.Restart(AppendFsync("always"));
    EXPECT_EQ(filter_.Error(), RedisError::kUnverified);
    b_.Replicate(a_);
    EXPECT_TRUE(WaitFor([this] {  // until then its files are empty
      return Contains(b_.Run({"INFO", "persistence"}),
                      "aof_rewrite_in_progress:0");
    }));
  }

  Server a_{kDurable}, b_{AppendFsync("always")};
  const TestFilter filter_{a_.Options(), Local(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(DefaultAndDurable, TakeOver, testing::Bool());

// INFO does not show the promotion once B has restarted.
TEST_P(TakeOver, APromotedReplicaIsUnverified) {
  const TestFilter on_b(b_.Options(), "f");
  EXPECT_EQ(ErrorOf(on_b), RedisError::kUnverified);
  EXPECT_EQ(on_b.Info().durable, GetParam());
  b_.Run({"REPLICAOF", "NO", "ONE"});
  filter_.Add({"on a only"});
  EXPECT_FALSE(filter_.Info().durable);
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_TRUE(on_b->MayMatch("on a only"));
    EXPECT_EQ(ErrorOf(on_b), RedisError::kUnverified);
    EXPECT_EQ(ErrorOf({b_.Options(), "f"}), RedisError::kUnverified);
    b_.Restart();
  }
  RedisRebuildOptions keep;
  keep.keep_keys = true;
  on_b.Rebuild({"on b"}, keep);
  EXPECT_FALSE(on_b.Info().durable);
  EXPECT_EQ(ErrorOf(on_b), RedisError::kUnverified);
  ExpectOk(on_b->Confirm());
  EXPECT_TRUE(on_b.Finds({"on b"}));
  b_.Restart();
  EXPECT_EQ(ErrorOf(on_b), RedisError::kUnverified);
}

// A -> B -> A, with a connection to A that lives on.
TEST_P(TakeOver, AFailbackIsUnverified) {
  const uint64_t reconnects = filter_->Statistics().reconnects;
  b_.Run({"REPLICAOF", "NO", "ONE"});
  filter_.Add({"on a only"});
  ExpectOk(filter_->Confirm());
  EXPECT_TRUE(filter_.Finds({"on a only"}));
  a_.Replicate(b_);
  EXPECT_TRUE(filter_->MayMatch("on a only"));
  EXPECT_EQ(ErrorOf(filter_), RedisError::kUnverified);
  a_.Run({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(filter_->MayMatch("on a only"));
  EXPECT_EQ(ErrorOf(filter_), RedisError::kUnverified);
  EXPECT_EQ(filter_->Statistics().reconnects, reconnects);
}

// In contrast to the test above, A was down meanwhile and kept its own data.
TEST_P(TakeOver, AFailbackAfterARestartIsUnverified) {
  a_.Stop();
  b_.Run({"REPLICAOF", "NO", "ONE"});
  const TestFilter on_b(b_.Options(), "f");
  on_b.Rebuild({"first"});
  on_b.Add({"on b"});
  EXPECT_TRUE(on_b.Finds({"first", "on b"}));
  b_.Stop();
  a_.Start();
  EXPECT_TRUE(filter_->MayMatch("on b"));
  EXPECT_EQ(ErrorOf(filter_), RedisError::kUnverified);
}

// --- Kills at any time -------------------------------------------------------

class KillNine : public testing::TestWithParam<Words> {};

INSTANTIATE_TEST_SUITE_P(All, KillNine,
                         testing::Values(Words{"--save", "1 1"},
                                         AppendFsync("everysec"),
                                         AppendFsync("always"), kDurable));

TEST_P(KillNine, NoAcknowledgedKeyIsAbsent) {
  FreshRandom random;
  Server server(GetParam());
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  const TestFilter filter(redis, Local(GetParam() == kDurable));
  server.Run({"SAVE"});
  const auto traffic = std::make_unique<Traffic>();
  traffic->StartThreads(filter.get(), 3, milliseconds(1));
  for (int round = 0; round < 4 || !traffic->IsEnough(); ++round) {
    const auto end = Clock::now() + milliseconds(200 + random.Below(700));
    while (Clock::now() < end) traffic->CheckAll(filter.get());
    server.Restart();
    traffic->CheckAll(filter.get());
  }
  traffic->Stop();
  const RedisStatus status = traffic->CheckAll(filter.get());
  if (GetParam() == kDurable) ExpectOk(status);
  ExpectOk(traffic->Build(filter.get()));
  ExpectOk(traffic->CheckAll(filter.get()));
}

}  // namespace
}  // namespace deltabloom::test
