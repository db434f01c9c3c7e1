#include "tools/deltabloom/verify/lookups.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace deltabloom::tools {

void Lookups::Begin(TableFilter* filter, uint64_t offset) {
  End();
  filter_ = filter;
  offset_ = offset;
  keys_in_filter_ = 0;
  absent_in_filter_ = 0;
  last_key_.reset();
  last_prefix_.reset();
}

void Lookups::Key(std::string_view key) {
  if (last_key_ == key) return;
  Add(key, Kind::kKey);
  if (last_key_.has_value() && Between(*last_key_, key)) {
    Add(absent_, Kind::kAbsent);
  }
  last_key_ = key;
}

void Lookups::Prefix(std::string_view prefix, bool absent) {
  if (last_prefix_ == prefix) return;
  if (absent && last_prefix_.has_value() &&
      BetweenPrefixes(*last_prefix_, prefix)) {
    Add(absent_, Kind::kAbsent);
  }
  Add(prefix, Kind::kPrefix);
  last_prefix_ = prefix;
}

void Lookups::Add(std::string_view key, Kind kind) {
  keys_[size_].assign(key);
  kinds_[size_] = kind;
  ++(kind == Kind::kAbsent ? absent_in_filter_ : keys_in_filter_);
  if (++size_ == kBatch) RunBatch();
}

void Lookups::RunBatch() {
  std::array<std::string_view, kBatch> views;
  std::copy(keys_.begin(), keys_.begin() + size_, views.begin());
  std::array<bool, kBatch> batched = {};
  const bool has_batches =
      filter_->MayMatch(views.data(), size_, batched.data());
  for (size_t i = 0; i < size_; ++i) {
    const bool alone = filter_->MayMatch(views[i]);
    const bool in_batch = has_batches ? batched[i] : alone;
    if (kinds_[i] == Kind::kAbsent) {
      ++report_->absent;
      if (alone || in_batch) ++report_->false_positives;
      continue;
    }
    const bool prefix = kinds_[i] == Kind::kPrefix;
    ++(prefix ? report_->prefixes : report_->keys);
    if (alone && in_batch) continue;
    ++report_->false_negatives;
    if (report_->missed.size() < report_->show) {
      report_->missed.push_back({offset_, keys_[i], prefix, !alone, !in_batch});
    }
  }
  size_ = 0;
}

void Lookups::End() {
  if (filter_ == nullptr) return;
  RunBatch();
  if (absent_in_filter_ > 0) {
    const auto rate = filter_->ExpectedRate(keys_in_filter_);
    if (expected_.has_value() && rate.has_value()) {
      *expected_ += *rate * static_cast<double>(absent_in_filter_);
    } else {
      expected_.reset();
    }
  }
  report_->expected_rate.reset();
  if (expected_.has_value() && report_->absent > 0) {
    report_->expected_rate = *expected_ / static_cast<double>(report_->absent);
  }
  filter_ = nullptr;
}

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t Lookups::Random() {
  uint64_t x = random_ += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Makes absent_: the smaller key (in the order of bytes) and eight random
// bytes, if that is less than the larger one. It is in the table with a chance
// of 2^-64, whatever the order of the table's keys.
bool Lookups::Between(std::string_view a, std::string_view b) {
  if (b < a) std::swap(a, b);
  absent_.assign(a);
  uint64_t random = Random();
  for (int i = 0; i < 8; ++i, random >>= 8) {
    absent_.push_back(static_cast<char>(random & 0xff));
  }
  return a != b && absent_ < b;
}

// Makes absent_: a prefix of the smaller one's length, strictly between both in
// the order of bytes; false if there is none or none is found.
bool Lookups::BetweenPrefixes(std::string_view a, std::string_view b) {
  if (b < a) std::swap(a, b);
  const size_t common = static_cast<size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (common == a.size()) return false;
  const auto low = static_cast<unsigned char>(a[common]);
  const auto high = static_cast<unsigned char>(b[common]);
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    absent_.assign(a.substr(0, common));
    absent_.push_back(static_cast<char>(low + Random() % (high - low + 1u)));
    while (absent_.size() < a.size()) {
      absent_.push_back(static_cast<char>(Random() & 0xff));
    }
    if (a < absent_ && absent_ < b) return true;
  }
  return false;
}

}  // namespace deltabloom::tools
