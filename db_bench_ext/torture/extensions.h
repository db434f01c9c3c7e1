// What a database of the torture needs of RocksDB's extension points.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_EXTENSIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_EXTENSIONS_H_

#include <rocksdb/comparator.h>
#include <rocksdb/merge_operator.h>

#include <memory>

namespace deltabloom::torture {

// Orders bytes, capital letters as if they were small. Lives for ever.
const rocksdb::Comparator* FoldingComparator();

// Merged() of keys.h.
std::shared_ptr<rocksdb::MergeOperator> AppendingMergeOperator();

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_EXTENSIONS_H_
