// Connections of your own for RedisFilter: here a class over hiredis; for
// redis-plus-plus or another client it looks the same.
#pragma once

#include <hiredis/hiredis.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"

class OwnConnection : public deltabloom::RedisConnection {
 public:
  // A function for RedisOptions::connect.
  static deltabloom::RedisStatus Open(
      const std::string& host, uint16_t port, std::chrono::milliseconds timeout,
      std::unique_ptr<deltabloom::RedisConnection>* connection) {
    redisContext* const context =
        redisConnectWithTimeout(host.c_str(), port, ToTimeval(timeout));
    // For TLS: redisInitiateSSLWithContext(context, ...), of hiredis_ssl. Then
    // deltabloom::RedisConnectionOf(context) is all that is needed.
    *connection = std::make_unique<OwnConnection>(context);
    if (context->err == 0) return {};
    return {deltabloom::RedisError::kUnavailable, context->errstr};
  }

  explicit OwnConnection(redisContext* context) : context_(context) {}
  ~OwnConnection() override { redisFree(context_); }
  OwnConnection(const OwnConnection&) = delete;
  OwnConnection& operator=(const OwnConnection&) = delete;

  // A client that reconnects by itself must not do so here: an error is the end
  // of this object.
  deltabloom::RedisStatus Run(
      const std::vector<const deltabloom::RedisCommand*>& commands,
      std::chrono::steady_clock::time_point deadline,
      std::vector<deltabloom::RedisReply>* replies) override {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    redisSetTimeout(context_, ToTimeval(std::max(left, Milliseconds(1))));
    for (const deltabloom::RedisCommand* words : commands) {
      std::vector<const char*> pointers;
      std::vector<size_t> sizes;
      for (const std::string& word : *words) {
        pointers.push_back(word.data());
        sizes.push_back(word.size());
      }
      redisAppendCommandArgv(context_, static_cast<int>(words->size()),
                             pointers.data(), sizes.data());
    }
    replies->clear();
    while (replies->size() < commands.size()) {
      void* raw = nullptr;
      if (redisGetReply(context_, &raw) != REDIS_OK) {
        return {deltabloom::RedisError::kUnavailable, context_->errstr};
      }
      replies->push_back(Convert(*static_cast<redisReply*>(raw)));
      freeReplyObject(raw);
    }
    return {};
  }

 private:
  using Milliseconds = std::chrono::milliseconds;
  using Kind = deltabloom::RedisReply::Kind;

  static timeval ToTimeval(Milliseconds time) {
    return {time.count() / 1000, time.count() % 1000 * 1000};
  }

  static deltabloom::RedisReply Convert(const redisReply& from) {
    deltabloom::RedisReply to;
    to.kind = from.type == REDIS_REPLY_INTEGER ? Kind::kInteger
              : from.type == REDIS_REPLY_ARRAY ? Kind::kArray
              : from.type == REDIS_REPLY_ERROR ? Kind::kError
              : from.type == REDIS_REPLY_NIL   ? Kind::kNil
                                               : Kind::kText;
    to.integer = from.integer;
    if (from.str != nullptr) to.text.assign(from.str, from.len);
    for (size_t i = 0; to.kind == Kind::kArray && i < from.elements; ++i) {
      to.elements.push_back(Convert(*from.element[i]));
    }
    return to;
  }

  redisContext* const context_;
};
