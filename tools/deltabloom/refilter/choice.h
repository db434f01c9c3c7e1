// Decides which filter replaces another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "tools/deltabloom/refilter/table.h"
#include "util/layouts/layout.h"

namespace deltabloom::tools {

// The name of RocksDB's own filters, and of Deltabloom's by default.
inline constexpr char kFilterName[] = "rocksdb.BuiltinBloomFilter";

// The settings for a filter with as many bits per key as `bytes` bytes have,
// and else those of the policy.
internal::BuilderSettings SettingsFor(const internal::PolicyOptions& options,
                                      const RefilterTable& table,
                                      const internal::KeyMapping& mapping,
                                      uint64_t bytes);

// The plan for such a filter; without a layout if there is none.
internal::Plan PlanPart(const internal::BuilderSettings& settings,
                        uint64_t keys);

// A filter that is there now, as the policy reads it.
struct OldFilter {
  bool queried;   // not for want of the key transform
  bool has_seed;  // or the options want none
};
OldFilter LookAt(const internal::PolicyOptions& options,
                 std::string_view filter);

// Returns whether a filter of this rate replaces the old one. If the old one
// lacks a seed that is wanted, the new one may match more keys.
bool IsBetter(bool old_has_seed, const std::optional<double>& rate,
              const std::optional<double>& old_rate);

// Sets the outcome by the rates of the table.
void Decide(bool all_have_seeds, RefilterTable* table);

}  // namespace deltabloom::tools
