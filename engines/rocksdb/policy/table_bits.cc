#include "engines/rocksdb/policy/table_bits.h"

#include <cstdint>

#include "engines/rocksdb/base/options.h"
#include "rocksdb/advanced_options.h"
#include "rocksdb/filter_policy.h"

namespace deltabloom::internal {

uint32_t MillibitsOfTable(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context) {
  // Files of SstFileWriter and of RepairDB, which mostly hold many keys and are
  // moved down as they are.
  const bool level_is_unknown = context.level_at_creation < 0;
  // There are no levels: all tables are alike, and none is bottommost.
  const bool is_fifo =
      context.compaction_style == rocksdb::kCompactionStyleFIFO;
  return context.is_bottommost || level_is_unknown || is_fifo
             ? options.MillibitsPerKey()
             : options.UpperMillibitsPerKey();
}

}  // namespace deltabloom::internal
