#include "shared_filters/redis/client.h"

#include <algorithm>
#include <thread>

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;

// Rounds that one call may take: a server for a slot that moves is asked again.
constexpr int kMaxRounds = 64;
// Rounds without a pause between them.
constexpr int kHastyRounds = 5;
constexpr milliseconds kPause{10};

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Is it worth looking for the slot's new server?
bool IsLost(const RedisStatus& status) {
  return status.error == RedisError::kUnavailable ||
         status.error == RedisError::kTimeout ||
         status.error == RedisError::kCircuitOpen;
}

}  // namespace

struct Client::Call {
  const std::vector<Request>& requests;
  Retry retry;
  Deadline deadline;
  std::vector<Reply>* replies;
  bool wait = false;    // a slot is on its way; do not hurry
  bool reload = false;  // a server is gone; look again who has what
  RedisStatus lost = {};
};

Client::Client(const RedisOptions& options)
    : options_(options),
      first_{options.host, options.port, options.unix_socket},
      pool_(options) {}

RedisStatus Client::LoadSlots(Deadline deadline) {
  std::vector<Endpoint> candidates = {first_};
  for (const std::string& text : options_.more_nodes) {
    Endpoint endpoint;
    if (ParseEndpoint(text, &endpoint)) candidates.push_back(endpoint);
  }
  for (const Endpoint& endpoint : slots_.Servers()) {
    candidates.push_back(endpoint);
  }
  std::string command;
  Request("CLUSTER").Word("SLOTS").AppendTo(&command, false);
  RedisStatus first_error;
  for (const Endpoint& endpoint : candidates) {
    std::unique_ptr<Connection> connection;
    Reply reply;
    RedisStatus status = pool_.Take(endpoint, false, deadline, &connection);
    if (status.ok()) {
      status = connection->Send(command, "", deadline);
      if (status.ok()) status = connection->Receive("", deadline, &reply);
      if (!status.ok()) pool_.Failed(endpoint);
    }
    if (status.ok()) {
      pool_.GiveBack(std::move(connection), false);
      if (slots_.Load(reply.get(), endpoint)) {
        slots_loaded_ = true;
        return {};
      }
      const bool is_error = reply->type == REDIS_REPLY_ERROR;
      status = MakeStatus(
          is_error ? ClassifyError(TextOf(*reply)) : RedisError::kClusterDown,
          endpoint, "",
          is_error ? "CLUSTER SLOTS: " + std::string(TextOf(*reply))
                   : "the cluster has no slots");
    }
    if (first_error.ok()) first_error = status;
  }
  return first_error;
}

Endpoint Client::EndpointOf(const std::string& key) const {
  Endpoint endpoint;
  if (options_.cluster && !key.empty() && slots_.Find(SlotOf(key), &endpoint)) {
    return endpoint;
  }
  return first_;
}

RedisStatus Client::Place(const Request& request, Deadline deadline,
                          Endpoint* endpoint) {
  *endpoint = first_;
  if (!options_.cluster) return {};
  if (!slots_loaded_) {
    const RedisStatus status = LoadSlots(deadline);
    if (!status.ok()) return status;
  }
  const uint32_t slot = SlotOf(request.key());
  if (slots_.Find(slot, endpoint)) return {};
  return MakeStatus(
      RedisError::kClusterDown, first_, request.key(),
      "no server of the cluster has slot " + std::to_string(slot));
}

RedisStatus Client::Send(Call* call, const std::vector<Pending>& group,
                         bool fresh, std::unique_ptr<Connection>* connection) {
  const std::string& key = call->requests[group[0].index].key();
  const Endpoint& endpoint = group[0].endpoint;
  RedisStatus status = pool_.Take(endpoint, fresh, call->deadline, connection);
  if (!status.ok()) {
    if (!key.empty()) status.message += " (key '" + Printable(key) + "')";
    return status;
  }
  std::string commands;
  for (const Pending& one : group) {
    if (one.ask) Request("ASKING").AppendTo(&commands, false);
    call->requests[one.index].AppendTo(&commands, one.whole_script);
  }
  return (*connection)->Send(commands, key, call->deadline);
}

bool Client::NeedsAnotherRound(Call* call, const Pending& asked,
                               const redisReply& reply, Pending* next) {
  if (reply.type != REDIS_REPLY_ERROR) return false;
  const std::string_view error = TextOf(reply);
  *next = asked;
  if (call->requests[asked.index].script() != nullptr && !asked.whole_script &&
      StartsWith(error, "NOSCRIPT")) {
    next->whole_script = true;
    ++scripts_loaded_;
    return true;
  }
  if (!options_.cluster) return false;
  Redirection redirection;
  if (ParseRedirection(error, asked.endpoint, &redirection)) {
    if (!redirection.ask) {
      slots_.Set(redirection.slot, redirection.endpoint);
    }
    next->endpoint = redirection.endpoint;
    next->ask = redirection.ask;
    ++redirections_;
    return true;
  }
  if (StartsWith(error, "TRYAGAIN") || StartsWith(error, "CLUSTERDOWN")) {
    call->wait = true;
    call->reload = StartsWith(error, "CLUSTERDOWN");
    return true;
  }
  return false;
}

