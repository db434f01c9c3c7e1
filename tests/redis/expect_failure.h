// What tests of errors share.
#ifndef DELTABLOOM_TESTS_REDIS_EXPECT_FAILURE_H_
#define DELTABLOOM_TESTS_REDIS_EXPECT_FAILURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/redis/server.h"

namespace deltabloom::test {

inline RedisFilterOptions Small(const std::string& name = "f") {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = "go-murmur3";
  options.expected_keys = 1000;
  return options;
}

inline std::unique_ptr<RedisFilter> Create(const RedisOptions& redis,
                                           const RedisFilterOptions& options) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Create(redis, options, &filter);
  EXPECT_TRUE(status.ok()) << status.message;
  return filter;
}

// The error is of that kind and names where and what; the answer is "may
// match".
inline void ExpectFailure(RedisFilter* filter, RedisError error,
                          const std::string& place,
                          const std::string& key = "'f'") {
  bool found = false;
  const RedisStatus status = filter->Check("some key", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(status.error, error) << status.message;
  EXPECT_NE(status.message.find(place), std::string::npos) << status.message;
  EXPECT_NE(status.message.find(key), std::string::npos) << status.message;
  const uint64_t before = filter->Statistics().failed_open;
  EXPECT_TRUE(filter->MayMatch("some key"));
  EXPECT_EQ(filter->Statistics().failed_open, before + 1);
  EXPECT_FALSE(filter->Statistics().last_error.empty());
}

inline std::string PlaceOf(const Server& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_REDIS_EXPECT_FAILURE_H_
