// Filters in a cluster of three real nodes: redirections, slots on their way,
// a node that goes, shards spread over all.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <set>
#include <thread>

#include "tests/random.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

Cluster& TheCluster() {
  static Cluster cluster;
  return cluster;
}

std::unique_ptr<RedisFilter> Create(const RedisFilterOptions& options) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status =
      RedisFilter::Create(TheCluster().Options(), options, &filter);
  EXPECT_TRUE(status.ok()) << status.message;
  return filter;
}

std::unique_ptr<RedisFilter> Open(const std::string& name) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status =
      RedisFilter::Open(TheCluster().Options(), name, &filter);
  EXPECT_TRUE(status.ok()) << status.message;
  return filter;
}

RedisFilterOptions Small(const std::string& name, const std::string& scheme) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = scheme;
  options.expected_keys = 2000;
  return options;
}

bool Finds(RedisFilter* filter, const std::string& key) {
  bool found = false;
  const RedisStatus status = filter->Check(key, &found);
  EXPECT_TRUE(status.ok()) << status.message;
  return found;
}

// Moves a slot with all its keys, as redis-cli does.
class Migration {
 public:
  Migration(const std::string& key, size_t to)
      : key_(key),
        slot_(std::to_string(TheCluster().SlotOf(key))),
        from_(TheCluster().NodeOf(key)),
        to_(to) {
    Node(to_).Run(
        {"CLUSTER", "SETSLOT", slot_, "IMPORTING", TheCluster().IdOf(from_)});
    Node(from_).Run(
        {"CLUSTER", "SETSLOT", slot_, "MIGRATING", TheCluster().IdOf(to_)});
  }

  std::string MoveKey(const std::string& key) {
    return Node(from_).Run({"MIGRATE", "127.0.0.1",
                            std::to_string(Node(to_).port()), key, "0",
                            "20000"});
  }

  void Finish() { TheCluster().GiveSlot(key_, to_); }

  size_t from() const { return from_; }
  size_t to() const { return to_; }

 private:
  static Server& Node(size_t i) { return TheCluster().node(i); }

  std::string key_;
  std::string slot_;
  size_t from_, to_;
};

TEST(ClusterFilters, AreFoundOnEveryNode) {
  std::set<size_t> nodes;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "filter" + std::to_string(i);
    nodes.insert(TheCluster().NodeOf(name));
    auto filter = Create(Small(name, i % 2 == 0 ? "local" : "guava-helper"));
    ASSERT_TRUE(filter->Add("k").ok());
    auto reader = Open(name);
    EXPECT_TRUE(Finds(reader.get(), "k"));
    EXPECT_FALSE(Finds(reader.get(), "l"));
    // The map of slots spares all redirections.
    EXPECT_EQ(filter->Statistics().redirections, 0u);
    RedisFilterInfo info;
    ASSERT_TRUE(reader->Info(&info).ok());
    ASSERT_TRUE(filter->Delete().ok());
  }
  EXPECT_EQ(nodes.size(), 3u);
}

TEST(ClusterFilters, SpreadOverAllNodesInBatches) {
  const uint64_t seed = SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  RedisFilterOptions options = Small("spread", "local");
  options.spread = true;
  options.shard_bytes = 256;
  auto filter = Create(options);
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  ASSERT_GT(info.shards, 8u);
  std::set<size_t> nodes;
  for (uint32_t shard = 0; shard < info.shards; ++shard) {
    const std::string key = "{spread:shard" + std::to_string(shard) + "}";
    nodes.insert(TheCluster().NodeOf(key));
    EXPECT_EQ(TheCluster().node(TheCluster().NodeOf(key)).Run({"EXISTS", key}),
              "1");
  }
  EXPECT_EQ(nodes.size(), 3u);
  const auto keys = random.Keys(2000, 10);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const RedisStatus status = filter->Add(views.data(), views.size());
  ASSERT_TRUE(status.ok()) << status.message;
  // One script, three nodes, each of which had to be told it once at most.
  EXPECT_LE(filter->Statistics().scripts_loaded, info.shards * 3);
  auto reader = Open("spread");
  const auto found = std::make_unique<bool[]>(views.size());
  ASSERT_TRUE(reader->Check(views.data(), views.size(), found.get()).ok());
  for (size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(found[i]);
  EXPECT_FALSE(Finds(reader.get(), "another"));

  std::unique_ptr<RedisRebuild> rebuild;
  ASSERT_TRUE(filter->StartRebuild({}, &rebuild).ok());
  for (size_t i = 0; i < 1000; ++i) rebuild->Add(keys[i]);
  ASSERT_TRUE(reader->Add("meanwhile").ok());
  RedisRebuildResult result;
  const RedisStatus finished = rebuild->Finish(&result);
  ASSERT_TRUE(finished.ok()) << finished.message;
  EXPECT_TRUE(result.replaced);
  for (size_t i = 0; i < 1000; ++i) ASSERT_TRUE(Finds(reader.get(), keys[i]));
  EXPECT_TRUE(Finds(reader.get(), "meanwhile"));
  std::string bits;
  EXPECT_TRUE(reader->ReadBits(&bits).ok());
  ASSERT_TRUE(filter->Delete().ok());
}

TEST(ClusterFilters, FollowASlotThatMoves) {
  auto filter = Create(Small("moving", "go-murmur3"));
  auto idle = Open("moving");
  ASSERT_TRUE(filter->Add("before").ok());
  Migration migration("moving", (TheCluster().NodeOf("moving") + 1) % 3);
  // Nothing is moved yet, and the keys of a rebuild do not exist.
  RedisStatus status = filter->Add("announced");
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(Finds(filter.get(), "announced"));
  // Half moved: a script wants keys of both nodes and has to wait.
  ASSERT_EQ(migration.MoveKey("moving"), "OK");
  std::thread mover([&] {
    std::this_thread::sleep_for(milliseconds(200));
    migration.MoveKey("{moving}:deltabloom");
  });
  status = filter->Add("between");
  mover.join();
  ASSERT_TRUE(status.ok()) << status.message;
  // All moved, and the old node still in charge: ASK.
  status = filter->Add("asked");
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(Finds(filter.get(), "asked"));
  const uint64_t redirections = filter->Statistics().redirections;
  EXPECT_GT(redirections, 0u);
  migration.Finish();
  // MOVED once, then straight.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Finds(filter.get(), "before"));
  const uint64_t after = filter->Statistics().redirections;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Finds(filter.get(), "between"));
  EXPECT_EQ(filter->Statistics().redirections, after);
  EXPECT_TRUE(Finds(idle.get(), "asked"));
  ASSERT_TRUE(idle->Add("new place").ok());
  EXPECT_TRUE(Finds(filter.get(), "new place"));
  ASSERT_TRUE(filter->Delete().ok());
}

