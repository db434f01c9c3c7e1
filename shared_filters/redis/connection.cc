#include "shared_filters/redis/connection.h"

#include <hiredis.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace deltabloom {
namespace internal {
namespace {

using std::chrono::milliseconds;

timeval ToTimeval(milliseconds time) {
  timeval value{};
  value.tv_sec = static_cast<time_t>(time.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
  return value;
}

bool IsTimeout(const redisContext& context) {
  return context.err == REDIS_ERR_IO &&
         (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT ||
          errno == EINPROGRESS);
}

// Blocks SIGPIPE in this thread: OpenSSL and hiredis write without
// MSG_NOSIGNAL.
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

void Convert(const redisReply& from, RedisReply* to) {
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      to->kind = RedisReply::Kind::kInteger;
      to->integer = from.integer;
      return;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      to->kind = RedisReply::Kind::kText;
      to->text.assign(from.str, from.len);
      return;
    case REDIS_REPLY_ERROR:
      to->kind = RedisReply::Kind::kError;
      to->text.assign(from.str, from.len);
      return;
    case REDIS_REPLY_ARRAY:
      to->kind = RedisReply::Kind::kArray;
      to->elements.resize(from.elements);
      for (size_t i = 0; i < from.elements; ++i) {
        Convert(*from.element[i], &to->elements[i]);
      }
      return;
    default:
      to->kind = RedisReply::Kind::kNil;
  }
}

class HiredisConnection : public RedisConnection {
 public:
  // `is_socket`: the bytes of the protocol go through the context's descriptor
  // as they are, which is not known of a context of the user's.
  HiredisConnection(redisContext* context, bool is_socket)
      : context_(context), is_socket_(is_socket) {}

  RedisStatus Run(const std::vector<const RedisCommand*>& commands,
                  Deadline deadline,
                  std::vector<RedisReply>* replies) override {
    std::string bytes;
    for (const RedisCommand* command : commands)
      AppendCommand(*command, &bytes);
    RedisStatus status =
        is_socket_ ? Send(bytes, deadline) : SendByHiredis(bytes, deadline);
    replies->assign(commands.size(), {});
    for (size_t i = 0; status.ok() && i < commands.size(); ++i) {
      status = Receive(deadline, &(*replies)[i]);
    }
    return status;
  }

 private:
  RedisStatus Broken(Deadline deadline) const {
    if (IsOver(deadline) || IsTimeout(*context_)) return Late();
    return {RedisError::kUnavailable,
            std::string("connection lost: ") + context_->errstr};
  }
  static RedisStatus Late() {
    return {RedisError::kTimeout, "no answer in time"};
  }

  // Waits until the socket is ready. False after the deadline.
  bool Wait(short events, Deadline deadline) const {
    pollfd descriptor{context_->fd, events, 0};
    while (!IsOver(deadline)) {
      const auto left = static_cast<int>(TimeLeft(deadline).count());
      const int ready = poll(&descriptor, 1, left);
      if (ready >= 0 || errno != EINTR) return ready != 0;
    }
    return false;
  }

  RedisStatus Send(const std::string& bytes, Deadline deadline) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = send(context_->fd, bytes.data() + sent,
                             bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        sent += static_cast<size_t>(n);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!Wait(POLLOUT, deadline)) return Late();
      } else if (errno != EINTR) {
        return {RedisError::kUnavailable,
                std::string("connection lost: ") + strerror(errno)};
      }
    }
    return {};
  }

  RedisStatus SendByHiredis(const std::string& bytes, Deadline deadline) {
    const SigpipeBlocked blocked;
    redisSetTimeout(context_.get(), ToTimeval(TimeLeft(deadline)));
    redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size());
    for (int done = 0; done == 0;) {
      errno = 0;
      if (redisBufferWrite(context_.get(), &done) != REDIS_OK ||
          (done == 0 && IsOver(deadline))) {
        return Broken(deadline);
      }
    }
    return {};
  }

  RedisStatus Receive(Deadline deadline, RedisReply* reply) {
    while (true) {
      void* raw = nullptr;
      if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) {
        return Broken(deadline);
      }
      if (raw != nullptr) {
        Convert(*static_cast<redisReply*>(raw), reply);
        freeReplyObject(raw);
        return {};
      }
      // TLS may hold bytes that poll does not see: there the timeout of the
      // socket limits the wait.
      if (is_socket_ ? !Wait(POLLIN, deadline) : IsOver(deadline)) {
        return Late();
      }
      errno = 0;
      if (redisBufferRead(context_.get()) != REDIS_OK) return Broken(deadline);
    }
  }

  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  const std::unique_ptr<redisContext, FreeContext> context_;
  const bool is_socket_;
};

}  // namespace

milliseconds TimeLeft(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

void AppendCommand(const RedisCommand& command, std::string* out) {
  *out += '*' + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) {
    *out += '$';
    *out += std::to_string(word.size());
    *out += "\r\n";
    *out += word;
    *out += "\r\n";
  }
}

RedisStatus ConnectHiredis(const Endpoint& endpoint, milliseconds timeout,
                           std::unique_ptr<RedisConnection>* connection) {
  errno = 0;
  redisContext* const context =
      endpoint.unix_socket.empty()
          ? redisConnectWithTimeout(endpoint.host.c_str(), endpoint.port,
                                    ToTimeval(timeout))
          : redisConnectUnixWithTimeout(endpoint.unix_socket.c_str(),
                                        ToTimeval(timeout));
  if (context == nullptr) throw std::bad_alloc();
  *connection = std::make_unique<HiredisConnection>(context, true);
  if (context->err == 0) return {};
  if (IsTimeout(*context)) {
    return {RedisError::kTimeout,
            "cannot connect within " + std::to_string(timeout.count()) + " ms"};
  }
  return {RedisError::kUnavailable,
          std::string("cannot connect: ") + context->errstr};
}

}  // namespace internal

std::unique_ptr<RedisConnection> RedisConnectionOf(redisContext* context) {
  return std::make_unique<internal::HiredisConnection>(context, false);
}

}  // namespace deltabloom
