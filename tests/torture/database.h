// An open RocksDB of the torture, and what reads it in every way that filters
// take part in.
#ifndef DELTABLOOM_TESTS_TORTURE_DATABASE_H_
#define DELTABLOOM_TESTS_TORTURE_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/transaction_db.h>

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tests/torture/model.h"
#include "tests/torture/plan.h"

namespace deltabloom::torture {

// A slot's column family; none if handle is null.
struct Family {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  uint32_t generation = 0;
  // Shared by users, exclusive for dropping it.
  std::shared_mutex mutex;
};

// Whether RocksDB complains of its own order of level 0. Before 7.10 it may
// compact ingested files there into one whose sequence numbers lie within those
// of another; then it notices, and refuses further writes or to open the
// database again (facebook/rocksdb#10922).
bool IsMisorder(const std::string& error);

class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  // `env` may be null and must outlive it.
  Database(std::string path, Engine engine, Configuration configuration,
           rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // With all its column families.
  rocksdb::Status Open(Mode mode);
  // The result of DB::Close.
  rocksdb::Status Close();

  rocksdb::Status CreateFamily(uint32_t slot, uint32_t generation);
  // REQUIRES: exclusive lock of the family's mutex.
  rocksdb::Status DropFamily(uint32_t slot);

  rocksdb::DB* db() const { return db_.get(); }
  // Null without transactions.
  rocksdb::TransactionDB* transactions() const { return transactions_; }
  Engine engine() const { return engine_; }
  Family& family(uint32_t slot) { return families_[slot]; }
  const Configuration& configuration() const { return configuration_; }

  // Counts what filters did since the last call.
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

// Reads and compares. Functions return what is wrong, or nothing.
class Reader {
 public:
  // With `errors_allowed`, an answer may be an error, but never "not found" for
  // a key that is there.
  Reader(Database* database, Totals* totals, uint64_t seed,
         bool errors_allowed = false)
      : database_(database),
        totals_(totals),
        numbers_(seed),
        errors_allowed_(errors_allowed) {}

  // All entries of a slot, by an iterator, which consults no filter.
  std::string Scan(uint32_t slot, std::vector<Value>* values);

  // The keys by Get and by MultiGet, and some absent ones; each must have the
  // value that `values` has for its number.
  std::string LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
                     const std::vector<Value>& values);

  // The group of the key by an iterator that may consult filters for its
  // prefix; a range from the key on that it may consult them for; and, from
  // the key on, some keys in either direction.
  std::string Iterate(uint32_t slot, uint32_t key,
                      const std::vector<Value>& values);

  uint64_t errors() const { return errors_; }  // answers that were errors
  uint64_t lookups() const { return lookups_; }

 private:
  std::string MultiGet(uint32_t slot, const std::vector<uint32_t>& keys,
                       const std::vector<Value>& values);
  std::string Compare(const char* by, uint32_t slot, uint32_t key,
                      const rocksdb::Status& status, const std::string& found,
                      const Value& expected);
  std::string CompareAbsent(const char* by, uint32_t slot, uint32_t key,
                            const rocksdb::Status& status);
  std::string Walk(uint32_t slot, const rocksdb::ReadOptions& options,
                   const std::string& start, uint32_t begin, uint32_t end,
                   bool forward, const std::vector<Value>& values);

  Database* const database_;
  Totals* const totals_;
  bench::MixedNumbers numbers_;
  const bool errors_allowed_;
  uint64_t errors_ = 0;
  uint64_t lookups_ = 0;
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_DATABASE_H_
