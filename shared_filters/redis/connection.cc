#include "shared_filters/redis/connection.h"

#include <hiredis.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "util/json.h"

namespace deltabloom {

const char* RedisErrorName(RedisError error) {
  static constexpr const char* kNames[] = {
      "none",          "invalid argument", "unavailable",   "timeout",
      "circuit open",  "authentication",   "no permission", "read only",
      "out of memory", "cluster down",     "wrong type",    "wrong size",
      "missing",       "exists",           "mismatch",      "busy",
      "server error",  "cancelled",        "unverified"};
  const auto i = static_cast<size_t>(error);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

namespace internal {
namespace {

using std::chrono::milliseconds;

constexpr std::pair<const char*, RedisError> kCodes[] = {
    {"WRONGTYPE", RedisError::kWrongType},
    {"OOM", RedisError::kOutOfMemory},
    {"READONLY", RedisError::kReadOnly},
    {"NOAUTH", RedisError::kAuthentication},
    {"WRONGPASS", RedisError::kAuthentication},
    {"NOPERM", RedisError::kNoPermission},
    {"LOADING", RedisError::kUnavailable},
    {"BUSY", RedisError::kUnavailable},
    {"MASTERDOWN", RedisError::kUnavailable},
    {"CLUSTERDOWN", RedisError::kClusterDown},
    {"TRYAGAIN", RedisError::kClusterDown},
    {"MOVED", RedisError::kClusterDown},
    {"ASK", RedisError::kClusterDown},
};

timeval ToTimeval(milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

bool IsTimeout(const redisContext& context) {
  return context.err == REDIS_ERR_IO &&
         (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT ||
          errno == EINPROGRESS);
}

// Blocks SIGPIPE in this thread while it lives: OpenSSL and hiredis write
// without MSG_NOSIGNAL. A SIGPIPE that comes meanwhile is dropped.
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
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

void Convert(const redisReply& from, RedisReply* to) {
  using Kind = RedisReply::Kind;
  to->kind =
      from.type == REDIS_REPLY_INTEGER ? Kind::kInteger
      : from.type == REDIS_REPLY_ARRAY ? Kind::kArray
      : from.type == REDIS_REPLY_ERROR ? Kind::kError
      : from.type == REDIS_REPLY_STRING || from.type == REDIS_REPLY_STATUS
          ? Kind::kText
          : Kind::kNil;
  to->integer = from.integer;
  if (from.str != nullptr) to->text.assign(from.str, from.len);
  to->elements.resize(from.elements);
  for (size_t i = 0; i < from.elements; ++i) {
    Convert(*from.element[i], &to->elements[i]);
  }
}

class HiredisConnection : public RedisConnection {
 public:
  explicit HiredisConnection(redisContext* context) : context_(context) {}

  RedisStatus Run(const std::vector<const RedisCommand*>& commands,
                  Deadline deadline,
                  std::vector<RedisReply>* replies) override {
    const SigpipeBlocked blocked;
    redisContext* const context = context_.get();
    for (const RedisCommand* command : commands) {
      std::vector<const char*> words;
      std::vector<size_t> sizes;
      for (const std::string& word : *command) {
        words.push_back(word.data());
        sizes.push_back(word.size());
      }
      redisAppendCommandArgv(context, static_cast<int>(words.size()),
                             words.data(), sizes.data());
    }
    for (int sent = 0; sent == 0;) {
      if (!SetTimeout(deadline) ||
          redisBufferWrite(context, &sent) != REDIS_OK) {
        return Broken(deadline);
      }
    }
    replies->assign(commands.size(), {});
    for (RedisReply& reply : *replies) {
      void* raw = nullptr;
      while (redisGetReplyFromReader(context, &raw) == REDIS_OK &&
             raw == nullptr) {
        if (!SetTimeout(deadline) || redisBufferRead(context) != REDIS_OK) {
          return Broken(deadline);
        }
      }
      if (raw == nullptr) return Broken(deadline);
      Convert(*static_cast<redisReply*>(raw), &reply);
      freeReplyObject(raw);
    }
    return {};
  }

 private:
  // Limits the next read or write of the socket. Returns false after the
  // deadline.
  bool SetTimeout(Deadline deadline) {
    if (IsOver(deadline)) return false;
    redisSetTimeout(context_.get(), ToTimeval(TimeLeft(deadline)));
    errno = 0;
    return true;
  }

  RedisStatus Broken(Deadline deadline) const {
    if (IsOver(deadline) || IsTimeout(*context_)) {
      return {RedisError::kTimeout, "no answer in time"};
    }
    return {RedisError::kUnavailable,
            std::string("connection lost: ") + context_->errstr};
  }

  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  const std::unique_ptr<redisContext, FreeContext> context_;
};

constexpr size_t kMaxName = 1024;  // bytes

std::string Shown(std::string_view key) {
  return Quote(key.substr(0, kMaxName));
}

bool HasHashTag(std::string_view key) {
  return HashTag(key).size() != key.size();
}

}  // namespace

std::string Endpoint::Text() const {
  if (port == 0) return host;
  const bool is_v6 = host.find(':') != host.npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ParseEndpoint(std::string_view text, Endpoint* endpoint) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  std::string_view host = text.substr(0, colon);
  *endpoint = {};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  endpoint->host = host;
  return ParseNumber(text.substr(colon + 1), &endpoint->port) &&
         endpoint->port != 0;
}

RedisError ClassifyError(std::string_view reply) {
  std::string words = ' ' + std::string(reply) + ' ';
  std::replace(words.begin(), words.end(), '-', ' ');
  // Before Redis 7, what a script's command answers stands inside its error.
  for (const bool inside : {false, true}) {
    for (const auto& [word, error] : kCodes) {
      const size_t at = words.find(' ' + std::string(word) + ' ');
      if (inside ? at != words.npos && error != RedisError::kUnavailable
                 : at == 0) {
        return error;
      }
    }
  }
  for (const char* text : {"invalid password", "unauthenticated ",
                           "without any password configured"}) {
    if (reply.find(text) != reply.npos) return RedisError::kAuthentication;
  }
  return RedisError::kServer;
}

RedisStatus MakeStatus(RedisError error, const Endpoint& endpoint,
                       std::string_view key, std::string_view what) {
  return {error, "redis " + endpoint.Text() + ", key " + Shown(key) + ": " +
                     std::string(what)};
}

RedisStatus MakeStatus(RedisError error, std::string_view name,
                       std::string_view what) {
  return {error, "filter " + Shown(name) + ": " + std::string(what)};
}

milliseconds TimeLeft(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

RedisStatus ConnectHiredis(const Endpoint& endpoint, milliseconds timeout,
                           std::unique_ptr<RedisConnection>* connection) {
  errno = 0;
  redisContext* const context =
      endpoint.port == 0
          ? redisConnectUnixWithTimeout(endpoint.host.c_str(),
                                        ToTimeval(timeout))
          : redisConnectWithTimeout(endpoint.host.c_str(), endpoint.port,
                                    ToTimeval(timeout));
  if (context == nullptr) throw std::bad_alloc();
  *connection = RedisConnectionOf(context);
  if (context->err == 0) return {};
  if (IsTimeout(*context)) {
    return {RedisError::kTimeout,
            "cannot connect within " + std::to_string(timeout.count()) + " ms"};
  }
  return {RedisError::kUnavailable,
          std::string("cannot connect: ") + context->errstr};
}

uint16_t Crc16(std::string_view data) {
  constexpr uint32_t kPolynomial = 0x1021;
  uint32_t crc = 0;
  for (const char c : data) {
    crc ^= uint32_t{static_cast<unsigned char>(c)} << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1 ^ (crc >> 15 & 1) * kPolynomial) & 0xffff;
    }
  }
  return static_cast<uint16_t>(crc);
}

std::string_view HashTag(std::string_view key) {
  const size_t open = key.find('{');
  if (open == key.npos) return key;
  const size_t close = key.find('}', open + 1);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

bool ParseRedirection(std::string_view error, const Endpoint& from, bool* ask,
                      Endpoint* to) {
  std::istringstream words{std::string(error)};
  std::string word, target;
  uint32_t slot = 0;
  if (!(words >> word >> slot >> target)) return false;
  if (target.rfind(':') == 0) target = from.host + target;
  *ask = word == "ASK";
  return (*ask || word == "MOVED") && slot < kSlots &&
         ParseEndpoint(target, to);
}

std::vector<Endpoint> ParseSlots(const RedisReply& reply, const Endpoint& from,
                                 uint32_t slot, Endpoint* owner) {
  *owner = {};
  std::vector<Endpoint> servers;
  for (const RedisReply& range : reply.elements) {
    // First slot, last slot, the master's [host, port, ...], its replicas.
    for (size_t i = 2; i < range.elements.size(); ++i) {
      const std::vector<RedisReply>& server = range.elements[i].elements;
      if (server.size() < 2 || server[1].integer < 1 ||
          server[1].integer > UINT16_MAX) {
        continue;
      }
      servers.push_back({server[0].text.empty() ? from.host : server[0].text,
                         static_cast<uint16_t>(server[1].integer)});
      if (i == 2 && range.elements[0].integer <= slot &&
          slot <= range.elements[1].integer) {
        *owner = servers.back();
      }
    }
  }
  return servers;
}

std::string CheckName(std::string_view name) {
  if (name.empty()) return "name is empty";
  if (name.size() > kMaxName) {
    return "name has " + std::to_string(name.size()) +
           " bytes: at most 1024 are allowed";
  }
  if (!HasHashTag(name) && name.find('}') != name.npos) {
    return "name is " + Shown(name) +
           ": without a hash tag it must have no '}', or its other keys could "
           "not be in the same slot";
  }
  if (name.front() == '{' && HashTag(name).size() + 2 == name.size()) {
    return "name is " + Shown(name) +
           ": a hash tag alone shares its other keys with the filter named "
           "like the tag";
  }
  return "";
}

std::string Companion(std::string_view key, std::string_view suffix) {
  std::string name(key);
  if (!HasHashTag(key)) name = '{' + name + '}';
  name += suffix;
  return name;
}

std::string DescriptorOf(std::string_view name) {
  return Companion(name, ":deltabloom");
}

}  // namespace internal

std::unique_ptr<RedisConnection> RedisConnectionOf(redisContext* context) {
  return std::make_unique<internal::HiredisConnection>(context);
}

}  // namespace deltabloom
