// Deltabloom as a filter policy of LevelDB:
//
//   leveldb::Options options;
//   auto policy = deltabloom::NewLevelDBBloomFilterPolicy(10);
//   options.filter_policy = policy.get();  // must outlive the database
//
// Include <leveldb/filter_policy.h> too where the policy is destroyed. LevelDB
// hands every lookup one filter of a few keys, so classic filters fit it best.
#ifndef DELTABLOOM_LEVELDB_H_
#define DELTABLOOM_LEVELDB_H_

#include <memory>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace leveldb {
class FilterPolicy;
}  // namespace leveldb

namespace deltabloom {

// In place of leveldb::NewBloomFilterPolicy: the same name, the same filters
// byte for byte. Databases written with either are read through the other's
// filters. bits_per_key: 0 to 1000, else null; 10 gives about 1 % false
// positives. A fraction is allowed; LevelDB reads those filters as well.
DELTABLOOM_EXPORT std::unique_ptr<const leveldb::FilterPolicy>
NewLevelDBBloomFilterPolicy(double bits_per_key);

// A policy with any options. With Hash::kLevelDB it is the one above; with
// Hash::kMurmurHash2 it has a name of its own, and LevelDB ignores filters
// written under another name: they come back with compactions. Null if
// options.Validate() is not empty, or for Hash::kLevelDB with a layout other
// than classic, which LevelDB cannot read.
DELTABLOOM_EXPORT std::unique_ptr<const leveldb::FilterPolicy>
NewLevelDBFilterPolicy(const FilterOptions& options);

}  // namespace deltabloom

#endif  // DELTABLOOM_LEVELDB_H_
