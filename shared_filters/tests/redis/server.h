// Redis servers and clusters that tests start in temporary directories, and the
// verbs that tests of filters share. Each verb fails the test if it fails.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <hiredis.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/redis_filter.h"

namespace deltabloom {

// --- Texts and waiting -------------------------------------------------------

inline void PrintTo(RedisError error, std::ostream* out) {
  *out << RedisErrorName(error);
}

namespace test {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

inline void ExpectOk(const RedisStatus& status) {
  EXPECT_TRUE(status.ok()) << status.message;
}

// The message has each of these parts.
inline void ExpectError(const RedisStatus& status, RedisError error,
                        const Words& parts) {
  EXPECT_EQ(status.error, error) << status.message;
  for (const std::string& part : parts) {
    EXPECT_TRUE(Contains(status.message, part)) << status.message;
  }
}

// Tries for two minutes. False if `reached` stays false.
inline bool WaitFor(const std::function<bool()>& reached) {
  for (int i = 0; i < 12000; ++i) {
    if (reached()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// --- Servers and clusters ----------------------------------------------------

// A socket on a port that was free, and that no other program gets until it is
// closed. Servers that set SO_REUSEADDR, as Redis does, can listen on the port.
inline int Bind(uint16_t* port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
      bind(descriptor, generic, size) != 0 ||
      getsockname(descriptor, generic, &size) != 0) {
    throw std::runtime_error("no free port");
  }
  *port = ntohs(address.sin_port);
  return descriptor;
}

inline uint16_t FreePort() {
  uint16_t port = 0;
  Bind(&port);
  return port;
}

inline Words AppendFsync(const char* when) {
  return {"--appendonly", "yes", "--appendfsync", when};
}

// A server whose restart loses nothing, and that no replica can copy.
inline const Words kDurable = {
    "--appendonly", "yes", "--appendfsync",    "always", "--rename-command",
    "PSYNC",        "",    "--rename-command", "SYNC",   ""};

class Server {
 public:
  // `arguments`: more of redis-server's, "--maxmemory", "10mb", ...
  explicit Server(Words arguments = {}) : arguments_(std::move(arguments)) {
    if (mkdtemp(directory_.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    Start();
  }
  ~Server() {
    Stop();
    // A child of the server may still write.
    WaitFor([this] {
      std::error_code error;
      return std::filesystem::remove_all(directory_, error) == 0;
    });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }
  std::string Place() const { return "127.0.0.1:" + std::to_string(port_); }

  // The options that reach the server through its port.
  RedisOptions Options() const {
    RedisOptions options;
    options.port = port_;
    // Sanitizers and busy machines are slow; tests of timeouts set their own.
    options.connect_timeout = options.command_timeout = milliseconds(60000);
    return options;
  }
  RedisOptions SocketOptions() const {
    RedisOptions options = Options();
    options.unix_socket = directory_ + "/socket";
    return options;
  }

  // On the same port, with the files that it left.
  void Start() {
    Words words = {DELTABLOOM_REDIS_SERVER, "--port", std::to_string(port_)};
    words.insert(
        words.end(),
        {"--bind", "127.0.0.1", "--unixsocket", directory_ + "/socket", "--dir",
         directory_, "--save", "", "--appendonly", "no", "--logfile",
         directory_ + "/log", "--repl-diskless-sync-delay", "0"});
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execv(argv[0], argv.data());
      _exit(127);
    }
    const bool started = WaitFor([this] {
      const std::string answer = Run({"PING"});
      return answer == "PONG" || Contains(answer, "-NOAUTH");
    });
    if (!started) throw std::runtime_error("no redis-server: " + directory_);
  }
  void Stop() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void Restart() {
    Stop();
    Start();
  }
  void Restart(Words arguments) {
    arguments_ = std::move(arguments);
    Restart();
  }
  void Pause() const { kill(pid_, SIGSTOP); }
  void Resume() const { kill(pid_, SIGCONT); }

  // Returns how often a command was called since the start or CONFIG RESETSTAT.
  int Calls(const std::string& command) const {
    const std::string all = Run({"INFO", "commandstats"});
    const std::string field = "cmdstat_" + command + ":calls=";
    const size_t at = all.find(field);
    return at == all.npos ? 0 : std::stoi(all.substr(at + field.size()));
  }

  bool IsReplica() const {
    return Contains(Run({"INFO", "replication"}), "link_status:up");
  }
  // Returns when it has all of its master.
  void Replicate(const Server& master) const {
    Run({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    EXPECT_TRUE(WaitFor([this] { return IsReplica(); }));
    master.Run({"SET", "any", "write"});
    EXPECT_EQ(master.Run({"WAIT", "1", "50000"}), "1");
  }

  // One command, its reply as text: "OK", "(nil)", "3", "[a b]", "-ERR ...".
  std::string Run(const Words& words) const {
    redisContext* const context =
        redisConnectUnix((directory_ + "/socket").c_str());
    const std::unique_ptr<RedisConnection> connection =
        RedisConnectionOf(context);
    std::vector<RedisReply> replies;
    const RedisStatus status =
        context->err != 0
            ? RedisStatus{RedisError::kUnavailable, context->errstr}
            : connection->Run({&words}, Clock::now() + milliseconds(60000),
                              &replies);
    return status.ok() ? Text(replies[0]) : "-" + status.message;
  }

 private:
  static std::string Text(const RedisReply& reply) {
    using Kind = RedisReply::Kind;
    if (reply.kind == Kind::kNil) return "(nil)";
    if (reply.kind == Kind::kInteger) return std::to_string(reply.integer);
    if (reply.kind == Kind::kError) return "-" + reply.text;
    if (reply.kind == Kind::kText) return reply.text;
    std::string text;
    for (const RedisReply& element : reply.elements) {
      text += (text.empty() ? "" : " ") + Text(element);
    }
    return "[" + text + "]";
  }

  Words arguments_;
  std::string directory_ = "/tmp/deltabloom-redis.XXXXXX";
  const uint16_t port_ = FreePort();
  pid_t pid_ = -1;
};

// Three masters, every slot served; with replicas, node i + 3 is one of node i.
class Cluster {
 public:
  explicit Cluster(bool replicas = false) {
    const size_t nodes = replicas ? 6 : 3;
    Words ports;  // of the cluster's bus
    for (size_t i = 0; i < nodes; ++i) {
      ports.push_back(std::to_string(FreePort()));
      nodes_.push_back(std::make_unique<Server>(
          Words{"--cluster-enabled", "yes", "--cluster-config-file",
                "nodes.conf", "--cluster-port", ports[i],
                "--cluster-require-full-coverage", "no"}));
    }
    const Words ends = {"0", "5460", "5461", "10922", "10923", "16383"};
    for (size_t i = 0; i < 3; ++i) {
      node(i).Run({"CLUSTER", "ADDSLOTSRANGE", ends[2 * i], ends[2 * i + 1]});
      node(i).Run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    for (size_t i = 1; i < nodes; ++i) {
      node(0).Run({"CLUSTER", "MEET", "127.0.0.1",
                   std::to_string(node(i).port()), ports[i]});
    }
    const std::string known = "cluster_known_nodes:" + std::to_string(nodes);
    for (const auto& each : nodes_) {
      EXPECT_TRUE(WaitFor([&] {
        const std::string info = each->Run({"CLUSTER", "INFO"});
        return Contains(info, "cluster_state:ok") && Contains(info, known) &&
               Contains(info, "cluster_slots_ok:16384");
      }));
    }
    for (size_t i = 3; i < nodes; ++i) {
      node(i).Run({"CLUSTER", "REPLICATE", IdOf(i - 3)});
      EXPECT_TRUE(WaitFor([&] { return node(i).IsReplica(); }));
    }
  }

  Server& node(size_t i) { return *nodes_[i]; }

  RedisOptions Options() const {
    RedisOptions options = nodes_[0]->Options();
    options.cluster = true;
    return options;
  }

  // The slot of a key, and the node that had it at the start.
  std::string SlotOf(const std::string& key) const {
    return nodes_[0]->Run({"CLUSTER", "KEYSLOT", key});
  }
  size_t NodeOf(const std::string& key) const {
    const int slot = std::stoi(SlotOf(key));
    return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
  }

  // Announces a move of the key's slot, moves a key, ends the move.
  void StartMove(const std::string& key, size_t from, size_t to) {
    const std::string slot = SlotOf(key);
    node(to).Run({"CLUSTER", "SETSLOT", slot, "IMPORTING", IdOf(from)});
    node(from).Run({"CLUSTER", "SETSLOT", slot, "MIGRATING", IdOf(to)});
  }
  std::string MoveKey(size_t from, size_t to, const std::string& key) {
    return node(from).Run({"MIGRATE", "127.0.0.1",
                           std::to_string(node(to).port()), key, "0", "20000"});
  }
  // Moves all keys of the key's slot.
  void MoveAllKeys(const std::string& key, size_t from, size_t to) {
    EXPECT_TRUE(WaitFor([&] {
      const std::string left =
          node(from).Run({"CLUSTER", "GETKEYSINSLOT", SlotOf(key), "9"});
      std::istringstream keys(left.substr(1, left.size() - 2));
      for (std::string one; keys >> one;) MoveKey(from, to, one);
      return left == "[]";
    }));
  }
  // Tells every node, `to` first, until they agree for a while: on a busy
  // machine a message that was sent before can make a node forget it again.
  void FinishMove(const std::string& key, size_t to) {
    const auto agreed = [&] {
      for (size_t i = 0; i < nodes_.size(); ++i) {
        const std::string reply = node(i).Run({"EXISTS", key});
        if (Contains(reply, "MOVED") != (i != to)) return false;
        if (i != to && !Contains(reply, node(to).Place())) return false;
      }
      return true;
    };
    EXPECT_TRUE(WaitFor([&] {
      for (size_t i = 0; i <= nodes_.size(); ++i) {
        node(i == 0 ? to : i - 1)
            .Run({"CLUSTER", "SETSLOT", SlotOf(key), "NODE", IdOf(to)});
      }
      for (int check = 0; check < 4; ++check) {
        if (!agreed()) return false;
        std::this_thread::sleep_for(milliseconds(20));
      }
      return true;
    })) << "the cluster does not agree on the slot of "
        << key;
  }

 private:
  std::string IdOf(size_t i) { return node(i).Run({"CLUSTER", "MYID"}); }

  std::vector<std::unique_ptr<Server>> nodes_;
};

// A filter of this scheme that only Deltabloom writes.
inline RedisFilterOptions Sized(const std::string& name,
                                const std::string& scheme, uint64_t keys) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = scheme;
  options.expected_keys = keys;
  options.own_writers_only = true;
  return options;
}

// --- Filters -----------------------------------------------------------------

// A filter for 1,000 keys that others may write, too.
inline RedisFilterOptions Small(const std::string& name = "f") {
  RedisFilterOptions options = Sized(name, "go-murmur3", 1000);
  options.own_writers_only = false;
  return options;
}

// A RedisFilter that exists.
class TestFilter {
 public:
  TestFilter(const RedisOptions& redis, const RedisFilterOptions& options) {
    ExpectOk(RedisFilter::Create(redis, options, &filter_));
  }
  TestFilter(const RedisOptions& redis, const std::string& name) {
    ExpectOk(RedisFilter::Open(redis, name, &filter_));
  }
  // With timeouts that a busy server may miss now.
  static TestFilter Impatient(const RedisOptions& redis,
                              const RedisFilterOptions& options) {
    RedisOptions patient = redis;
    patient.connect_timeout = patient.command_timeout = milliseconds(60000);
    const TestFilter created(patient, options);
    TestFilter opened;
    EXPECT_TRUE(WaitFor([&] {
      return RedisFilter::Open(redis, options.name, &opened.filter_).ok();
    }));
    return opened;
  }
  static TestFilter Adopt(const RedisOptions& redis,
                          const RedisFilterOptions& options) {
    TestFilter adopted;
    ExpectOk(RedisFilter::Adopt(redis, options, &adopted.filter_));
    return adopted;
  }

  RedisFilter* operator->() const { return filter_.get(); }
  RedisFilter* get() const { return filter_.get(); }

  void Add(const Words& keys) const {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    ExpectOk(filter_->Add(views.data(), views.size()));
  }
  size_t Count(const Words& keys) const {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto found = std::make_unique<bool[]>(keys.size());
    ExpectOk(filter_->Check(views.data(), views.size(), found.get()));
    const bool* const begin = found.get();
    return static_cast<size_t>(std::count(begin, begin + keys.size(), true));
  }
  // All of these keys, and none of the absent ones.
  bool Finds(const Words& keys, const Words& absent = {}) const {
    return Count(keys) == keys.size() && Count(absent) == 0;
  }

  // The status of a check, which finds every key unless it is OK.
  RedisStatus Check(const std::string& key = "some key") const {
    bool found = false;
    RedisStatus status = filter_->Check(key, &found);
    EXPECT_TRUE(found || status.ok());
    return status;
  }
  RedisError Error(const std::string& key = "some key") const {
    return Check(key).error;
  }
  // Expects this failure of a check. The message names where and what, and the
  // failure is counted.
  void ExpectFailure(RedisError error, const std::string& place,
                     const std::string& key = "'f'") const {
    ExpectError(Check(), error, {place, key});
    const uint64_t before = filter_->Statistics().failed_open;
    EXPECT_TRUE(filter_->MayMatch("some key"));
    EXPECT_EQ(filter_->Statistics().failed_open, before + 1);
    EXPECT_FALSE(filter_->Statistics().last_error.empty());
  }

  RedisFilterInfo Info() const {
    RedisFilterInfo info;
    ExpectOk(filter_->Info(&info));
    return info;
  }
  std::string Bits() const {
    std::string bits;
    ExpectOk(filter_->ReadBits(&bits));
    return bits;
  }

  std::unique_ptr<RedisRebuild> Start(
      const RedisRebuildOptions& options = {}) const {
    std::unique_ptr<RedisRebuild> rebuild;
    ExpectOk(filter_->StartRebuild(options, &rebuild));
    return rebuild;
  }
  // True if the bitmap was replaced.
  bool Rebuild(const Words& keys,
               const RedisRebuildOptions& options = {}) const {
    return Finish(Start(options).get(), keys);
  }
  static bool Finish(RedisRebuild* rebuild, const Words& keys) {
    for (const std::string& key : keys) rebuild->Add(key);
    RedisRebuildResult result;
    ExpectOk(rebuild->Finish(&result));
    EXPECT_EQ(result.keys, keys.size());
    return result.replaced;
  }

 private:
  TestFilter() = default;
  std::unique_ptr<RedisFilter> filter_;
};

// The status of a way to get a filter: RedisFilter::Create, Open, ...
template <typename Argument>
RedisStatus Make(RedisStatus (*make)(const RedisOptions&, const Argument&,
                                     std::unique_ptr<RedisFilter>*),
                 const RedisOptions& redis, const Argument& argument) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = make(redis, argument, &filter);
  EXPECT_EQ(filter == nullptr, !status.ok());
  EXPECT_EQ(status.message.empty(), status.ok());
  return status;
}

inline RedisStatus TryOpen(const RedisOptions& redis,
                           const std::string& name = "f") {
  return Make(RedisFilter::Open, redis, name);
}

// Tests of one server, empty before each.
class RedisTest : public testing::Test {
 protected:
  RedisTest() { server_.Run({"FLUSHALL"}); }

  TestFilter Create(const RedisFilterOptions& options) const {
    return {server_.Options(), options};
  }
  TestFilter Open(const std::string& name) const {
    return {server_.SocketOptions(), name};
  }
  std::string Run(const Words& words) const { return server_.Run(words); }
  long Ttl(const std::string& key) const {
    return std::stol(Run({"PTTL", key}));
  }

  static Server& TheServer() {
    static Server server;
    return server;
  }
  Server& server_ = TheServer();
};

// --- Traffic -----------------------------------------------------------------

// Writers, builders and readers of one filter, in threads, or in processes that
// may be killed at any time: it lives in shared memory.
class Traffic {
 public:
  ~Traffic() {
    Stop();
    EXPECT_EQ(absent_, 0) << "acknowledged keys were absent";
  }
  static void* operator new(size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
  }
  static void operator delete(void* memory) { munmap(memory, sizeof(Traffic)); }

  // Adds keys until Stop. A key is in the source before its Add.
  void Write(RedisFilter* filter, milliseconds pause) {
    while (!stop_ && readable < kMaxKeys - 100) {
      const int i = readable++;
      const std::string key = std::to_string(i);
      if (Timed([&] { return filter->Add(key); }).ok()) {
        is_acknowledged_[i] = true;
        ++acknowledged;
        if (!filter->MayMatch(key)) ++absent_;
      } else {
        ++failed;
      }
      std::this_thread::sleep_for(pause);
    }
  }

  // One rebuild from the source; takes over from others.
  RedisStatus Build(RedisFilter* filter) {
    RedisRebuildOptions options;
    options.take_over = true;
    std::unique_ptr<RedisRebuild> rebuild;
    RedisStatus status = filter->StartRebuild(options, &rebuild);
    if (!status.ok()) return status;
    const int end = readable;
    for (int i = 0; i < end; ++i) rebuild->Add(std::to_string(i));
    status = rebuild->Finish();
    if (status.ok()) ++rebuilds;
    return status;
  }

  // Every acknowledged key may match.
  RedisStatus CheckAll(RedisFilter* filter) {
    Words keys;
    for (int i = 0; i < readable; ++i) {
      if (is_acknowledged_[i]) keys.push_back(std::to_string(i));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto found = std::make_unique<bool[]>(keys.size());
    RedisStatus status = Timed(
        [&] { return filter->Check(views.data(), views.size(), found.get()); });
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_TRUE(found[i]) << "key " << keys[i] << ": " << status.message;
    }
    return status;
  }

  // Writers and a builder that go on until Stop.
  void StartThreads(RedisFilter* filter, int writers, milliseconds pause) {
    for (int t = 0; t < writers; ++t) {
      threads_.emplace_back([=] { Write(filter, pause); });
    }
    threads_.emplace_back([=] {
      while (!stop_) {
        Build(filter);
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  bool IsEnough() const { return acknowledged > 100 && rebuilds > 0; }

  std::atomic<int> readable{0};  // keys in the source
  std::atomic<int> acknowledged{0}, failed{0}, rebuilds{0};
  std::atomic<int64_t> slowest_ms{0};  // of all calls that fill or check

 private:
  static constexpr int kMaxKeys = 1 << 20;

  RedisStatus Timed(const std::function<RedisStatus()>& call) {
    const auto start = Clock::now();
    RedisStatus status = call();
    const int64_t ms =
        std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
    if (ms > slowest_ms) slowest_ms = ms;
    return status;
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> absent_{0};
  std::atomic<bool> is_acknowledged_[kMaxKeys] = {};
  std::vector<std::thread> threads_;
};

}  // namespace test
}  // namespace deltabloom
