// Redis servers and clusters that tests start in temporary directories, and the
// verbs that tests of filters share. Each verb fails the test if it fails.
#ifndef DELTABLOOM_TESTS_REDIS_SERVER_H_
#define DELTABLOOM_TESTS_REDIS_SERVER_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/redis_filter.h"

namespace deltabloom {

inline void PrintTo(RedisError error, std::ostream* out) {
  *out << RedisErrorName(error);
}

namespace test {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

class Server {
 public:
  // `arguments`: more of redis-server's, "--maxmemory", "10mb", ...
  explicit Server(Words arguments = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }
  std::string Place() const { return "127.0.0.1:" + std::to_string(port_); }

  // How to reach it: through the port, or the socket.
  RedisOptions Options() const;
  RedisOptions SocketOptions() const;

  void Stop();   // SIGKILL
  void Start();  // on the same port, with the files that it left
  void Restart() {
    Stop();
    Start();
  }
  void Pause();  // SIGSTOP
  void Resume();

  // Returns when it has all of its master.
  void Replicate(const Server& master) const;

  // One command, its reply as text: "OK", "(nil)", "3", "[a b]", "-ERR ...".
  std::string Run(const Words& words) const;

 private:
  const Words arguments_;
  std::string directory_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

extern const Words kEverysec, kAlways;  // append-only files

// Three masters, every slot served; with replicas, node i + 3 is one of node i.
class Cluster {
 public:
  explicit Cluster(bool replicas = false);

  Server& node(size_t i) { return *nodes_[i]; }
  RedisOptions Options() const;

  // The node that had the slot of a key at the start, and that slot.
  size_t NodeOf(const std::string& key) const;
  std::string SlotOf(const std::string& key) const;
  // Announces a move of the key's slot, moves keys, ends the move.
  void StartMove(const std::string& key, size_t from, size_t to);
  std::string MoveKey(size_t from, size_t to, const std::string& key);
  void FinishMove(const std::string& key, size_t to);

 private:
  void SetSlot(size_t node, const std::string& slot, const char* state,
               size_t other) const;

  std::vector<std::unique_ptr<Server>> nodes_;
};

uint16_t FreePort();

// Tries for half a minute. False if `reached` stays false.
bool WaitFor(const std::function<bool()>& reached);

// A filter of this scheme that only Deltabloom writes.
RedisFilterOptions Sized(const std::string& name, const std::string& scheme,
                         uint64_t keys);
// A filter of scheme go-murmur3 for 1,000 keys.
RedisFilterOptions Small(const std::string& name = "f");

// A RedisFilter that exists.
class TestFilter {
 public:
  TestFilter(const RedisOptions& redis, const RedisFilterOptions& options);
  TestFilter(const RedisOptions& redis, const std::string& name);  // opens it
  static TestFilter Adopt(const RedisOptions& redis,
                          const RedisFilterOptions& options);

  RedisFilter* operator->() const { return filter_.get(); }
  RedisFilter* get() const { return filter_.get(); }

  void Add(const Words& keys) const;
  bool Finds(const std::string& key) const;  // fails if Redis does
  bool FindsAll(const Words& keys) const;
  // The error of a check, which finds every key then.
  RedisError Error(const std::string& key = "some key") const;
  // The same; the message names where and what, and the failure is counted.
  void ExpectFailure(RedisError error, const std::string& place,
                     const std::string& key = "'f'") const;
  RedisFilterInfo Info() const;
  std::unique_ptr<RedisRebuild> Start(
      const RedisRebuildOptions& options = {}) const;
  RedisRebuildResult Rebuild(const Words& keys,
                             const RedisRebuildOptions& options = {}) const;

 private:
  TestFilter() = default;
  std::unique_ptr<RedisFilter> filter_;
};

// The error of each way to get a filter that is expected to fail.
RedisError CreateError(const RedisOptions& redis,
                       const RedisFilterOptions& options);
RedisError OpenError(const RedisOptions& redis, const std::string& name = "f",
                     std::string* message = nullptr);

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

  static Server& TheServer();
  Server& server_ = TheServer();
};

// Writers, builders and readers of one filter, in threads, or in processes that
// may be killed at any time: it lives in shared memory.
class Traffic {
 public:
  static std::unique_ptr<Traffic, void (*)(Traffic*)> New();

  // Adds keys until Stop. A key is in the source before its Add.
  void Write(RedisFilter* filter, milliseconds pause);
  // One rebuild from the source; takes over from others.
  RedisStatus Build(RedisFilter* filter);
  // Every acknowledged key may match. The time it took counts as a call's.
  RedisStatus CheckAll(RedisFilter* filter);

  // Threads that go on until Stop.
  void StartThreads(RedisFilter* filter, int writers, milliseconds pause,
                    bool builder);
  void Stop();

  std::atomic<int> readable{0};  // keys in the source
  std::atomic<int> acknowledged{0}, failed{0}, rebuilds{0};
  std::atomic<int64_t> slowest_ms{0};

 private:
  static constexpr int kMaxKeys = 1 << 20;

  RedisStatus Timed(const std::function<RedisStatus()>& call);

  std::atomic<bool> stop_{false};
  std::atomic<int> absent_{0};
  std::atomic<bool> is_acknowledged_[kMaxKeys] = {};
  std::vector<std::thread> threads_;
};

}  // namespace test
}  // namespace deltabloom

#endif  // DELTABLOOM_TESTS_REDIS_SERVER_H_
