// A leveled LSM tree without a database: flushes, compactions, and a backlog if
// compactions are slower than flushes. Tells a TreeBits what it does and gives
// its tables what that says.
#ifndef DELTABLOOM_TESTS_ROCKSDB_SIMULATED_TREE_H_
#define DELTABLOOM_TESTS_ROCKSDB_SIMULATED_TREE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engines/rocksdb/levels/tree_bits.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::testing {

struct SimulatedPlan {
  double asked = 10;
  double ratio = 4;
  double flush_keys = 1000;
  double base_keys = 2500;
  double file_keys = 2000;
  double level0_files = 4;  // that start a compaction
  double stop_files = 36;   // of level 0, at which flushes wait
  // Keys that compactions write for each key that is flushed.
  double speed = 100;
  // Keys that there are; flushes hold any of them. 0: each key once.
  double universe = 0;
  // Whether what compactions aim at is known.
  bool limits_known = true;
  Layout layout = Layout::kCompact;
};

class SimulatedTree {
 public:
  explicit SimulatedTree(const SimulatedPlan& plan)
      : plan_(plan), curve_(internal::CurveOf(plan.layout).curve) {
    if (!plan.limits_known) return;
    tree_.SetLimits({plan.level0_files, plan.base_keys, plan.ratio, false});
  }

  void Flush() {
    while (levels_[0].size() >= static_cast<size_t>(plan_.stop_files)) {
      if (!CompactOnce()) break;
    }
    const double keys = Distinct({plan_.flush_keys}, 1);
    const Table table = Write(keys, 0, 1, internal::NewTable());
    tree_.Flushed(static_cast<uint64_t>(keys));
    levels_[0].push_back(table);
    tree_.Edit({}, {{table.number, 0, 0}});
    most_ = std::max(most_, tree_.AverageBits());
    credit_ = std::min(credit_ + plan_.speed * plan_.flush_keys, 1e6);
    while (credit_ > 0 && CompactOnce()) {
    }
  }
  // From now on compactions write so many keys for each that is flushed.
  void SetSpeed(double speed) { plan_.speed = speed; }
  // Until there is nothing to do for compactions.
  void Settle() {
    while (CompactOnce()) {
    }
  }

  const internal::TreeBits& tree() const { return tree_; }
  // The highest average that there was at any time.
  double MostBits() const { return most_; }
  size_t Level0Files() const { return levels_.at(0).size(); }

  internal::Allocation Ours() const {
    internal::Allocation ours;
    for (const internal::TreeRun& run : tree_.Runs()) {
      ours.rates += curve_.At(run.filter_bits / run.keys).rate;
      ours.bits += run.filter_bits;
      ours.keys += run.keys;
    }
    return ours;
  }
  internal::Allocation Best(double bits_per_key) const {
    return internal::AllocateBits(curve_, SortedRuns(), bits_per_key);
  }
  internal::Allocation Uniform(double bits_per_key) const {
    return internal::UniformBits(curve_, SortedRuns(), bits_per_key);
  }

 private:
  struct Table {
    uint64_t number;
    double begin, end;  // of the key space, which is 0 to 1
    double keys;
  };
  using Tables = std::vector<Table>;

  std::vector<internal::SortedRun> SortedRuns() const {
    std::vector<internal::SortedRun> runs;
    for (const auto& run : tree_.Runs()) runs.push_back({run.keys, 1});
    return runs;
  }

  static double KeysOf(const Tables& tables) {
    double keys = 0;
    for (const Table& table : tables) keys += table.keys;
    return keys;
  }
  static bool Overlap(const Table& a, const Table& b) {
    return a.begin < b.end && b.begin < a.end;
  }

  // Of several draws from the keys of a part of the key space.
  double Distinct(const std::vector<double>& draws, double part) const {
    double sum = 0;
    double missed = 1;
    for (const double keys : draws) {
      sum += keys;
      if (plan_.universe > 0) {
        missed *= 1 - std::min(keys / (plan_.universe * part), 1.0);
      }
    }
    return plan_.universe > 0 ? plan_.universe * part * (1 - missed) : sum;
  }

