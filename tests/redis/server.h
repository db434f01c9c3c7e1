// A redis-server or a cluster of the test's own, on free ports in temporary
// directories, and what tests of filters share.
#ifndef DELTABLOOM_TESTS_REDIS_SERVER_H_
#define DELTABLOOM_TESTS_REDIS_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"

namespace deltabloom::test {

class Server {
 public:
  // `arguments`: more of redis-server's, "--maxmemory", "10mb", ...
  explicit Server(std::vector<std::string> arguments = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }
  const std::string& socket() const { return socket_; }
  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }

  // How to reach it: through the port, or the socket.
  RedisOptions Options() const;
  RedisOptions SocketOptions() const;

  void Stop();   // SIGKILL
  void Start();  // on the same port, with the files that it left
  void Pause();  // SIGSTOP
  void Resume();

  // One command, its reply as text: "OK", "(nil)", "3", "[a b]", "-ERR ...".
  std::string Run(const std::vector<std::string>& words) const;

 private:
  std::vector<std::string> arguments_;
  std::string directory_;
  std::string socket_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

// Three masters, every slot served; with replicas, node i + 3 is one of node i.
class Cluster {
 public:
  explicit Cluster(bool replicas = false);

  Server& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  RedisOptions Options() const;

  // The node that had the slot of a key at the start, and that slot.
  size_t NodeOf(const std::string& key) const;
  uint32_t SlotOf(const std::string& key) const;
  // Announces a move of the key's slot, and ends it: tells every node that `to`
  // has it, and waits until they agree. On a busy machine a message that was
  // sent before can make a node forget again what it was told.
  void StartMove(const std::string& key, size_t from, size_t to);
  std::string MoveKeys(size_t from, size_t to,
                       const std::vector<std::string>& keys);
  void FinishMove(const std::string& key, size_t to);
  std::string IdOf(size_t node) const;

 private:
  void Join(size_t nodes);

  std::vector<std::unique_ptr<Server>> nodes_;
};

uint16_t FreePort();

// Returns when the replica has all of its master.
void MakeReplica(const Server& server, const Server& master);

// A filter of scheme go-murmur3 for 1,000 keys.
RedisFilterOptions Small(const std::string& name = "f");

// Each fails the test unless it succeeds.
std::unique_ptr<RedisFilter> Create(const RedisOptions& redis,
                                    const RedisFilterOptions& options);
std::unique_ptr<RedisFilter> Open(const RedisOptions& redis,
                                  const std::string& name);
std::unique_ptr<RedisRebuild> Start(RedisFilter* filter,
                                    const RedisRebuildOptions& options = {});
bool Finds(RedisFilter* filter, const std::string& key);

// A check fails with that error, which names where and what, and the answer is
// "may match".
void ExpectFailure(RedisFilter* filter, RedisError error,
                   const std::string& place, const std::string& key = "'f'");

inline std::string PlaceOf(const Server& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_REDIS_SERVER_H_
