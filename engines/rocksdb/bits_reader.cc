#include "engines/rocksdb/bits_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "engines/rocksdb/key_mapping.h"
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

}  // namespace

FilterBitsReader* NewSealedBitsReader(const Slice& filter,
                                      const ReaderSettings& settings,
                                      OtherKeys* other) {
  ParsedFilter parsed;
  HashedKeys keys;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &keys, &parsed, nullptr);
  const RegisteredTransform* const transform = settings.transform;
  const bool foreign = kind == FilterKind::kForeign;
  if (foreign && transform == nullptr && settings.builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    return settings.builtin->GetFilterBitsReader(filter);
  }
  if (keys.transformed != (transform != nullptr) ||
      (transform != nullptr && keys.transform_id != transform->id)) {
    if (other != nullptr && kind != FilterKind::kAlways) {
      *other = {true, foreign, keys};
    }
    SetAlwaysMatch(&parsed);
    keys = HashedKeys();
  }
  if (kind != FilterKind::kFilter || keys.AsTheyAre()) {
    return new (std::nothrow) SealedBitsReader(parsed);
  }
  return new (std::nothrow)
      MappedBitsReader(parsed, KeyMapping(transform, keys));
}

}  // namespace deltabloom::internal