RedisStatus Client::Receive(Call* call, const std::vector<Pending>& group,
                            Connection* connection, bool* loading,
                            std::vector<Pending>* again) {
  for (const Pending& one : group) {
    const std::string& key = call->requests[one.index].key();
    Reply& reply = (*call->replies)[one.index];
    if (one.ask) {  // the answer to ASKING, of no interest
      const RedisStatus status =
          connection->Receive(key, call->deadline, &reply);
      if (!status.ok()) return status;
    }
    const RedisStatus status = connection->Receive(key, call->deadline, &reply);
    if (!status.ok()) return status;
    Pending next;
    if (NeedsAnotherRound(call, one, *reply, &next)) {
      again->push_back(std::move(next));
    } else if (reply->type == REDIS_REPLY_ERROR &&
               (StartsWith(TextOf(*reply), "LOADING") ||
                StartsWith(TextOf(*reply), "BUSY "))) {
      *loading = true;
    }
  }
  return {};
}

// What follows the sending. A connection that was idle may have died since
// without anybody's fault: one more try with a new one.
RedisStatus Client::Exchange(Call* call, const std::vector<Pending>& group,
                             RedisStatus sent,
                             std::unique_ptr<Connection> connection,
                             std::vector<Pending>* again) {
  for (bool fresh = false;; fresh = true) {
    RedisStatus status = sent;
    bool loading = false;
    std::vector<Pending> next;
    if (status.ok()) {
      status = Receive(call, group, connection.get(), &loading, &next);
    }
    if (status.ok()) {
      pool_.GiveBack(std::move(connection), loading);
      again->insert(again->end(), next.begin(), next.end());
      return status;
    }
    if (connection == nullptr) return status;
    const bool died_idle = connection->reused() && !fresh &&
                           status.error == RedisError::kUnavailable;
    if (!died_idle || call->retry == Retry::kNo) {
      pool_.Failed(group[0].endpoint);
      return status;
    }
    connection.reset();
    sent = Send(call, group, true, &connection);
  }
}

RedisStatus Client::Round(Call* call, std::vector<Pending> pending,
                          std::vector<Pending>* again) {
  std::vector<std::vector<Pending>> groups;
  for (Pending& one : pending) {
    const auto group = std::find_if(
        groups.begin(), groups.end(),
        [&](const auto& other) { return other[0].endpoint == one.endpoint; });
    if (group == groups.end()) {
      groups.push_back({std::move(one)});
    } else {
      group->push_back(std::move(one));
    }
  }
  // All are asked before any is heard.
  std::vector<std::unique_ptr<Connection>> connections(groups.size());
  std::vector<RedisStatus> sent(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    sent[i] = Send(call, groups[i], false, &connections[i]);
  }
  RedisStatus status;
  for (size_t i = 0; i < groups.size(); ++i) {
    const RedisStatus one =
        Exchange(call, groups[i], sent[i], std::move(connections[i]), again);
    if (one.ok()) continue;
    // In a cluster a replica may take over: worth another look while there is
    // time, if asking twice does no harm.
    if (options_.cluster && IsLost(one) && call->retry == Retry::kSafe) {
      call->wait = call->reload = true;
      call->lost = one;
      again->insert(again->end(), groups[i].begin(), groups[i].end());
    } else if (status.ok()) {
      status = one;
    }
  }
  return status;
}

RedisStatus Client::Run(const std::vector<Request>& requests, Retry retry,
                        milliseconds timeout, std::vector<Reply>* replies,
                        int* rounds) {
  replies->clear();
  replies->resize(requests.size());
  Call call{requests, retry, std::chrono::steady_clock::now() + timeout,
            replies};
  std::vector<Pending> pending(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    pending[i].index = i;
    const RedisStatus status =
        Place(requests[i], call.deadline, &pending[i].endpoint);
    if (!status.ok()) return status;
  }
  for (int round = 0; !pending.empty(); ++round) {
    if (round == kMaxRounds ||
        (round > 0 && std::chrono::steady_clock::now() >= call.deadline)) {
      if (!call.lost.ok()) return call.lost;
      const Pending& one = pending[0];
      const Reply& last = (*replies)[one.index];
      return MakeStatus(
          RedisError::kClusterDown, one.endpoint, requests[one.index].key(),
          "still not served after " + std::to_string(round) + " attempts" +
              (last == nullptr ? "" : ": " + std::string(TextOf(*last))));
    }
    if (call.wait || round > kHastyRounds) std::this_thread::sleep_for(kPause);
    if (call.reload && LoadSlots(call.deadline).ok()) {
      for (Pending& one : pending) {
        slots_.Find(SlotOf(requests[one.index].key()), &one.endpoint);
        one.ask = false;
      }
    }
    call.wait = call.reload = false;
    if (rounds != nullptr) *rounds = round + 1;
    std::vector<Pending> again;
    const RedisStatus status = Round(&call, std::move(pending), &again);
    if (!status.ok()) return status;
    pending = std::move(again);
  }
  return {};
}

RedisStatus Client::RunOne(const Request& request, Retry retry,
                           milliseconds timeout, Reply* reply) {
  std::vector<Reply> replies;
  RedisStatus status = Run({request}, retry, timeout, &replies);
  if (!status.ok()) return status;
  status = ErrorOf(request, *replies[0]);
  *reply = std::move(replies[0]);
  return status;
}

RedisStatus Client::ErrorOf(const Request& request,
                            const redisReply& reply) const {
  if (reply.type != REDIS_REPLY_ERROR) return {};
  const std::string_view error = TextOf(reply);
  return MakeStatus(ClassifyError(error), EndpointOf(request.key()),
                    request.key(), error);
}

}  // namespace deltabloom::internal
