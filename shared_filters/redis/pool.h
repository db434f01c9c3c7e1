// Connections to the servers of one Redis, kept between calls, and a circuit
// breaker for each server.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_POOL_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_POOL_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared_filters/redis/circuit.h"
#include "shared_filters/redis/connection.h"

namespace deltabloom::internal {

// Thread-safe.
class Pool {
 public:
  explicit Pool(const RedisOptions& options) : options_(options) {}

  // An idle connection, or a new one. `fresh`: only a new one. kCircuitOpen if
  // the server is not to be tried now.
  RedisStatus Take(const Endpoint& endpoint, bool fresh, Deadline deadline,
                   std::unique_ptr<Connection>* connection);

  // After a call that went well as far as the connection is concerned.
  // `loading`: the server answered, but that it cannot serve yet.
  void GiveBack(std::unique_ptr<Connection> connection, bool loading);

  // After a call that did not: to be told with the connection's endpoint.
  void Failed(const Endpoint& endpoint);

  uint64_t reconnects() const { return reconnects_; }
  uint64_t circuits_opened() const { return circuits_opened_; }

 private:
  struct Server {
    Server(uint32_t failures, std::chrono::milliseconds open_for)
        : circuit(failures, open_for) {}
    Circuit circuit;
    std::vector<std::unique_ptr<Connection>> idle;
    bool was_connected = false;
  };

  Server* Find(const Endpoint& endpoint);

  const RedisOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Server>> servers_;
  std::atomic<uint64_t> reconnects_{0};
  std::atomic<uint64_t> circuits_opened_{0};
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_POOL_H_
