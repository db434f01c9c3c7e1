// Whether the loaded RocksDB queries filters about ranges as expected.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_

#include <string>

namespace deltabloom::internal {

// Empty if the loaded RocksDB passes the bounds of a seek as range_extractor.h
// says; else one line, and no range part is written or queried. Checked once,
// with tables in memory. Throws std::bad_alloc.
const std::string& RangeProblem();

// The same for tables of full filters, or partitioned ones. For tests.
std::string RangeProblemIn(bool partitioned);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_CHECK_H_
