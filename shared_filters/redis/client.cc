#include "shared_filters/redis/client.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "shared_filters/redis/keys.h"

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxIdle = 128;  // more idle connections are closed
constexpr int kHastyRounds = 5;   // rounds without a pause between them
constexpr milliseconds kPause{10};

// A server that was a master kAskAgain ago, and is asked again only then, can
// have lost its data since: it became a replica and copied another server. That
// takes several round trips and a snapshot, so kTrust is short enough.
constexpr milliseconds kAskAgain{10};
constexpr milliseconds kTrust{30};

const RedisCommand kAsking = {"ASKING"};
const RedisCommand kInfoServer = {"INFO", "server"};
const RedisCommand kInfoReplication = {"INFO", "replication"};
const RedisCommand kClusterSlots = {"CLUSTER", "SLOTS"};

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool IsError(const RedisReply& reply, std::string_view with) {
  return reply.kind == RedisReply::Kind::kError && StartsWith(reply.text, with);
}

// The value of a field of INFO; empty if there is none.
std::string FieldOf(const std::string& info, const std::string& name) {
  size_t at = info.find("\n" + name + ":");
  if (at == info.npos) return "";
  at += name.size() + 2;
  return info.substr(at, info.find_first_of("\r\n", at) - at);
}

// It may be worth looking for another server of the slot.
bool IsLost(const RedisStatus& status) {
  return status.error == RedisError::kUnavailable ||
         status.error == RedisError::kTimeout;
}

}  // namespace

bool Circuit::Allow(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!open_) return true;
  if (now < retry_at_) return false;
  // If this call never reports back, another may try later.
  retry_at_ = now + open_for_;
  return true;
}

void Circuit::Succeeded() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
  open_ = false;
}

bool Circuit::Failed(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (limit_ == 0 || ++failures_ < limit_) return false;
  retry_at_ = now + open_for_;
  const bool opened = !open_;
  open_ = true;
  return opened;
}

void ServerIdentity::ReadServer(const RedisReply& reply) {
  run_id = FieldOf(reply.text, "run_id");
  if (run_id.empty()) error = "INFO server: " + reply.text.substr(0, 100);
}

void ServerIdentity::ReadReplication(const RedisReply& reply) {
  replid = FieldOf(reply.text, "master_replid");
  is_master = FieldOf(reply.text, "role") == "master";
  replicates = FieldOf(reply.text, "connected_slaves") != "0" ||
               FieldOf(reply.text, "master_replid2").find_first_not_of('0') !=
                   std::string::npos;
  constexpr std::string_view kWhat = "INFO replication: ";
  if (replid.empty()) {
    error = kWhat;
    error += reply.text.substr(0, 100);
  } else if (StartsWith(error, kWhat)) {
    error.clear();
  }
}

struct Client::Call {
  std::vector<Request> requests;
  Retry retry;
  Deadline deadline;
  bool identify;
  Replies* replies;
  bool wait = false;  // the slot is moving, or its server has failed

  const std::string& key() const { return requests[0].key(); }
};

Client::Client(const RedisOptions& options)
    : options_(options),
      first_{options.host, options.port, options.unix_socket} {}

Client::Server* Client::Find(const Endpoint& endpoint) {
  std::unique_ptr<Server>& server = servers_[endpoint.Text()];
  if (server == nullptr) {
    server = std::make_unique<Server>(options_.circuit_failures,
                                      options_.circuit_open_for);
  }
  return server.get();
}

