#include "engines/rocksdb/levels/tree_bits.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "engines/rocksdb/levels/full_tree.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {
namespace {

// Takes the place of kMostExcess where whole runs are written. Like that one it
// is promised to users (docs/levels.md). With 0.03 instead lookups have 1.31
// times as many false positives (docs/measurements.md).
constexpr double kMostExcessOfRuns = 0.05;

// The part of the free bits that a whole run may have. The rest is left to
// later runs, each of which may have the same part of it. With all that is free
// instead, or with a quarter, lookups have 1.24 and 1.19 times as many false
// positives (docs/measurements.md).
constexpr double kPartOfFree = 0.5;

}  // namespace

void TreeBits::SetUse(const RunUse& use, double min_bits) {
  use_ = use;
  min_bits_ = min_bits;
}

double TreeBits::UseOf(int origin) const {
  const auto it = use_.find(origin);
  return it == use_.end() ? 1 : it->second;
}

bool TreeBits::IsNeeded(int origin) const {
  return goal_ == BitsGoal::kRate || UseOf(origin) >= kNeededUse;
}

double TreeBits::LeastBits() const {
  if (use_.empty()) return 0;
  return goal_ == BitsGoal::kRate ? min_bits_ : std::min(min_bits_, average_);
}

SortedRun TreeBits::Weighted(int origin, const LevelRuns& runs) const {
  return {runs.keys, runs.runs * UseOf(origin), nullptr, LeastBits()};
}

std::vector<SortedRun> TreeBits::RunsOf(const FullTree& tree) const {
  std::vector<SortedRun> runs;
  for (const auto& [level, of] : tree.levels) {
    runs.push_back(Weighted(tree.InLastRun(level) ? kBottommost : level, of));
  }
  return runs;
}

FullTree TreeBits::PlanWith(const NewTable& table) const {
  std::map<int, LevelRuns> levels = Levels();
  if (table.level > 0) {
    LevelRuns& own = levels[table.level];
    own = {1, std::max(own.keys, table.KeysRead())};
  }
  return PlanFullTree(levels, limits_, flush_keys());
}

std::vector<SortedRun> TreeBits::PlannedRuns() const {
  return RunsOf(PlanFullTree(Levels(), limits_, flush_keys()));
}

// Returns the average that is set. If the last run needs no filter, returns the
// least average with which lookups have no more false positives than with
// uniform bits.
double TreeBits::PlannedAverage(const std::vector<SortedRun>& runs,
                                const RateCurve& curve) const {
  if (IsNeeded(kBottommost)) return average_;
  const double rates = UniformBits(curve, runs, average_).rates;
  const Allocation least = AllocateForRates(curve, runs, rates);
  if (!(least.keys > 0)) return average_;
  return std::clamp(least.bits / least.keys, LeastBits(), average_);
}

double TreeBits::KeysToCome(const NewTable& table) const {
  const Compaction* const job = table.compaction;
  if (job != nullptr && (job->manual || job->silent)) return 0;
  const int last = LastLevel(Levels());
  if (table.whole_run && table.level < last) return 0;
  FileSums run;
  for (const auto& [level, of] : Levels()) {
    if (level >= last) run.Add(Sums(level));
  }
  // Tables that were there before the start say nothing.
  if (!(run.dated_keys > 0)) return 0;
  const double keys_when_written = run.tree_keys / run.dated_keys;
  const double growth = keys() / keys_when_written;
  return keys() * (std::max(growth, 1.0) - 1);
}

double TreeBits::AverageBits() const {
  return keys() > 0 ? Sums().FilterBits(average_) / keys() : 0;
}

double TreeBits::MostBits(const NewTable& table, double free,
                          double bits_of_unknown) const {
  const Compaction* const job = table.compaction;
  if (job == nullptr || !(job->read.keys > 0)) {
    return std::max(free, 0.0) / flush_keys();
  }
  const double replaced =
      job->read.FilterBits(bits_of_unknown) / job->read.keys;
  // DB::CompactFiles does not say what it replaces. It may write new keys.
  if (job->silent && free < 0) return 0;
  const double keys_left = job->read.keys - job->written.keys;
  return replaced + (keys_left > 0 ? std::max(free, 0.0) / keys_left : 0);
}

