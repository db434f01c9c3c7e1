// The filters that are compared.
#pragma once

#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace deltabloom::demo {

inline constexpr char kNoFilter[] = "none";
inline constexpr char kRocksDBBloom[] = "rocksdb-bloom";
// Layout compact with the same bits per key in all tables.
inline constexpr char kUniform[] = "deltabloom-compact-uniform";
// Deltabloom's policy with bits_per_key and nothing else set.
inline constexpr char kDefault[] = "deltabloom";

// All names; the first has no filter.
const std::vector<std::string>& FilterNames();

struct Policy {
  std::shared_ptr<const rocksdb::FilterPolicy> filters;  // null: no filter
  // deltabloom refilter replaces the filters of the loaded database.
  bool refilters = false;
  std::function<void(rocksdb::Options*)> add_to;  // null: nothing else is set
  double bits_per_key = 0;                        // the setting
};

// The policy of one of FilterNames(). RocksDB's Ribbon stores some 30 % less
// than bits_per_key. Throws std::runtime_error.
Policy MakePolicy(const std::string& name, double bits_per_key);

}  // namespace deltabloom::demo
