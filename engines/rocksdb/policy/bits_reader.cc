#include "engines/rocksdb/policy/bits_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "engines/rocksdb/range/range_extractor.h"
#include "util/cpu.h"
#include "util/key_batch.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {
namespace {

using rocksdb::FilterBitsReader;
using rocksdb::Slice;

// RocksDB's reader takes filters of no more bytes than its trailer for empty.
constexpr size_t kBuiltinTrailerSize = 5;

// A Slice has the layout of a KeyBytes; slice.h declares both members public.
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

// Of filters of transformed or seeded keys.
class MappedBitsReader final : public FilterBitsReader {
 public:
  MappedBitsReader(const ParsedFilter& parsed, const KeyMapping& mapping)
      : parsed_(parsed), mapping_(mapping) {}

  bool MayMatch(const Slice& key) override {
    try {
      KeyMapping::Space space;
      return parsed_.may_match(parsed_,
                               mapping_.Map({key.data(), key.size()}, &space));
    } catch (...) {
      return true;
    }
  }

  // A transformed key that is not seeded may have any size and is not kept for
  // a batch: the transform takes more time than a batch would save.
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    const auto size = static_cast<size_t>(n);
    if (!mapping_.keys().seeded) {
      for (size_t i = 0; i < size; ++i) may_match[i] = MayMatch(*keys[i]);
      return;
    }
    try {
      for (size_t begin = 0; begin < size; begin += kBatch) {
        MayMatchSeeded(std::min(kBatch, size - begin), keys + begin,
                       may_match + begin);
      }
    } catch (...) {
      std::fill_n(may_match, size, true);
    }
  }

 private:
  void MayMatchSeeded(size_t n, Slice** keys, bool* may_match) {
    KeyMapping::Space space;
    char seeded[kBatch][kSeededKeySize];
    KeyBytes bytes[kBatch];
    const KeyBytes* pointers[kBatch];
    for (size_t i = 0; i < n; ++i) {
      mapping_.Map({keys[i]->data(), keys[i]->size()}, &space);
      std::memcpy(seeded[i], space.seeded, kSeededKeySize);
      bytes[i] = {seeded[i], kSeededKeySize};
      pointers[i] = &bytes[i];
    }
    parsed_.may_match_many(parsed_, KeyBatch(pointers), n, may_match);
  }

  const ParsedFilter parsed_;
  const KeyMapping mapping_;
};

// A reader of RocksDB's, for filters that are not Deltabloom's.
class ForeignReader final : public FilterBitsReader {
 public:
  explicit ForeignReader(std::unique_ptr<FilterBitsReader> reader)
      : reader_(std::move(reader)) {}

  bool MayMatch(const Slice& key) override { return reader_->MayMatch(key); }
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    reader_->MayMatch(n, keys, may_match);
  }

 private:
  const std::unique_ptr<FilterBitsReader> reader_;
};

// Any reader, with its lookups counted.
template <typename Reader>
class CountingReader final : public FilterBitsReader {
 public:
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

// Of filters with a range part. `PointReader` answers all lookups except those
// of ranges, which never come in a batch.
template <typename PointReader>
class RangeReader final : public FilterBitsReader {
 public:
  // `seed` is null unless the filter is seeded. Ranges are counted in `group`,
  // which may be null.
  template <typename... Arguments>
  RangeReader(std::string_view range_part, const SipHashKey* seed,
              const FilterGroup* group, Arguments&&... arguments)
      : range_part_(range_part, seed),
        group_(group),
        points_(std::forward<Arguments>(arguments)...) {}

  bool MayMatch(const Slice& key) override {
    if (__builtin_expect(key.size() == 0, false)) return EmptyMayMatch(key);
    return points_.MayMatch(key);
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    points_.MayMatch(n, keys, may_match);
  }

 private:
  // Not inlined, so that a lookup of a key reserves no stack for bounds.
  __attribute__((noinline)) bool EmptyMayMatch(const Slice& key) {
    Bounds bounds;
    return TakeBounds(key, &bounds) ? RangeMayMatch(bounds)
                                    : points_.MayMatch(key);
  }

