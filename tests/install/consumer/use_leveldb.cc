#include <leveldb/filter_policy.h>

#include <cstdio>
#include <memory>

#include "deltabloom/leveldb.h"

int main() {
  const auto policy = deltabloom::NewLevelDBBloomFilterPolicy(10);
  const std::unique_ptr<const leveldb::FilterPolicy> theirs(
      leveldb::NewBloomFilterPolicy(10));
  std::printf("%s\n", policy->Name());
  return policy->Name() == std::string(theirs->Name()) ? 0 : 1;
}