// Adds and checks go on while slots with the filter wander about.
TEST(ClusterFilters, LoseNothingWhileSlotsMove) {
  auto filter = Create(Small("wander", "local"));
  std::atomic<bool> stop{false};
  std::atomic<int> added{0};
  // However fast it is, there is something left to add after each move.
  constexpr int kBetweenMoves = 300;
  std::atomic<int> allowed{kBetweenMoves};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      while (!stop && i >= allowed) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      const RedisStatus status = filter->Add("key" + std::to_string(i));
      if (!status.ok()) {
        ADD_FAILURE() << status.message;
        stop = true;
        return;
      }
      added = i + 1;
    }
  });
  size_t at = TheCluster().NodeOf("wander");
  const size_t home = at;
  Server* nodes[] = {&TheCluster().node(0), &TheCluster().node(1),
                     &TheCluster().node(2)};
  const std::string slot = std::to_string(TheCluster().SlotOf("wander"));
  for (int round = 0; round < 6; ++round) {
    const size_t to = round == 5 ? home : (at + 1) % 3;
    if (to == at) continue;
    nodes[to]->Run(
        {"CLUSTER", "SETSLOT", slot, "IMPORTING", TheCluster().IdOf(at)});
    nodes[at]->Run(
        {"CLUSTER", "SETSLOT", slot, "MIGRATING", TheCluster().IdOf(to)});
    nodes[at]->Run({"MIGRATE", "127.0.0.1", std::to_string(nodes[to]->port()),
                    "", "0", "20000", "KEYS", "wander", "{wander}:deltabloom"});
    TheCluster().GiveSlot("wander", to);
    at = to;
    const int target = added + 20;
    allowed += kBetweenMoves;
    while (!stop && added < target) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  stop = true;
  writer.join();
  EXPECT_GT(added, 50);
  for (int i = 0; i < added; ++i) {
    ASSERT_TRUE(Finds(filter.get(), "key" + std::to_string(i))) << i;
  }
  EXPECT_GT(filter->Statistics().redirections, 0u);
  ASSERT_TRUE(filter->Delete().ok());
}

TEST(ClusterFilters, NotAClusterIsSaid) {
  Server alone;
  RedisOptions redis = alone.Options();
  redis.cluster = true;
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kServer) << status.message;
  EXPECT_NE(status.message.find("cluster"), std::string::npos);
  // And the reverse: a node of a cluster asked as if it were alone.
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
  auto lost = Create(Small(here, "local"));
  auto kept = Create(Small(there, "local"));
  ASSERT_TRUE(lost->Add("k").ok());
  ASSERT_TRUE(kept->Add("k").ok());
  RedisOptions redis = TheCluster().Options();
  redis.command_timeout = milliseconds(2000);
  redis.more_nodes = {"127.0.0.1:" +
                      std::to_string(TheCluster().node(1).port())};
  std::unique_ptr<RedisFilter> impatient;
  ASSERT_TRUE(RedisFilter::Open(redis, here, &impatient).ok());
  TheCluster().node(0).Stop();
  EXPECT_TRUE(Finds(kept.get(), "k"));
  bool found = false;
  const RedisStatus status = impatient->Check("k", &found);
  EXPECT_TRUE(found);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message.find(here), std::string::npos) << status.message;
  EXPECT_TRUE(impatient->MayMatch("k"));
  // A client that starts now learns the slots from the other node.
  std::unique_ptr<RedisFilter> fresh;
  const RedisStatus opened = RedisFilter::Open(redis, there, &fresh);
  EXPECT_TRUE(opened.ok()) << opened.message;
}

}  // namespace
}  // namespace deltabloom::test