  // The empty key may be present: builders cannot tell it from a prefix.
  //
  // RocksDB queries a partition for a range that may continue in the next one.
  // The partition is the first that ends at or after `lower`, so keys of the
  // range are in it or after it; there are none after it if it has a key at or
  // after `upper`.
  bool RangeMayMatch(const Bounds& bounds) const {
    const bool may_match = bounds.lower.empty() ||
                           range_part_.MayMatch(bounds.lower, bounds.upper) ||
                           !range_part_.HasKeyFrom(bounds.upper);
    if (group_ != nullptr) {
      CountLookups(group_->range_slot, 1, may_match ? 0 : 1, 0);
    }
    return may_match;
  }

  const RangePart range_part_;
  const FilterGroup* const group_;
  PointReader points_;
};

// How a reader is wrapped.
struct Wrapping {
  const std::shared_ptr<PolicyStatistics>& statistics;  // null: no counting
  FilterToCount to_count;
  std::string_view range_part;  // empty: none
  const SipHashKey* seed;       // of a seeded filter, else null
};

template <typename Reader, typename... Arguments>
FilterBitsReader* NewRangeReader(const Wrapping& wrapping,
                                 Arguments&&... arguments) {
  if (wrapping.statistics == nullptr) {
    return new RangeReader<Reader>(wrapping.range_part, wrapping.seed, nullptr,
                                   std::forward<Arguments>(arguments)...);
  }
  const FilterGroup& group = wrapping.statistics->Group(
      ClassOf(wrapping.to_count.filter, wrapping.to_count.kind));
  return new RangeReader<CountingReader<Reader>>(
      wrapping.range_part, wrapping.seed, &group, wrapping.statistics,
      wrapping.to_count, std::forward<Arguments>(arguments)...);
}

// A `Reader` that counts and answers ranges as *wrapping says. Null without
// memory.
template <typename Reader, typename... Arguments>
FilterBitsReader* NewReader(const Wrapping& wrapping,
                            Arguments&&... arguments) {
  try {
    if (!wrapping.range_part.empty()) {
      return NewRangeReader<Reader>(wrapping,
                                    std::forward<Arguments>(arguments)...);
    }
    if (wrapping.statistics == nullptr) {
      return new Reader(std::forward<Arguments>(arguments)...);
    }
    return new CountingReader<Reader>(wrapping.statistics, wrapping.to_count,
                                      std::forward<Arguments>(arguments)...);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

FilterBitsReader* NewSealedBitsReader(const Slice& filter,
                                      const ReaderSettings& settings,
                                      TransformMismatch* mismatch) {
  ParsedFilter parsed;
  HashedKeys keys;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &keys, &parsed, nullptr);
  const RegisteredTransform* const transform = settings.transform;
  Wrapping wrapping{
      settings.statistics, {filter.ToStringView(), kind, &parsed}, {}, nullptr};
  const bool foreign = kind == FilterKind::kForeign;
  if (foreign && transform == nullptr && settings.builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    std::unique_ptr<FilterBitsReader> reader(
        settings.builtin->GetFilterBitsReader(filter));
    if (settings.statistics == nullptr || reader == nullptr) {
      return reader.release();
    }
    return NewReader<ForeignReader>(wrapping, std::move(reader));
  }
  if (keys.transformed != (transform != nullptr) ||
      (transform != nullptr && keys.transform_id != transform->id)) {
    if (mismatch != nullptr && kind != FilterKind::kAlways) {
      *mismatch = {true, foreign, keys};
    }
    SetAlwaysMatch(&parsed);
    keys = HashedKeys();
    wrapping.to_count.kind = FilterKind::kAlways;
  }
  if (foreign) wrapping.to_count.kind = FilterKind::kAlways;
  if (settings.range && transform == nullptr &&
      wrapping.to_count.kind == FilterKind::kFilter) {
    wrapping.range_part = RangePartOf(wrapping.to_count.filter);
    if (keys.seeded) wrapping.seed = &keys.seed;
  }
  if (kind != FilterKind::kFilter || keys.AsTheyAre()) {
    return NewReader<SealedBitsReader>(wrapping, parsed);
  }
  return NewReader<MappedBitsReader>(wrapping, parsed,
                                     KeyMapping(transform, keys));
}

}  // namespace deltabloom::internal
