#include "tools/deltabloom/verify_questions.h"

#include <algorithm>

namespace deltabloom::tools {

void Questions::Begin(AskedFilter* filter, uint64_t offset) {
  filter_ = filter;
  offset_ = offset;
  keys_in_filter_ = 0;
  absent_in_filter_ = 0;
}

void Questions::Add(std::string_view key, Kind kind) {
  keys_[size_].assign(key);
  kinds_[size_] = kind;
  if (kind == Kind::kAbsent) {
    ++absent_in_filter_;
  } else {
    ++keys_in_filter_;
  }
  if (++size_ == kBatch) Ask();
}

void Questions::Ask() {
  std::array<std::string_view, kBatch> views;
  std::copy(keys_.begin(), keys_.begin() + size_, views.begin());
  std::array<bool, kBatch> batched = {};
  const bool has_batches =
      filter_->MayMatch(views.data(), size_, batched.data());
  for (size_t i = 0; i < size_; ++i) {
    const bool alone = filter_->MayMatch(views[i]);
    const bool in_range =
        kinds_[i] != Kind::kKey || filter_->RangeOfKeyMayMatch(views[i]);
    Judge(i, alone, has_batches ? batched[i] : alone, in_range);
  }
  size_ = 0;
}

void Questions::Judge(size_t i, bool alone, bool batched, bool in_range) {
  if (kinds_[i] == Kind::kAbsent) {
    ++report_->absent;
    if (alone || batched) ++report_->false_positives;
    return;
  }
  const bool prefix = kinds_[i] == Kind::kPrefix;
  ++(prefix ? report_->prefixes : report_->keys);
  if (alone && batched && in_range) return;
  ++report_->false_negatives;
  listener_->Missed({offset_, keys_[i], prefix, !alone, !batched, !in_range});
}

void Questions::End(std::optional<double> expected_rate) {
  Ask();
  if (absent_in_filter_ > 0) {
    if (expected_.has_value() && expected_rate.has_value()) {
      *expected_ += *expected_rate * static_cast<double>(absent_in_filter_);
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
uint64_t AbsentKeys::Next() {
  uint64_t x = state_ += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

bool AbsentKeys::Between(std::string_view a, std::string_view b,
                         std::string* key) {
  if (b < a) std::swap(a, b);
  key->assign(a);
  uint64_t random = Next();
  for (int i = 0; i < 8; ++i, random >>= 8) {
    key->push_back(static_cast<char>(random & 0xff));
  }
  return a != b && *key < b;
}

bool AbsentKeys::BetweenPrefixes(std::string_view a, std::string_view b,
                                 std::string* prefix) {
  if (b < a) std::swap(a, b);
  const size_t common = static_cast<size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (common == a.size()) return false;
  const auto low = static_cast<unsigned char>(a[common]);
  const auto high = static_cast<unsigned char>(b[common]);
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    prefix->assign(a.substr(0, common));
    prefix->push_back(static_cast<char>(low + Next() % (high - low + 1u)));
    while (prefix->size() < a.size()) {
      prefix->push_back(static_cast<char>(Next() & 0xff));
    }
    if (a < *prefix && *prefix < b) return true;
  }
  return false;
}

}  // namespace deltabloom::tools
