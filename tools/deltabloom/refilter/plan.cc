// Decides for one table whether refilter replaces its filter.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "engines/rocksdb/base/key_transforms.h"
#include "table/framing.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/refilter/choice.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;

// Estimates how many of the table's keys are in this many bytes of its filter.
double KeysIn(const RefilterTable& table, uint64_t bytes) {
  return static_cast<double>(table.keys) * static_cast<double>(bytes) /
         static_cast<double>(std::max<uint64_t>(table.filter_bytes, 1));
}

// Estimates what another filter in the same bytes gains.
void PlanFilter(const RefilterOptions& options, const SstSource& source,
                const SstFile& file, RefilterTable* table) {
  const SstFilter& filter = file.filters[0];
  RateSum before;
  RateSum after;
  bool all_have_seeds = true;
  internal::HashedKeys hashed;
  hashed.seeded = options.filter.seeded;
  const internal::KeyMapping mapping(options.filter.transform, hashed);
  for (const BlockHandle& handle : FilterBlocks(source, file, filter)) {
    const std::string bytes = ReadBlock(source, file, handle);
    const double keys = KeysIn(*table, handle.size);
    const auto whole_keys = static_cast<uint64_t>(keys + 0.5);
    const OldFilter old = LookAt(options.filter, bytes);
    const auto old_rate =
        old.queried ? RateOfSealedFilter(bytes, whole_keys) : 1;
    before.Add(old_rate, keys);
    const internal::Plan plan = PlanPart(
        SettingsFor(options.filter, *table, mapping, handle.size), whole_keys);
    const std::string kind = KindOfFilter(filter.policy, bytes);
    const std::string new_kind =
        std::string("Deltabloom ") +
        (plan.layout == nullptr ? "none" : plan.layout->name);
    // A partition that is too small for a new filter keeps the old one.
    double new_rate = plan.layout == nullptr ? 1 : internal::PlanRate(plan);
    // The same layout cannot have more bits in the same bytes. If it seems to,
    // the number of keys is overestimated, and the rates are corrected for
    // that.
    if (kind == new_kind && old.queried) {
      const internal::Plan unseeded =
          PlanPart(SettingsFor(options.filter, *table,
                               {options.filter.transform, {}}, handle.size),
                   whole_keys);
      new_rate *= std::max(1.0, old_rate.value_or(1) / PlanRate(unseeded));
    }
    const bool better = IsBetter(old.has_seed, new_rate, old_rate);
    all_have_seeds = all_have_seeds && (old.has_seed || !better);
    after.Add(better ? new_rate : old_rate, keys);
    if (table->before.empty()) {
      table->before = kind;
      table->after = new_kind;
    }
  }
  table->rate_before = before.Rate();
  table->rate_after = after.Rate().value_or(1);
  Decide(all_have_seeds, table);
}

// Returns why the filter cannot be replaced, whatever that would gain; nothing
// if it can be.
std::string WhyItStays(const RefilterOptions& options, const SstFile& file,
                       const RefilterTable& table) {
  struct stat status;
  if (::lstat(table.path.c_str(), &status) != 0) {
    Check(table.path + ": cannot be examined: " + std::strerror(errno));
  }
  const SstFilter& filter = file.filters[0];
  if (file.filters.size() != 1 || filter.scope == FilterScope::kPerBlock) {
    return "it has a filter per block";
  }
  if (filter.policy != kFilterName) {
    return "its filter has the name " + filter.policy;
  }
  if (table.has_checksum) {
    return "the MANIFEST has a checksum of the file "
           "(file_checksum_gen_factory)";
  }
  std::string no_prefixes;
  const FilterContent content = FindContent(file, &no_prefixes);
  if (!no_prefixes.empty()) return no_prefixes;
  const std::string problem = content.OrderProblem(filter);
  if (!problem.empty()) return problem;
  if (!S_ISREG(status.st_mode)) return "it is a symbolic link";
  const std::string unknown = UnknownProperty(file);
  if (!unknown.empty() && !options.untested) {
    return "it has the property " + unknown + ", which no RocksDB up to " +
           LastKnownRocksDB() +
           " writes, so that its filter may hold other keys or prefixes "
           "(--untested)";
  }
  return options.problem;
}

// Throws what cannot be read. Sets `reason` if the table has to stay.
void PlanTable(const RefilterOptions& options, const SstSource& source,
               RefilterTable* table) {
  if (source.Size() != table->size) {
    Check(source.Name() + ": expected " + std::to_string(table->size) +
          " bytes by the MANIFEST, found " + std::to_string(source.Size()));
  }
  const SstFile file = ReadSst(source);
  table->bytewise = IsBytewise(TextOf(file, "rocksdb.comparator"));
  table->filter_keys = FilterKeysOf(file);
  if (file.filters.empty()) {
    table->reason = "it has no filter, and no room for one";
    table->rate_before = 1;
    return;
  }
  table->filter_bytes = file.filters[0].bytes;
  table->keys = table->filter_keys;
  PlanFilter(options, source, file, table);
  table->reason = WhyItStays(options, file, *table);
}

}  // namespace

void Conclude(const std::string& error, RefilterTable* table) {
  if (!error.empty()) {
    // The text is shown with the name of the table, so the reason does not
    // repeat it.
    const std::string path = table->path + ": ";
    const bool is_named = error.compare(0, path.size(), path) == 0;
    table->outcome = Outcome::kFailed;
    table->reason = error.substr(is_named ? path.size() : 0);
  } else if (!table->reason.empty()) {
    table->outcome = Outcome::kLeft;
  }
  const bool better = table->outcome == Outcome::kPlanned ||
                      table->outcome == Outcome::kReplaced;
  if (better) return;
  table->after = table->before;
  table->rate_after = table->rate_before;
}

void PlanRefilter(const RefilterOptions& options, RefilterTable* table) {
  table->reason.clear();
  table->before.clear();
  Conclude(ReadTable(table->path,
                     [&](const SstSource& source) {
                       PlanTable(options, source, table);
                     }),
           table);
}

}  // namespace deltabloom::tools
