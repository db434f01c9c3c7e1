// Redis's protocol: servers, errors, commands, a connection over hiredis; keys,
// and the slots of a cluster that they belong to.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "deltabloom/redis_filter.h"

namespace deltabloom::internal {

// A server: host and port, or the path of a unix socket and port 0.
struct Endpoint {
  std::string host;
  uint16_t port = 0;

  bool exists() const { return !host.empty(); }
  bool operator==(const Endpoint& other) const {
    return host == other.host && port == other.port;
  }
  // "127.0.0.1:6379", "[::1]:6379", "/run/redis.sock".
  std::string Text() const;
};

// "host:port", "[host]:port". False for anything else.
bool ParseEndpoint(std::string_view text, Endpoint* endpoint);

// Returns the error that a server's error reply means: "-WRONGTYPE ...",
// without the minus.
RedisError ClassifyError(std::string_view reply);

// "redis 127.0.0.1:6379, key 'users': what".
RedisStatus MakeStatus(RedisError error, const Endpoint& endpoint,
                       std::string_view key, std::string_view what);

// Does the same for errors that no server caused: "filter 'users': what".
RedisStatus MakeStatus(RedisError error, std::string_view name,
                       std::string_view what);

using Deadline = std::chrono::steady_clock::time_point;

// Returns the time until `deadline`, at least 1 ms.
std::chrono::milliseconds TimeLeft(Deadline deadline);

inline bool IsOver(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

// The Lua scripts that run inside Redis (docs/format.md,
// "Scripts"), in the order of CMakeLists.txt, which makes kScripts of the files
// in scripts/.
enum ScriptNumber {
  kAddScript,
  kConfirmScript,
  kCreateScript,
  kRebuildBeginScript,
  kRebuildRenewScript,
  kRebuildFinishScript,
  kRetireScript,
  kScriptCount
};

struct Script {
  const char* name;
  const char* body;
  const char* sha1;  // EVALSHA's name for it: 40 lower-case hexadecimal digits
};

extern const Script kScripts[kScriptCount];

// A command, or the call of a script. Its words are texts and integers. All its
// keys are in one slot.
struct Request {
  // "GETRANGE", "key", 0, 63.
  template <typename... Words>
  Request(std::string_view command, const std::string& first_key,
          const Words&... more)
      : key(first_key), words{std::string(command), first_key} {
    Append(more...);
  }
  template <typename... Words>
  Request(ScriptNumber number, std::initializer_list<std::string> keys,
          const Words&... arguments)
      : key(*keys.begin()),
        script(&kScripts[number]),
        words{"EVALSHA", script->sha1, std::to_string(keys.size())} {
    words.insert(words.end(), keys);
    Append(arguments...);
  }

  template <typename... Words>
  void Append(const Words&... more) {
    [[maybe_unused]] const auto append = [this](const auto& word) {
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
        words.push_back(std::to_string(word));
      } else {
        words.emplace_back(word);
      }
    };
    (append(more), ...);
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

RedisStatus ConnectHiredis(const Endpoint& endpoint,
                           std::chrono::milliseconds timeout,
                           std::unique_ptr<RedisConnection>* connection);

inline constexpr uint32_t kSlots = 16384;

// CRC-16/XMODEM.
uint16_t Crc16(std::string_view data);

// The part of a key that determines its slot: what stands between the first '{'
// and the next '}', if that is not empty; else the whole key.
std::string_view HashTag(std::string_view key);

inline uint32_t SlotOf(std::string_view key) {
  return Crc16(HashTag(key)) % kSlots;
}

// Reads a server's "MOVED 3999 127.0.0.1:6381" or "ASK ...". An empty host
// means `from`, the server that sent it. False if `error` is no redirection.
bool ParseRedirection(std::string_view error, const Endpoint& from, bool* ask,
                      Endpoint* to);

// Reads the reply to CLUSTER SLOTS that `from` gave: returns all servers, and
// sets *owner to the master of `slot`, or to none.
std::vector<Endpoint> ParseSlots(const RedisReply& reply, const Endpoint& from,
                                 uint32_t slot, Endpoint* owner);

// Empty if a filter may have this name; else what is wrong.
std::string CheckName(std::string_view name);

// `key` and `suffix`, in the slot of `key`: "{key}suffix", or, if the key has a
// hash tag, "keysuffix".
std::string Companion(std::string_view key, std::string_view suffix);

// The descriptor of a shard, or of a whole filter, by which it is opened.
std::string DescriptorOf(std::string_view name);

}  // namespace deltabloom::internal
