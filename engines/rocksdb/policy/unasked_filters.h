// Filters that a policy found and did not ask, for they hold other keys than
// its own.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_UNASKED_FILTERS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_UNASKED_FILTERS_H_

#include <mutex>
#include <string>

#include "engines/rocksdb/policy/bits_reader.h"

namespace deltabloom::internal {

// Thread-safe. RocksDB shows a reader no LOG, so one that builds tells.
class UnaskedFilters {
 public:
  void Note(const OtherKeys& other);

  // One line about the first, the first time; else nothing.
  std::string Tell(const RegisteredTransform* own);
  // The line was not written.
  void TellAgain();

 private:
  std::mutex mutex_;
  OtherKeys first_;
  bool told_ = false;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_UNASKED_FILTERS_H_