// Returns the bits that are free: those that filters on disk may have at most,
// less those that they have. A table that is flushed adds its keys. What a
// compaction has written counts as far as it exceeds what it replaces.
double TreeBits::FreeBits(const NewTable& table) const {
  double keys = this->keys();
  double bits = Sums().FilterBits(average_);
  if (table.compaction == nullptr) {
    keys += flush_keys();
  } else {
    bits += table.compaction->written.known_bits -
            table.compaction->BitsInPlace(average_);
  }
  return average_ * (1 + kMostExcess) * keys - bits;
}

// Gives bits to a table of a whole run, as universal compactions write them.
// The sizes of later runs cannot be predicted there. So the plan is not a full
// tree: no run that lookups need has less than the average, and a run that is
// smaller than the largest has as many more as the optimiser would give it
// beside that one, as far as kPartOfFree of the bits that are free pays for
// them.
TableBits TreeBits::BitsOfWholeRun(const NewTable& table,
                                   const RateCurve& curve) const {
  const bool needed = IsNeeded(table.Origin());
  TableBits given{needed ? average_ : LeastBits()};
  const double read = table.KeysRead();
  const double run = read > 0 ? read : flush_keys();
  double keys = run;
  double bits = average_ * run;
  double largest = 0;
  for (const TreeRun& other :
       Runs(average_,
            read > 0 ? table.compaction->inputs : std::vector<uint64_t>())) {
    largest = std::max(largest, other.keys);
    keys += other.keys;
    bits += other.filter_bits;
  }
  given.share = run / keys;
  if (largest <= run) return given;
  const double free = average_ * (1 + kMostExcessOfRuns) * keys - bits;
  const double price = PriceOfBits(curve, {{largest, 1}}, average_);
  const double best = BitsAtPrice(curve, {run, 1}, price);
  if (needed) {
    given.bits_per_key = std::clamp(
        best, average_, average_ + kPartOfFree * std::max(free, 0.0) / run);
  }
  return given;
}

double TreeBits::KeysOfRun(const NewTable& table, const FullTree& plan) const {
  const auto planned = plan.levels.find(plan.PlannedLevel(table.level));
  const bool is_planned = planned != plan.levels.end();
  // The compaction merges several flushes within level 0, or writes into a
  // level that is planned empty: what it reads becomes a run of its own.
  const double read = table.KeysRead();
  if (read > 0 && (table.level == 0 || !is_planned)) return read;
  if (is_planned) return planned->second.KeysOfOne();
  return table.level == 0 ? flush_keys() : 0;
}

bool TreeBits::IsOnlyRunOfManualCompaction(const NewTable& table) const {
  return table.compaction != nullptr && table.compaction->manual &&
         table.bottommost &&
         std::max(Sums(table.level).keys, table.KeysRead()) >= keys();
}

TableBits TreeBits::BitsFor(const NewTable& table,
                            const RateCurve& curve) const {
  if (Levels().empty() || !(average_ >= kMinBitsPerKey)) return {average_};
  if (table.whole_run) return BitsOfWholeRun(table, curve);

  // 1. Plan the full tree, and the average of its filters.
  const FullTree plan = PlanWith(table);
  const std::vector<SortedRun> runs = RunsOf(plan);
  const double lowered_average = PlannedAverage(runs, curve);
  // There are no upper levels for which the only run would save bits.
  if (IsOnlyRunOfManualCompaction(table) && lowered_average == average_) {
    return {std::max(average_, LeastBits())};
  }

  // 2. Give the table the bits that its run has in the best allocation. All
  // tables of the last run have its weight, though some of them may not be
  // bottommost.
  const double run = KeysOfRun(table, plan);
  if (!(run > 0)) return {lowered_average};
  TableBits given;
  double keys = 0;
  for (const SortedRun& of : runs) keys += of.keys;
  given.share = std::min(run / keys, 1.0);
  const int origin = plan.InLastRun(table.level) ? kBottommost : table.Origin();
  given.bits_per_key = BitsAtPrice(curve, Weighted(origin, {1, run}),
                                   PriceOfBits(curve, runs, lowered_average));

  // 3. Limit what is more than the average by the filters on disk.
  if (goal_ == BitsGoal::kAverage && given.bits_per_key > average_) {
    const double most = MostBits(table, FreeBits(table), average_);
    given.bits_per_key = std::max(std::min(given.bits_per_key, most), average_);
  }
  return given;
}

}  // namespace deltabloom::internal
