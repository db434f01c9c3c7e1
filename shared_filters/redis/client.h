// Runs commands on one Redis server, or on the server of a cluster that has
// their slot: a pool of connections, a circuit breaker for each server, scripts
// by their SHA-1, redirections, and the identity of the servers that answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/redis/connection.h"
#include "util/mutex.h"

namespace deltabloom::internal {

// A circuit breaker for one server: after several failures in a row calls fail
// without a try; after a while one call at a time tries again, and the first
// success closes the circuit.
class Circuit {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens after `failures` in a row; 0: never.
  Circuit(uint32_t failures, std::chrono::milliseconds open_for)
      : limit_(failures), open_for_(open_for) {}

  // True if a call may be tried; then Succeeded or Failed must follow.
  bool Allow(Clock::time_point now);
  void Succeeded() { failures_ = 0; }
  // True if this failure opened the circuit.
  bool Failed(Clock::time_point now);

 private:
  const uint32_t limit_;
  const std::chrono::milliseconds open_for_;
  uint64_t failures_ = 0;  // in a row
  Clock::time_point retry_at_;
};

// Identifies a server process and its place in replication.
struct ServerIdentity {
  std::string run_id;  // another one after each start
  std::string replid;  // another one after each change of the master
  bool is_master = false;
  bool is_durable = false;  // has an AOF, and no replica can copy its data
  std::string refusal;      // what INFO answered instead of an id

  // Take the replies to the commands kIdentify, and to INFO replication.
  void Read(const RedisReply* replies);
  void ReadReplication(const RedisReply& reply);
};

inline constexpr char kBitsLost[] =
    "the bits are lost (expired, evicted or flushed): rebuild the filter, or "
    "delete and create it";

// May a command whose answer was lost be sent again?
enum class Retry : bool { kNo, kSafe };

struct CallOptions {
  Retry retry = Retry::kSafe;
  bool slow = false;      // it may keep the server busy for seconds
  bool identify = false;  // fill Replies::servers
};

// The replies to one call of Client::Run.
struct Replies {
  std::vector<RedisReply> replies;
  // If `identify` was set: each server that gave a reply, as it was when it had
  // answered.
  std::vector<ServerIdentity> servers;

  const RedisReply& operator[](size_t i) const { return replies[i]; }
};

// Thread-safe.
class Client {
 public:
  explicit Client(const RedisOptions& options);

  // replies[i] answers requests[i]. All keys are in one slot. Each request runs
  // after all before it. Handles lost connections, unknown scripts and
  // redirections, for which some requests may run twice. An error reply, or a
  // script's answer below 0, is an error here. The call takes at most
  // command_timeout from end to end, a slow one at least 10 s if it needs them.
  RedisStatus Run(std::vector<Request> requests, CallOptions how,
                  Replies* replies);
  RedisStatus Run(Request request, CallOptions how = {},
                  RedisReply* reply = nullptr);

  // A status that names the key and, as far as it is known, its server.
  RedisStatus StatusAt(RedisError error, const std::string& key,
                       std::string_view what) const;

  RedisStatus BitsLost(const std::string& key) const {
    return StatusAt(RedisError::kMissing, key, kBitsLost);
  }
  RedisStatus OddReply(const std::string& key) const {
    return StatusAt(RedisError::kServer, key, "a reply of an unexpected form");
  }

  // change(&statistics), for one thread at a time.
  template <typename Change>
  void Count(Change change) {
    const MutexLock lock(mutex_);
    change(&statistics_);
  }
  RedisFilterStatistics Statistics() const {
    const MutexLock lock(mutex_);
    return statistics_;
  }

 private:
  // An open connection, and the server at its other end.
  struct Link {
    RedisStatus Run(const std::vector<const RedisCommand*>& commands,
                    bool identify, Deadline deadline,
                    std::vector<RedisReply>* replies);

    std::unique_ptr<RedisConnection> connection;
    ServerIdentity identity;
    Deadline identified_at;
    bool reused = false;
  };
  struct Server {
    explicit Server(const RedisOptions& options)
        : circuit(options.circuit_failures, options.circuit_open_for) {}
    Circuit circuit;
    std::vector<std::unique_ptr<Link>> idle;
  };
  struct Call;

  Server* Find(const Endpoint& endpoint) DELTABLOOM_WITH_LOCK(mutex_);
  RedisStatus Take(const Endpoint& endpoint, bool fresh, Deadline deadline,
                   std::unique_ptr<Link>* link);
  RedisStatus Open(const Endpoint& endpoint, Deadline deadline, Link* link);
  void Failed(const Endpoint& endpoint);
  RedisStatus Exchange(const Endpoint& endpoint,
                       const std::vector<const RedisCommand*>& commands,
                       Retry retry, Deadline deadline,
                       std::vector<RedisReply>* replies,
                       ServerIdentity* identity);

  RedisStatus RunRound(Call* call, const Endpoint& endpoint);
  bool IsFinal(Call* call, const Endpoint& from, const RedisReply& reply);
  bool KnownOwner(uint32_t slot, Endpoint* endpoint) const;
  void SetOwner(uint32_t slot, const Endpoint& owner);
  RedisStatus FindOwner(const Call& call, Endpoint* owner);
  RedisStatus ErrorOf(const Request& request, const RedisReply& reply) const;

  const RedisOptions options_;
  const Endpoint first_;

  mutable Mutex mutex_;
  std::map<std::string, Server> servers_ DELTABLOOM_GUARDED_BY(mutex_);
  // Of the slots in use.
  std::map<uint32_t, Endpoint> owners_ DELTABLOOM_GUARDED_BY(mutex_);
  // Of the cluster.
  std::vector<Endpoint> nodes_ DELTABLOOM_GUARDED_BY(mutex_);
  RedisFilterStatistics statistics_ DELTABLOOM_GUARDED_BY(mutex_);
};

}  // namespace deltabloom::internal
