// The ways to ask and fill a bitmap in Redis that are compared: the filter
// itself, and what one would write by hand over the same connections.
#ifndef DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_VARIANTS_H_
#define DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_VARIANTS_H_

#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/redis_bench/load.h"
#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/scheme.h"

namespace deltabloom::bench {

struct Variant {
  std::string name;
  Operation operation;
  bool batches = true;  // else one key per call only
};

// What all variants work on; outlives them.
struct Subject {
  std::shared_ptr<internal::Client> client;
  std::unique_ptr<RedisFilter> local;
  std::unique_ptr<RedisFilter> go;
  internal::Scheme local_scheme;
  internal::Scheme go_scheme;
  std::string local_name;
  std::string go_name;
};

std::vector<Variant> Checks(const Subject& subject);
std::vector<Variant> Adds(const Subject& subject);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_VARIANTS_H_
