// Uses one component of the installed package: CORE, SHARED, REDIS, ROCKSDB or
// LEVELDB is defined.
#include <cstdio>
#include <memory>
#include <string>

#if defined(CORE)
#include "deltabloom/filter.h"

int main() {
  deltabloom::FilterBuilder builder;
  builder.AddKey("present");
  std::string filter;
  builder.Finish(&filter);
  const bool found = deltabloom::Filter(filter).MayMatch("present");
  const bool absent = !deltabloom::Filter(filter).MayMatch("missing");
  std::printf("%s\n", deltabloom::DescribeFilter(filter).c_str());
  return found && absent ? 0 : 1;
}

#elif defined(SHARED)
#include "deltabloom/guava_filter.h"

int main() {
  deltabloom::GuavaFilterOptions options;
  options.expected_insertions = 100;
  deltabloom::GuavaFilter filter(options);
  filter.Put(deltabloom::GuavaLongFunnel(1));
  std::string bytes;
  filter.AppendTo(&bytes);
  const auto read = deltabloom::GuavaFilter::FromBytes(bytes);
  std::printf("%zu bytes\n", bytes.size());
  return read->MightContain(deltabloom::GuavaLongFunnel(1)) ? 0 : 1;
}

#elif defined(REDIS)
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

#elif defined(ROCKSDB)
#include "deltabloom/rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"

int main() {
  std::string error;
  const auto policy = deltabloom::NewRocksDBFilterPolicy({}, &error);
  if (policy == nullptr || !deltabloom::RegisterRocksDB(&error)) {
    std::printf("%s\n", error.c_str());
    return 1;
  }
  std::shared_ptr<const rocksdb::FilterPolicy> by_name;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), "deltabloom:9.9", &by_name);
  std::printf("%s: %s\n", policy->Name(), status.ToString().c_str());
  return by_name != nullptr ? 0 : 1;
}

#elif defined(LEVELDB)
#include <leveldb/filter_policy.h>

#include "deltabloom/leveldb.h"

int main() {
  const auto policy = deltabloom::NewLevelDBBloomFilterPolicy(10);
  const std::unique_ptr<const leveldb::FilterPolicy> theirs(
      leveldb::NewBloomFilterPolicy(10));
  std::printf("%s\n", policy->Name());
  return policy->Name() == std::string(theirs->Name()) ? 0 : 1;
}
#endif
