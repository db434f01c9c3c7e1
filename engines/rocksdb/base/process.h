// The state that policies and the public functions of a process share, in one
// object.
//
// Who makes it: TheProcess(), at the first use. It is the only one that is
// process-wide: RocksDB's ObjectLibrary makes policies by name and passes
// nothing but the name, and functions such as RegisterKeyTransform and
// GetRocksDBFilterStatistics have no argument for it. Tests make others.
//
// Who uses it: a policy those members that its folders name below, of the
// Process that it was made with; the public functions, options and errors those
// of TheProcess().
//
// When it ends: TheProcess() never does, as databases, readers and threads may
// outlive static objects. Another one must outlive what was made with it.
//
// Outside it are the counters of lookups (statistics/lookup_cells.h), which are
// the threads' own: a lookup has to find them in two instructions.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "engines/rocksdb/base/key_transforms.h"
#include "util/mutex.h"
#include "util/range/functions.h"

namespace rocksdb {
class FilterPolicy;
}  // namespace rocksdb

namespace deltabloom::internal {

struct EarlierCounts;    // statistics/statistics.cc
class PolicyStatistics;  // statistics/statistics.h

// Access to the T is locked: for as long as what Lock() returns lives.
template <typename T>
class Guarded {
 public:
  class Access {
   public:
    explicit Access(Guarded* guarded)
        : lock_(guarded->mutex_), object_(&guarded->object_) {}
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }

   private:
    const MutexLock lock_;
    T* const object_;
  };

  Access Lock() { return Access(this); }

 private:
  Mutex mutex_;
  T object_;
};

struct CountingPolicies {
  std::map<const rocksdb::FilterPolicy*, PolicyStatistics*> policies;
  // Statistics that were added and not destroyed; their policies may be gone
  // already.
  std::set<const PolicyStatistics*> counting;
  std::shared_ptr<EarlierCounts> earlier;  // null: no policy was added
};

// A function that is called with every error in the text of a policy.
using ErrorReporter = void (*)(const std::string& line);

// Thread-safe.
struct Process {
  // base/: RegisterKeyTransform adds to them; options and readers find them.
  Guarded<KeyTransforms> transforms;
  // base/: RegisterPrefixFunction adds to them; options and readers of range
  // filters find them.
  Guarded<range::Functions> prefix_functions;
  // base/: seeds come from this function, or from the system if it is null.
  // Only tests set it.
  std::atomic<RandomSource> random_source{nullptr};
  // base/: the errors that SetCallerError() has printed, each of them once.
  Guarded<std::set<std::string>> printed_errors;

  // statistics/: policies are added when they are made. Its mutex is locked
  // before those of policies.
  Guarded<CountingPolicies> counting;
  // statistics/: called with no lock held after a policy was added, if it is
  // set. Must not throw.
  std::atomic<void (*)()> policy_was_made{nullptr};

  // policy/: set by programs that ignore a Status of RocksDB and would go on
  // without a filter; null in others.
  std::atomic<ErrorReporter> error_reporter{nullptr};
  // policy/: true once a policy has built or read a filter.
  std::atomic<bool> policy_was_used{false};
};

// Returns the state of the process. At the first use it is made, which may
// throw std::bad_alloc.
Process& TheProcess();

}  // namespace deltabloom::internal
