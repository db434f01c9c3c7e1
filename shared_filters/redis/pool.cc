#include "shared_filters/redis/pool.h"

namespace deltabloom::internal {
namespace {

// More idle connections than this are closed.
constexpr size_t kMaxIdle = 128;

}  // namespace

Pool::Server* Pool::Find(const Endpoint& endpoint) {
  std::unique_ptr<Server>& server = servers_[endpoint.Text()];
  if (server == nullptr) {
    server = std::make_unique<Server>(options_.circuit_failures,
                                      options_.circuit_open_for);
  }
  return server.get();
}

RedisStatus Pool::Take(const Endpoint& endpoint, bool fresh, Deadline deadline,
                       std::unique_ptr<Connection>* connection) {
  bool dropped = fresh;
  {
    const std::lock_guard lock(mutex_);
    Server* const server = Find(endpoint);
    if (!server->circuit.Allow(std::chrono::steady_clock::now())) {
      return MakeStatus(RedisError::kCircuitOpen, endpoint, "",
                        "not tried: it failed " +
                            std::to_string(options_.circuit_failures) +
                            " times in a row just before");
    }
    if (fresh) server->idle.clear();
    while (!server->idle.empty()) {
      std::unique_ptr<Connection> idle = std::move(server->idle.back());
      server->idle.pop_back();
      if (idle->LooksAlive()) {
        *connection = std::move(idle);
        return {};
      }
      dropped = true;  // a restart, or idle for longer than the server likes
    }
  }
  const RedisStatus status =
      Connection::Open(options_, endpoint, deadline, connection);
  if (!status.ok()) {
    Failed(endpoint);
    return status;
  }
  const std::lock_guard lock(mutex_);
  Server* const server = Find(endpoint);
  if (dropped && server->was_connected) ++reconnects_;
  server->was_connected = true;
  return status;
}

void Pool::GiveBack(std::unique_ptr<Connection> connection, bool loading) {
  const std::lock_guard lock(mutex_);
  Server* const server = Find(connection->endpoint());
  if (loading) {
    if (server->circuit.Failed(std::chrono::steady_clock::now())) {
      ++circuits_opened_;
    }
  } else {
    server->circuit.Succeeded();
  }
  connection->set_reused();
  if (server->idle.size() < kMaxIdle) {
    server->idle.push_back(std::move(connection));
  }
}

void Pool::Failed(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  Server* const server = Find(endpoint);
  server->idle.clear();
  if (server->circuit.Failed(std::chrono::steady_clock::now())) {
    ++circuits_opened_;
  }
}

}  // namespace deltabloom::internal
