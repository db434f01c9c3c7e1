#include "tools/deltabloom/refilter/results.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/refilter/policies.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

// The names are in the order of Outcome.
constexpr const char* kOutcomes[] = {"planned", "replaced", "no_gain",
                                     "left",    "failed",   "gone"};

std::string RateText(const std::optional<double>& rate) {
  return rate.has_value() ? Percent(*rate) : "?";
}

// The tables of a level or a column family.
struct Group {
  uint64_t keys = 0;
  uint64_t bytes = 0;
  std::map<std::string, uint64_t> filters;  // before: the number of tables
  Reads before;
  Reads after;
};

struct Totals {
  std::map<std::pair<std::string, int>, Group> levels;
  std::map<std::string, Group> families;
  std::map<std::string, uint64_t> not_used;  // tables, by column family
  Json outcomes;                             // the number of tables of each
};

Totals CountTables(const std::vector<RefilterTable>& tables,
                   const Policies& policies) {
  Totals totals;
  for (const char* outcome : kOutcomes) totals.outcomes[outcome] = 0;
  for (const RefilterTable& table : tables) {
    Json& count =
        totals.outcomes[kOutcomes[static_cast<size_t>(table.outcome)]];
    count = count.get<uint64_t>() + 1;
    if (table.outcome == Outcome::kGone) continue;
    const bool has_new_filter = table.outcome == Outcome::kReplaced ||
                                table.outcome == Outcome::kPlanned;
    if (has_new_filter && policies.without_policy.count(table.family) > 0) {
      ++totals.not_used[table.family];
    }
    for (Group* group : {&totals.levels[{table.family, table.level}],
                         &totals.families[table.family]}) {
      group->keys += table.keys;
      group->bytes += table.filter_bytes;
      ++group->filters[table.before.empty() ? "none" : table.before];
      group->before.Add(table.rate_before, table.share_of_lookups);
      group->after.Add(table.rate_after, table.share_of_lookups);
    }
  }
  return totals;
}

void ShowLevels(const Totals& totals, Console* console) {
  std::vector<std::vector<std::string>> rows = {
      {"column family", "level", "filters", "keys", "filter bytes", "reads now",
       "reads after"}};
  console->StartArray("levels");
  for (const auto& [key, group] : totals.levels) {
    std::string kinds;
    for (const auto& [kind, tables] : group.filters) {
      kinds +=
          (kinds.empty() ? "" : ", ") + std::to_string(tables) + " " + kind;
    }
    console->AddElement({{"column_family", key.first},
                         {"level", key.second},
                         {"filters", group.filters},
                         {"keys", group.keys},
                         {"filter_bytes", group.bytes},
                         {"reads_before", NumberOrNull(group.before.Sum())},
                         {"reads_after", NumberOrNull(group.after.Sum())}});
    rows.push_back({key.first, std::to_string(key.second), kinds,
                    std::to_string(group.keys), std::to_string(group.bytes),
                    group.before.Text(), group.after.Text()});
  }
  console->Table(rows, 3);
}

void ShowFamilies(const Totals& totals, Console* console) {
  console->StartArray("column_families");
  for (const auto& [name, group] : totals.families) {
    console->AddElement({{"name", name},
                         {"reads_before", NumberOrNull(group.before.Sum())},
                         {"reads_after", NumberOrNull(group.after.Sum())}});
    console->Line("column family " + name +
                  ": reads of a lookup of an absent key: " +
                  group.before.Text() + " -> " + group.after.Text());
  }
}

std::string OutcomesText(const Json& outcomes, bool dry_run) {
  return (dry_run ? outcomes["planned"].dump() + " to be replaced"
                  : outcomes["replaced"].dump() + " replaced") +
         ", " + outcomes["no_gain"].dump() + " without a gain, " +
         outcomes["left"].dump() + " left as they are, " +
         outcomes["failed"].dump() + " failed, " + outcomes["gone"].dump() +
         " gone meanwhile";
}

void WarnOfFiltersNotUsed(const Totals& totals, const Policies& policies,
                          Console* console) {
  for (const auto& [name, tables] : totals.not_used) {
    console->Error("warning: column family " + name + " was " +
                   policies.without_policy.at(name) +
                   ": until it is opened with "
                   "Deltabloom's policy, lookups of absent keys read a "
                   "data block in each of " +
                   Count(tables, "table", "tables"));
  }
}

}  // namespace

void ShowTable(const RefilterTable& table, Console* console) {
  Json json = {{"file", table.path},
               {"column_family", table.family},
               {"level", table.level},
               {"result", kOutcomes[static_cast<size_t>(table.outcome)]},
               {"reason", TextOrNull(table.reason)},
               {"keys", table.keys},
               {"filter_bytes", table.filter_bytes},
               {"before",
                {{"filter", TextOrNull(table.before)},
                 {"rate", NumberOrNull(table.rate_before)}}},
               {"after",
                {{"filter", TextOrNull(table.after)},
                 {"rate", NumberOrNull(table.rate_after)}}}};
  console->AddElement(json);
  const std::string before = table.before + ", " + RateText(table.rate_before);
  if (table.outcome == Outcome::kGone) {
    console->Line(table.path + ": gone meanwhile");
  } else if (table.outcome == Outcome::kFailed) {
    console->Error(table.path + ": " + table.reason);
  } else if (table.outcome == Outcome::kLeft) {
    console->Line(table.path + ": left as it is: " + table.reason);
  } else if (table.outcome == Outcome::kNoGain) {
    console->Line(table.path + ": left as it is: " + before +
                  ", no better one fits");
  } else {
    console->Line(table.path + ": " + before + " -> " + table.after + ", " +
                  RateText(table.rate_after));
  }
}

ExitCode ShowTotals(const std::vector<RefilterTable>& tables,
                    const Policies& policies, bool dry_run,
                    const std::string& stopped, Console* console) {
  const Totals totals = CountTables(tables, policies);
  ShowLevels(totals, console);
  ShowFamilies(totals, console);
  console->Add("summary", totals.outcomes);
  console->Add("not_used", Json(totals.not_used));
  console->Line(Count(tables.size(), "table", "tables") + ": " +
                OutcomesText(totals.outcomes, dry_run) +
                (stopped.empty() ? "" : "; " + stopped));
  WarnOfFiltersNotUsed(totals, policies, console);
  return totals.outcomes["failed"] > 0 || !stopped.empty() ? kFailure
                                                           : kSuccess;
}

}  // namespace deltabloom::tools
