#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/key_batch.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

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
struct PlainLookup {
  bool MayMatch(const Slice& key) const {
    return parsed.may_match(parsed, {key.data(), key.size()});
  }

  void MayMatch(size_t n, Slice** keys, bool* may_match) const {
    parsed.may_match_many(parsed, KeyBatch(keys), n, may_match);
  }

  ParsedFilter parsed;
};

// Lookups in a filter of transformed or seeded keys.
struct MappedLookup {
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
struct BuiltinLookup {
  bool MayMatch(const Slice& key) const { return reader->MayMatch(key); }
  void MayMatch(size_t n, Slice** keys, bool* may_match) const {
    reader->MayMatch(static_cast<int>(n), keys, may_match);
  }

  std::unique_ptr<FilterBitsReader> reader;
};

// The input of a reader apart from its keys: what it needs to count lookups.
struct Extras {
  const ReaderSettings& settings;
  const Slice& filter;
  const ParsedFilter& parsed;
  FilterKind kind;  // as it is counted
};

// Takes the place of an OpenFilter if nothing is counted.
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
        keys_(std::move(keys)) {}

  bool MayMatch(const Slice& key) override {
    const bool may_match = keys_.MayMatch(key);
    if constexpr (kCounts) open_.Count(may_match);
    return may_match;
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    const auto size = static_cast<size_t>(n);
    keys_.MayMatch(size, keys, may_match);
    if constexpr (kCounts) open_.Count(may_match, size);
  }

 private:
  std::conditional_t<kCounts, OpenFilter, None> open_;
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
    BuiltinLookup reader{std::unique_ptr<FilterBitsReader>(
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
  if (kind != FilterKind::kFilter || keys.AsTheyAre()) {
    return NewReader(PlainLookup{parsed}, extras);
  }
  return NewReader(MappedLookup{parsed, KeyMapping(transform, keys)}, extras);
}

}  // namespace deltabloom::internal
