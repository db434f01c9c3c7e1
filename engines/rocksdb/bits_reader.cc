#include "engines/rocksdb/bits_reader.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "table/framing.h"
#include "util/cpu.h"
#include "util/key_batch.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::Slice;

// RocksDB's trailer; filters of no more bytes hold no key for its reader.
constexpr size_t kBuiltinTrailerSize = 5;

// A Slice lies in memory like a KeyBytes; slice.h declares both members public.
static_assert(std::is_trivially_copyable<Slice>::value &&
              sizeof(Slice) == sizeof(KeyBytes) &&
              offsetof(Slice, data_) == offsetof(KeyBytes, data) &&
              offsetof(Slice, size_) == offsetof(KeyBytes, size));

class SealedBitsReader final : public FilterBitsReader {
 public:
  explicit SealedBitsReader(const ParsedFilter& parsed) : parsed_(parsed) {}

  bool MayMatch(const Slice& key) override {
    return parsed_.may_match(parsed_, {key.data(), key.size()});
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    parsed_.may_match_many(parsed_, KeyBatch(keys), static_cast<size_t>(n),
                           may_match);
  }

 private:
  const ParsedFilter parsed_;
};

// A reader of RocksDB's, by which filters that are not ours are asked.
class ForeignReader final {
 public:
  explicit ForeignReader(std::unique_ptr<FilterBitsReader> reader)
      : reader_(std::move(reader)) {}

  bool MayMatch(const Slice& key) { return reader_->MayMatch(key); }
  void MayMatch(int n, Slice** keys, bool* may_match) {
    reader_->MayMatch(n, keys, may_match);
  }

 private:
  std::unique_ptr<FilterBitsReader> reader_;
};

// A filter that is open, and its lookups.
class OpenFilter {
 public:
  // Throws std::bad_alloc.
  OpenFilter(const Slice& filter, FilterKind kind, const ParsedFilter& parsed,
             std::shared_ptr<PolicyStatistics> statistics)
      : statistics_(std::move(statistics)),
        group_(&statistics_->Group(ClassOf(filter.ToStringView(), kind))),
        bytes_(filter.size()) {
    if (kind == FilterKind::kFilter) {
      const auto last_byte = static_cast<uint8_t>(filter[filter.size() - 1]);
      const FilterEstimate estimate =
          FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2)->estimate(parsed);
      keys_ = static_cast<uint64_t>(estimate.keys + 0.5);
      // A rate of 1 leaves nothing to divide by, and no negatives.
      const double rate = std::min(estimate.rate, 0.999999);
      expected_[0] = rate / (1 - rate);
    }
    group_->filters_open.fetch_add(1, std::memory_order_relaxed);
    group_->bytes_open.fetch_add(bytes_, std::memory_order_relaxed);
    group_->keys_open.fetch_add(keys_, std::memory_order_relaxed);
    Tick();
  }
  ~OpenFilter() {
    group_->filters_open.fetch_sub(1, std::memory_order_relaxed);
    group_->bytes_open.fetch_sub(bytes_, std::memory_order_relaxed);
    group_->keys_open.fetch_sub(keys_, std::memory_order_relaxed);
  }
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

// `Reader` with its lookups counted.
template <typename Reader>
class CountingReader final : public FilterBitsReader {
 public:
  template <typename Argument>
  CountingReader(Argument&& argument, const Slice& filter, FilterKind kind,
                 const ParsedFilter& parsed,
                 std::shared_ptr<PolicyStatistics> statistics)
      : open_(filter, kind, parsed, std::move(statistics)),
        reader_(std::forward<Argument>(argument)) {}

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

// Null when memory has run out.
template <typename Reader, typename Argument>
FilterBitsReader* NewCountingReader(
    Argument&& argument, const Slice& filter, FilterKind kind,
    const ParsedFilter& parsed, std::shared_ptr<PolicyStatistics> statistics) {
  try {
    return new CountingReader<Reader>(std::forward<Argument>(argument), filter,
                                      kind, parsed, std::move(statistics));
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

FilterBitsReader* NewSealedBitsReader(
    const Slice& filter, const FilterPolicy* builtin,
    std::shared_ptr<PolicyStatistics> statistics) {
  ParsedFilter parsed;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &parsed, nullptr);
  if (kind == FilterKind::kForeign && builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    std::unique_ptr<FilterBitsReader> reader(
        builtin->GetFilterBitsReader(filter));
    if (statistics == nullptr || reader == nullptr) return reader.release();
    return NewCountingReader<ForeignReader>(std::move(reader), filter, kind,
                                            parsed, std::move(statistics));
  }
  if (statistics == nullptr) {
    return new (std::nothrow) SealedBitsReader(parsed);
  }
  return NewCountingReader<SealedBitsReader>(parsed, filter, kind, parsed,
                                             std::move(statistics));
}

}  // namespace deltabloom::internal
