#include "db_bench_ext/db/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "db_bench_ext/common/program.h"

namespace deltabloom::db_reads {

using bench::Mix;

namespace {

// Big-endian: the order of keys is that of the numbers.
std::string MakeKey(uint64_t spread, uint64_t number) {
  std::string key;
  for (const uint64_t word : {spread, number}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      key.push_back(static_cast<char>(word >> shift & 0xff));
    }
  }
  return key;
}

}  // namespace

std::string KeySet::Key(uint64_t i) const {
  return MakeKey(Mix(i ^ Mix(seed_)), i);
}

std::string KeySet::AbsentKey(uint64_t j) const {
  return Key((uint64_t{1} << 40) + j);
}

std::string KeySet::RangeEnd(std::string_view key) const {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t spread = 0;
  for (size_t i = 0; i < 8; ++i) {
    spread = spread << 8 | static_cast<unsigned char>(key[i]);
  }
  return MakeKey(spread + std::min(kMost / size_ / 64, kMost - spread), 0);
}

std::string KeySet::Value(std::string_view key, size_t bytes) {
  uint64_t state = key.size();
  for (const char c : key) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::string value(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(state)) {
    state = Mix(state);
    std::memcpy(&value[at], &state, std::min(sizeof(state), bytes - at));
  }
  return value;
}

const Growth* FindGrowth(const std::string& name) {
  static constexpr Growth kGrowths[] = {{"insert", 10, 0},
                                        {"overwrite", 5, 0},
                                        {"delete", 7, 3},
                                        {"mixed", 5, 2}};
  if (name == "settled") return nullptr;
  for (const Growth& growth : kGrowths) {
    if (name == growth.name) return &growth;
  }
  throw bench::UsageError(
      "--trees: '" + name +
      "' is not one of settled, insert, overwrite, delete, mixed");
}

TreePlan DemoTree(uint64_t keys) {
  // Quarters of level 1: 400 + 40 + 4 + 1 + 1.
  const uint64_t unit = std::max<uint64_t>(1, keys / 446);
  TreePlan plan{"demo", keys, {{3, keys - 46 * unit}}};
  for (const auto& [level, units] :
       {std::pair{2, 40}, {1, 4}, {0, 1}, {0, 1}}) {
    plan.runs.push_back({level, static_cast<uint64_t>(units) * unit});
  }
  return plan;
}

TreePlan OneTable(uint64_t keys, bool partitioned) {
  TreePlan plan{partitioned ? "partitioned" : "full", keys, {{6, keys}}};
  plan.partitioned = partitioned;
  return plan;
}

TreePlan LevelsTree(const Growth* growth, unsigned runs, unsigned size_ratio,
                    uint64_t keys) {
  TreePlan plan{std::string(growth == nullptr ? "settled" : growth->name) +
                    "-" + std::to_string(runs) + "-T" +
                    std::to_string(size_ratio),
                keys,
                {}};
  plan.growth = growth;
  plan.levels = runs;
  plan.size_ratio = size_ratio;
  if (growth != nullptr) {
    if (runs >= 3) return plan;
    throw bench::UsageError("--runs: a tree that grows has 3 or more; " +
                            std::to_string(runs) + " needs --trees settled");
  }
  constexpr double kLeastKeys = 2;  // a range of keys, however small
  double all = 0;                   // 1 + T + T^2 + ...
  for (unsigned i = 0; i < runs; ++i) all += std::pow(size_ratio, i);
  const double unit = static_cast<double>(keys) / all;
  if (unit < kLeastKeys) {
    throw bench::UsageError(
        "--keys: " + std::to_string(keys) + " are too few for " +
        std::to_string(runs) + " runs with a size ratio of " +
        std::to_string(size_ratio) + "; at least " +
        std::to_string(static_cast<uint64_t>(kLeastKeys * all)) +
        " are needed");
  }
  uint64_t rest = keys;
  for (unsigned i = 0; i < runs; ++i) {
    const auto share =
        static_cast<uint64_t>(std::lround(unit * std::pow(size_ratio, i)));
    plan.runs.insert(plan.runs.begin(),
                     {static_cast<int>(i), i + 1 == runs ? rest : share});
    rest -= share;
  }
  return plan;
}

History::Write History::Next() {
  const uint64_t drawn = random_.Below(10);
  if (exists_.empty() || drawn < growth_.inserts) {
    exists_.push_back(true);
    return {exists_.size() - 1, false};
  }
  const uint64_t key = random_.Below(exists_.size());
  exists_[key] = drawn >= growth_.inserts + growth_.deletes;
  return {key, !exists_[key]};
}

std::vector<uint64_t> History::Present() const {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < exists_.size(); ++key) {
    if (exists_[key]) keys.push_back(key);
  }
  return keys;
}

}  // namespace deltabloom::db_reads
