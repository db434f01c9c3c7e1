// Filters in clusters of real nodes: redirections, a slot on its way, a node
// that fails, a replica that takes over.
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
using Clock = std::chrono::steady_clock;

Cluster& TheCluster() {
  static Cluster cluster;
  return cluster;
}

RedisFilterOptions Named(const std::string& name, const std::string& scheme) {
  RedisFilterOptions options = Small(name);
  options.scheme = scheme;
  options.expected_keys = 5000;
  options.own_writers_only = true;
  return options;
}

std::unique_ptr<RedisFilter> Create(const RedisFilterOptions& options) {
  return test::Create(TheCluster().Options(), options);
}

TEST(ClusterFilters, AreFoundOnEveryNode) {
  std::set<size_t> nodes;
  for (int i = 0; i < 9; ++i) {
    RedisFilterOptions options = Named("filter" + std::to_string(i),
                                       i % 2 == 0 ? "local" : "go-murmur3");
    options.shard_bytes = 640;
    nodes.insert(TheCluster().NodeOf(options.name));
    auto filter = Create(options);
    ASSERT_TRUE(filter->Add("k").ok());
    auto reader = Open(TheCluster().Options(), options.name);
    EXPECT_TRUE(Finds(reader.get(), "k"));
    EXPECT_FALSE(Finds(reader.get(), "l"));
    auto rebuild = Start(filter.get());
    rebuild->Add("l");
    ASSERT_TRUE(reader->Add("meanwhile").ok());
    ASSERT_TRUE(rebuild->Finish().ok());
    EXPECT_TRUE(Finds(reader.get(), "l"));
    EXPECT_TRUE(Finds(reader.get(), "meanwhile"));
    EXPECT_FALSE(Finds(reader.get(), "k"));
    // The map of slots spares all redirections.
    EXPECT_EQ(filter->Statistics().redirections, 0u);
    RedisFilterInfo info;
    ASSERT_TRUE(reader->Info(&info).ok());
    ASSERT_TRUE(filter->Delete().ok());
  }
  EXPECT_EQ(nodes.size(), 3u);
}

// The first key that moves.
class MovingSlot : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(LiveOrRebuild, MovingSlot,
                         testing::Values("moving", "{moving}:rebuild"));

TEST_P(MovingSlot, IsFollowed) {
  Cluster cluster;
  auto filter = test::Create(cluster.Options(), Named("moving", "go-murmur3"));
  auto idle = Open(cluster.Options(), "moving");
  ASSERT_TRUE(filter->Add("before").ok());
  EXPECT_TRUE(Finds(idle.get(), "before"));
  auto rebuild = Start(filter.get());
  rebuild->Add("before");
  const size_t from = cluster.NodeOf("moving");
  const size_t to = (from + 1) % 3;
  cluster.StartMove("moving", from, to);
  ASSERT_TRUE(filter->Add("announced").ok());
  EXPECT_TRUE(Finds(filter.get(), "announced"));
  // Half moved: a script wants keys of both nodes and has to wait, for longer
  // than a number of attempts.
  ASSERT_EQ(cluster.MoveKeys(from, to, {GetParam()}), "OK");
  std::thread mover([&] {
    std::this_thread::sleep_for(milliseconds(900));
    for (const char* key :
         {"moving", "{moving}:deltabloom", "{moving}:rebuild"}) {
      if (key != std::string(GetParam())) cluster.MoveKeys(from, to, {key});
    }
  });
  RedisStatus status = filter->Add("between");
  EXPECT_TRUE(filter->MayMatch("between"));
  EXPECT_TRUE(filter->MayMatch("before"));
  mover.join();
  ASSERT_TRUE(status.ok()) << status.message;
  // All moved, and the old node still in charge: ASK.
  status = filter->Add("asked");
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(filter->MayMatch("asked"));
  EXPECT_GT(filter->Statistics().redirections, 0u);
  cluster.FinishMove("moving", to);
  // It is another server: the rebuild fails, and the owner has to confirm.
  EXPECT_EQ(rebuild->Finish().error, RedisError::kUnverified);
  ExpectFailure(idle.get(), RedisError::kUnverified, PlaceOf(cluster.node(to)),
                "'moving'");
  ASSERT_TRUE(idle->Confirm().ok());
  for (const char* key : {"before", "announced", "between", "asked"}) {
    EXPECT_TRUE(Finds(idle.get(), key)) << key;
    EXPECT_TRUE(Finds(filter.get(), key)) << key;
  }
  EXPECT_FALSE(Finds(idle.get(), "absent"));
  // MOVED once, then straight.
  const uint64_t after = filter->Statistics().redirections;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Finds(filter.get(), "between"));
  EXPECT_EQ(filter->Statistics().redirections, after);
}

