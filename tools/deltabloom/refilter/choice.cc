#include "tools/deltabloom/refilter/choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "table/framing.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/refilter/table.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {

internal::BuilderSettings SettingsFor(const internal::PolicyOptions& options,
                                      const RefilterTable& table,
                                      const internal::KeyMapping& mapping,
                                      uint64_t bytes) {
  internal::BuilderSettings settings =
      internal::SettingsFor(options, internal::kMaxMillibits,
                            {table.level, table.bottommost}, mapping);
  settings.detect_corruption = true;  // for MaybePostVerify
  settings.max_filter_bytes = std::min(bytes, settings.max_filter_bytes);
  return settings;
}

internal::Plan PlanPart(const internal::BuilderSettings& settings,
                        uint64_t keys) {
  return internal::PlanSealed(settings, std::max<uint64_t>(keys, 1));
}

OldFilter LookAt(const internal::PolicyOptions& options,
                 std::string_view filter) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  const internal::FilterKind kind = internal::ParseSealed(
      filter, internal::ActiveCpu(), &keys, &parsed, nullptr);
  const bool foreign = kind == internal::FilterKind::kForeign;
  const bool transformed = keys.transformed && !foreign;
  const bool wants_transform = options.key_transform != internal::kNoTransform;
  const bool is_of_transform = options.transform == nullptr ||
                               keys.transform_id == options.transform->id;
  OldFilter old;
  old.queried = transformed == wants_transform && is_of_transform;
  old.has_seed = !options.seeded || (keys.seeded && !foreign);
  return old;
}

bool IsBetter(bool old_has_seed, const std::optional<double>& rate,
              const std::optional<double>& old_rate) {
  const double most = old_has_seed ? 1 : 1 / kMostLeftByRefilter;
  return rate.value_or(1) < std::min(1.0, most * old_rate.value_or(1));
}

void Decide(bool all_have_seeds, RefilterTable* table) {
  const double least =
      all_have_seeds ? kMostLeftByRefilter : 1 / kMostLeftByRefilter;
  const bool gains = *table->rate_after < 1 &&
                     (!table->rate_before.has_value() ||
                      *table->rate_after <= least * *table->rate_before);
  table->outcome = gains ? Outcome::kPlanned : Outcome::kNoGain;
  if (!gains) table->rate_after = table->rate_before;
}

}  // namespace deltabloom::tools
