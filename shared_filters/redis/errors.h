// Errors of Redis as statuses: what, where, about which key.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_ERRORS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_ERRORS_H_

#include <string>
#include <string_view>

#include "deltabloom/redis_filter.h"

namespace deltabloom::internal {

// A server: host and port, or the path of a unix socket.
struct Endpoint {
  std::string host;
  uint16_t port = 0;
  std::string unix_socket;

  bool operator==(const Endpoint& other) const {
    return host == other.host && port == other.port &&
           unix_socket == other.unix_socket;
  }
  // "127.0.0.1:6379", "[::1]:6379", "/run/redis.sock".
  std::string Text() const;
};

// "host:port", "[host]:port". False for anything else.
bool ParseEndpoint(std::string_view text, Endpoint* endpoint);

// Which error a server's error reply is: "-WRONGTYPE ...", without the minus.
RedisError ClassifyError(std::string_view reply);

// "redis 127.0.0.1:6379, key 'users': what". Without a key: no key.
RedisStatus MakeStatus(RedisError error, const Endpoint& endpoint,
                       std::string_view key, std::string_view what);

// The same for what no server is to blame for: "filter 'users': what".
RedisStatus MakeStatus(RedisError error, std::string_view name,
                       std::string_view what);

// The key as it can stand in a line: other bytes than printable ASCII as \xNN,
// cut after 100 bytes.
std::string Printable(std::string_view key);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_ERRORS_H_