TEST(ClusterFilters, NotAClusterIsSaid) {
  Server alone;
  RedisOptions redis = alone.Options();
  redis.cluster = true;
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kServer) << status.message;
  EXPECT_NE(status.message.find("cluster"), std::string::npos);
  // And the reverse: a node of a cluster used as if it were alone.
  const size_t other = (TheCluster().NodeOf("f") + 1) % 3;
  const RedisStatus moved =
      RedisFilter::Open(TheCluster().node(other).Options(), "f", &filter);
  EXPECT_EQ(moved.error, RedisError::kClusterDown) << moved.message;
  EXPECT_NE(moved.message.find("MOVED"), std::string::npos);
}

// Last: it leaves a cluster of two nodes.
TEST(ClusterFilters, ZNodesGone) {
  std::string here, there;  // on node 0, on another
  for (int i = 0; here.empty() || there.empty(); ++i) {
    const std::string name = "gone" + std::to_string(i);
    (TheCluster().NodeOf(name) == 0 ? here : there) = name;
  }
  auto lost = Create(Named(here, "local"));
  auto kept = Create(Named(there, "local"));
  ASSERT_TRUE(lost->Add("k").ok());
  ASSERT_TRUE(kept->Add("k").ok());
  RedisOptions redis = TheCluster().Options();
  redis.command_timeout = milliseconds(1000);
  redis.circuit_open_for = milliseconds(5000);
  redis.more_nodes = {PlaceOf(TheCluster().node(1))};
  auto impatient = Open(redis, here);
  TheCluster().node(0).Stop();
  EXPECT_TRUE(Finds(kept.get(), "k"));
  bool found = false;
  RedisStatus status = impatient->Check("k", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(status.error, RedisError::kUnavailable) << status.message;
  EXPECT_NE(status.message.find(here), std::string::npos) << status.message;
  // The circuit of the node that is gone is open: calls fail at once, and leave
  // the other nodes alone.
  const auto slots_calls = [] {
    const std::string all = TheCluster().node(1).Run({"INFO", "commandstats"});
    const size_t at = all.find("cmdstat_cluster|slots:calls=");
    return at == all.npos ? 0 : std::stoi(all.substr(at + 28));
  };
  const int before = slots_calls();
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) {
    status = impatient->Check("k", &found);
    EXPECT_EQ(status.error, RedisError::kCircuitOpen) << status.message;
    EXPECT_TRUE(found);
  }
  EXPECT_LT(Clock::now() - start, milliseconds(1000));
  EXPECT_LE(slots_calls() - before, 3);
  // A client that starts now learns the slots from the other node.
  EXPECT_TRUE(Finds(Open(redis, there).get(), "k"));
}

