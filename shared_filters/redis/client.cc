#include "shared_filters/redis/client.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/connection.h"
#include "util/mutex.h"

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxIdle = 128;  // more idle connections are closed
constexpr int kHastyRounds = 5;   // in vain, without a pause between them
constexpr milliseconds kPause{10};

// A server that was a master kAskAgain ago, and is asked again only then, can
// have lost its data since: it became a replica and copied another server. That
// takes several round trips, a fork and a snapshot, so kTrust is short enough.
constexpr milliseconds kAskAgain{1};
constexpr milliseconds kTrust{2};

const RedisCommand kAsking = {"ASKING"};
const RedisCommand kInfoReplication = {"INFO", "replication"};
// The first commands of each connection.
const RedisCommand kIdentify[] = {{"INFO", "server"},
                                  kInfoReplication,
                                  {"INFO", "persistence"},
                                  {"COMMAND", "INFO", "PSYNC", "SYNC"}};
const RedisCommand kClusterSlots = {"CLUSTER", "SLOTS"};

bool IsError(const RedisReply& reply, std::string_view with) {
  return reply.kind == RedisReply::Kind::kError &&
         reply.text.compare(0, with.size(), with) == 0;
}

// The value of a field of INFO; empty if there is none.
std::string FieldOf(const std::string& info, const std::string& name) {
  size_t at = info.find("\n" + name + ":");
  if (at == info.npos) return "";
  at += name.size() + 2;
  return info.substr(at, info.find_first_of("\r\n", at) - at);
}

// Scripts return these numbers instead of a result: -1, -2, ...
constexpr std::pair<RedisError, const char*> kScriptAnswers[] = {
    {RedisError::kMismatch, "the filter was deleted or replaced"},
    {RedisError::kMissing, kBitsLost},
    {RedisError::kBusy,
     "a rebuild is running, or died less than its lease ago"},
    {RedisError::kBusy,
     "the rebuild was lost: its lease ran out, or another took over; the live "
     "bitmap is unchanged"},
    {RedisError::kMismatch,
     "the uploaded bitmap is not what was sent; the live bitmap is unchanged"},
    {RedisError::kUnverified,
     "a durable filter needs appendonly yes, rename-command PSYNC \"\" and "
     "rename-command SYNC \"\" in its server's settings"},
    {RedisError::kUnverified,
     "Redis restarted or failed over during the rebuild: rebuild again; the "
     "live bitmap is unchanged"},
    {RedisError::kOutOfMemory,
     "the bitmap is larger than maxmemory, or than what the server's machine "
     "has left: use fewer keys or a higher rate"},
};

}  // namespace

bool Circuit::Allow(Clock::time_point now) {
  if (limit_ == 0 || failures_ < limit_) return true;
  if (now < retry_at_) return false;
  // If this call never reports back, another may try later.
  retry_at_ = now + open_for_;
  return true;
}

bool Circuit::Failed(Clock::time_point now) {
  retry_at_ = now + open_for_;
  return ++failures_ == limit_;
}

void ServerIdentity::Read(const RedisReply* replies) {
  run_id = FieldOf(replies[0].text, "run_id");
  if (run_id.empty()) refusal = replies[0].text.substr(0, 100);
  ReadReplication(replies[1]);
  const std::vector<RedisReply>& commands = replies[3].elements;
  is_durable = FieldOf(replies[2].text, "aof_enabled") == "1" &&
               commands.size() == 2 &&
               commands[0].kind == RedisReply::Kind::kNil &&
               commands[1].kind == RedisReply::Kind::kNil;
}

void ServerIdentity::ReadReplication(const RedisReply& reply) {
  replid = FieldOf(reply.text, "master_replid");
  is_master = FieldOf(reply.text, "role") == "master";
  if (replid.empty()) refusal = reply.text.substr(0, 100);
}

struct Client::Call {
  std::vector<Request> requests;
  CallOptions how;
  Deadline deadline;
  uint32_t slot;
  Replies* replies;
  size_t done = 0;       // requests, from the first on, with a final reply
  Endpoint asked = {};   // where ASK sends the next request
  Endpoint failed = {};  // the server of the slot that was lost
  bool wait = false;     // the slot is moving, or its server has failed

  const std::string& key() const { return requests[done].key; }
};

Client::Client(const RedisOptions& options)
    : options_(options),
      first_(options.unix_socket.empty() ? Endpoint{options.host, options.port}
                                         : Endpoint{options.unix_socket, 0}) {}

