#include "tools/deltabloom/estimate/future.h"

#include <string>
#include <vector>

#include "tools/deltabloom/estimate/model.h"
#include "tools/deltabloom/estimate/page.h"
#include "tools/deltabloom/estimate/text.h"
#include "tools/program/console.h"
#include "util/layouts/layout.h"

namespace deltabloom::tools {
namespace {

using Cells = std::vector<std::string>;

void ShowTree(const TreeOptions& options, const std::vector<TreeLevel>& tree,
              Console* console) {
  console->Line(Count(options.keys) + " keys of " +
                Format("%g", options.entry_bytes) + " bytes, " +
                Bytes(options.keys * options.entry_bytes) + ", size ratio " +
                Format("%g", options.size_ratio));
  console->Line("");
  std::vector<Cells> rows = {{"", "sorted runs", "tables", "keys", "% of all"}};
  for (const TreeLevel& level : tree) {
    rows.push_back({level.name, Count(level.runs), Count(level.tables),
                    Count(level.keys), Short(100 * level.keys / options.keys)});
  }
  console->Table(rows, 1);
}

void ShowFilters(const std::vector<TreeLevel>& tree,
                 const std::vector<FilterEstimate>& estimates,
                 Console* console) {
  std::vector<Cells> rows = {
      {"filter", "bits_per_key", "bits per key", "memory", "reads of",
       "reads of", "fewer than", "building", ""},
      {"", "", "by level", "of filters", "absent key", "present key",
       "rocksdb-bloom", "a filter", ""}};
  const double baseline = estimates.front().absent_reads;
  for (const FilterEstimate& estimate : estimates) {
    rows.push_back({estimate.filter, Format("%g", estimate.bits_per_key),
                    BitsByLevel(tree, estimate), Bytes(estimate.bytes),
                    Short(estimate.absent_reads),
                    Format("%.4f", estimate.present_reads),
                    estimate.absent_reads > 0
                        ? Short(baseline / estimate.absent_reads) + " x"
                        : "-",
                    Bytes(estimate.build_bytes), estimate.remark});
  }
  console->Table(rows, 1);
}

Json ToJson(const TreeOptions& options, const std::vector<TreeLevel>& tree,
            const std::vector<FilterEstimate>& estimates) {
  Json json = {{"keys", options.keys},
               {"entry_bytes", options.entry_bytes},
               {"size_ratio", options.size_ratio},
               {"levels", ToJson(tree)},
               {"filters", Json::array()}};
  for (const FilterEstimate& estimate : estimates) {
    json["filters"].push_back(ToJson(estimate));
  }
  return json;
}

}  // namespace

ExitCode EstimateFuture(const TreeOptions& options, const Budget& asked,
                        const std::string& page, Console* console) {
  const std::vector<TreeLevel> tree = BuildTree(options);
  Budget budget = asked;
  if (budget.bytes == 0 && budget.absent_reads == 0 &&
      budget.bits_per_key == 0) {
    budget.bits_per_key = 10;
  }
  const std::vector<FilterEstimate> estimates = EstimateFilters(tree, budget);
  const FilterEstimate& last = estimates.back();
  if (budget.bytes > 0 && last.bytes == 0) {
    RejectTotal(budget.bytes,
                EstimateFilters(tree, {internal::kMinBitsPerKey}).back().bytes);
  }
  if (!page.empty()) {
    const ExitCode written =
        WritePage(page, options, last.bits_per_key, Json::object(), console);
    if (written != kSuccess || options.keys == 0) return written;
  }
  console->AddAll(ToJson(options, tree, estimates));
  ShowTree(options, tree, console);
  console->Line("");
  ShowFilters(tree, estimates, console);
  console->Line("");
  console->Line(PolicyLine(estimates));
  return kSuccess;
}

}  // namespace deltabloom::tools
