#include "shared_filters/redis/connection.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shared_filters/redis/tls.h"

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;

// What is left until `deadline`, at least 1 ms.
milliseconds Left(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

bool IsOver(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

timeval ToTimeval(milliseconds time) {
  timeval value{};
  value.tv_sec = static_cast<time_t>(time.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
  return value;
}

// While it lives, this thread gets no SIGPIPE: OpenSSL writes without a way to
// say so.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeBlocked() {
    const int error_number = errno;
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_number;
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t sigpipe_, before_;
  bool was_pending_;
};

bool IsTimeout(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK ||
         error_number == ETIMEDOUT || error_number == EINPROGRESS;
}

}  // namespace

RedisStatus Connection::Open(const RedisOptions& options,
                             const Endpoint& endpoint, Deadline deadline,
                             std::unique_ptr<Connection>* connection) {
  const milliseconds limit = std::min(options.connect_timeout, Left(deadline));
  const timeval timeout = ToTimeval(limit);
  errno = 0;
  redisContext* context =
      endpoint.unix_socket.empty()
          ? redisConnectWithTimeout(endpoint.host.c_str(), endpoint.port,
                                    timeout)
          : redisConnectUnixWithTimeout(endpoint.unix_socket.c_str(), timeout);
  if (context == nullptr) {
    return MakeStatus(RedisError::kUnavailable, endpoint, "",
                      "cannot connect: out of memory");
  }
  std::unique_ptr<Connection> made(new Connection(endpoint, context));
  if (context->err != 0) {
    if (context->err == REDIS_ERR_IO && IsTimeout(errno)) {
      return MakeStatus(
          RedisError::kTimeout, endpoint, "",
          "cannot connect within " + std::to_string(limit.count()) + " ms");
    }
    return MakeStatus(RedisError::kUnavailable, endpoint, "",
                      std::string("cannot connect: ") + context->errstr);
  }
  const Deadline connected_by =
      std::min(deadline, std::chrono::steady_clock::now() + limit);
  if (options.tls.enabled) {
    redisSetTimeout(context, ToTimeval(Left(connected_by)));
    const std::string error = StartTls(options.tls, endpoint.host, context);
    if (!error.empty()) {
      const RedisError kind = WhyNoTls().empty() ? RedisError::kUnavailable
                                                 : RedisError::kUnsupported;
      return MakeStatus(kind, endpoint, "", "no TLS: " + error);
    }
    made->tls_ = true;
  }
  RedisStatus status = made->LogIn(options, connected_by);
  if (status.ok()) *connection = std::move(made);
  return status;
}

bool Connection::LooksAlive() const {
  pollfd descriptor{context_->fd, POLLIN, 0};
  return poll(&descriptor, 1, 0) == 0;
}

RedisStatus Connection::LogIn(const RedisOptions& options, Deadline deadline) {
  std::string commands;
  int replies = 0;
  if (!options.password.empty()) {
    Request auth("AUTH");
    if (!options.username.empty()) auth.Word(options.username);
    auth.Word(options.password).AppendTo(&commands, false);
    ++replies;
  }
  if (options.database != 0) {
    Request("SELECT").Number(options.database).AppendTo(&commands, false);
    ++replies;
  }
  if (replies == 0) return {};
  RedisStatus status = Send(commands, "", deadline);
  const bool sent_password = !options.password.empty();
  for (int i = 0; status.ok() && i < replies; ++i) {
    Reply reply;
    status = Receive("", deadline, &reply);
    if (!status.ok() || reply->type != REDIS_REPLY_ERROR) continue;
    const bool is_auth = sent_password && i == 0;
    const std::string step = is_auth ? "AUTH" : "SELECT";
    RedisError kind = ClassifyError(TextOf(*reply));
    if (is_auth && kind == RedisError::kServer) {
      kind = RedisError::kAuthentication;
    }
    status = MakeStatus(kind, endpoint_, "",
                        step + " refused: " + std::string(TextOf(*reply)));
  }
  return status;
}

RedisStatus Connection::Broken(const std::string& key,
                               Deadline deadline) const {
  if (IsOver(deadline) || (context_->err == REDIS_ERR_IO && IsTimeout(errno))) {
    return MakeStatus(RedisError::kTimeout, endpoint_, key,
                      "no answer in time");
  }
  return MakeStatus(RedisError::kUnavailable, endpoint_, key,
                    std::string("connection lost: ") + context_->errstr);
}

RedisStatus Connection::Send(const std::string& commands,
                             const std::string& key, Deadline deadline) {
  return tls_ ? SendTls(commands, key, deadline)
              : SendPlain(commands, key, deadline);
}

// Not through hiredis: its write() to a server that has gone raises SIGPIPE,
// of which most programs die.
RedisStatus Connection::SendPlain(const std::string& commands,
                                  const std::string& key, Deadline deadline) {
  size_t sent = 0;
  while (sent < commands.size()) {
    const ssize_t n = send(context_->fd, commands.data() + sent,
                           commands.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return MakeStatus(RedisError::kUnavailable, endpoint_, key,
                        std::string("connection lost: ") + strerror(errno));
    }
    pollfd descriptor{context_->fd, POLLOUT, 0};
    if (IsOver(deadline) ||
        poll(&descriptor, 1, static_cast<int>(Left(deadline).count())) == 0) {
      return MakeStatus(RedisError::kTimeout, endpoint_, key,
                        "does not take the request in time");
    }
  }
  return {};
}

RedisStatus Connection::SendTls(const std::string& commands,
                                const std::string& key, Deadline deadline) {
  const SigpipeBlocked blocked;
  redisSetTimeout(context_.get(), ToTimeval(Left(deadline)));
  redisAppendFormattedCommand(context_.get(), commands.data(), commands.size());
  int done = 0;
  while (done == 0) {
    errno = 0;
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
      return Broken(key, deadline);
    }
    if (done == 0 && IsOver(deadline)) return Broken(key, deadline);
  }
  return {};
}

RedisStatus Connection::Receive(const std::string& key, Deadline deadline,
                                Reply* reply) {
  while (true) {
    void* raw = nullptr;
    if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) {
      return Broken(key, deadline);
    }
    if (raw != nullptr) {
      reply->reset(static_cast<redisReply*>(raw));
      return {};
    }
    // TLS may hold bytes that poll does not see; there the socket's timeout,
    // set by Send, must do.
    if (!tls_) {
      pollfd descriptor{context_->fd, POLLIN, 0};
      const int ready =
          IsOver(deadline)
              ? 0
              : poll(&descriptor, 1, static_cast<int>(Left(deadline).count()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) {
        return MakeStatus(RedisError::kTimeout, endpoint_, key,
                          "no answer in time");
      }
    } else if (IsOver(deadline)) {
      return MakeStatus(RedisError::kTimeout, endpoint_, key,
                        "no answer in time");
    }
    errno = 0;
    if (redisBufferRead(context_.get()) != REDIS_OK) {
      return Broken(key, deadline);
    }
  }
}

}  // namespace deltabloom::internal
