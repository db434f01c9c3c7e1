#include "engines/rocksdb/levels/tree_bits.h"

#include <cmath>
#include <unordered_set>

namespace deltabloom::internal {
namespace {

// The share of the tree's keys that is written until the profile of before
// counts for half: levels fill and empty in cycles.
constexpr double kMemory = 0.5;

// The share of the current tree in the profile that tables get their bits by.
constexpr double kPartOfNow = 0.5;

// If fewer keys than this part are in tables that were written for the last
// run, tables are moved there as they are.
constexpr double kWrittenAsLast = 0.02;

// Limits of the correction of the target for the filters on disk, and of the
// integral part of the correction.
constexpr double kMaxCorrection = 0.10;
constexpr double kMaxIntegral = 0.07;

// While tables of the last run that have too many bits wait to be rewritten,
// the others keep the average below this.
constexpr double kMaxExcess = 0.04;

// No table gets more than the target where the average on disk exceeds it by
// kNoExcess; from kMargin below that on, tables get gradually less. All may
// have the bits of the tables that they replace.
constexpr double kMargin = 0.02;
constexpr double kNoExcess = 0.05;

// Where runs are written whole: the bits of the largest run and the limit of
// the average, as parts of the target.
constexpr double kLargestRun = 0.99;
constexpr double kMaxOfRuns = 1.045;

// Runs whose sizes differ by less than this factor get the same bits: at best
// 2.6 % would be gained, and steps of a layout's rates may cost as much.
constexpr double kSimilarRuns = 1.6;

// Each smaller run that may follow is taken to have half the keys of the one
// before; of those that follow, one run and the two after it are planned.
constexpr int kPlannedRuns = 3;

// Less weight in the profile is ignored, and so are fewer keys of the last run.
constexpr double kEnough = 0.02;
constexpr double kEnoughOfLast = 0.2;

// Where lookups do not need the last run, the reads per lookup that the other
// runs may cost beyond those of uniform bits.
constexpr double kSparedReads = 0.005;

// The most growth of the tree that is expected: of universal compaction, which
// by default lets a tree grow threefold until its largest run is written again.
constexpr double kMostGrowth = 3;

}  // namespace

void FileSums::Add(const TableFacts& facts, bool add) {
  const double sign = add ? 1 : -1;
  const double n = sign * static_cast<double>(facts.keys);
  add ? ++files : --files;
  keys += n;
  tree_keys += n * facts.tree_keys;
  if (facts.filter_bits < 0) {
    unknown_keys += n;
  } else {
    known_bits += sign * facts.filter_bits;
  }
}

void FileSums::Add(const FileSums& other) {
  files += other.files;
  keys += other.keys;
  tree_keys += other.tree_keys;
  known_bits += other.known_bits;
  unknown_keys += other.unknown_keys;
}

void TreeBits::Learn(uint64_t file, const TableFacts& facts) {
  File& known = files_[file];
  ++visits_;
  Count(file, known, false);
  known.facts = facts;
  known.facts.tree_keys = std::max(keys_, static_cast<double>(facts.keys));
  Count(file, known, true);
  rewritten_ += static_cast<double>(facts.keys) / std::max(keys_, 1.0);
}

TreeBits::File TreeBits::Find(uint64_t file) const {
  ++visits_;
  const auto it = files_.find(file);
  return it == files_.end() ? File() : it->second;
}

void TreeBits::Forget(uint64_t file) {
  Count(file, Find(file), false);
  files_.erase(file);
}

void TreeBits::Flushed(uint64_t keys) {
  const auto n = static_cast<double>(keys);
  inflow_ += n;
  // A large one counts more: the last flush before a database is closed may
  // have any size.
  const double part = n / (n + 2 * flush_keys_ + 1);
  flush_keys_ += part * (n - flush_keys_);
}

void TreeBits::Count(uint64_t number, const File& file, bool add) {
  if (file.level < 0) {
    const double bits = std::max(file.facts.filter_bits, 0.0);
    pending_bits_ += add ? bits : -bits;
    return;
  }
  const auto keys = static_cast<double>(file.facts.keys);
  keys_ += add ? keys : -keys;
  const auto group = groups_.try_emplace({file.level, file.facts.origin}).first;
  group->second.Add(file.facts, add);
  if (group->second.files == 0) groups_.erase(group);
  if (file.level == 0 && add) level0_.insert(number);
  if (file.level == 0 && !add) level0_.erase(number);
}

void TreeBits::Edit(const std::vector<uint64_t>& removed,
                    const std::vector<LiveTable>& added) {
  // A table that is moved is in both.
  std::unordered_set<uint64_t> kept;
  for (const LiveTable& table : added) kept.insert(table.file);
  for (const uint64_t number : removed) {
    if (kept.count(number) == 0 && Find(number).level >= 0) Forget(number);
  }
  visits_ += added.size();
  for (const LiveTable& table : added) {
    File& file = files_[table.file];
    Count(table.file, file, false);
    if (file.facts.filter_bits < 0 && table.keys > 0) {
      file.facts.keys = table.keys;
    }
    file.level = table.level;
    Count(table.file, file, true);
  }
  // The profile is brought up to date in proportion to the keys written.
  const double change = std::max(inflow_, std::fabs(keys_ - profiled_keys_));
  const double part = profile_.empty() || !(keys_ > 0)
                          ? 1
                          : 1 - std::exp2(-change / (kMemory * keys_));
  inflow_ = 0;
  profiled_keys_ = keys_;
  profile_ = Mixed(profile_, CountShares().settled, part);
}

void TreeBits::SetTree(const std::vector<LiveTable>& tables) {
  std::vector<uint64_t> all;
  visits_ += files_.size();
  for (const auto& [number, file] : files_) all.push_back(number);
  Edit(all, tables);
}

FileSums TreeBits::Sums(int level) const {
  FileSums all;
  for (const auto& [group, sums] : groups_) {
    if (level < 0 || group.first == level) all.Add(sums);
  }
  return all;
}

int TreeBits::DeepestLevel() const {
  return groups_.empty() ? 0 : groups_.rbegin()->first.first;
}

int TreeBits::OriginAt(int level) const {
  return level > 0 && level == DeepestLevel() ? kBottommost : level;
}

void TreeBits::SetUse(const RunUse& use, double min_bits, bool returns) {
  use_ = use;
  min_bits_ = min_bits;
  returns_ = returns;
}

double TreeBits::UseOf(int origin) const {
  const auto it = use_.find(origin);
  return it == use_.end() ? 1 : it->second;
}

double TreeBits::Wanted(int origin) const {
  if (!returns_ && !use_.empty()) return std::max(target_, min_bits_);
  const double used = UseOf(origin) / kUsed;
  if (!returns_ || used >= 1 || target_ <= min_bits_) return target_;
  return min_bits_ + used * (target_ - min_bits_);
}

double TreeBits::WantedBits(const RateCurve& curve) const {
  const double used = UseOf(kBottommost) / kUsed;
  if (!returns_ || used >= 1) return target_;
  const std::vector<SortedRun> runs = RunsOfOrigins();
  const double rates = UniformBits(curve, runs, target_).rates + kSparedReads;
  const Allocation least = AllocateForRates(curve, runs, rates);
  if (!(least.keys > 0)) return target_;
  return std::max(target_ - (1 - used) * (target_ - least.bits / least.keys),
                  std::min(target_, min_bits_));
}

SortedRun TreeBits::Weighted(int origin, const Share& share) const {
  double min_bits = use_.empty() ? 0 : min_bits_;
  if (returns_) min_bits = std::min(min_bits, target_);
  return {share.keys, share.weight * UseOf(origin), nullptr, min_bits};
}

std::vector<SortedRun> TreeBits::RunsOf(const Profile& profile) const {
  std::vector<SortedRun> runs;
  for (const auto& [origin, share] : profile) {
    runs.push_back(Weighted(origin, share));
  }
  return runs;
}

std::vector<SortedRun> TreeBits::RunsOfOrigins() const {
  return RunsOf(RecentProfile(CountShares()));
}

std::map<int, double> TreeBits::Weights() const {
  std::map<int, double> weights;
  for (const auto& [origin, share] : CountShares().of) {
    weights[origin] = share.weight;
  }
  return weights;
}

double TreeBits::KeysToCome(const NewTable& table) const {
  const Compaction* const job = table.compaction;
  if (job == nullptr || job->silent || job->manual) return 0;
  FileSums all;
  for (const auto& [group, sums] : groups_) {
    if (group.second == table.Origin()) all.Add(sums);
  }
  if (!(all.tree_keys > 0)) return 0;
  const double growth = keys_ * all.keys / all.tree_keys;
  return keys_ * (std::clamp(growth, 1.0, kMostGrowth) - 1);
}

// The part of a level that compactions will leave there.
double TreeBits::KeptPart(int level) const {
  const int deepest = DeepestLevel();
  if (!limits_.Known() || level >= deepest) return 1;
  if (level == 0) {
    return std::min(limits_.level0_files / static_cast<double>(level0_.size()),
                    1.0);
  }
  double limit = limits_.base * std::pow(limits_.ratio, level - 1);
  if (limits_.dynamic) {
    limit = std::max(KeysIn(deepest) * std::pow(limits_.ratio, level - deepest),
                     limits_.base / limits_.ratio);
  }
  return std::min(limit / std::max(KeysIn(level), 1.0), 1.0);
}

TreeBits::Shares TreeBits::CountShares() const {
  Shares shares;
  double waiting = 0;  // keys, to be merged into the last run
  double waiting_bits = 0;
  double bottommost_keys = 0;
  for (const auto& [group, sums] : groups_) {
    if (!(sums.keys > 0)) continue;
    const auto [level, origin] = group;
    const double keys = sums.keys / keys_;
    const double bits = sums.FilterBits(target_) / keys_;
    const double weight = level == 0 ? static_cast<double>(sums.files)
                                     : sums.keys / KeysIn(level);
    const double stays = KeptPart(level);
    const int as = origin == kUnknownOrigin ? OriginAt(level) : origin;
    shares.bits += bits;
    waiting += (1 - stays) * keys;
    waiting_bits += (1 - stays) * bits;
    Share& share = shares.of[as];
    share.keys += keys;
    share.weight += weight;
    Share& settled = shares.settled[as];
    settled.keys += stays * keys;
    // Fewer runs of level 0, smaller ones elsewhere.
    settled.weight += (level == 0 ? stays : 1) * weight;
    if (as != kBottommost) continue;
    shares.bottommost_bits += bits;
    bottommost_keys += keys;
  }
  // If nothing is written for the last run, what waits will be moved.
  if (bottommost_keys > kWrittenAsLast) {
    shares.settled[kBottommost].keys += waiting;
    shares.settled_bits = shares.bits - waiting_bits +
                          waiting * shares.bottommost_bits / bottommost_keys;
  } else {
    shares.settled = shares.of;
    shares.settled_bits = shares.bits;
  }
  return shares;
}

TreeBits::Profile TreeBits::Mixed(const Profile& profile, const Profile& now,
                                  double part) {
  Profile mixed;
  for (const auto& [from, how_much] :
       {std::pair(&profile, 1 - part), std::pair(&now, part)}) {
    for (const auto& [origin, share] : *from) {
      if (share.keys * how_much < 1e-9) continue;
      mixed[origin].keys += how_much * share.keys;
      mixed[origin].weight += how_much * share.weight;
    }
  }
  return mixed;
}

TreeBits::Profile TreeBits::RecentProfile(const Shares& now) const {
  return Mixed(profile_, now.settled, kPartOfNow);
}

std::vector<TreeRun> TreeBits::Runs(
    const std::vector<uint64_t>& without) const {
  std::map<int, FileSums> levels;
  for (const auto& [group, sums] : groups_) levels[group.first].Add(sums);
  std::unordered_set<uint64_t> gone;
  for (const uint64_t number : without) {
    const File file = Find(number);
    if (file.level < 0 || !gone.insert(number).second) continue;
    levels[file.level].Add(file.facts, false);
  }
  std::vector<TreeRun> runs;
  const auto add = [&](int level, const FileSums& sums) {
    if (sums.files == 0) return;
    runs.push_back({level, sums.files, sums.keys, sums.FilterBits(target_)});
  };
  for (const uint64_t number : level0_) {
    if (runs.size() == kMostFilesOfLevel0) break;
    if (gone.count(number) != 0) continue;
    FileSums file;
    file.Add(Find(number).facts);
    add(0, file);
  }
  levels.erase(0);
  for (const auto& [level, sums] : levels) add(level, sums);
  return runs;
}

// In parts of all keys of the tree: the size that runs of its origin had
// lately, wherever they are now. A level that is being written to is larger
// than it will mostly be.
double TreeBits::RunSizeOf(const NewTable& table,
                           const Profile& profile) const {
  const double read = table.KeysRead();
  const auto it = profile.find(table.Origin());
  const bool merges_level0 = table.Origin() == 0 && read > 0;
  if (!merges_level0 && it != profile.end() && it->second.weight > kEnough) {
    return it->second.keys / it->second.weight;
  }
  const double run = table.level > 0 ? KeysIn(table.level) + read
                     : read > 0      ? read
                                     : flush_keys();
  return run / std::max(keys_, run);
}

// A controller with a proportional part, which follows the filters on disk, and
// an integral part, which removes the error that remains.
void TreeBits::SetTarget(double bits_per_key, const RateCurve& curve) {
  // Small changes are those of filter_memory as the tree grows.
  if (std::fabs(bits_per_key - target_) > 0.02 * target_) integral_ = 0;
  target_ = wanted_ = bits_per_key;
  correction_ = 0;
  if (!(target_ > 0) || !(keys_ > 0)) return;
  const Shares now = CountShares();
  wanted_ = WantedBits(curve);
  double error = std::clamp((wanted_ - now.settled_bits) / wanted_, -1.0, 1.0);
  // Bits that are given back when their tables are rewritten.
  if (wanted_ < target_) error = std::max(error, 0.0);
  integral_ = std::clamp(integral_ + 0.25 * error * std::min(rewritten_, 1.0),
                         -kMaxIntegral, kMaxIntegral);
  rewritten_ = 0;
  correction_ = std::clamp(integral_ + error, -kMaxCorrection, kMaxCorrection);
}

// At a lower price the tables that are not bottommost, together with the
// current ones of the last run, would raise the average above the target.
double TreeBits::MinPrice(const Shares& now, const RateCurve& curve) const {
  std::vector<SortedRun> others;
  double keys = 0;
  for (const auto& [origin, share] : now.of) {
    if (origin == kBottommost) continue;
    // All current keys, with the bits for the size that the run will have once
    // compactions have caught up.
    const Share& settled = now.settled.at(origin);
    others.push_back(Weighted(
        origin, {share.keys, share.keys * settled.weight / settled.keys}));
    keys += share.keys;
  }
  const double left = target_ * (1 + kMaxExcess) - now.bottommost_bits;
  return keys > 0 ? PriceOfBits(curve, others, left / keys) : 0;
}

// The largest run gets about the target and the others no less, so that no tree
// falls more than 1 % below it, nor reads more than with uniform bits. What
// exceeds the target is limited by kMaxOfRuns, of which smaller runs that may
// follow have their part.
TableBits TreeBits::BitsOfWholeRun(const NewTable& table,
                                   const RateCurve& curve) const {
  const double wanted = Wanted(table.Origin());
  const double use = UseOf(table.Origin());
  TableBits given{wanted};
  const bool flush = table.level == 0 && table.KeysRead() == 0;
  const double run = flush ? flush_keys_ : table.KeysRead();
  if (!(run > 0)) return given;
  given.share = run / std::max(keys_, run);
  TreeRun largest;
  double spare = 0;  // bits up to kMaxOfRuns, without this run
  double planned_spare = 0;
  const double excess = wanted * (kMaxOfRuns - 1);
  for (const TreeRun& other :
       Runs(flush ? std::vector<uint64_t>() : table.compaction->inputs)) {
    if (!(other.keys > 0)) continue;
    const double left =
        Wanted(OriginAt(other.level)) * kMaxOfRuns * other.keys -
        other.filter_bits;
    if (other.keys > largest.keys) largest = other;
    spare += left;
    if (other.keys > run) planned_spare += left;
  }
  if (largest.keys > run * kSimilarRuns) {
    std::vector<SortedRun> planned;
    double planned_keys = 0;
    for (int i = 0; i < kPlannedRuns; ++i) {
      planned.push_back({std::ldexp(run, -i), use});
      planned_keys += planned.back().keys;
    }
    // Not more than is useful beside the largest run with the target.
    const double price = std::max(
        PriceOfBits(curve, planned,
                    wanted + excess + planned_spare / planned_keys),
        PriceOfBits(curve, {{largest.keys, UseOf(OriginAt(largest.level))}},
                    target_));
    given.slope = price * run / use;
    given.bits_per_key =
        std::clamp(curve.BitsAtSlope(given.slope), wanted,
                   wanted + std::max(excess + spare / run, 0.0));
  } else if (largest.keys <= run && wanted == target_) {
    given.bits_per_key = wanted * kLargestRun;
  }
  // Of a curve that falls exponentially, where the bits were clamped.
  given.slope =
      std::max(given.slope, std::log(2) * curve.At(given.bits_per_key).rate);
  return given;
}

TableBits TreeBits::BitsFor(const NewTable& table,
                            const RateCurve& curve) const {
  if (table.whole_run && target_ >= RateCurve::kMinBits) {
    return BitsOfWholeRun(table, curve);
  }
  TableBits given{target_};
  if (profile_.empty() || !(target_ >= RateCurve::kMinBits)) return given;
  // A manual compaction that leaves no other run.
  if (table.bottommost && table.compaction && table.compaction->manual &&
      std::max(KeysIn(table.level), table.KeysRead()) >= keys_) {
    return {Wanted(kBottommost)};
  }
  const Shares now = CountShares();
  const double wanted = use_.empty() ? target_ : wanted_;
  const double corrected = wanted * (1 + correction_);
  const Profile profile = RecentProfile(now);
  const auto last = profile.find(kBottommost);
  // The first of its kind: the depth of the tree is not known yet.
  if (table.bottommost &&
      (last == profile.end() || last->second.keys < kEnoughOfLast)) {
    return {corrected};
  }
  const SortedRun one =
      Weighted(table.Origin(), {RunSizeOf(table, profile), 1});
  // A compaction without events, as DB::CompactFiles runs them, fills an empty
  // level with an unknown number of keys.
  if (!(one.keys > 0)) return given;
  const double price = PriceOfBits(curve, RunsOf(profile), corrected);
  given.share = one.keys;
  given.slope = price * one.keys / one.weight;
  given.bits_per_key = BitsAtPrice(curve, one, price);
  // Where the target is what a rate needs, nothing limits the bits.
  const bool limited = use_.empty() || returns_;
  if (!table.bottommost && given.bits_per_key > target_ && limited) {
    // What waits to be merged takes its bits until then.
    given.slope = std::max(price, MinPrice(now, curve)) * one.keys / one.weight;
    given.bits_per_key = curve.BitsAtSlope(given.slope);
    // Earlier tables may have too many bits, too; a table may have those that
    // it replaces.
    const double read = table.KeysRead();
    const double had =
        read > 0 ? table.compaction->read.FilterBits(target_) / read : 0;
    const double spare =
        (target_ * (1 + kNoExcess) - now.bits) / (target_ * kMargin);
    const double more = std::max(given.bits_per_key - target_, 0.0);
    const double bits = target_ + std::max(more * std::clamp(spare, 0.0, 1.0),
                                           std::min(more, had - target_));
    if (bits != given.bits_per_key) given.slope = 0;
    given.bits_per_key = bits;
  }
  return given;
}

}  // namespace deltabloom::internal
