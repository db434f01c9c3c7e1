#include "engines/rocksdb/levels/tree_bits.h"

#include <cmath>
#include <cstdlib>
#include <unordered_set>

namespace deltabloom::internal {
namespace {

// The share of the tree's keys that is written until the profile of before
// counts for half: levels fill and empty in cycles, with universal compaction
// in ones of the size of the tree.
constexpr double kMemory = 0.5;

// If more of an origin's keys than this are moved, all that were moved count
// with that origin; if fewer are, in proportion.
constexpr double kOftenMoved = 0.02;

// If fewer keys than this part are in tables that were written for the last
// run, tables are moved there as they are.
constexpr double kWrittenAsLast = 0.02;

// The share of the current tree in the profile.
constexpr double kPartOfNow = 0.5;

// Limits of the correction of the target for the filters on disk, and of the
// integral part of the correction.
constexpr double kMaxCorrection = 0.10;
constexpr double kMaxIntegral = 0.07;

// While tables of the last run that have too many bits wait to be rewritten,
// the others keep the average below this.
constexpr double kMaxExcess = 0.04;

// No table gets more than the target where the average on disk exceeds it by
// kNoExcess; from kMargin below that on, tables get gradually less.
constexpr double kNoExcess = 0.05;
constexpr double kMargin = 0.02;

// No compaction makes the average on disk exceed the target by more than this.
constexpr double kMaxAtOnce = 0.08;

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

// Less weight in the profile is ignored.
constexpr double kEnough = 0.02;

int Octave(double keys) {
  return keys > 1 ? static_cast<int>(std::log2(keys)) : 0;
}

}  // namespace

void TreeBits::Learn(uint64_t file, const TableFacts& facts) {
  File& known = files_[file];
  ++visits_;
  const int level = known.level;
  Unplace(file, known);
  const int origin = known.facts.origin;
  known.facts = facts;
  if (facts.origin == kUnknownOrigin) known.facts.origin = origin;
  Place(file, level, &known);
  rewritten_ += static_cast<double>(facts.keys) / std::max(keys_, 1.0);
}

TreeBits::File TreeBits::FileOf(uint64_t file) const {
  ++visits_;
  const auto it = files_.find(file);
  return it == files_.end() ? File() : it->second;
}

void TreeBits::Forget(uint64_t file) {
  ++visits_;
  const auto it = files_.find(file);
  if (it == files_.end()) return;
  Unplace(file, it->second);
  files_.erase(it);
}

void TreeBits::Flushed(uint64_t keys) {
  const auto n = static_cast<double>(keys);
  inflow_ += n;
  // A large one counts more: the last flush before a database is closed may
  // have any size.
  const double part = n / (n + 2 * flush_keys_ + 1);
  flush_keys_ += part * (n - flush_keys_);
}

void TreeBits::Sums::Add(const TableFacts& facts, bool add) {
  const double sign = add ? 1 : -1;
  const double n = sign * static_cast<double>(facts.keys);
  add ? ++files : --files;
  keys += n;
  if (facts.filter_bits < 0) {
    unknown_keys += n;
  } else {
    known_bits += sign * facts.filter_bits;
  }
}

// Adds a file to the sums, or removes it.
void TreeBits::Count(const File& file, bool add) {
  const auto keys = static_cast<double>(file.facts.keys);
  if (file.level < 0) {
    const double bits = std::max(file.facts.filter_bits, 0.0);
    pending_bits_ += add ? bits : -bits;
    return;
  }
  now_valid_ = false;
  keys_ += add ? keys : -keys;
  const auto level = levels_.try_emplace(file.level).first;
  level->second.Add(file.facts, add);
  if (level->second.files == 0) levels_.erase(level);
  if (file.facts.keys == 0) return;
  const bool flushed = file.level == 0 || file.facts.origin == 0;
  const auto group = groups_
                         .try_emplace({file.level, file.facts.origin,
                                       flushed ? Octave(keys) : 0})
                         .first;
  group->second.Add(file.facts, add);
  if (group->second.files == 0) groups_.erase(group);
}

void TreeBits::Place(uint64_t number, int level, File* file) {
  file->level = level;
  if (level == 0) level0_.insert(number);
  Count(*file, true);
}

void TreeBits::Unplace(uint64_t number, const File& file) {
  if (file.level == 0) level0_.erase(number);
  Count(file, false);
}

double TreeBits::BitsIn(const Sums& sums) const {
  return sums.known_bits + target_ * sums.unknown_keys;
}

// A table that leaves the level it was written for is moved or rewritten.
void TreeBits::CountDeparture(const File& file, bool moved) {
  const int origin = file.facts.origin;
  if (origin == kUnknownOrigin || origin == kBottommost) return;
  const auto keys = static_cast<double>(file.facts.keys);
  const double part = keys / (keys + std::max(8 * keys, 0.02 * keys_) + 1);
  now_valid_ = false;
  double& lately = moved_[origin];
  lately += part * ((moved ? 1 : 0) - lately);
}

void TreeBits::Edit(const std::vector<uint64_t>& removed,
                    const std::vector<LiveTable>& added) {
  // A table that is moved is in both.
  std::unordered_map<uint64_t, int> levels;
  for (const LiveTable& table : added) levels[table.file] = table.level;
  visits_ += removed.size() + added.size();
  for (const uint64_t number : removed) {
    const auto it = files_.find(number);
    if (it == files_.end() || it->second.level < 0 ||
        levels.count(number) != 0) {
      continue;
    }
    if (it->second.level == it->second.facts.origin) {
      CountDeparture(it->second, false);
    }
    Unplace(number, it->second);
    files_.erase(it);
  }
  for (const LiveTable& table : added) {
    File& file = files_[table.file];
    if (file.level == table.level) continue;
    if (file.level < 0 && file.facts.origin == kUnknownOrigin &&
        file.facts.keys == 0) {
      file.facts.keys = table.keys;
    }
    const bool left = file.level < 0 ? table.level != file.facts.origin
                                     : file.level == file.facts.origin;
    if (left) CountDeparture(file, true);
    Unplace(table.file, file);
    Place(table.file, table.level, &file);
  }
  UpdateProfile();
}

void TreeBits::SetTree(const std::vector<LiveTable>& tables) {
  std::unordered_map<uint64_t, int> live;
  for (const LiveTable& table : tables) live[table.file] = table.level;
  std::vector<uint64_t> removed;
  visits_ += files_.size();
  for (const auto& [number, file] : files_) {
    if (file.level >= 0 && live.count(number) == 0) removed.push_back(number);
  }
  Edit(removed, tables);
}

double TreeBits::KeysIn(int level) const {
  const auto it = levels_.find(level);
  return it == levels_.end() ? 0 : it->second.keys;
}

int TreeBits::DeepestLevel() const {
  return levels_.empty() ? 0 : levels_.rbegin()->first;
}

double TreeBits::MovedPart(int origin) const {
  const auto it = moved_.find(origin);
  return it == moved_.end() ? 0 : std::min(it->second / kOftenMoved, 1.0);
}

const TreeBits::Shares& TreeBits::CurrentShares() const {
  if (!now_valid_) now_ = CountShares();
  now_valid_ = true;
  return now_;
}

void TreeBits::SetLimits(const TreeLimits& limits) {
  limits_ = limits;
  now_valid_ = false;
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

int TreeBits::OriginAt(int level) const {
  return level > 0 && level == DeepestLevel() ? kBottommost : level;
}

double TreeBits::Wanted(int origin) const {
  const double used = UseOf(origin) / kUsed;
  if (!returns_ || used >= 1 || target_ <= min_bits_) return target_;
  return min_bits_ + used * (target_ - min_bits_);
}

double TreeBits::WantedBits() const {
  double given_back = 0;
  double keys = 0;
  for (const auto& [origin, share] : CurrentShares().settled) {
    given_back += share.keys * (target_ - Wanted(origin.first));
    keys += share.keys;
  }
  return keys > 0 ? target_ - given_back / keys : target_;
}

SortedRun TreeBits::Weighted(int origin, double keys, double weight) const {
  double min_bits = use_.empty() ? 0 : min_bits_;
  if (returns_) min_bits = std::min(min_bits, target_);
  return {keys, weight * UseOf(origin), nullptr, min_bits};
}

std::map<int, double> TreeBits::Weights() const {
  std::map<int, double> weights;
  for (const auto& [origin, share] : CurrentShares().of) {
    weights[origin.first] += share.weight;
  }
  return weights;
}

double TreeBits::FilterBits(double bits_of_unknown) const {
  double bits = pending_bits_;
  for (const auto& [level, sums] : levels_) {
    bits += sums.known_bits + bits_of_unknown * sums.unknown_keys;
  }
  return bits;
}

double TreeBits::BitsOf(const std::vector<uint64_t>& files,
                        double bits_of_unknown) const {
  Sums sums;
  for (const uint64_t file : files) sums.Add(FileOf(file).facts, true);
  return sums.known_bits + bits_of_unknown * sums.unknown_keys;
}

// The part of a level that compactions will leave there.
double TreeBits::KeptPart(int level) const {
  const int deepest = DeepestLevel();
  const bool known =
      limits_.level0_files > 0 && limits_.base_keys > 0 && limits_.ratio >= 1;
  if (!known || level >= deepest) return 1;
  if (level == 0) {
    const auto files = static_cast<double>(levels_.at(0).files);
    return std::min(limits_.level0_files / files, 1.0);
  }
  double limit = limits_.base_keys * std::pow(limits_.ratio, level - 1);
  if (limits_.dynamic) {
    limit = std::max(KeysIn(deepest) * std::pow(limits_.ratio, level - deepest),
                     limits_.base_keys / limits_.ratio);
  }
  return std::min(limit / std::max(KeysIn(level), 1.0), 1.0);
}

TreeBits::Shares TreeBits::CountShares() const {
  Shares shares;
  if (!(keys_ > 0)) return shares;
  const int deepest = DeepestLevel();
  double waiting = 0;  // keys, to be merged into the last run
  double waiting_bits = 0;
  double bottommost_keys = 0;
  for (const auto& [group, sums] : groups_) {
    const double files = static_cast<double>(sums.files);
    const double keys = sums.keys / keys_;
    const double bits = BitsIn(sums) / keys_;
    const double weight =
        group.level == 0 ? files : sums.keys / KeysIn(group.level);
    shares.bits += bits;
    const double stays = KeptPart(group.level);
    waiting += (1 - stays) * keys;
    waiting_bits += (1 - stays) * bits;
    const auto add = [&, &group = group](int as, double how_much) {
      if (how_much <= 0) return;
      const Origin key = {as, as == kBottommost ? 0
                              : as == 0         ? group.octave
                                                : Octave(KeysIn(as))};
      Share& share = shares.of[key];
      share.keys += how_much * keys;
      share.weight += how_much * weight;
      Share& settled = shares.settled[key];
      settled.keys += stays * how_much * keys;
      // Fewer runs of level 0, smaller ones elsewhere.
      settled.weight += (group.level == 0 ? stays : 1) * how_much * weight;
      if (as != kBottommost) return;
      shares.bottommost_bits += how_much * bits;
      bottommost_keys += how_much * keys;
    };
    // What counts with its origin; the rest counts with its level.
    double part = group.origin == kUnknownOrigin ? 0 : 1;
    if (part > 0 && group.origin != group.level &&
        group.origin != kBottommost) {
      part = MovedPart(group.origin);
    }
    add(group.origin, part);
    add(group.level == deepest && deepest > 0 ? kBottommost : group.level,
        1 - part);
  }
  // If nothing is written for the last run, what waits will be moved.
  if (bottommost_keys > kWrittenAsLast) {
    shares.settled[{kBottommost, 0}].keys += waiting;
    shares.settled_bits = shares.bits - waiting_bits +
                          waiting * shares.bottommost_bits / bottommost_keys;
  } else {
    shares.settled = shares.of;
    shares.settled_bits = shares.bits;
  }
  return shares;
}

TreeBits::Profile TreeBits::Mixed(Profile profile, const Profile& now,
                                  double part) {
  for (auto& [origin, share] : profile) {
    share.keys *= 1 - part;
    share.weight *= 1 - part;
  }
  for (const auto& [origin, share] : now) {
    profile[origin].keys += part * share.keys;
    profile[origin].weight += part * share.weight;
  }
  return profile;
}

// Brings the profile up to date, in proportion to the keys written.
void TreeBits::UpdateProfile() {
  if (!(keys_ > 0)) {
    profile_.clear();
    profiled_keys_ = 0;
    return;
  }
  const double change = std::max(inflow_, std::fabs(keys_ - profiled_keys_));
  const double part =
      profile_.empty() ? 1 : 1 - std::exp2(-change / (kMemory * keys_));
  inflow_ = 0;
  profiled_keys_ = keys_;
  profile_ = Mixed(std::move(profile_), CurrentShares().settled, part);
  for (auto it = profile_.begin(); it != profile_.end();) {
    it = it->second.keys < 1e-9 ? profile_.erase(it) : std::next(it);
  }
}

std::vector<TreeRun> TreeBits::RunsWithout(
    const std::vector<uint64_t>* files) const {
  std::unordered_set<uint64_t> without;
  std::map<int, Sums> levels = levels_;
  if (files != nullptr) {
    for (const uint64_t number : *files) {
      const File file = FileOf(number);
      if (file.level < 0 || !without.insert(number).second) continue;
      levels[file.level].Add(file.facts, false);
    }
  }
  std::vector<TreeRun> runs;
  const auto add = [&](int level, const Sums& sums) {
    if (sums.files == 0) return;
    runs.push_back({level, sums.files, sums.keys, BitsIn(sums)});
  };
  for (const uint64_t number : level0_) {
    if (runs.size() == kMostFilesOfLevel0) break;
    if (without.count(number) != 0) continue;
    Sums file;
    file.Add(FileOf(number).facts, true);
    add(0, file);
  }
  levels.erase(0);
  for (const auto& [level, sums] : levels) add(level, sums);
  return runs;
}

std::vector<SortedRun> TreeBits::SortedRuns() const {
  std::vector<SortedRun> runs;
  for (const auto& [group, sums] : groups_) {
    if (group.level > 0) break;
    runs.push_back(Weighted(0, sums.keys, static_cast<double>(sums.files)));
  }
  for (const auto& [level, sums] : levels_) {
    if (level > 0) runs.push_back(Weighted(OriginAt(level), sums.keys, 1));
  }
  return runs;
}

std::vector<uint64_t> TreeBits::FilesIn(int level) const {
  std::vector<uint64_t> files;
  visits_ += files_.size();
  for (const auto& [number, file] : files_) {
    if (file.level == level) files.push_back(number);
  }
  return files;
}

// In parts of all keys of the tree.
double TreeBits::RunSizeOf(const NewTable& table,
                           const Profile& profile) const {
  double run = KeysIn(table.level) + table.keys_from_above;
  if (table.level == 0) {
    run = table.keys_read > 0 ? table.keys_read : std::max(flush_keys_, 1.0);
  }
  const double all = std::max(keys_, run);
  const bool flush = table.level == 0 && table.keys_read == 0;
  if (!flush && !table.bottommost && table.level == 0) return run / all;
  // The size that runs of its origin had lately, wherever they are now. A level
  // that is being written to is larger than it will mostly be.
  const int as = table.bottommost ? kBottommost : table.level;
  Share lately;
  for (const auto& [origin, share] : profile) {
    if (origin.first != as) continue;
    if (flush && std::abs(origin.second - Octave(run)) > 1) continue;
    lately.keys += share.keys;
    lately.weight += share.weight;
  }
  return lately.weight > kEnough ? lately.keys / lately.weight : run / all;
}

// A controller with a proportional part, which follows the filters on disk, and
// an integral part, which removes the error that remains.
void TreeBits::SetTarget(double bits_per_key) {
  // Small changes are those of filter_memory as the tree grows.
  if (std::fabs(bits_per_key - target_) > 0.02 * target_) integral_ = 0;
  if (bits_per_key != target_) now_valid_ = false;
  target_ = bits_per_key;
  correction_ = 0;
  if (!(target_ > 0) || !(keys_ > 0)) return;
  const double wanted = WantedBits();
  double error =
      std::clamp((wanted - CurrentShares().settled_bits) / wanted, -1.0, 1.0);
  // Bits that are given back when their tables are rewritten.
  if (wanted < target_) error = std::max(error, 0.0);
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
    if (origin.first == kBottommost) continue;
    // All current keys, with the bits for the size that the run will have once
    // compactions have caught up.
    const Share& settled = now.settled.at(origin);
    others.push_back(Weighted(origin.first, share.keys,
                              share.keys * settled.weight / settled.keys));
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
  TableBits given;
  const int origin = table.bottommost ? kBottommost : table.level;
  const double wanted = Wanted(origin);
  given.use = UseOf(origin);
  given.bits_per_key = wanted;
  const bool flush = table.level == 0 && table.keys_read == 0;
  const double run = flush ? flush_keys_ : table.keys_read;
  if (!(run > 0)) return given;
  TreeRun largest;
  TreeRun others;  // together
  double weights = given.use;
  double spare = 0;  // bits up to kMaxOfRuns, without this run
  double planned_spare = 0;
  const double excess = wanted * (kMaxOfRuns - 1);
  for (const TreeRun& other : RunsWithout(table.inputs)) {
    if (!(other.keys > 0)) continue;
    const int as = OriginAt(other.level);
    const double left =
        Wanted(as) * kMaxOfRuns * other.keys - other.filter_bits;
    if (other.keys > largest.keys) largest = other;
    spare += left;
    if (other.keys > run) planned_spare += left;
    others.keys += other.keys;
    others.filter_bits += other.filter_bits;
    weights += UseOf(as);
    given.rates += UseOf(as) * curve.At(other.filter_bits / other.keys).rate;
  }
  if (largest.keys > run * kSimilarRuns) {
    std::vector<SortedRun> planned;
    double planned_keys = 0;
    for (int i = 0; i < kPlannedRuns; ++i) {
      planned.push_back({std::ldexp(run, -i), given.use});
      planned_keys += planned.back().keys;
    }
    // Not more than is useful beside the largest run with the target.
    const double price = std::max(
        PriceOfBits(curve, planned,
                    wanted + excess + planned_spare / planned_keys),
        PriceOfBits(curve, {{largest.keys, UseOf(OriginAt(largest.level))}},
                    target_));
    given.slope = price * run / given.use;
    const double most = std::max(excess + spare / run, 0.0);
    given.bits_per_key =
        std::clamp(curve.BitsAtSlope(given.slope), wanted,
                   wanted + most * (1 - MovedPart(table.level)));
  } else if (largest.keys <= run && wanted == target_) {
    given.bits_per_key = wanted * kLargestRun;
  }
  // Where a step of the curve makes it worse than uniform bits with the same
  // memory, as for runs of similar size, the run gets what is wanted.
  const auto to_uniform = [&](double bits) {
    const double average =
        (others.filter_bits + run * bits) / (others.keys + run);
    return (given.rates + given.use * curve.At(bits).rate) /
           (weights * curve.At(average).rate);
  };
  const double ratio = to_uniform(given.bits_per_key);
  if (ratio > 1 && to_uniform(wanted) < 0.99 * ratio) {
    given.bits_per_key = wanted;
  }
  const double rate = curve.At(given.bits_per_key).rate;
  given.rates += given.use * rate;
  // Of a curve that falls exponentially, where the bits were clamped.
  given.slope = std::max(given.slope, std::log(2) * rate);
  return given;
}

TableBits TreeBits::BitsFor(const NewTable& table,
                            const RateCurve& curve) const {
  if (table.whole_run && target_ >= RateCurve::kMinBits) {
    return BitsOfWholeRun(table, curve);
  }
  TableBits given;
  given.bits_per_key = target_;
  if (profile_.empty() || !(target_ >= RateCurve::kMinBits)) return given;
  const double corrected = WantedBits() * (1 + correction_);
  std::vector<SortedRun> runs;
  double bottommost_keys = 0;
  const Shares& now = CurrentShares();
  // Of late, and the current one.
  const Profile profile = Mixed(profile_, now.settled, kPartOfNow);
  for (const auto& [origin, share] : profile) {
    runs.push_back(Weighted(origin.first, share.keys, share.weight));
    if (origin.first == kBottommost) bottommost_keys += share.keys;
  }
  // The first of its kind: the depth of the tree is not known yet.
  if (table.bottommost && bottommost_keys < 0.2) {
    given.bits_per_key = corrected;
    return given;
  }
  // A compaction without events, as DB::CompactFiles runs them, fills an empty
  // level with an unknown number of keys.
  if (!(RunSizeOf(table, profile) > 0)) return given;
  const double price = PriceOfBits(curve, runs, corrected);
  const int origin = table.bottommost ? kBottommost : table.level;
  const SortedRun one = Weighted(origin, RunSizeOf(table, profile), 1);
  given.use = one.weight;
  given.slope = price * one.keys / one.weight;
  given.bits_per_key = curve.BitsAtSlope(given.slope);
  // Where the target is what a rate needs, nothing limits the bits.
  const bool limited = use_.empty() || returns_;
  if (!table.bottommost && given.bits_per_key > target_ && limited) {
    // What waits to be merged takes its bits until then.
    given.slope = std::max(price, MinPrice(now, curve)) * one.keys / one.weight;
    given.bits_per_key = curve.BitsAtSlope(given.slope);
    // Earlier tables may have too many bits, too.
    const double spare =
        (target_ * (1 + kNoExcess) - now.bits) / (target_ * kMargin);
    if (given.bits_per_key < target_ || spare < 1) {
      given.bits_per_key =
          target_ + std::max(given.bits_per_key - target_, 0.0) *
                        std::clamp(spare, 0.0, 1.0);
      given.slope = 0;
    }
    // A compaction may write much of a tree at once.
    const double written =
        table.keys_read > 0 ? table.keys_read : std::max(flush_keys_, 1.0);
    const double most =
        target_ +
        std::max(target_ * (1 + kMaxAtOnce) - now.bits, 0.0) * keys_ / written;
    if (given.bits_per_key > most) {
      given.bits_per_key = most;
      given.slope = 0;
    }
  }
  if (given.bits_per_key < one.min_bits) {
    given.bits_per_key = one.min_bits;
    given.slope = 0;
  }
  for (const SortedRun& run : runs) {
    given.rates += run.weight * curve.At(BitsAtPrice(curve, run, price)).rate;
  }
  return given;
}

}  // namespace deltabloom::internal