// `fresh`: a new connection, since idle ones are dead.
RedisStatus Client::Take(const Endpoint& endpoint, bool fresh,
                         Deadline deadline, std::unique_ptr<Link>* link) {
  {
    const std::lock_guard lock(mutex_);
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
    return status;
  }
  const std::lock_guard lock(mutex_);
  Server* const server = Find(endpoint);
  if (fresh && server->was_connected) ++reconnects_;
  server->was_connected = true;
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
  RedisCommand auth = {"AUTH"};
  if (!options_.username.empty()) auth.push_back(options_.username);
  auth.push_back(options_.password);
  const RedisCommand select = {"SELECT", std::to_string(options_.database)};
  std::vector<const RedisCommand*> commands;
  if (!options_.password.empty()) commands.push_back(&auth);
  if (options_.database != 0) commands.push_back(&select);
  commands.push_back(&kInfoServer);
  commands.push_back(&kInfoReplication);
  link->identified_at = Clock::now();
  std::vector<RedisReply> replies;
  status = link->connection->Run(commands, deadline, &replies);
  if (!status.ok()) return status;
  for (size_t i = 0; i + 2 < replies.size(); ++i) {
    if (replies[i].kind != RedisReply::Kind::kError) continue;
    const bool is_auth = commands[i] == &auth;
    RedisError kind = ClassifyError(replies[i].text);
    if (is_auth && kind == RedisError::kServer) {
      kind = RedisError::kAuthentication;
    }
    return {kind, commands[i]->front() + " refused: " + replies[i].text};
  }
  const RedisReply& server = replies[replies.size() - 2];
  if (IsError(server, "BUSY") || IsError(server, "LOADING")) {
    return {RedisError::kUnavailable, server.text};
  }
  link->identity.ReadServer(server);
  link->identity.ReadReplication(replies.back());
  return {};
}

void Client::GiveBack(const Endpoint& endpoint, std::unique_ptr<Link> link,
                      bool is_loading) {
  const std::lock_guard lock(mutex_);
  Server* const server = Find(endpoint);
  if (!is_loading) {
    server->circuit.Succeeded();
  } else if (server->circuit.Failed(Clock::now())) {
    ++circuits_opened_;
  }
  link->reused = true;
  if (server->idle.size() < kMaxIdle) server->idle.push_back(std::move(link));
}

void Client::Failed(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  Server* const server = Find(endpoint);
  server->idle.clear();
  if (server->circuit.Failed(Clock::now())) ++circuits_opened_;
}

// With `identify`, link->identity is what the server was when it had answered.
RedisStatus Client::RunOn(Link* link,
                          const std::vector<const RedisCommand*>& commands,
                          bool identify, Deadline deadline,
                          std::vector<RedisReply>* replies) {
  Clock::time_point now = Clock::now();
  const bool ask = identify && (!link->identity.is_master ||
                                now - link->identified_at > kAskAgain);
  std::vector<const RedisCommand*> all = commands;
  if (ask) all.push_back(&kInfoReplication);
  RedisStatus status = link->connection->Run(all, deadline, replies);
  if (!status.ok() || !identify) return status;
  if (!ask) {
    if (Clock::now() - link->identified_at <= kTrust) return status;
    now = Clock::now();
    std::vector<RedisReply> info;
    status = link->connection->Run({&kInfoReplication}, deadline, &info);
    if (!status.ok()) return status;
    replies->push_back(std::move(info[0]));
  }
  link->identity.ReadReplication(replies->back());
  link->identified_at = now;
  replies->pop_back();
  return status;
}

// A connection that was idle may have died: one more try with a new one.
RedisStatus Client::RunGroup(Call* call, const Group& group,
                             std::vector<RedisReply>* replies) {
  std::vector<const RedisCommand*> commands;
  for (const size_t i : group.requests) {
    if (group.ask) commands.push_back(&kAsking);
    commands.push_back(&call->requests[i].words());
  }
  for (bool fresh = false;; fresh = true) {
    std::unique_ptr<Link> link;
    RedisStatus status = Take(group.endpoint, fresh, call->deadline, &link);
    if (status.ok()) {
      status =
          RunOn(link.get(), commands, call->identify, call->deadline, replies);
      if (status.ok()) {
        const bool is_loading = IsError(replies->back(), "LOADING") ||
                                IsError(replies->back(), "BUSY ");
        if (call->identify) call->replies->servers.push_back(link->identity);
        GiveBack(group.endpoint, std::move(link), is_loading);
        break;
      }
      if (link->reused && !fresh && call->retry == Retry::kSafe &&
          status.error == RedisError::kUnavailable) {
        continue;
      }
      Failed(group.endpoint);
    }
    return MakeStatus(status.error, group.endpoint, call->key(),
                      status.message);
  }
  if (group.ask) {  // without the replies to ASKING
    for (size_t i = 0; i < group.requests.size(); ++i) {
      (*replies)[i] = std::move((*replies)[2 * i + 1]);
    }
  }
  return {};
}

