// Commands, replies and errors of Redis, and the connection to one server over
// hiredis.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/scripts.h"

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

// "redis 127.0.0.1:6379, key 'users': what".
RedisStatus MakeStatus(RedisError error, const Endpoint& endpoint,
                       std::string_view key, std::string_view what);

// The same for errors that no server caused: "filter 'users': what".
RedisStatus MakeStatus(RedisError error, std::string_view name,
                       std::string_view what);

// The key in printable ASCII: other bytes as \xNN, cut after 100 bytes.
std::string Printable(std::string_view key);

using Deadline = std::chrono::steady_clock::time_point;

// What is left until `deadline`, at least 1 ms.
std::chrono::milliseconds TimeLeft(Deadline deadline);

inline bool IsOver(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

// An argument of a command: a text or an integer.
struct Argument {
  Argument(const char* value) : text(value) {}         // NOLINT
  Argument(std::string_view value) : text(value) {}    // NOLINT
  Argument(const std::string& value) : text(value) {}  // NOLINT
  template <typename Integer,
            typename = std::enable_if_t<std::is_integral_v<Integer>>>
  Argument(Integer value) : text(std::to_string(value)) {}  // NOLINT

  std::string text;
};

// A command, or the call of a script. All its keys are in one slot.
struct Request {
  // "GETRANGE key 0 63".
  Request(std::string_view command, const std::string& first_key,
          std::initializer_list<Argument> arguments = {})
      : key(first_key), words{std::string(command), first_key} {
    Append(arguments);
  }
  Request(ScriptNumber number, std::initializer_list<std::string> keys,
          std::initializer_list<Argument> arguments)
      : key(*keys.begin()),
        script(&kScripts[number]),
        words{"EVALSHA", script->sha1, std::to_string(keys.size())} {
    words.insert(words.end(), keys);
    Append(arguments);
  }

  void Append(std::initializer_list<Argument> arguments) {
    for (const Argument& one : arguments) words.push_back(one.text);
  }

  // The server does not know the script: send its text. False if it is sent
  // already, or if this is no call of a script.
  bool UseWholeScript() {
    if (script == nullptr || words[0] == "EVAL") return false;
    words[0] = "EVAL";
    words[1] = script->body;
    return true;
  }

  std::string key;  // the first
  const Script* script = nullptr;
  RedisCommand words;
};

// Connects through hiredis.
RedisStatus ConnectHiredis(const Endpoint& endpoint,
                           std::chrono::milliseconds timeout,
                           std::unique_ptr<RedisConnection>* connection);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
