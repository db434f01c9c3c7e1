// Tells from a table's properties what RocksDB has put into its filters. Only
// in builds with RocksDB, which knows comparators and prefix extractors.
#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

inline rocksdb::Slice ToSlice(std::string_view key) {
  return {key.data(), key.size()};
}

// The properties of a table that concern the keys in its filter.
struct FilterContent {
  std::string comparator;
  const rocksdb::Comparator* order = nullptr;  // null if it is not known here
  size_t timestamp_size = 0;                   // in this file
  bool whole_keys = true;
  std::shared_ptr<const rocksdb::SliceTransform> prefixes;  // null for none

  // Why the partitions of keys are not known; nothing if they are.
  std::string OrderProblem(const internal::SstFilter& filter) const;
};

// *no_prefixes receives why the prefixes are not known, or nothing.
FilterContent FindContent(const internal::SstFile& file,
                          std::string* no_prefixes);

// Returns the name of a property of RocksDB that the releases with which these
// rules were compared, up to kLastKnownRocksDB, do not write; empty: there is
// none. A later release may put other keys or prefixes into the filters of such
// a table.
std::string UnknownProperty(const internal::SstFile& file);

}  // namespace deltabloom::tools
