// Makes a policy of each argument, the value of filter_policy in an OPTIONS
// file. Fails, and says why, at the first that gives none.
#include <cstdio>
#include <memory>
#include <string>

#include "deltabloom/rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"

int main(int argc, char** argv) {
  std::string error;
  if (!deltabloom::RegisterRocksDB(&error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (text.size() > 1 && text.front() == '{' && text.back() == '}') {
      text = text.substr(1, text.size() - 2);
    }
    std::shared_ptr<const rocksdb::FilterPolicy> policy;
    const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(), text, &policy);
    if (!status.ok() || policy == nullptr) {
      std::fprintf(stderr, "%s: %s\n", argv[i], status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}
