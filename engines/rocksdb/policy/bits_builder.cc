#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/policy/built_filter.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/framing.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

}  // namespace

inline void BitsBuilder::AddHash(uint64_t hash) {
  if (!WithoutThrowing([&] { hashes_.Add(hash); })) keys_lost_ = true;
  if (charge_.IsOn() && hashes_.MemorySize() != charged_hashes_) Charge();
  check_.Add(hash);
  entries_.store(entries_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
}

inline uint64_t BitsBuilder::HashOf(const Slice& key) {
  if (__builtin_expect(maps_keys_, false)) return HashMapped(key);
  return settings_.layout->hash({key.data(), key.size()});
}

// A lost key counts as one: RocksDB finishes no partition without keys.
uint64_t BitsBuilder::HashMapped(const Slice& key) {
  try {
    return settings_.layout->hash(
        settings_.mapping.Map({key.data(), key.size()}, &key_space_));
  } catch (...) {  // what a key transform throws is not known
    keys_lost_ = true;
    return 0;
  }
}

// Keys come sorted, so a repeated one follows itself, as do keys that a
// comparator with a key transform calls equal.
void BitsBuilder::AddKey(const Slice& key) {
  const uint64_t hash = HashOf(key);
  if (last_key_ == hash) return;
  AddHash(hash);
  last_key_ = hash;
}

void BitsBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  const uint64_t key_hash = HashOf(key);
  const uint64_t alt_hash = HashOf(alt);
  // RocksDB passes sorted keys, each with its prefix, so that a repeated
  // hash equals the one before it, or that of the last pair.
  if (alt_hash != key_hash && last_alt_ != alt_hash && last_key_ != alt_hash) {
    AddHash(alt_hash);
  }
  if (last_key_ != key_hash && last_alt_ != key_hash) AddHash(key_hash);
  last_key_ = key_hash;
  last_alt_ = alt_hash;
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* owner,
                          Status* status) {
  if (status != nullptr) *status = Status::OK();
  BuiltFilter filter;
  const auto charge = [this](uint64_t bytes) { Charge(bytes); };
  const bool built = !keys_lost_ && WithoutThrowing([&] {
    filter = BuildFilter(settings_, charge, &hashes_);
  });
  if (!built) filter = FilterThatMatchesAll();
  if (settings_.detect_corruption && !keys_lost_) {
    Status change = check_.ChangeOfHashes(hashes_);
    if (!change.ok()) filter = FilterThatMatchesAll();
    if (status != nullptr) *status = std::move(change);
  }
  if (settings_.statistics != nullptr) {
    settings_.statistics->CountBuilt(filter.bytes.ToStringView(), filter.kind,
                                     entries_.load(std::memory_order_relaxed));
  }
  const bool is_filter = filter.kind == FilterKind::kFilter;
  if (is_filter) finished_bytes_ += filter.bytes.size();
  check_.Keep(filter.kind,
              settings_.detect_corruption && is_filter ? &hashes_ : nullptr);
  *owner = std::move(filter.memory);
  hashes_.Clear();
  last_key_.reset();
  last_alt_.reset();
  keys_lost_ = false;
  entries_.store(0, std::memory_order_relaxed);
  Charge();
  return filter.bytes;
}

void BitsBuilder::Charge(uint64_t more) {
  if (!charge_.IsOn()) return;
  charged_hashes_ = hashes_.MemorySize();
  charge_.Set(charged_hashes_ + check_.MemorySize() + finished_bytes_ + more);
}

Status BitsBuilder::MaybePostVerify(const Slice& filter) {
  return settings_.detect_corruption ? check_.ChangeOfFilter(filter)
                                     : Status::OK();
}

double BitsBuilder::EstimatedFpRate(size_t entries, size_t bytes) {
  if (entries == 0) return 0;
  const size_t framing_size = SealedFramingSize(settings_.seal);
  if (bytes <= framing_size) return 1;
  const double bits_per_key = 8 * static_cast<double>(bytes - framing_size) /
                              static_cast<double>(entries);
  return RateForMillibits(settings_.layout, entries,
                          ToMillibits(std::min(bits_per_key, kMaxBitsPerKey)));
}

}  // namespace deltabloom::internal
