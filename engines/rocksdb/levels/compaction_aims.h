// How large compactions let the levels of each column family grow.
//
// From the OPTIONS file that RocksDB keeps beside a database: DB::GetOptions
// needs a handle, and a listener has none but that of the default column
// family.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_COMPACTION_AIMS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_COMPACTION_AIMS_H_

#include <map>
#include <string>
#include <string_view>

#include "engines/rocksdb/levels/tree_bits.h"
#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {
class DB;
}

namespace deltabloom::internal {

struct CompactionAims {
  double level0_files = 0;  // 0: levels have no limits, or none that are known
  double base_bytes = 0;
  double ratio = 0;
  bool dynamic = false;

  // With so many keys per byte.
  TreeLimits Limits(double keys_per_byte) const {
    return {level0_files, base_bytes * keys_per_byte, ratio, dynamic};
  }
};

// By name of the column family.
using AimsByFamily = std::map<std::string, CompactionAims>;

// Of the text of an OPTIONS file. Families whose levels have no limits, as
// under universal and FIFO compaction, and lines that make no sense are left
// out.
AimsByFamily ParseAims(std::string_view options);

// Reads them again if there is another OPTIONS file than `*file`, which
// SetOptions and new column families bring. Without one they stay.
void ReadAims(ROCKSDB_NAMESPACE::DB* db, std::string* file, AimsByFamily* aims);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_COMPACTION_AIMS_H_
