// The filters that are compared, and how their bits are spread over the runs.
#pragma once

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/db/tree.h"
#include "util/rates/allocation.h"

namespace deltabloom::db_reads {

inline constexpr char kRocksDBBloom[] = "rocksdb-bloom";

enum class Variant : uint8_t {
  kUniform,   // the same bits per key in all tables
  kByHand,    // the best bits of each level of a planned tree, set per level
  kLevels,    // allocation=levels: the policy learns the tree
  kRefilter,  // of RocksDB, then those of deltabloom refilter
};

struct Contender {
  std::string name;    // "deltabloom-auto-levels"
  std::string filter;  // "deltabloom-auto"; "none": no filter
  Variant variant = Variant::kUniform;
};

// All contenders; the first has no filter.
const std::vector<Contender>& Contenders();

// Throws UsageError, which names `option`.
Contender FindContender(const std::string& option, const std::string& name);

struct Policy {
  std::shared_ptr<const rocksdb::FilterPolicy> filters;  // null: no filter
  std::shared_ptr<rocksdb::EventListener> listener;      // for kLevels
  std::function<void(rocksdb::Options*)> add_to;  // null: nothing else is set
  std::vector<double> bits;  // settings: one, or one per run, newest first
};

// A policy with bits_per_key as its setting. RocksDB's Ribbon stores some 30 %
// less. REQUIRES: not kByHand.
Policy MakePolicy(const Contender& contender, double bits_per_key);

// A policy whose filters have bits_per_key on average in the planned tree, with
// `table_keys` keys per table at most. kLevels takes bits_per_key as its
// setting.
Policy MakePolicyOfSize(const Contender& contender, const TreePlan& plan,
                        uint64_t table_keys, double bits_per_key);

// The rates of a filter by stored bits per key, as AllocateBits takes them.
const internal::RateCurve& CurveOfFilter(const std::string& filter);

}  // namespace deltabloom::db_reads
