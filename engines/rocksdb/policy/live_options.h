// The options of a policy as RocksDB configures them: by name, when the policy
// is made and, with SetOptions, while it is in use.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "rocksdb/status.h"
#include "rocksdb/utilities/options_type.h"
#include "util/mutex.h"

namespace deltabloom::internal {

// Returns what `fn` returns, or MemoryLimit if it throws.
template <typename Fn>
rocksdb::Status StatusOf(Fn fn) {
  rocksdb::Status status = rocksdb::Status::MemoryLimit();
  WithoutThrowing([&] { status = fn(); });
  return status;
}

// Thread-safe once the options are in use; before, RocksDB configures them in
// one thread.
class LiveOptions {
 public:
  using Status = rocksdb::Status;

  // The options of a policy that is being made, from a URI that may be wrong.
  LiveOptions(Process* process, const std::string& uri);
  // The options of a policy that is in use. REQUIRES: they are valid.
  LiveOptions(Process* process, const PolicyOptions& options);

  PolicyOptions Get() const;
  RocksDBCompatibility Compatibility() const;

  // Sets options by name. Options in use change only if nothing is wrong. A
  // policy that is being made keeps what could be read, above all the
  // compatibility, and the first error. Check() returns that error later,
  // because RocksDB may drop this Status (SetOptions from 9.8 on).
  Status Set(const OptionMap& map, bool ignores_unknown);

  // The first error in the text that the policy was made from. It does not
  // change once the options are in use.
  const std::string& error() const { return error_; }
  // Returns an InvalidArgument with the error, if there is one.
  Status Check() const;
  // From now on an error has no effect but its Status.
  void BeginUse() { in_use_ = true; }

  // RegisterOptions needs these. All options have offset 0, that of the
  // LiveOptions.
  static const char* kName() { return "DeltabloomOptions"; }
  static const std::unordered_map<std::string, rocksdb::OptionTypeInfo>&
  TypeInfos();

 private:
  static rocksdb::OptionTypeInfo TypeInfo(const PolicyOption* option);

  std::string Print(const PolicyOption& option) const;
  bool Equals(const PolicyOption& option, const LiveOptions& other,
              std::string* mismatch) const;

  Process* const process_;
  const uint64_t serial_;  // no other policy has it
  mutable Mutex mutex_;
  PolicyOptions options_ DELTABLOOM_GUARDED_BY(mutex_);
  std::string error_;
  std::atomic<bool> in_use_;
};

}  // namespace deltabloom::internal
