// The range filters that are compared: how each is added to a database, and how
// a scan uses it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/demo/schemas.h"

namespace deltabloom::demo {

// All names; the first has no range filter. rocksdb-segments is there if the
// RocksDB compiled against has it.
const std::vector<std::string>& RangeFilterNames();

// The range filter of one database; the base class is none.
class RangeFilter {
 public:
  virtual ~RangeFilter() = default;

  virtual void AddTo(rocksdb::Options* options) const;

  // Bounds of a scan as RocksDB takes them; an iterator must not outlive them.
  struct Bounds {
    explicit Bounds(const Scan& scan) : lower(scan.lower), upper(scan.upper) {}
    const rocksdb::Slice lower, upper;
  };
  virtual std::unique_ptr<rocksdb::Iterator> NewIterator(rocksdb::DB* db,
                                                         const Bounds& bounds);

  // Moves the iterator to the last key of the scan.
  virtual void SeekToLast(const Bounds& bounds,
                          rocksdb::Iterator* iterator) const;

  // Returns how often the filter was asked about a table.
  virtual uint64_t TablesAsked() const { return 0; }

  // The table property that holds the filter; "": none.
  virtual std::string Property() const { return ""; }
};

// Null if the keys of the schema have nothing that the filter could hold.
std::unique_ptr<RangeFilter> NewRangeFilter(const std::string& name,
                                            const Schema& schema,
                                            double bits_per_key);

}  // namespace deltabloom::demo
