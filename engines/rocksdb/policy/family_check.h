// Options of a column family that do not go with a policy.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_FAMILY_CHECK_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_FAMILY_CHECK_H_

#include <string>
#include <string_view>

#include "engines/rocksdb/policy/options.h"
#include "rocksdb/options.h"

namespace deltabloom::internal {

// Returns one line about the first option of the column family that does not go
// with a policy of these options, or nothing. Decides whether the family's
// RangeExtractor, if it has one, passes on bounds.
std::string FamilyConflict(const rocksdb::ColumnFamilyOptions& family,
                           const PolicyOptions& options);

// The part of it that concerns ranges.
std::string RangeConflict(const rocksdb::ColumnFamilyOptions& family,
                          bool range);

// Whether tables whose comparator has this name may have a RangeExtractor.
bool IsBytewiseName(std::string_view comparator);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_FAMILY_CHECK_H_
