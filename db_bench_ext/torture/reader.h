// Reads a database in every way that filters have a part in, and compares.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_READER_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_READER_H_

#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/torture/database.h"
#include "db_bench_ext/torture/model.h"

namespace deltabloom::torture {

// What is wrong, if anything; and counts. Where `errors_allowed`, an answer may
// be an error, but never "not found" for a key that is there.
class Reader {
 public:
  Reader(Database* database, Totals* totals, uint64_t seed,
         bool errors_allowed = false);

  // All entries of a slot, by an iterator, which asks no filter.
  std::string Scan(uint32_t slot, std::vector<Value>* values);

  // The keys by Get or MultiGet, and some that are not there; each must have
  // the value that `values` has for its number.
  std::string Get(uint32_t slot, const std::vector<uint32_t>& keys,
                  const std::vector<Value>& values);
  std::string MultiGet(uint32_t slot, const std::vector<uint32_t>& keys,
                       const std::vector<Value>& values);

  // The group of the key by an iterator that may ask filters for its prefix;
  // and, from the key on, some keys in both directions.
  std::string IterateGroup(uint32_t slot, uint32_t key,
                           const std::vector<Value>& values);

  // The answers that were errors.
  uint64_t errors() const { return errors_; }
  uint64_t lookups() const { return lookups_; }

 private:
  std::vector<rocksdb::Status> GetMany(rocksdb::ColumnFamilyHandle* family,
                                       const std::vector<rocksdb::Slice>& keys,
                                       std::vector<std::string>* values);
  std::string Text(uint32_t slot, uint32_t key);
  std::string Compare(const char* by, uint32_t slot, uint32_t key,
                      const rocksdb::Status& status, const std::string& found,
                      const Value& expected);
  std::string CompareAbsent(const char* by, uint32_t slot, uint32_t key,
                            const rocksdb::Status& status);
  // A range from the key on that filters may be asked about.
  std::string IterateRange(uint32_t slot, uint32_t key,
                           const std::vector<Value>& values);
  std::string IterateOn(uint32_t slot, uint32_t key,
                        const std::vector<Value>& values);

  Database* const database_;
  Totals* const totals_;
  bench::MixedNumbers numbers_;
  const bool errors_allowed_;
  uint64_t errors_ = 0;
  uint64_t lookups_ = 0;
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_READER_H_
