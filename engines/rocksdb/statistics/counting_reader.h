// Any reader of a filter, with its lookups counted.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_COUNTING_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_COUNTING_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// What there is to count for a filter that is opened.
struct FilterToCount {
  std::string_view filter;
  // How it answers: kAlways, too, for a filter that is not asked.
  FilterKind kind;
  const ParsedFilter* parsed;
};

// A filter that is open, and its lookups.
class OpenFilter {
 public:
  // Throws std::bad_alloc.
  OpenFilter(std::shared_ptr<PolicyStatistics> statistics,
             const FilterToCount& filter);
  ~OpenFilter();
  OpenFilter(const OpenFilter&) = delete;
  OpenFilter& operator=(const OpenFilter&) = delete;

  // Without a branch on the answer, which the caller will make anyway.
  void Count(bool may_match) {
    CountLookups(group_->slot, 1, may_match ? 0 : 1,
                 expected_[may_match ? 1 : 0]);
  }

  void Count(const bool* may_match, size_t n) {
    uint64_t matches = 0;
    for (size_t i = 0; i < n; ++i) matches += may_match[i] ? 1 : 0;
    const uint64_t negatives = n - matches;
    CountLookups(group_->slot, n, negatives,
                 static_cast<double>(negatives) * expected_[0]);
  }

 private:
  const std::shared_ptr<PolicyStatistics> statistics_;
  FilterGroup* const group_;
  const uint64_t bytes_;
  uint64_t keys_ = 0;
  // False positives expected for a negative, and for a match: none.
  double expected_[2] = {0, 0};
};

template <typename Reader>
class CountingReader final : public ROCKSDB_NAMESPACE::FilterBitsReader {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  // Throws std::bad_alloc.
  template <typename... Arguments>
  CountingReader(std::shared_ptr<PolicyStatistics> statistics,
                 const FilterToCount& filter, Arguments&&... arguments)
      : open_(std::move(statistics), filter),
        reader_(std::forward<Arguments>(arguments)...) {}

  bool MayMatch(const Slice& key) override {
    const bool may_match = reader_.MayMatch(key);
    open_.Count(may_match);
    return may_match;
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    reader_.MayMatch(n, keys, may_match);
    open_.Count(may_match, static_cast<size_t>(n));
  }

 private:
  OpenFilter open_;
  Reader reader_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_COUNTING_READER_H_