Client::Server* Client::Find(const Endpoint& endpoint) {
  return &servers_.try_emplace(endpoint.Text(), options_).first->second;
}

// `fresh`: a new connection, since idle ones are dead.
RedisStatus Client::Take(const Endpoint& endpoint, bool fresh,
                         Deadline deadline, std::unique_ptr<Link>* link) {
  {
    const MutexLock lock(mutex_);
    Server* const server = Find(endpoint);
    if (!server->circuit.Allow(Clock::now())) {
      return {RedisError::kCircuitOpen,
              "not tried: it failed " +
                  std::to_string(options_.circuit_failures) +
                  " times in a row just before"};
    }
    if (fresh) server->idle.clear();
    if (!server->idle.empty()) {
      *link = std::move(server->idle.back());
      server->idle.pop_back();
      return {};
    }
  }
  *link = std::make_unique<Link>();
  const RedisStatus status = Open(endpoint, deadline, link->get());
  if (!status.ok()) {
    Failed(endpoint);
  } else if (fresh) {
    Count([](RedisFilterStatistics* all) { ++all->reconnects; });
  }
  return status;
}

// Connects, logs in, selects the database, and asks who answers.
RedisStatus Client::Open(const Endpoint& endpoint, Deadline deadline,
                         Link* link) {
  const milliseconds limit =
      std::min(options_.connect_timeout, TimeLeft(deadline));
  deadline = std::min(deadline, Clock::now() + limit);
  RedisStatus status = options_.connect
                           ? options_.connect(endpoint.host, endpoint.port,
                                              limit, &link->connection)
                           : ConnectHiredis(endpoint, limit, &link->connection);
  if (!status.ok()) return status;
  const RedisCommand auth =
      options_.username.empty()
          ? RedisCommand{"AUTH", options_.password}
          : RedisCommand{"AUTH", options_.username, options_.password};
  const RedisCommand select = {"SELECT", std::to_string(options_.database)};
  std::vector<const RedisCommand*> commands;
  if (!options_.password.empty()) commands.push_back(&auth);
  if (options_.database != 0) commands.push_back(&select);
  const size_t n = commands.size();
  for (const RedisCommand& command : kIdentify) commands.push_back(&command);
  link->identified_at = Clock::now();
  std::vector<RedisReply> replies;
  status = link->connection->Run(commands, deadline, &replies);
  if (!status.ok()) return status;
  for (size_t i = 0; i < n; ++i) {
    if (replies[i].kind != RedisReply::Kind::kError) continue;
    const RedisError kind = ClassifyError(replies[i].text);
    return {commands[i] == &auth && kind == RedisError::kServer
                ? RedisError::kAuthentication
                : kind,
            commands[i]->front() + " refused: " + replies[i].text};
  }
  if (IsError(replies[n], "BUSY")) {
    return {RedisError::kUnavailable, replies[n].text};
  }
  // Before its AOF is loaded, INFO says that the server has none.
  if (FieldOf(replies[n + 2].text, "loading") == "1") {
    return {RedisError::kUnavailable, "the server is loading its data"};
  }
  link->identity.Read(&replies[n]);
  return {};
}

void Client::Failed(const Endpoint& endpoint) {
  const MutexLock lock(mutex_);
  Server* const server = Find(endpoint);
  server->idle.clear();
  if (server->circuit.Failed(Clock::now())) ++statistics_.circuits_opened;
}

// If `identify` is set, `identity` is what the server was when it had answered.
RedisStatus Client::Link::Run(const std::vector<const RedisCommand*>& commands,
                              bool identify, Deadline deadline,
                              std::vector<RedisReply>* replies) {
  for (bool ask = !identity.is_master ||
                  Clock::now() - identified_at > kAskAgain;
       ; ask = true) {
    const Clock::time_point now = Clock::now();
    std::vector<const RedisCommand*> all = commands;
    if (identify && ask) all.push_back(&kInfoReplication);
    const RedisStatus status = connection->Run(all, deadline, replies);
    if (!status.ok() || !identify) return status;
    if (ask) {
      identity.ReadReplication(replies->back());
      identified_at = now;
      replies->pop_back();
    }
    // If it took too long, it is sent once more.
    if (ask || Clock::now() - identified_at <= kTrust) return status;
  }
}

