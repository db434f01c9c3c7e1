// Commands, replies, and the connection to one server over hiredis.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/errors.h"
#include "shared_filters/redis/scripts.h"

namespace deltabloom::internal {

using Deadline = std::chrono::steady_clock::time_point;

// What is left until `deadline`, at least 1 ms.
std::chrono::milliseconds TimeLeft(Deadline deadline);

inline bool IsOver(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

// A command, built word by word. All keys of a command are in one slot.
class Request {
 public:
  // A plain command: Request("GETRANGE").Key(k).Number(0)...
  explicit Request(std::string_view command) { Word(command); }

  // A call of a script with this number of keys, which follow by Key.
  Request(const Script& script, uint64_t keys) : script_(&script) {
    Word("EVALSHA").Word(script.sha1).Number(keys);
  }

  Request& Word(std::string_view word) {
    words_.emplace_back(word);
    return *this;
  }
  Request& Number(uint64_t number) {
    words_.push_back(std::to_string(number));
    return *this;
  }
  Request& Key(std::string_view key) {
    if (key_.empty()) key_ = key;
    return Word(key);
  }

  // The server does not know the script: send its text. False if it is sent
  // already, or if this is no call of a script.
  bool UseWholeScript() {
    if (script_ == nullptr || words_[0] == "EVAL") return false;
    words_[0] = "EVAL";
    words_[1] = script_->body;
    return true;
  }

  const std::string& key() const { return key_; }
  const RedisCommand& words() const { return words_; }

 private:
  const Script* script_ = nullptr;
  std::string key_;
  RedisCommand words_;
};

// Appends the command as Redis reads it.
void AppendCommand(const RedisCommand& command, std::string* out);

// Connects through hiredis.
RedisStatus ConnectHiredis(const Endpoint& endpoint,
                           std::chrono::milliseconds timeout,
                           std::unique_ptr<RedisConnection>* connection);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CONNECTION_H_
