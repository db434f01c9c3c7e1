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

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
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
// So often is a policy asked for other bits, until its filters have as many.
constexpr int kAttempts = 3;
// Of the lookups of absent keys, those of the mix: its reads are half known.
constexpr uint64_t kMixShare = 4;

constexpr Rates::Effort kEffort = {100'000, 16'000'000, true};
constexpr Rates::Effort kQuickEffort = {10'000, 1'000'000, true};

uint64_t LookupsOf(const Options& options, const Contender& contender) {
  return contender.allocation == Allocation::kNone
             ? std::max<uint64_t>(1000, options.lookups / kFewerLookups)
             : options.lookups;
}

// A settled tree has the same runs in every database.
void RequireSame(const Contender& contender, const Tree& tree,
                 const Tree& bare) {
  const bool same =
      std::equal(tree.runs.begin(), tree.runs.end(), bare.runs.begin(),
                 bare.runs.end(), [](const Run& a, const Run& b) {
                   return a.level == b.level && a.Entries() == b.Entries() &&
                          a.tables.size() == b.tables.size();
                 });
  if (same) return;
  throw std::runtime_error(
      contender.name + ": the tree differs from the one without a filter: " +
      DescribeRuns(tree) + " instead of " + DescribeRuns(bare));
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
    // The shape by which the others are made.
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
    const bool settled = plan_.growth == Growth::kSettled;
    double bits_per_key = options_.bits_per_key;
    for (int attempt = 1;; ++attempt) {
      std::optional<Result> result =
          MeasureOnce(contender, bits_per_key, settled && attempt < kAttempts);
      if (result) return *std::move(result);
      bits_per_key *= options_.bits_per_key / found_bits_per_key_;
    }
  }

  // None if the filters must have as many bytes as those of the others, and do
  // not.
  std::optional<Result> MeasureOnce(const Contender& contender,
                                    double bits_per_key, bool may_try_again) {
    Result result;
    result.contender = contender;
    MadePolicy made;
    if (bare_) {
      made = MakePolicy(contender, *bare_, bits_per_key, rates_);
      result.bits_asked = made.bits_asked;
    }
    const std::filesystem::path path =
        workspace_->Add(plan_.Name() + "-" + contender.name);
    {
      Database database(path.string(), made.policy, made.listener);
      progress_->SetActivity(plan_.Name() + ", " + contender.name);
      Make(&database);
      result.tree = ReadTree(database.db(), contender.filter);
      if (!bare_) bare_ = result.tree;
      if (HasItsBytes(contender, result.tree, may_try_again)) {
        LookUp(database, &result);
        may_try_again = false;
      }
    }
    if (options_.db.empty() || may_try_again) workspace_->Remove(path);
    if (may_try_again) return std::nullopt;
    return result;
  }

  void Make(Database* database) {
    if (plan_.growth == Growth::kSettled) {
      database->Settle(plan_, progress_);
    } else {
      database->Grow(plan_, progress_);
    }
  }

  // Where a tree grows, only the bits per key that are asked for are equal.
  bool HasItsBytes(const Contender& contender, const Tree& tree,
                   bool may_try_again) {
    if (plan_.growth != Growth::kSettled) return true;
    RequireSame(contender, tree, *bare_);
    if (contender.allocation == Allocation::kNone) return true;
    found_bits_per_key_ = tree.BitsPerKey();
    const double share = found_bits_per_key_ / options_.bits_per_key;
    if (std::fabs(share - 1) <= kBytesTolerance) return true;
    if (may_try_again) return false;
    throw std::runtime_error(contender.name + ": the filters have " +
                             std::to_string(found_bits_per_key_) +
                             " bits per key, not " +
                             std::to_string(options_.bits_per_key));
  }

  void LookUp(const Database& database, Result* result) {
    const auto wanted = [&](const Contender& contender) {
      return contender.name == result->contender.name;
    };
    if (std::none_of(options_.contenders.begin(), options_.contenders.end(),
                     wanted)) {
      return;  // it is there for its shape alone
    }
    const uint64_t lookups = LookupsOf(options_, result->contender);
    result->absent = LookUpAbsent(database, lookups, options_.seed, progress_);
    result->mixed =
        LookUpMixed(database, lookups / kMixShare, options_.seed, progress_);
    result->predicted_absent = PredictAbsent(result->tree, rates_);
    result->formula_absent = FormulaAbsent(result->tree);
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
  double found_bits_per_key_ = 0;
};

double Steps(const Options& options) {
  double steps = 0;
  for (const TreePlan& plan : options.trees) {
    for (const Contender& contender : options.contenders) {
      steps += static_cast<double>(plan.keys + LookupsOf(options, contender) *
                                                   (kMixShare + 1) / kMixShare);
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
