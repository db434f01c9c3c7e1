#include "engines/rocksdb/policy/bits_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "engines/rocksdb/range/range_reader.h"
#include "engines/rocksdb/statistics/counting_reader.h"
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

// Of filters that hold something else than the keys as they are.
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

  // What is transformed and not seeded may be of any size, and is not kept for
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

// A reader of RocksDB's, by which filters that are not ours are asked.
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

// What readers are made with beside their filter.
struct Around {
  const std::shared_ptr<PolicyStatistics>& statistics;  // null: no counting
  FilterToCount to_count;
  std::string_view range_part;  // empty: none
  const SipHashKey* seed;       // of a seeded filter, else null
};

template <typename Reader, typename... Arguments>
FilterBitsReader* NewRangeReader(const Around& around,
                                 Arguments&&... arguments) {
  if (around.statistics == nullptr) {
    return new RangeReader<Reader>(around.range_part, around.seed, nullptr,
                                   std::forward<Arguments>(arguments)...);
  }
  const FilterGroup& group = around.statistics->Group(
      ClassOf(around.to_count.filter, around.to_count.kind));
  return new RangeReader<CountingReader<Reader>>(
      around.range_part, around.seed, &group, around.statistics,
      around.to_count, std::forward<Arguments>(arguments)...);
}

// A `Reader`, in what counts and what answers ranges where they are to be. Null
// without memory.
template <typename Reader, typename... Arguments>
FilterBitsReader* NewReader(const Around& around, Arguments&&... arguments) {
  try {
    if (!around.range_part.empty()) {
      return NewRangeReader<Reader>(around,
                                    std::forward<Arguments>(arguments)...);
    }
    if (around.statistics == nullptr) {
      return new Reader(std::forward<Arguments>(arguments)...);
    }
    return new CountingReader<Reader>(around.statistics, around.to_count,
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
  Around around{
      settings.statistics, {filter.ToStringView(), kind, &parsed}, {}, nullptr};
  const bool foreign = kind == FilterKind::kForeign;
  if (foreign && transform == nullptr && settings.builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    std::unique_ptr<FilterBitsReader> reader(
        settings.builtin->GetFilterBitsReader(filter));
    if (settings.statistics == nullptr || reader == nullptr) {
      return reader.release();
    }
    return NewReader<ForeignReader>(around, std::move(reader));
  }
  if (keys.transformed != (transform != nullptr) ||
      (transform != nullptr && keys.transform_id != transform->id)) {
    if (mismatch != nullptr && kind != FilterKind::kAlways) {
      *mismatch = {true, foreign, keys};
    }
    SetAlwaysMatch(&parsed);
    keys = HashedKeys();
    around.to_count.kind = FilterKind::kAlways;
  }
  if (foreign) around.to_count.kind = FilterKind::kAlways;
  if (settings.range && transform == nullptr &&
      around.to_count.kind == FilterKind::kFilter) {
    around.range_part = RangePartOf(around.to_count.filter);
    if (keys.seeded) around.seed = &keys.seed;
  }
  if (kind != FilterKind::kFilter || keys.AsTheyAre()) {
    return NewReader<SealedBitsReader>(around, parsed);
  }
  return NewReader<MappedBitsReader>(around, parsed,
                                     KeyMapping(transform, keys));
}

}  // namespace deltabloom::internal
