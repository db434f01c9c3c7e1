#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "engines/rocksdb/policy/sealed_bits.h"
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

// Lookups in a filter of keys as they are.
struct PlainKeys {
  bool MayMatch(const Slice& key) const {
    return parsed.may_match(parsed, {key.data(), key.size()});
  }

  void MayMatch(size_t n, Slice** keys, bool* may_match) const {
    parsed.may_match_many(parsed, KeyBatch(keys), n, may_match);
  }

  ParsedFilter parsed;
};

// Lookups in a filter of transformed or seeded keys.
struct MappedKeys {
  bool MayMatch(const Slice& key) const {
    try {
      KeyMapping::Space space;
      return parsed.may_match(parsed,
                              mapping.Map({key.data(), key.size()}, &space));
    } catch (...) {
      return true;
    }
  }

  // A transformed key that is not seeded may have any size and is not kept for
  // a batch: the transform takes more time than a batch would save.
  void MayMatch(size_t n, Slice** keys, bool* may_match) const {
    if (!mapping.keys().seeded) {
      for (size_t i = 0; i < n; ++i) may_match[i] = MayMatch(*keys[i]);
      return;
    }
    try {
      KeyMapping::Space space;
      char seeded[kBatch][kSeededKeySize];
      KeyBytes bytes[kBatch];
      const KeyBytes* pointers[kBatch];
      for (size_t begin = 0; begin < n; begin += kBatch) {
        const size_t batch = std::min(kBatch, n - begin);
        for (size_t i = 0; i < batch; ++i) {
          mapping.Map(keys[begin + i]->ToStringView(), &space)
              .copy(seeded[i], kSeededKeySize);
          bytes[i] = {seeded[i], kSeededKeySize};
          pointers[i] = &bytes[i];
        }
        parsed.may_match_many(parsed, KeyBatch(pointers), batch,
                              may_match + begin);
      }
    } catch (...) {
      std::fill_n(may_match, n, true);
    }
  }

  ParsedFilter parsed;
  KeyMapping mapping;
};

// Lookups in a filter that is not Deltabloom's.
struct ForeignKeys {
  bool MayMatch(const Slice& key) const { return reader->MayMatch(key); }
  void MayMatch(size_t n, Slice** keys, bool* may_match) const {
    reader->MayMatch(static_cast<int>(n), keys, may_match);
  }

  std::unique_ptr<FilterBitsReader> reader;
};

// What a reader does besides looking up keys.
struct Extras {
  const ReaderSettings& settings;
  const Slice& filter;
  const ParsedFilter& parsed;
  FilterKind kind;                   // as it is counted
  std::string_view range_part = {};  // empty: none
  const SipHashKey* seed = nullptr;  // of a seeded filter
};

// In place of an OpenFilter.
struct None {
  template <typename... Args>
  explicit None(const Args&...) {}
};

// A lookup that is not counted has no branch for it.
template <typename Keys, bool kCounts>
class Reader final : public FilterBitsReader {
 public:
  Reader(Keys keys, const Extras& extras)
      : open_(extras.settings.statistics, extras.filter.ToStringView(),
              extras.kind, extras.parsed),
        learning_(extras.settings.learning),
        keys_(std::move(keys)) {
    if (!extras.range_part.empty()) {
      ranges_.emplace(extras.range_part, extras.seed);
    }
  }

  bool MayMatch(const Slice& key) override {
    if (__builtin_expect(key.size() == 0, false) && ranges_.has_value()) {
      return EmptyMayMatch(key);
    }
    return KeyMayMatch(key);
  }

