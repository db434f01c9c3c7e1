// One connection to one server: writes commands, reads replies, both by a
// deadline.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/errors.h"
#include "shared_filters/redis/request.h"

namespace deltabloom::internal {

using Deadline = std::chrono::steady_clock::time_point;

// Not thread-safe. After an error of Send or Receive it can only be destroyed:
// answers would meet the wrong questions.
class Connection {
 public:
  // Connects, starts TLS, logs in and selects the database.
  static RedisStatus Open(const RedisOptions& options, const Endpoint& endpoint,
                          Deadline deadline,
                          std::unique_ptr<Connection>* connection);

  const Endpoint& endpoint() const { return endpoint_; }

  // Writes `commands` (the protocol's bytes). `key` is for the message.
  RedisStatus Send(const std::string& commands, const std::string& key,
                   Deadline deadline);

  // Reads one reply, which may be a server's error.
  RedisStatus Receive(const std::string& key, Deadline deadline, Reply* reply);

  // False if the server has closed it, or says what nobody asked for.
  bool LooksAlive() const;

  // Has it been used since it was opened? Then it may have died since.
  bool reused() const { return reused_; }
  void set_reused() { reused_ = true; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  Connection(Endpoint endpoint, redisContext* context)
      : endpoint_(std::move(endpoint)), context_(context) {}

  RedisStatus LogIn(const RedisOptions& options, Deadline deadline);
  RedisStatus SendPlain(const std::string& commands, const std::string& key,
                        Deadline deadline);
  RedisStatus SendTls(const std::string& commands, const std::string& key,
                      Deadline deadline);
  RedisStatus Broken(const std::string& key, Deadline deadline) const;

  Endpoint endpoint_;
  std::unique_ptr<redisContext, FreeContext> context_;
  bool tls_ = false;
  bool reused_ = false;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
