// The two classes of RocksDB that its public headers only forward-declare. They
// are abstract, so a declaration with the same virtual functions in the same
// order suffices to implement them, or to call RocksDB's own. This is the only
// file that declares them: from RocksDB's sources, tags v7.0.3 to v11.8.1, 11.9
// as developed at 1dfa7297 (August 2026), and v11.12.0. Versions of
// FilterBitsBuilder:
//
//   7.0.3 .. 9.6.0   without AddKeyAndAlt
//   9.6.1 ..         with AddKeyAndAlt second
//   10.9.1 ..        also CalculateSpace and EstimatedFpRate at the end. An
//                    older library never calls them, and its own builders have
//                    them in the same place: they are always declared
//
// The shape depends on the headers, so the loaded library must have the same
// version: see policy.h. In RocksDB's own build the real declarations are there
// and are used.
#pragma once

#include <cstddef>
#include <memory>

#include "engines/rocksdb/base/rocksdb_version.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"

// True if the headers declare the shape with AddKeyAndAlt.
#define DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT \
  (DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(9, 6, 1))

// Before 10.9.1 RocksDB's declaration lacks two functions that the one below
// has.
#if defined(DELTABLOOM_IN_ROCKSDB) && \
    DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(10, 9, 1)
#include "table/block_based/filter_policy_internal.h"
#else
namespace ROCKSDB_NAMESPACE {

// Hidden, or the weak symbols of a preloaded plugin could take the place of the
// library's own.
class __attribute__((visibility("hidden"))) FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;

  virtual void AddKey(const Slice& key) = 0;
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  // A key and its prefix; repetitions of either are dropped.
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  // Returns the keys added since the last Finish. May be called while another
  // thread adds.
  virtual size_t EstimateEntriesAdded() = 0;
  // The filter; *owner receives its memory, if it has any of its own. Leaves
  // the builder empty. RocksDB calls the second.
  virtual Slice Finish(std::unique_ptr<const char[]>* owner) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* owner,
                       Status* status) = 0;
  // RocksDB calls it right after a Finish that went well, with the filter that
  // Finish returned.
  virtual Status MaybePostVerify(const Slice& filter) = 0;
  // Keys for which a filter has at most `bytes` bytes.
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;

  // Before RocksDB 10.9.1 only its own builders have these.
  virtual size_t CalculateSpace(size_t entries) = 0;
  virtual double EstimatedFpRate(size_t entries, size_t bytes) = 0;
};

class __attribute__((visibility("hidden"))) FilterBitsReader {
 public:
  virtual ~FilterBitsReader() = default;

  virtual bool MayMatch(const Slice& key) = 0;
  // Writes may_match[i] for every i in [0, n); n is 0 to 32 in MultiGet.
  virtual void MayMatch(int n, Slice** keys, bool* may_match) = 0;
};

}  // namespace ROCKSDB_NAMESPACE
#endif

namespace deltabloom::internal {

// Builder and reader of any policy, RocksDB's own among them, outside a
// database. Null where the policy builds no filter. `filter` must outlive the
// reader.
inline std::unique_ptr<rocksdb::FilterBitsBuilder> NewBitsBuilder(
    const rocksdb::FilterPolicy& policy,
    const rocksdb::BlockBasedTableOptions& options = {}) {
  const rocksdb::FilterBuildingContext context(options);
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(
      policy.GetBuilderWithContext(context));
}

inline std::unique_ptr<rocksdb::FilterBitsReader> NewBitsReader(
    const rocksdb::FilterPolicy& policy, const rocksdb::Slice& filter) {
  return std::unique_ptr<rocksdb::FilterBitsReader>(
      policy.GetFilterBitsReader(filter));
}

}  // namespace deltabloom::internal
