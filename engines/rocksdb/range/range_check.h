// Whether ranges can be answered: in this RocksDB, and in a column family.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_

#include <string>
#include <string_view>

#include "rocksdb/options.h"

namespace deltabloom::internal {

// Empty if the RocksDB that is loaded hands over the bounds of a seek as
// range_extractor.h says, else one line: then no range part is written or
// asked. Found out once, with tables in memory. Throws std::bad_alloc.
const std::string& RangeProblem();

// The same for tables of full filters, or partitioned ones. For tests.
std::string RangeProblemIn(bool partitioned);

// Whether tables may have a RangeExtractor whose keys a comparator of this name
// orders.
bool IsBytewiseName(std::string_view comparator);

// One line about what in the column family does not go with ranges, or nothing.
// `range` is whether its policy writes range parts. Decides whether its
// RangeExtractor, if it has one, hands over bounds.
std::string RangeConflict(const ROCKSDB_NAMESPACE::ColumnFamilyOptions& family,
                          bool range);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_
