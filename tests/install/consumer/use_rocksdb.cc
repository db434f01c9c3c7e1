#include <cstdio>
#include <memory>
#include <string>

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
