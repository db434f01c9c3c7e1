#include <cstdio>
#include <memory>

#include "deltabloom/redis_filter.h"

int main() {
  deltabloom::RedisOptions redis;
  redis.port = 1;  // nothing listens there
  std::unique_ptr<deltabloom::RedisFilter> filter;
  const deltabloom::RedisStatus status =
      deltabloom::RedisFilter::Open(redis, "name", &filter);
  std::printf("%s: %s\n", deltabloom::RedisErrorName(status.error),
              status.message.c_str());
  return status.error == deltabloom::RedisError::kUnavailable ? 0 : 1;
}
