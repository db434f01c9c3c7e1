#include "tools/deltabloom/database/reads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

// Keys as numbers: behind the bytes that all have in common, each byte is a
// digit, the least one that occurs is 0. So keys of decimal digits are what
// they look like.
class Numbers {
 public:
  explicit Numbers(const std::vector<TableInTree>& tables) {
    if (tables.empty()) return;
    const std::string_view one = tables[0].first_key;
    same_ = one.size();
    for (const TableInTree& table : tables) {
      for (const std::string_view key : {table.first_key, table.last_key}) {
        const auto end = one.begin() + std::min(same_, key.size());
        same_ = static_cast<size_t>(
            std::mismatch(one.begin(), end, key.begin()).first - one.begin());
      }
    }
    for (const TableInTree& table : tables) {
      for (const std::string_view key : {table.first_key, table.last_key}) {
        for (size_t i = same_; i < key.size(); ++i) Widen(key[i]);
      }
    }
  }

  // Returns the place of `key` between `first`, which is 0, and `last`, which
  // is
  // 1. REQUIRES: it is not outside.
  double Way(std::string_view first, std::string_view last,
             std::string_view key) const {
    size_t same = same_;
    while (same < first.size() && same < last.size() &&
           first[same] == last[same]) {
      ++same;
    }
    const double from = Fraction(first, same);
    const double to = Fraction(last, same);
    if (!(to > from)) return 0;
    return std::clamp((Fraction(key, same) - from) / (to - from), 0.0, 1.0);
  }

 private:
  void Widen(char byte) {
    least_ = std::min(least_, static_cast<uint8_t>(byte));
    most_ = std::max(most_, static_cast<uint8_t>(byte));
  }

  // The digits from `from` on, as a number from 0 to 1.
  double Fraction(std::string_view key, size_t from) const {
    constexpr size_t kDigits = 16;  // more than a double holds
    const double base = most_ - least_ + 1;
    double fraction = 0;
    for (size_t i = kDigits; i > 0; --i) {
      const size_t at = from + i - 1;
      const uint8_t byte =
          at < key.size() ? static_cast<uint8_t>(key[at]) : least_;
      fraction = (fraction + byte - least_) / base;
    }
    return fraction;
  }

  size_t same_ = 0;
  uint8_t least_ = 255;
  uint8_t most_ = 0;
};

struct Piece {
  std::string_view first;
  std::string_view last;
  double keys = 0;

  bool operator<(const Piece& other) const { return first < other.first; }
};

// The tables of a run, in the order of their keys.
using PiecesOfRun = std::vector<Piece>;

// Adds the keys of the run between each of the places and the one before it.
void AddKeys(const PiecesOfRun& run,
             const std::vector<std::string_view>& places,
             const Numbers& numbers, std::vector<double>* keys) {
  double before = 0;       // in the pieces before *piece
  double up_to_place = 0;  // keys of the run, up to the last place
  auto piece = run.begin();
  for (size_t i = 0; i < places.size(); ++i) {
    for (; piece + 1 != run.end() && (piece + 1)->first <= places[i]; ++piece) {
      before += piece->keys;
    }
    double up_to = before;
    if (places[i] >= piece->last) {
      up_to += piece->keys;
    } else if (places[i] > piece->first) {
      up_to += piece->keys * numbers.Way(piece->first, piece->last, places[i]);
    }
    (*keys)[i] += up_to - up_to_place;
    up_to_place = up_to;
  }
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
  const auto run_of = [&](size_t i) {
    return std::pair(tables[i].level, tables[i].level == 0 ? i : 0);
  };
  std::map<std::pair<int, size_t>, PiecesOfRun> runs;
  std::map<std::pair<int, size_t>, double> keys_of_runs;
  std::vector<std::string_view> places;
  for (size_t i = 0; i < tables.size(); ++i) {
    const double keys = std::max(tables[i].keys, 1.0);
    const auto [first, last] = EndsOf(tables[i]);
    runs[run_of(i)].push_back({first, last, keys});
    keys_of_runs[run_of(i)] += keys;
    places.push_back(first);
    places.push_back(last);
  }
  std::vector<double> shares;
  if (!bytewise) {
    for (size_t i = 0; i < tables.size(); ++i) {
      shares.push_back(std::max(tables[i].keys, 1.0) /
                       keys_of_runs.at(run_of(i)));
    }
    return shares;
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const Numbers numbers(tables);
  std::vector<double> keys(places.size());
  for (auto& [name, run] : runs) {
    std::sort(run.begin(), run.end());
    AddKeys(run, places, numbers, &keys);
  }
  // From now on up to each place, from the least key on.
  std::partial_sum(keys.begin(), keys.end(), keys.begin());
  const auto up_to = [&](std::string_view key) {
    return keys[static_cast<size_t>(
        std::lower_bound(places.begin(), places.end(), key) - places.begin())];
  };
  for (const TableInTree& table : tables) {
    const auto [first, last] = EndsOf(table);
    const double between = up_to(last) - up_to(first);
    shares.push_back(between > 0 ? between / (keys.back() - keys.front()) : 0);
  }
  return shares;
}

}  // namespace deltabloom::tools
