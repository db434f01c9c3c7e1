// A RocksDB of the torture, open.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_DATABASE_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/transaction_db.h>

#include <memory>
#include <shared_mutex>
#include <string>

#include "db_bench_ext/torture/configuration.h"
#include "db_bench_ext/torture/totals.h"

namespace deltabloom::torture {

// A slot's column family; none when handle is null.
struct Family {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  uint32_t generation = 0;
  // Held by those who use it, alone by who drops it.
  std::shared_mutex mutex;
};

// Whether it says that RocksDB refuses its own order of level 0. Before 7.10 it
// may compact ingested files there into one whose sequence numbers lie within
// those of another; then it notices, and refuses further writes or to open the
// database again (facebook/rocksdb#10922).
bool TellsOfMisorder(const std::string& error);

class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  // `env` may be null and must outlive it.
  Database(std::string path, Engine engine, Configuration configuration,
           rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens every column family there is.
  rocksdb::Status Open(Mode mode);
  // What DB::Close says.
  rocksdb::Status Close();

  rocksdb::Status CreateFamily(uint32_t slot, uint32_t generation);
  // REQUIRES: the family's mutex is held alone.
  rocksdb::Status DropFamily(uint32_t slot);

  rocksdb::DB* db() const { return db_.get(); }
  // Null without transactions.
  rocksdb::TransactionDB* transactions() const { return transactions_; }
  Engine engine() const { return engine_; }
  Family& family(uint32_t slot) { return families_[slot]; }
  const Configuration& configuration() const { return configuration_; }

  // Counts what filters did since it was opened, or since the last call.
  void CountFilters(Totals* totals);

 private:
  const std::string path_;
  const Engine engine_;
  Configuration configuration_;
  rocksdb::Env* const env_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::TransactionDB* transactions_ = nullptr;
  Family families_[kSlots];
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_DATABASE_H_
