// A redis-server of the test's own, on a free port in a temporary directory;
// gone with the test.
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
  void Start();  // on the same port
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

// Three masters without replicas, every slot served.
class Cluster {
 public:
  Cluster();

  Server& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  RedisOptions Options() const;

  // The node that has the slot of a key, and that slot.
  size_t NodeOf(const std::string& key) const;
  uint32_t SlotOf(const std::string& key) const;
  // Ends a move of the key's slot: tells every node that `to` has it, and waits
  // until they agree. On a busy machine a message that was sent before can make
  // a node forget again what it was told.
  void GiveSlot(const std::string& key, size_t to);
  std::string IdOf(size_t node) const;

 private:
  std::vector<std::unique_ptr<Server>> nodes_;
};

uint16_t FreePort();

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_REDIS_SERVER_H_
