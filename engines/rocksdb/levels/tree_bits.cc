#include "engines/rocksdb/levels/tree_bits.h"

#include <algorithm>
#include <cmath>

namespace deltabloom::internal {
namespace {

// How much of the tree's keys must flow in until what it looked like before is
// half forgotten: levels fill and empty in cycles, universal compaction in ones
// of the size of the tree.
constexpr double kMemory = 0.5;

// Where more of an origin's keys than this are moved, all that were moved count
// as of that origin; where fewer are, in proportion.
constexpr double kOftenMoved = 0.02;

// With fewer keys in tables that were written as the last run than this part,
// tables are moved there as they are.
constexpr double kWrittenAsLast = 0.02;

int Octave(double keys) {
  return keys > 1 ? static_cast<int>(std::log2(keys)) : 0;
}

}  // namespace

void TreeBits::Learn(uint64_t file, const TableFacts& facts) {
  File& known = files_[file];
  const int level = known.level;
  if (level >= 0) Unplace(known);
  const int origin = known.facts.origin;
  known.facts = facts;
  if (facts.origin == kUnknownOrigin) known.facts.origin = origin;
  if (level >= 0) Place(&known, level);
  rewritten_ += static_cast<double>(facts.keys) / std::max(keys_, 1.0);
}

uint64_t TreeBits::KeysOf(uint64_t file) const {
  const auto it = files_.find(file);
  return it == files_.end() ? 0 : it->second.facts.keys;
}

bool TreeBits::Knows(uint64_t file) const {
  const auto it = files_.find(file);
  return it != files_.end() && it->second.facts.filter_bits >= 0;
}

bool TreeBits::HasInTree(uint64_t file) const {
  const auto it = files_.find(file);
  return it != files_.end() && it->second.level >= 0;
}

void TreeBits::Forget(uint64_t file) {
  const auto it = files_.find(file);
  if (it == files_.end()) return;
  if (it->second.level >= 0) Unplace(it->second);
  files_.erase(it);
}

void TreeBits::Flushed(uint64_t keys) {
  const auto n = static_cast<double>(keys);
  inflow_ += n;
  // A large one counts for more: the last flush before a database is closed may
  // have any size.
  const double part = n / (n + 2 * flush_keys_ + 1);
  flush_keys_ += part * (n - flush_keys_);
}

void TreeBits::Place(File* file, int level) {
  now_valid_ = false;
  file->level = level;
  const auto keys = static_cast<double>(file->facts.keys);
  keys_ += keys;
  level_keys_[level] += keys;
  ++level_files_[level];
}

void TreeBits::Unplace(const File& file) {
  now_valid_ = false;
  const auto keys = static_cast<double>(file.facts.keys);
  keys_ -= keys;
  level_keys_[file.level] -= keys;
  if (--level_files_[file.level] == 0) {
    level_files_.erase(file.level);
    level_keys_.erase(file.level);
  }
}

// What leaves the level it was written for has been moved or rewritten.
void TreeBits::Left(const File& file, bool moved) {
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
  // A table that is moved is both.
  std::unordered_map<uint64_t, int> levels;
  for (const LiveTable& table : added) levels[table.file] = table.level;
  for (const uint64_t number : removed) {
    const auto it = files_.find(number);
    if (it == files_.end() || it->second.level < 0) continue;
    if (levels.count(number) != 0) continue;
    if (it->second.level == it->second.facts.origin) Left(it->second, false);
    Unplace(it->second);
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
    if (left) Left(file, true);
    if (file.level >= 0) Unplace(file);
    Place(&file, table.level);
  }
  Changed();
}

void TreeBits::SetTree(const std::vector<LiveTable>& tables) {
  std::unordered_map<uint64_t, int> live;
  for (const LiveTable& table : tables) live[table.file] = table.level;
  std::vector<uint64_t> removed;
  for (const auto& [number, file] : files_) {
    if (file.level >= 0 && live.count(number) == 0) removed.push_back(number);
  }
  Edit(removed, tables);
}

int TreeBits::DeepestLevel() const {
  return level_files_.empty() ? 0 : level_files_.rbegin()->first;
}

TreeBits::Origin TreeBits::OriginOf(int origin, double run_keys) const {
  return {origin, origin == kBottommost ? 0 : Octave(run_keys)};
}

// What part of a table counts as of its origin; the rest as where it lies.
double TreeBits::PartOfOrigin(const File& file) const {
  const int origin = file.facts.origin;
  if (origin == kUnknownOrigin) return 0;
  return origin == file.level || origin == kBottommost ? 1 : MovedPart(origin);
}

double TreeBits::MovedPart(int origin) const {
  const auto it = moved_.find(origin);
  return it == moved_.end() ? 0 : std::min(it->second / kOftenMoved, 1.0);
}

const TreeBits::Shares& TreeBits::Now() const {
  if (!now_valid_) now_ = CountShares();
  now_valid_ = true;
  return now_;
}

void TreeBits::SetLimits(const TreeLimits& limits) {
  if (limits == limits_) return;
  limits_ = limits;
  now_valid_ = false;
}

// Of what a level holds, the part that compactions will leave there.
double TreeBits::KeptPart(int level) const {
  const int deepest = DeepestLevel();
  if (!(limits_.level0_files > 0 && limits_.base_keys > 0 &&
        limits_.ratio >= 1) ||
      level >= deepest) {
    return 1;
  }
  if (level == 0) {
    const auto files = static_cast<double>(level_files_.at(0));
    return std::min(limits_.level0_files / files, 1.0);
  }
  double limit = limits_.base_keys * std::pow(limits_.ratio, level - 1);
  if (limits_.dynamic) {
    limit = std::max(
        level_keys_.at(deepest) * std::pow(limits_.ratio, level - deepest),
        limits_.base_keys / limits_.ratio);
  }
  return std::min(limit / std::max(level_keys_.at(level), 1.0), 1.0);
}

TreeBits::Shares TreeBits::CountShares() const {
  Shares shares;
  if (!(keys_ > 0)) return shares;
  const int deepest = DeepestLevel();
  const auto level_keys = [this](int level) {
    const auto it = level_keys_.find(level);
    return it == level_keys_.end() ? 0 : it->second;
  };
  std::map<int, double> kept;
  for (const auto& level : level_files_) {
    kept[level.first] = KeptPart(level.first);
  }
  double waiting = 0;  // keys, to be merged into the last run
  double waiting_bits = 0;
  double bottommost_keys = 0;
  for (const auto& [number, file] : files_) {
    if (file.level < 0 || file.facts.keys == 0) continue;
    const auto keys = static_cast<double>(file.facts.keys);
    const double run = file.level == 0 ? keys : level_keys(file.level);
    const double weight = keys / run;
    const double bits =
        file.facts.filter_bits < 0 ? asked_ * keys : file.facts.filter_bits;
    shares.bits += bits / keys_;
    const double stays = kept[file.level];
    waiting += (1 - stays) * keys / keys_;
    waiting_bits += (1 - stays) * bits / keys_;
    const int here =
        file.level == deepest && deepest > 0 ? kBottommost : file.level;
    const double part = PartOfOrigin(file);
    const int level = file.level;
    const auto add = [&, level](int as, double how_much) {
      if (how_much <= 0) return;
      const double size = as == 0 ? keys : as == level ? run : level_keys(as);
      const Origin key = OriginOf(as, size);
      Share& share = shares.of[key];
      share.keys += how_much * keys / keys_;
      share.weight += how_much * weight;
      Share& settled = shares.settled[key];
      settled.keys += stays * how_much * keys / keys_;
      // Fewer runs of level 0, smaller ones elsewhere.
      settled.weight += (level == 0 ? stays : 1) * how_much * weight;
      if (as != kBottommost) return;
      shares.bottommost_bits += how_much * bits / keys_;
      bottommost_keys += how_much * keys / keys_;
    };
    add(file.facts.origin, part);
    add(here, 1 - part);
  }
  // Where nothing is written as the last run, what waits will be moved.
  if (bottommost_keys > kWrittenAsLast) {
    shares.settled[OriginOf(kBottommost, 0)].keys += waiting;
    shares.settled_bits = shares.bits - waiting_bits +
                          waiting * shares.bottommost_bits / bottommost_keys;
  } else {
    shares.settled = shares.of;
    shares.settled_bits = shares.bits;
  }
  return shares;
}

// Brings the profile up to date, by as much as flowed in.
void TreeBits::Changed() {
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
  for (auto& [origin, share] : profile_) {
    share.keys *= 1 - part;
    share.weight *= 1 - part;
  }
  for (const auto& [origin, share] : Now().settled) {
    Share& lately = profile_[origin];
    lately.keys += part * share.keys;
    lately.weight += part * share.weight;
  }
  for (auto it = profile_.begin(); it != profile_.end();) {
    it = it->second.keys < 1e-9 ? profile_.erase(it) : std::next(it);
  }
}

std::vector<TreeRun> TreeBits::Runs() const {
  std::vector<TreeRun> runs;
  std::map<int, TreeRun> levels;
  // Newest first: files of level 0 by number.
  std::map<uint64_t, const File*> newest;
  for (const auto& [number, file] : files_) {
    if (file.level >= 0) newest[~number] = &file;
  }
  for (const auto& [number, file] : newest) {
    const auto keys = static_cast<double>(file->facts.keys);
    TreeRun added;
    TreeRun& run = file->level == 0 ? added : levels[file->level];
    run.level = file->level;
    ++run.files;
    run.keys += keys;
    run.filter_bits +=
        file->facts.filter_bits < 0 ? asked_ * keys : file->facts.filter_bits;
    if (file->level == 0) runs.push_back(run);
  }
  for (const auto& [level, run] : levels) runs.push_back(run);
  return runs;
}

}  // namespace deltabloom::internal