  // Lookups of ranges never come in a batch.
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    const auto size = static_cast<size_t>(n);
    keys_.MayMatch(size, keys, may_match);
    for (size_t i = 0; i < size && ranges_.has_value(); ++i) {
      if (may_match[i]) may_match[i] = RangePartMayHold(*keys[i]);
    }
    if constexpr (kCounts) open_.Count(may_match, size);
  }

 private:
  bool KeyMayMatch(const Slice& key) {
    const bool may_match = keys_.MayMatch(key) && RangePartMayHold(key);
    if constexpr (kCounts) open_.Count(may_match);
    return may_match;
  }

  // Builders do not pass the empty key to range parts.
  bool RangePartMayHold(const Slice& key) const {
    return !ranges_.has_value() || key.size() == 0 ||
           ranges_->KeyMayMatch(key.ToStringView());
  }

  // Not inlined, so that a lookup of a key reserves no stack for bounds.
  __attribute__((noinline)) bool EmptyMayMatch(const Slice& key) {
    Bounds bounds;
    if (!TakeBounds(key, &bounds)) return KeyMayMatch(key);
    // The empty key may be present: builders cannot tell it from a prefix. A
    // range may continue in the partition after the one that RocksDB queries,
    // unless this one has a key at or after `upper`.
    const range::Answer answer = ranges_->Ask(bounds.lower, bounds.upper);
    const bool may_match = bounds.lower.empty() ||
                           answer != range::Answer::kNo ||
                           !ranges_->HasKeyFrom(bounds.upper);
    if constexpr (kCounts) {
      open_.CountRange(may_match, answer == range::Answer::kNoCut);
    }
    if (learning_) {
      bounds.learning->sample.Note(bounds.lower, bounds.upper, may_match);
    }
    return may_match;
  }

  std::conditional_t<kCounts, OpenFilter, None> open_;
  std::optional<RangePart> ranges_;
  const bool learning_;
  const Keys keys_;
};

template <typename Keys>
FilterBitsReader* NewReader(Keys keys, const Extras& extras) {
  if (extras.settings.statistics == nullptr) {
    return new Reader<Keys, false>(std::move(keys), extras);
  }
  return new Reader<Keys, true>(std::move(keys), extras);
}

std::string TransformOf(const HashedKeys& keys) {
  if (!keys.transformed) return "has none";
  const RegisteredTransform* const transform =
      FindKeyTransform(keys.transform_id);
  if (transform != nullptr) return "has " + transform->text;
  char id[16];
  std::snprintf(id, sizeof(id), "%08x", keys.transform_id);
  return std::string("has one with id ") + id +
         " that is not registered in this process";
}

}  // namespace

FilterBitsReader* NewSealedBitsReader(const Slice& filter,
                                      const ReaderSettings& settings,
                                      std::string* mismatch) {
  ParsedFilter parsed;
  HashedKeys keys;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &keys, &parsed, nullptr);
  const RegisteredTransform* const transform = settings.transform;
  Extras extras{settings, filter, parsed, kind};
  const bool foreign = kind == FilterKind::kForeign;
  if (foreign && transform == nullptr && settings.builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    ForeignKeys reader{std::unique_ptr<FilterBitsReader>(
        settings.builtin->GetFilterBitsReader(filter))};
    if (settings.statistics == nullptr || reader.reader == nullptr) {
      return reader.reader.release();
    }
    return NewReader(std::move(reader), extras);
  }
  if (keys.transformed != (transform != nullptr) ||
      (transform != nullptr && keys.transform_id != transform->id)) {
    if (mismatch != nullptr && kind != FilterKind::kAlways) {
      *mismatch = foreign ? "is not Deltabloom's" : TransformOf(keys);
    }
    SetAlwaysMatch(&parsed);
    keys = HashedKeys();
    extras.kind = FilterKind::kAlways;
  }
  if (foreign) extras.kind = FilterKind::kAlways;
  if (settings.range && transform == nullptr &&
      extras.kind == FilterKind::kFilter) {
    extras.range_part = RangePartOf(filter.ToStringView());
    if (keys.seeded) extras.seed = &keys.seed;
    if (settings.opened_cuts != nullptr) {
      settings.opened_cuts->Note(extras.range_part);
    }
  }
  if (kind != FilterKind::kFilter || keys.AsTheyAre()) {
    return NewReader(PlainKeys{parsed}, extras);
  }
  return NewReader(MappedKeys{parsed, KeyMapping(transform, keys)}, extras);
}

}  // namespace deltabloom::internal