// Keeps the replies that are final; the other requests go to `again`.
void Client::Sort(Call* call, const Group& group,
                  std::vector<RedisReply> replies, std::vector<Group>* again) {
  const auto repeat = [&](size_t request, const Endpoint& endpoint, bool ask) {
    auto other = std::find_if(
        again->begin(), again->end(),
        [&](const Group& g) { return g.endpoint == endpoint && g.ask == ask; });
    if (other == again->end()) {
      other = again->insert(other, Group{endpoint, ask, {}});
    }
    other->requests.push_back(request);
  };
  for (size_t i = 0; i < group.requests.size(); ++i) {
    const size_t request = group.requests[i];
    const RedisReply& reply = call->replies->replies[request] =
        std::move(replies[i]);
    if (IsError(reply, "NOSCRIPT") &&
        call->requests[request].UseWholeScript()) {
      ++scripts_loaded_;
      repeat(request, group.endpoint, group.ask);
      continue;
    }
    if (!options_.cluster || reply.kind != RedisReply::Kind::kError) continue;
    Redirection redirection;
    if (ParseRedirection(reply.text, group.endpoint, &redirection)) {
      if (!redirection.ask) {
        const std::lock_guard lock(mutex_);
        owners_[redirection.slot] = redirection.endpoint;
      }
      ++redirections_;
      repeat(request, redirection.endpoint, redirection.ask);
    } else if (IsError(reply, "TRYAGAIN") || IsError(reply, "CLUSTERDOWN") ||
               reply.text.find("non local key") != std::string::npos) {
      // The last: a script reached for the bitmap of a rebuild, which has moved
      // to the slot's next server already.
      call->wait = true;
      if (IsError(reply, "CLUSTERDOWN")) {
        const std::lock_guard lock(mutex_);
        owners_.erase(SlotOf(call->key()));
      }
      repeat(request, group.endpoint, group.ask);
    }
  }
}

bool Client::KnownOwner(uint32_t slot, Endpoint* endpoint) const {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(slot);
  if (found == owners_.end()) return false;
  *endpoint = found->second;
  return true;
}

// Asks the cluster who has the slot of the call, `failed` last.
bool Client::FindOwner(Call* call, const Endpoint& failed,
                       RedisStatus* status) {
  const uint32_t slot = SlotOf(call->key());
  std::vector<Endpoint> nodes;
  {
    const std::lock_guard lock(mutex_);
    nodes = nodes_;
  }
  nodes.push_back(first_);
  for (const std::string& text : options_.more_nodes) {
    Endpoint endpoint;
    if (ParseEndpoint(text, &endpoint)) nodes.push_back(endpoint);
  }
  std::stable_partition(nodes.begin(), nodes.end(), [&](const Endpoint& node) {
    return !(node == failed);
  });
  *status = {};
  for (const Endpoint& node : nodes) {
    // A node that does not answer must leave time to ask others.
    const Deadline deadline =
        std::min(call->deadline,
                 Clock::now() + std::max(TimeLeft(call->deadline) / 4, kPause));
    std::unique_ptr<Link> link;
    std::vector<RedisReply> replies;
    RedisStatus one = Take(node, false, deadline, &link);
    if (one.ok()) {
      one = link->connection->Run({&kClusterSlots}, deadline, &replies);
      if (one.ok()) {
        GiveBack(node, std::move(link), false);
      } else {
        Failed(node);
      }
    }
    Endpoint owner;
    std::vector<Endpoint> servers;
    if (one.ok() && ParseSlots(replies[0], node, slot, &owner, &servers)) {
      const std::lock_guard lock(mutex_);
      nodes_ = std::move(servers);
      if (owner.port != 0) {
        owners_[slot] = owner;
        return true;
      }
      one = {RedisError::kClusterDown,
             "no server of the cluster has slot " + std::to_string(slot)};
    } else if (one.ok()) {
      const bool is_error = replies[0].kind == RedisReply::Kind::kError;
      one = {
          is_error ? ClassifyError(replies[0].text) : RedisError::kClusterDown,
          is_error ? "CLUSTER SLOTS: " + replies[0].text
                   : "the cluster has no slots"};
    }
    if (status->ok()) {
      *status = MakeStatus(one.error, node, call->key(), one.message);
    }
  }
  return false;
}

