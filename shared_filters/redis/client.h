// Runs commands on one Redis server, or on the server of a cluster that has
// their slot: a pool of connections, a circuit breaker for each server, scripts
// by their SHA-1, redirections, and the identity of the servers that answered.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/errors.h"

namespace deltabloom::internal {

// A circuit breaker for one server: after several failures in a row calls fail
// without a try; after a while one call at a time tries again, and the first
// success closes the circuit. Thread-safe.
class Circuit {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens after `failures` in a row; 0: never.
  Circuit(uint32_t failures, std::chrono::milliseconds open_for)
      : limit_(failures), open_for_(open_for) {}

  // True if a call may be tried; then Succeeded or Failed must follow.
  bool Allow(Clock::time_point now);
  void Succeeded();
  // True if this failure opened the circuit.
  bool Failed(Clock::time_point now);

 private:
  const uint32_t limit_;
  const std::chrono::milliseconds open_for_;
  std::mutex mutex_;
  uint32_t failures_ = 0;
  bool open_ = false;
  Clock::time_point retry_at_;
};

// What tells a server process, and its place in replication, from all others.
struct ServerIdentity {
  std::string run_id;  // another one after each start
  std::string replid;  // another one after each change of the master
  bool is_master = false;
  bool replicates = false;  // has replicas, or was promoted
  std::string error;        // why INFO did not answer

  // Takes the replies to INFO server and INFO replication.
  void ReadServer(const RedisReply& reply);
  void ReadReplication(const RedisReply& reply);
};

// May a command whose answer was lost be sent again?
enum class Retry : bool { kNo, kSafe };

// The replies to one call of Client::Run.
struct Replies {
  std::vector<RedisReply> replies;
  // Of each server that gave one of them, as it was when it had answered; only
  // if asked for.
  std::vector<ServerIdentity> servers;
  // Some request was sent again, perhaps after later ones.
  bool out_of_order = false;

  const RedisReply& operator[](size_t i) const { return replies[i]; }
};

// Thread-safe.
class Client {
 public:
  explicit Client(const RedisOptions& options);

  // replies[i] answers requests[i]. All keys are in one slot; requests run in
  // their order. OK: every request was answered; a reply may be an error of
  // the server (see ErrorOf). Handles lost connections, unknown scripts and
  // redirections. `timeout` limits the call from end to end.
  RedisStatus Run(std::vector<Request> requests, Retry retry,
                  std::chrono::milliseconds timeout, Replies* replies,
                  bool identify = false);
  RedisStatus Run(std::vector<Request> requests, Retry retry, Replies* replies,
                  bool identify = false) {
    return Run(std::move(requests), retry, options_.command_timeout, replies,
               identify);
  }

  // The same; an error of the server is an error here.
  RedisStatus RunAll(const std::vector<Request>& requests,
                     std::chrono::milliseconds timeout, Replies* replies,
                     bool identify = false);
  RedisStatus RunOne(const Request& request, Retry retry,
                     std::chrono::milliseconds timeout, RedisReply* reply);
  RedisStatus RunOne(const Request& request, Retry retry, RedisReply* reply) {
    return RunOne(request, retry, options_.command_timeout, reply);
  }

  // The status of an error reply about `key`; OK for any other reply.
  RedisStatus ErrorOf(const std::string& key, const RedisReply& reply) const;

  // Where a request for `key` goes, as far as is known.
  Endpoint EndpointOf(const std::string& key) const;

  // A status that names the server of the key.
  RedisStatus StatusAt(RedisError error, const std::string& key,
                       std::string_view what) const {
    return MakeStatus(error, EndpointOf(key), key, what);
  }

  const RedisOptions& options() const { return options_; }
  uint64_t redirections() const { return redirections_; }
  uint64_t scripts_loaded() const { return scripts_loaded_; }
  uint64_t reconnects() const { return reconnects_; }
  uint64_t circuits_opened() const { return circuits_opened_; }

 private:
  // An open connection, and the server at its other end.
  struct Link {
    std::unique_ptr<RedisConnection> connection;
    ServerIdentity identity;
    Deadline identified_at;
    bool reused = false;
  };
  struct Server {
    Server(uint32_t failures, std::chrono::milliseconds open_for)
        : circuit(failures, open_for) {}
    Circuit circuit;
    std::vector<std::unique_ptr<Link>> idle;
    bool was_connected = false;
  };
  // Requests that one server is to answer.
  struct Group {
    Endpoint endpoint;
    bool ask = false;
    std::vector<size_t> requests;
  };
  struct Call;

  Server* Find(const Endpoint& endpoint);  // REQUIRES: mutex_ held
  RedisStatus Take(const Endpoint& endpoint, bool fresh, Deadline deadline,
                   std::unique_ptr<Link>* link);
  RedisStatus Open(const Endpoint& endpoint, Deadline deadline, Link* link);
  void GiveBack(const Endpoint& endpoint, std::unique_ptr<Link> link,
                bool is_loading);
  void Failed(const Endpoint& endpoint);

  RedisStatus RunGroup(Call* call, const Group& group,
                       std::vector<RedisReply>* replies);
  RedisStatus RunOn(Link* link,
                    const std::vector<const RedisCommand*>& commands,
                    bool identify, Deadline deadline,
                    std::vector<RedisReply>* replies);
  void Sort(Call* call, const Group& group, std::vector<RedisReply> replies,
            std::vector<Group>* again);
  bool FindOwner(Call* call, const Endpoint& failed, RedisStatus* status);
  bool KnownOwner(uint32_t slot, Endpoint* endpoint) const;

  const RedisOptions options_;
  const Endpoint first_;

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Server>> servers_;  // guarded, as are
  std::map<uint32_t, Endpoint> owners_;  // of the slots in use
  std::vector<Endpoint> nodes_;          // of the cluster

  std::atomic<uint64_t> redirections_{0};
  std::atomic<uint64_t> scripts_loaded_{0};
  std::atomic<uint64_t> reconnects_{0};
  std::atomic<uint64_t> circuits_opened_{0};
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_
