// One command to Redis, in the protocol's bytes, and what came back.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_REQUEST_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_REQUEST_H_

#include <hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared_filters/redis/scripts.h"

namespace deltabloom::internal {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

inline std::string_view TextOf(const redisReply& reply) {
  return {reply.str, reply.len};
}

// Is it a string (not an error, not nil)?
inline bool IsText(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS;
}

// A command is words; a script's command begins with the script, its keys
// follow by Key. All keys of a command are on one slot.
class Request {
 public:
  // A plain command: Request("GETRANGE").Key(k).Number(0)...
  explicit Request(std::string_view command) { Word(command); }

  // A call of a script with that many keys.
  Request(const Script& script, uint32_t keys) : script_(&script) {
    Number(keys);
  }

  Request& Word(std::string_view word) {
    ++words_;
    tail_ += '$';
    AppendNumber(word.size());
    tail_ += "\r\n";
    tail_ += word;
    tail_ += "\r\n";
    return *this;
  }
  Request& Number(uint64_t number);
  Request& Key(std::string_view key) {
    if (key_.empty()) key_ = key;
    return Word(key);
  }

  // For a command without a key: it goes where `key` is.
  Request& Route(std::string_view key) {
    key_ = key;
    return *this;
  }

  // The first key; empty if there is none.
  const std::string& key() const { return key_; }
  const Script* script() const { return script_; }

  // Appends the command. A script goes by its name (EVALSHA), or whole (EVAL).
  void AppendTo(std::string* out, bool whole_script) const;

 private:
  void AppendNumber(uint64_t number);

  const Script* script_ = nullptr;
  uint32_t words_ = 0;
  std::string key_;
  std::string tail_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_REQUEST_H_