// Sends the commands to one server. A connection that was idle may have died:
// then they are sent once more by a new one. `identity` may be null.
RedisStatus Client::Exchange(const Endpoint& endpoint,
                             const std::vector<const RedisCommand*>& commands,
                             Retry retry, Deadline deadline,
                             std::vector<RedisReply>* replies,
                             ServerIdentity* identity) {
  for (bool fresh = false;; fresh = true) {
    std::unique_ptr<Link> link;
    RedisStatus status = Take(endpoint, fresh, deadline, &link);
    if (!status.ok()) return status;
    status = link->Run(commands, identity != nullptr, deadline, replies);
    if (status.ok()) {
      if (identity != nullptr) *identity = link->identity;
      const bool is_loading = IsError(replies->back(), "LOADING") ||
                              IsError(replies->back(), "BUSY ");
      if (is_loading) Failed(endpoint);
      const MutexLock lock(mutex_);
      Server* const server = Find(endpoint);
      if (!is_loading) server->circuit.Succeeded();
      link->reused = true;
      if (server->idle.size() < kMaxIdle) {
        server->idle.push_back(std::move(link));
      }
      return status;
    }
    if (fresh || !link->reused || retry == Retry::kNo ||
        status.error != RedisError::kUnavailable) {
      Failed(endpoint);
      return status;
    }
  }
}

// Sends the requests that are left to this server, and takes the replies up to
// the first that is not final: what was sent after that is sent again, so that
// requests run in their order. After ASK only those of the same key are sent,
// as keys of a moving slot move one by one.
RedisStatus Client::RunRound(Call* call, const Endpoint& endpoint) {
  const bool ask = endpoint == call->asked;
  std::vector<const RedisCommand*> commands;
  for (size_t i = call->done; i < call->requests.size(); ++i) {
    if (ask && call->requests[i].key != call->key()) break;
    if (ask) commands.push_back(&kAsking);
    commands.push_back(&call->requests[i].words);
  }
  call->asked = {};
  std::vector<RedisReply> answers;
  ServerIdentity identity;
  const RedisStatus status =
      Exchange(endpoint, commands, call->how.retry, call->deadline, &answers,
               call->how.identify ? &identity : nullptr);
  if (!status.ok()) {
    return MakeStatus(status.error, endpoint, call->key(), status.message);
  }
  const size_t before = call->done;
  for (size_t i = ask ? 1 : 0; i < answers.size(); i += ask ? 2 : 1) {
    RedisReply& reply = call->replies->replies[call->done];
    reply = std::move(answers[i]);
    if (!IsFinal(call, endpoint, reply)) break;
    ++call->done;
  }
  if (call->done > before) call->replies->servers.push_back(identity);
  return {};
}

// Returns whether the reply to the next request is the answer. If not, prepares
// the call to send the request again.
bool Client::IsFinal(Call* call, const Endpoint& from,
                     const RedisReply& reply) {
  if (IsError(reply, "NOSCRIPT") &&
      call->requests[call->done].UseWholeScript()) {
    return false;
  }
  if (!options_.cluster || reply.kind != RedisReply::Kind::kError) return true;
  bool ask = false;
  Endpoint to;
  if (ParseRedirection(reply.text, from, &ask, &to)) {
    Count([](RedisFilterStatistics* all) { ++all->redirections; });
    if (ask) {
      call->asked = to;
    } else {
      SetOwner(call->slot, to);
    }
    return false;
  }
  if (IsError(reply, "CLUSTERDOWN")) {
    SetOwner(call->slot, {});
  } else if (!IsError(reply, "TRYAGAIN") &&
             reply.text.find("non local key") == std::string::npos) {
    return true;
  }
  // "non local key": a script reached for the bitmap of a rebuild, which has
  // moved to the slot's next server already.
  call->wait = true;
  return false;
}

bool Client::KnownOwner(uint32_t slot, Endpoint* endpoint) const {
  const MutexLock lock(mutex_);
  const auto found = owners_.find(slot);
  if (found == owners_.end() || !found->second.exists()) return false;
  *endpoint = found->second;
  return true;
}

void Client::SetOwner(uint32_t slot, const Endpoint& owner) {
  const MutexLock lock(mutex_);
  owners_[slot] = owner;
}

