// Predicts how many data blocks a lookup of an absent key reads, from the
// false-positive rates of filters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/program/console.h"

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

// The reads of one column family: the sum over its sorted runs of their average
// rates. Each table of level 0 is a run, and so is each other level.
class Reads {
 public:
  // A table of `keys` keys whose filter has this rate; 1: it has none.
  void Add(int level, const std::optional<double>& rate, uint64_t keys) {
    runs_[{level, level == 0 ? runs_.size() : 0}].Add(
        rate, std::max(1.0, static_cast<double>(keys)));
  }
  // Returns nothing if a rate is not known.
  std::optional<double> Sum() const {
    double sum = 0;
    for (const auto& [key, run] : runs_) {
      if (!run.Rate().has_value()) return std::nullopt;
      sum += *run.Rate();
    }
    return sum;
  }
  std::string Text() const {
    const auto sum = Sum();
    return sum.has_value() ? Format("%.4f", *sum) : "?";
  }

 private:
  std::map<std::pair<int, size_t>, RateSum> runs_;
};

}  // namespace deltabloom::tools
