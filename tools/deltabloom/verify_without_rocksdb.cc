#include "tools/deltabloom/verify_rocksdb.h"

namespace deltabloom::tools {

std::string VerifyRocksDB(const internal::SstSource& source,
                          const internal::SstFile&, const internal::SstFilter&,
                          VerifyListener*, TableReport*) {
  return source.Name() +
         ": tables of RocksDB cannot be checked by this build: that needs "
         "librocksdb-dev and -DDELTABLOOM_ROCKSDB=ON";
}

}  // namespace deltabloom::tools