// Asks the cluster who has the slot of the call, the server that failed last.
RedisStatus Client::FindOwner(const Call& call, Endpoint* owner) {
  std::vector<Endpoint> nodes;
  {
    const MutexLock lock(mutex_);
    nodes = nodes_;
  }
  nodes.push_back(first_);
  for (const std::string& text : options_.more_nodes) {
    ParseEndpoint(text, &nodes.emplace_back());
  }
  std::stable_partition(nodes.begin(), nodes.end(), [&](const Endpoint& node) {
    return !(node == call.failed);
  });
  RedisStatus first_error;
  for (const Endpoint& node : nodes) {
    // A node that does not answer must leave time to ask others.
    const Deadline deadline =
        std::min(call.deadline,
                 Clock::now() + std::max(TimeLeft(call.deadline) / 4, kPause));
    std::vector<RedisReply> replies;
    RedisStatus status = Exchange(node, {&kClusterSlots}, Retry::kSafe,
                                  deadline, &replies, nullptr);
    if (status.ok() && replies[0].kind == RedisReply::Kind::kError) {
      status = {ClassifyError(replies[0].text),
                "CLUSTER SLOTS: " + replies[0].text};
    }
    if (status.ok()) {
      std::vector<Endpoint> servers =
          ParseSlots(replies[0], node, call.slot, owner);
      const MutexLock lock(mutex_);
      if (!servers.empty()) nodes_ = std::move(servers);
      owners_[call.slot] = *owner;
      if (owner->exists()) return {};
      status = {RedisError::kClusterDown, "no server of the cluster has slot " +
                                              std::to_string(call.slot)};
    }
    if (first_error.ok()) {
      first_error = MakeStatus(status.error, node, call.key(), status.message);
    }
  }
  return first_error;
}

RedisStatus Client::Run(std::vector<Request> requests, CallOptions how,
                        Replies* replies) {
  const size_t n = requests.size();
  *replies = {};
  replies->replies.resize(n);
  const milliseconds timeout =
      std::max(options_.command_timeout, milliseconds(how.slow ? 10000 : 0));
  const uint32_t slot = SlotOf(requests[0].key);
  Call call{std::move(requests), how, Clock::now() + timeout, slot, replies};
  RedisStatus lost;
  bool first = true;
  for (int in_vain = 0; call.done < n; first = false) {
    if (!first && IsOver(call.deadline)) {
      if (!lost.ok()) return lost;
      return StatusAt(RedisError::kClusterDown, call.key(),
                      "still not served: " + (*replies)[call.done].text);
    }
    if (call.wait || in_vain > kHastyRounds)
      std::this_thread::sleep_for(kPause);
    call.wait = false;
    Endpoint endpoint = call.asked.exists() ? call.asked : first_;
    RedisStatus status;
    if (options_.cluster && !call.asked.exists() &&
        !KnownOwner(slot, &endpoint)) {
      status = FindOwner(call, &endpoint);
      if (!status.ok()) return lost.ok() ? status : lost;
    }
    const size_t before = call.done;
    status = RunRound(&call, endpoint);
    in_vain = call.done > before ? 0 : in_vain + 1;
    if (status.ok()) continue;
    const bool is_lost = status.error == RedisError::kUnavailable ||
                         status.error == RedisError::kTimeout;
    if (!options_.cluster || !is_lost) return lost.ok() ? status : lost;
    // A replica may have taken over, now or before the next call.
    SetOwner(slot, {});
    if (how.retry == Retry::kNo) return status;
    lost = status;
    call.failed = endpoint;
    call.wait = true;
  }
  for (size_t i = 0; i < n; ++i) {
    RedisStatus status = ErrorOf(call.requests[i], (*replies)[i]);
    if (!status.ok()) return status;
  }
  return {};
}

RedisStatus Client::Run(Request request, CallOptions how, RedisReply* reply) {
  Replies replies;
  const RedisStatus status = Run({std::move(request)}, how, &replies);
  if (status.ok() && reply != nullptr) *reply = std::move(replies.replies[0]);
  return status;
}

RedisStatus Client::ErrorOf(const Request& request,
                            const RedisReply& reply) const {
  if (reply.kind == RedisReply::Kind::kError) {
    return StatusAt(ClassifyError(reply.text), request.key, reply.text);
  }
  if (request.script == nullptr || reply.integer >= 0) return {};
  const auto number = static_cast<size_t>(-1 - reply.integer);
  if (number >= std::size(kScriptAnswers)) return OddReply(request.key);
  const auto& [error, text] = kScriptAnswers[number];
  return StatusAt(error, request.key, text);
}

RedisStatus Client::StatusAt(RedisError error, const std::string& key,
                             std::string_view what) const {
  Endpoint endpoint = first_;
  if (options_.cluster) KnownOwner(SlotOf(key), &endpoint);
  return MakeStatus(error, endpoint, key, what);
}

}  // namespace deltabloom::internal
