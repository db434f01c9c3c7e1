#include "tools/deltabloom/doctor/report.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/doctor/filter_loads.h"

namespace deltabloom::tools {
namespace {

// A filter that matches more than this share of the keys that it does not hold
// saves less than half of the reads.
constexpr double kMostKeys = 0.5;

// The share of the absent keys between the table's keys that its filter
// matches. One that holds prefixes only rejects a key between two of different
// prefixes, if at all.
std::optional<double> RateOf(const DatabaseTable& table) {
  const std::optional<double> rate = table.use.RateInUse();
  if (!table.only_prefixes || !table.counts_filter_keys || !rate.has_value()) {
    return rate;
  }
  const double different =
      std::min(1.0, static_cast<double>(table.filter_keys) /
                        static_cast<double>(table.entries));
  return 1 - different * (1 - *rate);
}

// Returns whether the keys begin with so few prefixes that a filter of these
// rejects next to nothing. Each partition counts its own.
bool HasFewPrefixes(const DatabaseTable& table) {
  constexpr uint64_t kFew = 10;
  return table.only_prefixes && table.counts_filter_keys &&
         table.use.used != false && RateOf(table).value_or(0) > kMostKeys &&
         table.filter_keys <=
             kFew * std::max<uint64_t>(table.filter_partitions, 1);
}

// Returns whether the filter has fewer bits per key than the policy gives now.
// The bits of RocksDB's own filters mean something else.
bool HasFewBits(const DatabaseTable& table, double bits_per_key) {
  // A filter that the policy builds has at most 7 bytes less than its bits
  // make (layout compact). One of refilter lacks the bytes by which its
  // framing, of up to 60, exceeds RocksDB's 5, and what is no whole millibit.
  constexpr double kRounding = 7 + 60 - 5;
  constexpr double kMillibit = 0.001;
  const auto filters =
      static_cast<double>(std::max<uint64_t>(table.filter_partitions, 1));
  const double wanted =
      (bits_per_key - kMillibit) * static_cast<double>(table.filter_keys) / 8;
  return table.counts_filter_keys && table.use.used == true &&
         table.use.kind.compare(0, 11, "Deltabloom ") == 0 &&
         static_cast<double>(table.filter_bytes) + filters * kRounding < wanted;
}

}  // namespace

DatabaseReport ReportOf(Database database) {
  DatabaseReport report{std::move(database), {}, {}, {}};
  std::string problem;
  report.caches = FindFilterLoads(report, &problem);
  if (!problem.empty()) report.problems.push_back(std::move(problem));
  for (const DatabaseTable& table : report.tables) {
    GroupKey key;
    key.family = table.family;
    key.level = table.level;
    key.filter = table.use.kind;
    key.compatibility_name = table.compatibility_name;
    key.used = table.use.used;
    key.weak = table.use.rate.value_or(0) > kMostKeys;
    key.few_prefixes = HasFewPrefixes(table);
    key.needs_no_filter = table.needs_no_filter;
    key.few_bits =
        HasFewBits(table, report.VerdictOf(table.family).bits_per_key);
    report.groups[key].Add({1, table.bytes, table.entries, table.filter_bytes,
                            table.written, table.written});
    if (table.level >= 0) {
      report.reads[table.family].Add(RateOf(table), table.share_of_lookups);
    }
  }
  return report;
}

}  // namespace deltabloom::tools
