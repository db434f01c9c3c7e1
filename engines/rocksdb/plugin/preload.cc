// Registers the policy when the shared object is loaded, which LD_PRELOAD does
// before main.
#include <cstdio>
#include <string>

#include "deltabloom/rocksdb.h"

namespace {

const bool registered = [] {
  std::string error;
  if (deltabloom::RegisterRocksDB(&error)) return true;
  std::fprintf(stderr, "%s\n", error.c_str());
  return false;
}();

}  // namespace
