// A RocksDB of the torture, opened with random options, and what reads it in
// every way that filters take part in.
#ifndef DELTABLOOM_TESTS_TORTURE_DATABASE_H_
#define DELTABLOOM_TESTS_TORTURE_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/transaction_db.h>

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tests/torture/model.h"

namespace deltabloom::torture {

enum class Engine : uint8_t {
  kPlain,           // rocksdb::DB
  kWriteCommitted,  // rocksdb::TransactionDB, and its
  kWritePrepared,   // other write policy
};

// For tests: errors that the torture must find.
struct Sabotage {
  using Policy = std::shared_ptr<const rocksdb::FilterPolicy>;

  std::function<Policy(Policy)> policy;  // replaces a policy
  bool forget_syncs = false;  // what was synced is lost with the power, too
};

// A change of one option of a Deltabloom policy at run time, as "name=value".
std::string DrawChange(bench::MixedNumbers* numbers);

// Whether RocksDB complains of its own order of level 0. Before 7.10 it may
// compact ingested files there into one whose sequence numbers lie within those
// of another; then it notices, and refuses further writes or to open the
// database again (facebook/rocksdb#10922).
bool IsMisorder(const std::string& error);

// A slot's column family; none if handle is null.
struct Family {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  uint32_t generation = 0;
  rocksdb::ColumnFamilyOptions options;
  std::string policy;  // as text
  // Shared by users, exclusive for dropping it.
  std::shared_mutex mutex;
};

struct Database {
  // Draws all options. `env` may be null and must outlive it. Throws
  // std::runtime_error if RocksDB rejects the options.
  Database(const std::string& path, Engine engine, uint64_t seed,
           const Sabotage& sabotage, rocksdb::Env* env);
  ~Database() { static_cast<void>(Close()); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // With all its column families.
  rocksdb::Status Open(bool read_only = false);
  rocksdb::Status Close();

  rocksdb::Status CreateFamily(uint32_t slot, uint32_t generation);
  // REQUIRES: exclusive lock of the family's mutex.
  rocksdb::Status DropFamily(uint32_t slot);

  // Counts what filters did since the last call.
  void CountFilters(Totals* totals);

  const std::string path;
  const Engine engine;
  rocksdb::DBOptions options;
  std::string description;  // of the options: one line per slot
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::TransactionDB* transactions = nullptr;  // null if kPlain
  Family families[kSlots];
};

// Reads and compares. Throws std::runtime_error, which says what is wrong.
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

  // Compares a slot, by an iterator, which consults no filter, with the model.
  // Returns what it holds.
  SlotState Judge(const Model& model, uint32_t slot);

  // The keys by Get and by MultiGet, and some absent ones; each must have the
  // value that `values` has for its number.
  void LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
              const std::vector<Value>& values);

  // The group of the key by an iterator that may consult filters for its
  // prefix; a range from the key on that it may consult them for; and, from
  // the key on, some keys in either direction.
  void Iterate(uint32_t slot, uint32_t key, const std::vector<Value>& values);

  uint64_t errors() const { return errors_; }  // answers that were errors
  uint64_t lookups() const { return lookups_; }

 private:
  void Compare(const char* by, uint32_t slot, const std::string& key,
               const rocksdb::Status& status, const std::string& found,
               const Value& expected);
  void Walk(uint32_t slot, const rocksdb::ReadOptions& options,
            const std::string& start, uint32_t begin, uint32_t end,
            bool forward, const std::vector<Value>& values);
  // An answer that is an error.
  void CountError(const std::string& what, const rocksdb::Status& status);
  std::unique_ptr<rocksdb::Iterator> NewIterator(
      uint32_t slot, const rocksdb::ReadOptions& options);

  Database* const database_;
  Totals* const totals_;
  bench::MixedNumbers numbers_;
  const bool errors_allowed_;
  uint64_t errors_ = 0;
  uint64_t lookups_ = 0;
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_DATABASE_H_
