// What filters save on trees of several levels, at equal filter bytes: with
// bits spread uniformly, and with bits that each level needs.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/output_file.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/progress.h"
#include "db_bench_ext/common/workspace.h"
#include "db_bench_ext/levels/contenders.h"
#include "db_bench_ext/levels/database.h"
#include "db_bench_ext/levels/measure.h"
#include "db_bench_ext/levels/options.h"
#include "db_bench_ext/levels/report.h"

namespace deltabloom::levels {
namespace {

using bench::OutputFile;
using bench::Print;

// Without a filter every lookup reads from every run, always.
constexpr uint64_t kFewerLookups = 20;
// Filters are compared at equal bytes: within this.
constexpr double kBytesTolerance = 0.01;

constexpr Rates::Effort kEffort = {100'000, 16'000'000, true};
constexpr Rates::Effort kQuickEffort = {10'000, 1'000'000, true};

uint64_t LookupsOf(const Options& options, const Contender& contender) {
  return contender.allocation == Allocation::kNone
             ? std::max<uint64_t>(1000, options.lookups / kFewerLookups)
             : options.lookups;
}

// A settled tree has the same runs in every database; where a filter grew the
// tree, only its bits per key can be equal.
void Require(const TreePlan& plan, const Contender& contender, const Tree& tree,
             const Tree& bare, double bits_per_key) {
  if (plan.growth != Growth::kSettled) return;
  const bool same =
      std::equal(tree.runs.begin(), tree.runs.end(), bare.runs.begin(),
                 bare.runs.end(), [](const Run& a, const Run& b) {
                   return a.level == b.level && a.Entries() == b.Entries() &&
                          a.tables.size() == b.tables.size();
                 });
  if (!same) {
    throw std::runtime_error(
        contender.name + ": the tree differs from the one without a filter: " +
        DescribeRuns(tree) + " instead of " + DescribeRuns(bare));
  }
  if (contender.allocation == Allocation::kNone) return;
  if (std::fabs(tree.BitsPerKey() / bits_per_key - 1) > kBytesTolerance) {
    throw std::runtime_error(contender.name + ": the filters have " +
                             std::to_string(tree.BitsPerKey()) +
                             " bits per key, not " +
                             std::to_string(bits_per_key));
  }
}

// A settled tree as it was planned.
void RequirePlanned(const TreePlan& plan, const Tree& tree) {
  if (plan.growth != Growth::kSettled) return;
  const std::vector<uint64_t> planned = SettledRuns(plan);
  bool same = planned.size() == tree.runs.size();
  for (size_t i = 0; same && i < planned.size(); ++i) {
    same = tree.runs[i].level == static_cast<int>(i) &&
           tree.runs[i].Entries() == planned[i];
  }
  if (!same) {
    throw std::runtime_error("the tree did not settle as planned: " +
                             DescribeRuns(tree));
  }
}

class TreeBench {
 public:
  TreeBench(const Options& options, const TreePlan& plan,
            bench::Workspace* workspace, Rates* rates,
            bench::ProgressBar* progress)
      : options_(options),
        plan_(plan),
        workspace_(workspace),
        rates_(rates),
        progress_(progress) {}

  TreeResults Run() {
    TreeResults tree{plan_, {}};
    // The shape by which the others are made, measured only if asked for.
    Result bare = Measure(Contenders().front());
    RequirePlanned(plan_, *bare_);
    for (const Contender& contender : options_.contenders) {
      tree.results.push_back(contender.allocation == Allocation::kNone
                                 ? bare
                                 : Measure(contender));
    }
    return tree;
  }

 private:
  Result Measure(const Contender& contender) {
    Result result;
    result.contender = contender;
    PolicyPointer policy;
    if (bare_) {
      MadePolicy made =
          MakePolicy(contender, *bare_, options_.bits_per_key, rates_);
      policy = std::move(made.policy);
      result.bits_asked = std::move(made.bits_asked);
    }
    const std::filesystem::path path =
        workspace_->Add(plan_.Name() + "-" + contender.name);
    {
      Database database(path.string(), policy);
      progress_->SetActivity(plan_.Name() + ", " + contender.name);
      if (plan_.growth == Growth::kSettled) {
        database.Settle(plan_, progress_);
      } else {
        database.Grow(plan_, progress_);
      }
      result.tree = ReadTree(database.db(), contender.filter);
      if (!bare_) bare_ = result.tree;
      Require(plan_, contender, result.tree, *bare_, options_.bits_per_key);
      LookUp(database, &result);
    }
    if (options_.db.empty()) workspace_->Remove(path);
    return result;
  }

  void LookUp(const Database& database, Result* result) {
    const uint64_t lookups = LookupsOf(options_, result->contender);
    result->absent = LookUpAbsent(database, lookups, options_.seed, progress_);
    result->mixed = LookUpMixed(database, lookups, options_.seed, progress_);
    result->predicted_absent = PredictAbsent(result->tree, rates_);
    result->predicted_mixed = PredictMixed(result->tree, result->mixed, rates_);
    if (result->contender.allocation == Allocation::kNone) return;
    result->uniform_reads =
        RatesOfUniform(result->contender, result->tree, rates_);
    result->best_reads = RatesOfBest(result->contender, result->tree, rates_);
  }

  const Options& options_;
  const TreePlan plan_;
  bench::Workspace* const workspace_;
  Rates* const rates_;
  bench::ProgressBar* const progress_;
  std::optional<Tree> bare_;
};

double Steps(const Options& options) {
  double steps = 0;
  for (const TreePlan& plan : options.trees) {
    for (const Contender& contender : options.contenders) {
      steps +=
          static_cast<double>(plan.keys + 2 * LookupsOf(options, contender));
    }
  }
  return steps;
}

int Main(const Options& options) {
  std::optional<OutputFile> json, csv;
  if (!options.json.empty()) json.emplace("--json", options.json);
  if (!options.csv.empty()) csv.emplace("--csv", options.csv);
  bench::Workspace workspace(options.db, "deltabloom-levels");
  uint64_t disk_bytes = 0;
  for (const TreePlan& plan : options.trees) {
    const uint64_t bytes = EstimateDiskBytes(plan);
    disk_bytes = options.db.empty()
                     ? std::max(disk_bytes, bytes)
                     : disk_bytes + bytes * options.contenders.size();
  }
  workspace.RequireFreeBytes(disk_bytes);
  Print(FormatSetting(options));

  bench::ProgressBar progress(Steps(options));
  Rates rates(options.quick ? kQuickEffort : kEffort, options.seed,
              [&](const std::string& what) {
                if (!what.empty()) progress.SetActivity(what);
              });
  std::vector<TreeResults> trees;
  for (const TreePlan& plan : options.trees) {
    trees.push_back(
        TreeBench(options, plan, &workspace, &rates, &progress).Run());
    progress.Clear();
    Print(FormatTree(trees.back()));
  }
  if (json) {
    json->Write([&](std::ostream* out) { *out << FormatJson(options, trees); });
    json->Publish();
  }
  if (csv) {
    csv->Write([&](std::ostream* out) { WriteCsv(trees, out); });
    csv->Publish();
  }
  workspace.Keep();
  return 0;
}

}  // namespace
}  // namespace deltabloom::levels

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("levels_bench", [argc, argv] {
    deltabloom::levels::Options options;
    if (!deltabloom::levels::ParseOptions(argc, argv, &options)) return 0;
    return deltabloom::levels::Main(options);
  });
}