RedisStatus Client::Run(std::vector<Request> requests, Retry retry,
                        milliseconds timeout, Replies* replies, bool identify) {
  *replies = {};
  replies->replies.resize(requests.size());
  Call call{std::move(requests), retry, Clock::now() + timeout, identify,
            replies};
  const uint32_t slot = SlotOf(call.key());
  Group all{first_, false, std::vector<size_t>(call.requests.size())};
  std::iota(all.requests.begin(), all.requests.end(), size_t{0});
  std::vector<Group> pending = {std::move(all)};
  RedisStatus lost;
  Endpoint failed;
  for (int round = 0; !pending.empty(); ++round) {
    if (round > 0 && IsOver(call.deadline)) {
      if (!lost.ok()) return lost;
      return MakeStatus(
          RedisError::kClusterDown, pending[0].endpoint, call.key(),
          "still not served after " + std::to_string(round) +
              " attempts: " + (*replies)[pending[0].requests[0]].text);
    }
    if (call.wait || round > kHastyRounds) std::this_thread::sleep_for(kPause);
    replies->out_of_order = round > 0;
    if (options_.cluster && (round == 0 || call.wait)) {
      for (Group& group : pending) {
        if (group.ask) continue;
        RedisStatus status;
        if (!KnownOwner(slot, &group.endpoint) &&
            !FindOwner(&call, failed, &status)) {
          return lost.ok() ? status : lost;
        }
        KnownOwner(slot, &group.endpoint);
      }
    }
    call.wait = false;
    std::vector<Group> again;
    for (Group& group : pending) {
      std::vector<RedisReply> answers;
      const RedisStatus status = RunGroup(&call, group, &answers);
      if (status.ok()) {
        Sort(&call, group, std::move(answers), &again);
        continue;
      }
      if (!options_.cluster || !IsLost(status))
        return lost.ok() ? status : lost;
      // A replica may have taken over, now or before the next call.
      failed = group.endpoint;
      {
        const std::lock_guard lock(mutex_);
        owners_.erase(slot);
      }
      if (retry == Retry::kNo) return status;
      lost = status;
      call.wait = true;
      group.ask = false;
      again.push_back(std::move(group));
    }
    pending = std::move(again);
  }
  return {};
}

RedisStatus Client::RunAll(const std::vector<Request>& requests,
                           milliseconds timeout, Replies* replies,
                           bool identify) {
  RedisStatus status = Run(requests, Retry::kSafe, timeout, replies, identify);
  for (size_t i = 0; status.ok() && i < requests.size(); ++i) {
    status = ErrorOf(requests[i].key(), (*replies)[i]);
  }
  return status;
}

RedisStatus Client::RunOne(const Request& request, Retry retry,
                           milliseconds timeout, RedisReply* reply) {
  Replies replies;
  const RedisStatus status = Run({request}, retry, timeout, &replies);
  if (!status.ok()) return status;
  *reply = std::move(replies.replies[0]);
  return ErrorOf(request.key(), *reply);
}

RedisStatus Client::ErrorOf(const std::string& key,
                            const RedisReply& reply) const {
  if (reply.kind != RedisReply::Kind::kError) return {};
  return StatusAt(ClassifyError(reply.text), key, reply.text);
}

Endpoint Client::EndpointOf(const std::string& key) const {
  Endpoint endpoint = first_;
  if (options_.cluster) KnownOwner(SlotOf(key), &endpoint);
  return endpoint;
}

}  // namespace deltabloom::internal
