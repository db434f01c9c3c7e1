// How a database is opened: drawn anew at every opening, from one table.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_CONFIGURATION_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_CONFIGURATION_H_

#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/torture/keys.h"

namespace deltabloom::torture {

enum class Engine : uint8_t {
  kPlain,           // rocksdb::DB
  kWriteCommitted,  // rocksdb::TransactionDB, and its
  kWritePrepared,   // other write policy
};

const char* EngineName(Engine engine);

// For tests of the torture itself: what is used instead of a policy.
using PolicyHook = std::function<std::shared_ptr<const rocksdb::FilterPolicy>(
    std::shared_ptr<const rocksdb::FilterPolicy>)>;

struct Configuration {
  rocksdb::DBOptions db;
  rocksdb::ColumnFamilyOptions families[kSlots];
  // The table options in them, without the filter policy.
  rocksdb::BlockBasedTableOptions tables[kSlots];
  std::string policies[kSlots];  // as text

  // What was drawn, one line per slot.
  std::string Describe() const;
};

// The same for the same seed. Throws std::runtime_error if RocksDB refuses a
// policy.
Configuration DrawConfiguration(uint64_t seed, const PolicyHook& hook);

// A change of one field of a Deltabloom policy at run time, as "name=value".
std::string DrawChange(bench::MixedNumbers* numbers);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_CONFIGURATION_H_
