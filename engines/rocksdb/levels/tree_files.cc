#include "engines/rocksdb/levels/tree_files.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "engines/rocksdb/levels/full_tree.h"

namespace deltabloom::internal {

std::string NameOfOrigin(int origin) {
  return origin == kBottommost ? "bottommost"
                               : "level " + std::to_string(origin);
}

void FileSums::Add(const TableFacts& facts, bool add) {
  const double sign = add ? 1 : -1;
  const double n = sign * static_cast<double>(facts.keys);
  add ? ++files : --files;
  keys += n;
  if (facts.tree_keys > 0) dated_keys += n;
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
  dated_keys += other.dated_keys;
  tree_keys += other.tree_keys;
  known_bits += other.known_bits;
  unknown_keys += other.unknown_keys;
}

void TreeFiles::Learn(uint64_t file, const TableFacts& facts) {
  File& known = files_[file];
  Count(file, known, false);
  known.facts = facts;
  Count(file, known, true);
}

void TreeFiles::LearnNew(uint64_t file, TableFacts facts) {
  facts.tree_keys = std::max(keys_, static_cast<double>(facts.keys));
  Learn(file, facts);
}

TreeFiles::File TreeFiles::Find(uint64_t file) const {
  const auto it = files_.find(file);
  return it == files_.end() ? File() : it->second;
}

void TreeFiles::Forget(uint64_t file) {
  Count(file, Find(file), false);
  files_.erase(file);
}

void TreeFiles::Flushed(uint64_t keys) {
  // The average is over keys, not over flushes, so a small flush, as the last
  // before a database is closed may be, changes it little. The next flush may
  // be large again, and would get the many bits of a small run for each of its
  // keys. It remembers two flushes of average size: as many files as level 0 is
  // planned with where four start a compaction, RocksDB's default.
  constexpr double kRememberedFlushes = 2;
  const auto n = static_cast<double>(keys);
  // 1 keeps the divisor from 0.
  const double part = n / (n + kRememberedFlushes * flush_keys_ + 1);
  flush_keys_ += part * (n - flush_keys_);
}

void TreeFiles::Count(uint64_t number, const File& file, bool add) {
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

void TreeFiles::Edit(const std::vector<uint64_t>& removed,
                     const std::vector<LiveTable>& added) {
  // A table that is moved is in both.
  std::unordered_set<uint64_t> kept;
  for (const LiveTable& table : added) kept.insert(table.file);
  for (const uint64_t number : removed) {
    if (kept.count(number) == 0 && Find(number).level >= 0) Forget(number);
  }
  for (const LiveTable& table : added) {
    File& file = files_[table.file];
    Count(table.file, file, false);
    if (file.facts.filter_bits < 0 && table.keys > 0) {
      file.facts.keys = table.keys;
    }
    file.level = table.level;
    Count(table.file, file, true);
  }
}

void TreeFiles::SetTree(const std::vector<LiveTable>& tables) {
  std::vector<uint64_t> all;
  for (const auto& [number, file] : files_) all.push_back(number);
  Edit(all, tables);
}

FileSums TreeFiles::Sums(int level) const {
  FileSums all;
  for (const auto& [group, sums] : groups_) {
    if (level < 0 || group.first == level) all.Add(sums);
  }
  return all;
}

int TreeFiles::DeepestLevel() const {
  return groups_.empty() ? 0 : groups_.rbegin()->first.first;
}

std::map<int, LevelRuns> TreeFiles::Levels() const {
  std::map<int, LevelRuns> levels;
  for (const auto& [group, sums] : groups_) {
    LevelRuns& level = levels[group.first];
    level.keys += sums.keys;
    level.runs =
        group.first > 0 ? 1 : level.runs + static_cast<double>(sums.files);
  }
  return levels;
}

std::map<int, double> TreeFiles::FiltersPerLookup() const {
  std::map<int, double> weights;
  for (const auto& [group, sums] : groups_) {
    const auto& [level, origin] = group;
    if (!(sums.keys > 0)) continue;
    const bool last = level > 0 && level == DeepestLevel();
    const int unknown_origin = last ? kBottommost : level;
    weights[origin == kUnknownOrigin ? unknown_origin : origin] +=
        level == 0 ? static_cast<double>(sums.files)
                   : sums.keys / Sums(level).keys;
  }
  return weights;
}

std::vector<TreeRun> TreeFiles::Runs(
    double bits_of_unknown, const std::vector<uint64_t>& without) const {
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
    runs.push_back(
        {level, sums.files, sums.keys, sums.FilterBits(bits_of_unknown)});
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

}  // namespace deltabloom::internal
