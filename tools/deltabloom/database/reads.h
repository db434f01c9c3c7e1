// Predicts how many data blocks a lookup of an absent key reads, from the
// false-positive rates of filters.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deltabloom::tools {

// The rate over the keys of several filters; nothing if one is not known.
class RateSum {
 public:
  void Add(const std::optional<double>& rate, double keys) {
    known_ = known_ && rate.has_value();
    sum_ += rate.value_or(0) * keys;
    keys_ += keys;
  }
  std::optional<double> Rate() const {
    if (!known_ || !(keys_ > 0)) return std::nullopt;
    return sum_ / keys_;
  }

 private:
  bool known_ = true;
  double sum_ = 0;
  double keys_ = 0;
};

// The reads of one column family, or of a level of it: each lookup asks the
// filters of the tables whose keys it lies between.
class Reads {
 public:
  // A table whose filter has this rate (1: it has none), which this share of
  // the lookups asks.
  void Add(const std::optional<double>& rate, double share_of_lookups) {
    known_ = known_ && rate.has_value();
    sum_ += rate.value_or(0) * share_of_lookups;
  }
  // Returns nothing if a rate is not known.
  std::optional<double> Sum() const {
    return known_ ? std::optional(sum_) : std::nullopt;
  }
  std::string Text() const;

 private:
  bool known_ = true;
  double sum_ = 0;
};

// Refilter replaces a filter where the new one leaves at most this share of its
// false positives.
inline constexpr double kMostLeftByRefilter = 0.9;

// Returns whether this comparator of RocksDB orders keys by their bytes,
// upwards or downwards.
bool IsBytewise(const std::string& comparator);

// A table of a column family, as a lookup finds it.
struct TableInTree {
  int level = 0;
  double keys = 0;
  std::string first_key;
  std::string last_key;
};

// Returns for each table the share of lookups whose keys lie between its first
// and its last key, if lookups are spread as the keys of all these tables are.
// A table of level 0 is a sorted run, and so is each other level. The keys of a
// table lie evenly between its first and its last one, taken as numbers.
// Unless `bytewise`, the tables of a run are taken to cover all keys.
std::vector<double> SharesOfLookups(const std::vector<TableInTree>& tables,
                                    bool bytewise);

// Sets share_of_lookups of the tables whose level is known, by column family.
// Table is DatabaseTable or RefilterTable.
template <typename Table>
void SetShares(std::vector<Table>* tables) {
  std::map<std::string, std::vector<Table*>> families;
  for (Table& table : *tables) {
    if (table.level >= 0) families[table.family].push_back(&table);
  }
  for (const auto& [name, of_family] : families) {
    std::vector<TableInTree> tree;
    for (const Table* table : of_family) {
      tree.push_back({table->level, static_cast<double>(table->filter_keys),
                      table->first_key, table->last_key});
    }
    const std::vector<double> shares =
        SharesOfLookups(tree, of_family[0]->bytewise);
    for (size_t i = 0; i < shares.size(); ++i) {
      of_family[i]->share_of_lookups = shares[i];
    }
  }
}

}  // namespace deltabloom::tools