  Table Write(double keys, double begin, double end,
              const internal::NewTable& table) {
    tree_.SetTarget(plan_.asked);
    const auto whole = static_cast<uint64_t>(keys);
    internal::TableFacts facts;
    facts.keys = whole;
    facts.filter_bits =
        tree_.BitsFor(table, curve_).bits_per_key * static_cast<double>(whole);
    facts.origin = table.bottommost ? internal::kBottommost : table.level;
    tree_.Learn(++number_, facts);
    return {number_, begin, end, static_cast<double>(whole)};
  }

  bool CompactOnce() {
    int from = -1;
    double worst = 1;
    double limit = plan_.base_keys;
    for (auto& [level, tables] : levels_) {
      double score = static_cast<double>(tables.size()) / plan_.level0_files;
      if (level > 0) {
        score = KeysOf(tables) / limit;
        limit *= plan_.ratio;
      }
      if (score < worst) continue;
      worst = score;
      from = level;
    }
    if (from < 0) return false;
    Compact(from);
    most_ = std::max(most_, tree_.AverageBits());
    return true;
  }

  void Compact(int from) {
    Tables& upper = levels_[from];
    Tables& lower = levels_[from + 1];
    Tables above = upper;
    if (from > 0) above = {upper[cursors_[from]++ % upper.size()]};
    Table range = above[0];
    Tables below;
    for (const Table& table : lower) {
      if (!Overlap(table, range)) continue;
      below.push_back(table);
    }
    std::vector<uint64_t> removed;
    const auto remove = [&removed](const Tables& gone, Tables* tables) {
      for (const Table& table : gone) {
        removed.push_back(table.number);
        const auto is_it = [&table](const Table& one) {
          return one.number == table.number;
        };
        tables->erase(std::find_if(tables->begin(), tables->end(), is_it));
      }
    };
    std::vector<internal::LiveTable> added;
    remove(above, &upper);
    Tables written;
    if (from > 0 && below.empty()) {  // moved
      written = above;
    } else {
      remove(below, &lower);
      for (const Table& table : below) {
        range.begin = std::min(range.begin, table.begin);
        range.end = std::max(range.end, table.end);
      }
      written = Merge(from, above, below, range);
    }
    for (const Table& table : written) {
      lower.push_back(table);
      added.push_back({table.number, from + 1, 0});
    }
    tree_.Edit(removed, added);
  }

  Tables Merge(int from, const Tables& above, const Tables& below,
               const Table& range) {
    std::vector<double> draws;
    if (!below.empty()) draws.push_back(KeysOf(below));
    if (from > 0) draws.push_back(KeysOf(above));
    if (from == 0) {
      for (const Table& table : above) draws.push_back(table.keys);
    }
    const double keys = Distinct(draws, range.end - range.begin);
    internal::NewTable table;
    table.level = from + 1;
    table.bottommost = true;
    for (const auto& [level, tables] : levels_) {
      if (level <= from + 1) continue;
      for (const Table& one : tables) {
        if (Overlap(one, range)) table.bottommost = false;
      }
    }
    table.keys_from_above = KeysOf(above);
    table.keys_read = table.keys_from_above + KeysOf(below);
    const double parts = std::ceil(keys / plan_.file_keys);
    const double width = (range.end - range.begin) / parts;
    Tables written;
    for (double part = 0; part < parts; ++part) {
      const double begin = range.begin + part * width;
      written.push_back(Write(keys / parts, begin, begin + width, table));
    }
    credit_ -= keys;
    return written;
  }

  SimulatedPlan plan_;
  const internal::RateCurve& curve_;
  internal::TreeBits tree_;
  std::map<int, Tables> levels_ = {{0, {}}};
  std::map<int, size_t> cursors_;
  uint64_t number_ = 0;
  double credit_ = 0;
  double most_ = 0;
};

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_SIMULATED_TREE_H_