// Three masters with a replica each: writers, readers and a builder go on while
// a slot moves and a master fails.
TEST(ClusterOfReplicas, NoAcknowledgedKeyIsAbsent) {
  const uint64_t seed = SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  Cluster cluster(true);
  RedisOptions redis = cluster.Options();
  redis.command_timeout = redis.connect_timeout = milliseconds(1000);
  redis.circuit_open_for = milliseconds(100);
  const RedisFilterOptions options = Named("f", "local");
  auto filter = test::Create(redis, options);
  std::atomic<bool> stop{false};
  std::atomic<int> rebuilds{0};
  std::atomic<int64_t> slowest_ms{0};
  std::mutex mutex;
  std::vector<std::string> source, acknowledged;  // guarded
  const auto timed = [&](const auto& call) {
    const auto start = Clock::now();
    const RedisStatus status = call();
    const int64_t ms =
        std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
    if (ms > slowest_ms) slowest_ms = ms;
    return status;
  };
  const auto size_of = [&](const std::vector<std::string>& keys) {
    const std::lock_guard lock(mutex);
    return keys.size();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        {
          const std::lock_guard lock(mutex);
          source.push_back(key);
        }
        if (timed([&] { return filter->Add(key); }).ok()) {
          const std::lock_guard lock(mutex);
          acknowledged.push_back(key);
        }
        std::this_thread::sleep_for(milliseconds(3));
      }
    });
  }
  threads.emplace_back([&] {
    Random random(seed);
    while (!stop) {
      std::string key;
      {
        const std::lock_guard lock(mutex);
        if (!acknowledged.empty()) {
          key = acknowledged[random.Below(acknowledged.size())];
        }
      }
      if (key.empty()) continue;
      bool found = false;
      timed([&] { return filter->Check(key, &found); });
      EXPECT_TRUE(found) << key;
    }
  });
  threads.emplace_back([&] {
    RedisRebuildOptions rebuilding;
    rebuilding.take_over = true;
    while (!stop) {
      std::unique_ptr<RedisRebuild> rebuild;
      if (filter->StartRebuild(rebuilding, &rebuild).ok()) {
        const size_t known = size_of(source);
        for (size_t i = 0; i < known; ++i) {
          const std::lock_guard lock(mutex);
          rebuild->Add(source[i]);
        }
        if (rebuild->Finish().ok()) ++rebuilds;
      }
      std::this_thread::sleep_for(milliseconds(30));
    }
  });
  const auto wait_for = [&](const char* what, const auto& reached) {
    for (int i = 0; i < 3000 && !reached(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_TRUE(reached()) << what;
  };
  // Adds and rebuilds succeed from now on.
  const auto goes_on = [&](const char* what) {
    const size_t keys = size_of(acknowledged) + 20;
    wait_for(what, [&] { return size_of(acknowledged) > keys; });
    const int before = rebuilds;
    wait_for(what, [&] { return rebuilds > before; });
  };
  goes_on("start");
  const size_t home = cluster.NodeOf("f");
  const size_t to = (home + 1) % 3;
  cluster.StartMove("f", home, to);
  while (true) {  // the builder makes keys meanwhile
    const std::string left = cluster.node(home).Run(
        {"CLUSTER", "GETKEYSINSLOT", std::to_string(cluster.SlotOf("f")), "9"});
    if (left == "[]") break;
    std::string key;
    for (const char c : left.substr(1, left.size() - 2) + " ") {
      if (c != ' ') {
        key += c;
        continue;
      }
      cluster.MoveKeys(home, to, {key});
      key.clear();
    }
  }
  cluster.FinishMove("f", to);
  goes_on("after the move");
  // A replica that has not caught up would come up without the filter.
  wait_for("the replica", [&] {
    return cluster.node(to + 3).Run({"KEYS", "*"}).find("{f}") !=
           std::string::npos;
  });
  cluster.node(to).Stop();
  goes_on("after the failover");
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& key : acknowledged) {
    EXPECT_TRUE(filter->MayMatch(key)) << key;
  }
  std::cout << acknowledged.size() << " keys, " << rebuilds
            << " rebuilds, slowest call " << slowest_ms << " ms\n";
  // One last round trip may begin just before the time is over.
  EXPECT_LT(slowest_ms, 3000);
}

}  // namespace
}  // namespace deltabloom::test
