// Deltabloom as a filter policy of LevelDB:
//
//   leveldb::Options options;
//   auto policy = deltabloom::NewLevelDBBloomFilterPolicy(10);
//   options.filter_policy = policy.get();  // must outlive the database
//
// Include <leveldb/filter_policy.h> as well where the policy is destroyed. In
// LevelDB a filter has few keys, for which classic filters are best.
#ifndef DELTABLOOM_LEVELDB_H_
#define DELTABLOOM_LEVELDB_H_

#include <memory>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace leveldb {
class FilterPolicy;
}  // namespace leveldb

namespace deltabloom {

// Replaces leveldb::NewBloomFilterPolicy, with the same name and the same
// filters, byte for byte. bits_per_key: 0 to 1000; 10 gives about 1 % false
// positives. For other values it returns null and sets *error to one line.
// Check the result: LevelDB treats a null policy as "no filter".
DELTABLOOM_EXPORT std::unique_ptr<const leveldb::FilterPolicy>
NewLevelDBBloomFilterPolicy(double bits_per_key, std::string* error = nullptr);

// Returns a policy with these options. For invalid ones it returns null and
// sets *error to the text of options.Validate(). With Hash::kLevelDB it is the
// policy above. With Hash::kMurmurHash2 it has a name of its own, and LevelDB
// ignores filters of another name until compactions rewrite them.
DELTABLOOM_EXPORT std::unique_ptr<const leveldb::FilterPolicy>
NewLevelDBFilterPolicy(const FilterOptions& options,
                       std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_LEVELDB_H_
