// Runs commands on one Redis or on a cluster of them: many at once in one
// round trip, each on the server that has its key's slot.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_

#include <atomic>
#include <chrono>
#include <vector>

#include "shared_filters/redis/pool.h"
#include "shared_filters/redis/request.h"
#include "shared_filters/redis/slots.h"

namespace deltabloom::internal {

// May a command whose answer was lost be sent again?
enum class Retry : bool { kNo, kSafe };

// Thread-safe.
class Client {
 public:
  explicit Client(const RedisOptions& options);

  // replies[i] answers requests[i]. Requests on the same server run in their
  // order. OK: every request was answered; a reply may be a server's error
  // (see ErrorOf). Lost connections, unknown scripts and redirections are seen
  // to. `timeout` is for everything together. *rounds: more than 1 if some
  // request was sent again, and so perhaps behind later ones.
  RedisStatus Run(const std::vector<Request>& requests, Retry retry,
                  std::chrono::milliseconds timeout,
                  std::vector<Reply>* replies, int* rounds = nullptr);
  RedisStatus Run(const std::vector<Request>& requests, Retry retry,
                  std::vector<Reply>* replies, int* rounds = nullptr) {
    return Run(requests, retry, options_.command_timeout, replies, rounds);
  }

  // One command; a server's error is an error here.
  RedisStatus RunOne(const Request& request, Retry retry,
                     std::chrono::milliseconds timeout, Reply* reply);
  RedisStatus RunOne(const Request& request, Retry retry, Reply* reply) {
    return RunOne(request, retry, options_.command_timeout, reply);
  }

  // The status of an error reply to `request`; OK for any other reply.
  RedisStatus ErrorOf(const Request& request, const redisReply& reply) const;

  const RedisOptions& options() const { return options_; }
  const Pool& pool() const { return pool_; }
  uint64_t redirections() const { return redirections_; }
  uint64_t scripts_loaded() const { return scripts_loaded_; }

  // Where a request for `key` goes, as far as is known.
  Endpoint EndpointOf(const std::string& key) const;

 private:
  // Where a request stands between rounds.
  struct Pending {
    size_t index;
    Endpoint endpoint;
    bool ask = false;
    bool whole_script = false;
  };
  struct Call;

  RedisStatus LoadSlots(Deadline deadline);
  RedisStatus Place(const Request& request, Deadline deadline,
                    Endpoint* endpoint);
  // One round trip to every server that is asked something. `again` gets the
  // requests that need another.
  RedisStatus Round(Call* call, std::vector<Pending> pending,
                    std::vector<Pending>* again);
  RedisStatus Send(Call* call, const std::vector<Pending>& group, bool fresh,
                   std::unique_ptr<Connection>* connection);
  RedisStatus Receive(Call* call, const std::vector<Pending>& group,
                      Connection* connection, bool* loading,
                      std::vector<Pending>* again);
  RedisStatus Exchange(Call* call, const std::vector<Pending>& group,
                       RedisStatus sent, std::unique_ptr<Connection> connection,
                       std::vector<Pending>* again);
  bool NeedsAnotherRound(Call* call, const Pending& asked,
                         const redisReply& reply, Pending* next);

  const RedisOptions options_;
  const Endpoint first_;
  Pool pool_;
  SlotMap slots_;
  std::atomic<bool> slots_loaded_{false};
  std::atomic<uint64_t> redirections_{0};
  std::atomic<uint64_t> scripts_loaded_{0};
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CLIENT_H_
