// Filters in clusters of real nodes: redirections, a slot on its way, a node
// that fails, a replica that takes over.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/tests/redis/server.h"
#include "tests/random.h"

namespace deltabloom::test {
namespace {

Cluster& TheCluster() {
  static Cluster cluster;
  return cluster;
}

TEST(ClusterFilters, AreFoundOnEveryNode) {
  const RedisOptions redis = TheCluster().Options();
  std::set<size_t> nodes;
  for (int i = 0; i < 9; ++i) {
    RedisFilterOptions options =
        Sized("filter" + std::to_string(i), i % 2 == 0 ? "local" : "go-murmur3",
              5000);
    options.shard_bytes = 640;
    nodes.insert(TheCluster().NodeOf(options.name));
    const TestFilter filter(redis, options);
    filter.Add({"k"});
    const TestFilter reader(redis, options.name);
    EXPECT_TRUE(reader.Finds({"k"}, {"l"}));
    const auto rebuild = filter.Start();
    reader.Add({"meanwhile"});
    TestFilter::Finish(rebuild.get(), {"l"});
    EXPECT_TRUE(reader.Finds({"l", "meanwhile"}, {"k"}));
    // The map of slots spares all redirections.
    EXPECT_EQ(filter->Statistics().redirections, 0u);
    EXPECT_EQ(reader.Info().name, options.name);
    ExpectOk(filter->Delete());
  }
  EXPECT_EQ(nodes.size(), 3u);
}

// The first key that moves.
class MovingSlot : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(LiveOrRebuild, MovingSlot,
                         testing::Values("moving", "{moving}:rebuild"));

TEST_P(MovingSlot, IsFollowed) {
  Cluster cluster;
  const TestFilter filter(cluster.Options(),
                          Sized("moving", "go-murmur3", 5000));
  const TestFilter idle(cluster.Options(), "moving");
  const TestFilter late(cluster.Options(), "moving");
  filter.Add({"before"});
  EXPECT_TRUE(idle.Finds({"before"}));
  EXPECT_TRUE(late.Finds({"before"}));
  const auto rebuild = filter.Start();
  rebuild->Add("before");
  const size_t from = cluster.NodeOf("moving");
  const size_t to = (from + 1) % 3;
  cluster.StartMove("moving", from, to);
  filter.Add({"announced"});
  EXPECT_TRUE(filter.Finds({"announced"}));
  // Half moved: a script wants keys of both nodes and has to wait, for longer
  // than a number of attempts.
  ASSERT_EQ(cluster.MoveKey(from, to, GetParam()), "OK");
  std::thread mover([&] {
    std::this_thread::sleep_for(milliseconds(900));
    for (const char* key :
         {"moving", "{moving}:deltabloom", "{moving}:rebuild"}) {
      if (key != std::string(GetParam())) cluster.MoveKey(from, to, key);
    }
  });
  const RedisStatus status = filter->Add("between");
  EXPECT_TRUE(filter->MayMatch("between"));
  EXPECT_TRUE(filter->MayMatch("before"));
  mover.join();
  ExpectOk(status);
  // All moved, and the old node still in charge: ASK.
  filter.Add({"asked"});
  EXPECT_TRUE(filter->MayMatch("asked"));
  EXPECT_GT(filter->Statistics().redirections, 0u);
  cluster.FinishMove("moving", to);
  // It is another server: the rebuild fails, and the owner has to confirm.
  EXPECT_EQ(rebuild->Finish().error, RedisError::kUnverified);
  idle.ExpectFailure(RedisError::kUnverified, cluster.node(to).Place(),
                     "'moving'");
  ExpectOk(idle->Confirm());
  // `late` asks the old node first, which need not be verified.
  for (const TestFilter* each : {&late, &idle, &filter}) {
    EXPECT_TRUE(each->Finds({"before", "announced", "between", "asked"}));
  }
  EXPECT_FALSE(idle.Finds({"absent"}));
  // MOVED once, then straight.
  const uint64_t after = filter->Statistics().redirections;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(filter.Finds({"between"}));
  EXPECT_EQ(filter->Statistics().redirections, after);
}

// Shards that have moved are read one by one, and little is read twice.
TEST(ClusterFilters, AMovingSlotCostsFewReads) {
  Cluster& cluster = TheCluster();
  RedisFilterOptions options = Sized("m", "local", 5000);
  options.shard_bytes = 640;
  const TestFilter filter(cluster.Options(), options);
  const size_t from = cluster.NodeOf("m"), to = (from + 1) % 3;
  cluster.StartMove("m", from, to);
  cluster.node(from).Run({"CONFIG", "RESETSTAT"});
  // Each shard is sought on the other node, too, and twice if that is slow.
  const RedisFilterInfo info = filter.Info();
  EXPECT_GE(info.shards, 8u);
  EXPECT_LE(cluster.node(from).Calls("bitcount"),
            2 * static_cast<int>(info.shards));
  const Words keys = Random(SeedOr(7)).Keys(300, 8);
  filter.Add(keys);
  for (const char* shard : {"{m}:shard2", "{m}:shard5"}) {
    EXPECT_EQ(cluster.MoveKey(from, to, shard), "OK");
  }
  cluster.node(from).Run({"CONFIG", "RESETSTAT"});
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  bool found[300] = {};
  EXPECT_EQ(filter->Check(views.data(), 300, found).error,
            RedisError::kUnverified);
  // Once, and after each of the two shards again what is left.
  EXPECT_LT(cluster.node(from).Calls("getrange"), 2 * 3 * 300);
  cluster.MoveAllKeys("m", from, to);
  cluster.FinishMove("m", to);
}

TEST(ClusterFilters, NotAClusterIsSaid) {
  Server alone;
  RedisOptions redis = alone.Options();
  redis.cluster = true;
  ExpectError(TryOpen(redis), RedisError::kServer, {"cluster"});
  // The reverse is a node of a cluster that is used as if it were alone.
  const size_t other = (TheCluster().NodeOf("f") + 1) % 3;
  ExpectError(TryOpen(TheCluster().node(other).Options()),
              RedisError::kClusterDown, {"MOVED"});
}

// Last: it leaves a cluster of two nodes.
TEST(ClusterFilters, ZNodesGone) {
  std::string here, there;  // on node 0, on another
  for (int i = 0; here.empty() || there.empty(); ++i) {
    const std::string name = "gone" + std::to_string(i);
    (TheCluster().NodeOf(name) == 0 ? here : there) = name;
  }
  RedisOptions redis = TheCluster().Options();
  const TestFilter lost(redis, Sized(here, "local", 5000));
  const TestFilter kept(redis, Sized(there, "local", 5000));
  lost.Add({"k"});
  kept.Add({"k"});
  redis.circuit_open_for = milliseconds(3600000);
  redis.more_nodes = {TheCluster().node(1).Place()};
  const TestFilter impatient(redis, here);
  TheCluster().node(0).Stop();
  EXPECT_TRUE(kept.Finds({"k"}));
  ExpectError(impatient.Check("k"), RedisError::kUnavailable, {here});
  // The circuit of the node that is gone is open: calls fail at once, and leave
  // the other nodes alone.
  const Server& other = TheCluster().node(1);
  const int before = other.Calls("cluster|slots");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(impatient.Error("k"), RedisError::kCircuitOpen);
  }
  EXPECT_LE(other.Calls("cluster|slots") - before, 3);
  // A client that starts now learns the slots from the other node.
  EXPECT_TRUE(TestFilter(redis, there).Finds({"k"}));
}

// Three masters with a replica each: writers, readers and a builder go on while
// a slot moves and a master fails.
TEST(ClusterOfReplicas, NoAcknowledgedKeyIsAbsent) {
  Cluster cluster(true);
  RedisOptions redis = cluster.Options();
  redis.command_timeout = redis.connect_timeout = milliseconds(1000);
  redis.circuit_open_for = milliseconds(100);
  const TestFilter filter(redis, Sized("f", "local", 5000));
  const auto traffic = std::make_unique<Traffic>();
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) traffic->CheckAll(filter.get());
  });
  traffic->StartThreads(filter.get(), 2, milliseconds(3));
  // Adds and rebuilds succeed from now on.
  const auto goes_on = [&](const char* what) {
    const int keys = traffic->acknowledged + 20;
    EXPECT_TRUE(WaitFor([&] { return traffic->acknowledged > keys; })) << what;
    const int before = traffic->rebuilds;
    EXPECT_TRUE(WaitFor([&] { return traffic->rebuilds > before; })) << what;
  };
  goes_on("start");
  const size_t home = cluster.NodeOf("f");
  const size_t to = (home + 1) % 3;
  cluster.StartMove("f", home, to);
  cluster.MoveAllKeys("f", home, to);  // the builder makes keys meanwhile
  cluster.FinishMove("f", to);
  goes_on("after the move");
  // A replica that has not caught up would come up without the filter.
  EXPECT_TRUE(WaitFor([&] {
    return Contains(cluster.node(to + 3).Run({"KEYS", "*"}), "{f}");
  })) << "the replica";
  // Not before, or a master that is only slow would be replaced.
  for (size_t i = 0; i < 6; ++i) {
    cluster.node(i).Run({"CONFIG", "SET", "cluster-node-timeout", "500"});
  }
  cluster.node(to).Stop();
  goes_on("after the failover");
  stop = true;
  reader.join();
  traffic->Stop();
  traffic->CheckAll(filter.get());
  // One last round trip may begin just before the time is over.
  EXPECT_LT(traffic->slowest_ms, 10000);
}

}  // namespace
}  // namespace deltabloom::test
