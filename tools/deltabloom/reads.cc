#include "tools/deltabloom/reads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

// The bytes from `from` on as the digits of a number from 0 to 1.
double Fraction(std::string_view key, size_t from) {
  constexpr size_t kDigits = 8;  // as many as a double holds
  double fraction = 0;
  for (size_t i = kDigits; i > 0; --i) {
    const size_t at = from + i - 1;
    const double digit = at < key.size() ? static_cast<uint8_t>(key[at]) : 0;
    fraction = (fraction + digit) / 256;
  }
  return fraction;
}

// Where `key` is on the way from `first` to `last`. REQUIRES: it is not
// outside.
double Way(std::string_view first, std::string_view last,
           std::string_view key) {
  size_t same = 0;
  while (same < first.size() && same < last.size() &&
         first[same] == last[same]) {
    ++same;
  }
  const double from = Fraction(first, same);
  const double to = Fraction(last, same);
  if (!(to > from)) return 0;
  return std::clamp((Fraction(key, same) - from) / (to - from), 0.0, 1.0);
}

struct Piece {
  std::string_view first;
  std::string_view last;
  double keys = 0;
  double before = 0;  // the keys of the pieces before it

  bool operator<(const Piece& other) const { return first < other.first; }
};

// The tables of a run, in the order of their keys.
using Run = std::vector<Piece>;

// The keys of the run that are less than `key`.
double KeysBefore(const Run& run, std::string_view key) {
  auto piece = std::upper_bound(run.begin(), run.end(), key,
                                [](std::string_view one, const Piece& other) {
                                  return one < other.first;
                                });
  if (piece == run.begin()) return 0;
  --piece;
  if (key >= piece->last) return piece->before + piece->keys;
  return piece->before + piece->keys * Way(piece->first, piece->last, key);
}

// The least and the greatest key: with a reverse comparator the last one is the
// least.
std::pair<std::string_view, std::string_view> EndsOf(const TableInTree& table) {
  return std::minmax(
      {std::string_view(table.first_key), std::string_view(table.last_key)});
}

}  // namespace

std::string Reads::Text() const { return known_ ? Format("%.4f", sum_) : "?"; }

bool IsBytewise(const std::string& comparator) {
  constexpr std::string_view kWithTimestamps = ".u64ts";
  std::string_view name = comparator;
  if (name.size() > kWithTimestamps.size() &&
      name.substr(name.size() - kWithTimestamps.size()) == kWithTimestamps) {
    name.remove_suffix(kWithTimestamps.size());
  }
  return name == "leveldb.BytewiseComparator" ||
         name == "rocksdb.ReverseBytewiseComparator";
}

std::vector<double> SharesOfLookups(const std::vector<TableInTree>& tables,
                                    bool bytewise) {
  std::map<std::pair<int, size_t>, Run> runs;
  const auto run_of = [&](size_t i) {
    return std::pair(tables[i].level, tables[i].level == 0 ? i : 0);
  };
  double all = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    const TableInTree& table = tables[i];
    const auto [first, last] = EndsOf(table);
    const double keys = std::max(table.keys, 1.0);
    runs[run_of(i)].push_back({first, last, keys, 0});
    all += keys;
  }
  std::map<std::pair<int, size_t>, double> keys_of_runs;
  for (auto& [name, run] : runs) {
    std::sort(run.begin(), run.end());
    double& keys = keys_of_runs[name];
    for (Piece& piece : run) {
      piece.before = keys;
      keys += piece.keys;
    }
  }
  std::vector<double> shares;
  for (size_t i = 0; i < tables.size(); ++i) {
    const TableInTree& table = tables[i];
    if (!bytewise) {
      shares.push_back(std::max(table.keys, 1.0) / keys_of_runs.at(run_of(i)));
      continue;
    }
    const auto [first, last] = EndsOf(table);
    double between = 0;
    for (const auto& [name, run] : runs) {
      between += KeysBefore(run, last) - KeysBefore(run, first);
    }
    shares.push_back(between / all);
  }
  return shares;
}

}  // namespace deltabloom::tools
