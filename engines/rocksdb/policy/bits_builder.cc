#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/framing.h"
#include "util/cpu.h"
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
  Slice filter;
  const bool built = !keys_lost_ && WithoutThrowing([&] { filter = Build(); });
  if (!built) filter = AlwaysMatch();
  if (settings_.detect_corruption && !keys_lost_) {
    Status change = check_.ChangeOfHashes(hashes_);
    if (!change.ok()) filter = AlwaysMatch();
    if (status != nullptr) *status = std::move(change);
  }
  if (settings_.statistics != nullptr) {
    settings_.statistics->CountBuilt(filter.ToStringView(), built_kind_,
                                     entries_.load(std::memory_order_relaxed));
  }
  const bool keeps_hashes =
      settings_.detect_corruption && built_kind_ == FilterKind::kFilter;
  check_.Keep(built_kind_, keeps_hashes ? &hashes_ : nullptr);
  *owner = std::move(built_);
  hashes_.Clear();
  last_key_.reset();
  last_alt_.reset();
  keys_lost_ = false;
  entries_.store(0, std::memory_order_relaxed);
  Charge();
  return filter;
}

void BitsBuilder::Charge(uint64_t more) {
  if (!charge_.IsOn()) return;
  charged_hashes_ = hashes_.MemorySize();
  charge_.Set(charged_hashes_ + check_.MemorySize() + finished_bytes_ + more);
}

Slice BitsBuilder::Build() {
  if (hashes_.size() == 0) return BuildEmpty();
  const LayoutRow* row = settings_.layout;
  while (row != nullptr) {
    const FilterBits bits = BitsFor(settings_, *row, hashes_.size());
    if (bits.millibits_per_key != 0) {
      const LayoutRow* affordable = FindAffordableLayout(
          row, hashes_.size(), bits.millibits_per_key, hashes_.MemorySize(),
          settings_.detect_corruption, settings_.max_build_bytes);
      if (affordable != row) {  // which may get other bits within the limit
        row = affordable;
        continue;
      }
    }
    settings_.warnings->WarnOf(bits, hashes_.size(), *settings_.layout,
                               settings_.max_filter_bytes, settings_.log);
    if (bits.millibits_per_key == 0) break;
    const Slice filter = BuildWith(*row, bits.millibits_per_key);
    if (!filter.empty()) return filter;
    row = row->fallback;
  }
  return AlwaysMatch();
}

Slice BitsBuilder::BuildWith(const LayoutRow& row, uint32_t millibits_per_key) {
  FilterBuffer buffer =
      AllocateFilter(settings_, row, hashes_.size(), millibits_per_key);
  const Plan& plan = buffer.plan;
  const uint64_t size = plan.payload_size + SealedFramingSize(settings_.seal);
  const bool keep_hashes = settings_.detect_corruption;
  Charge(size + PeakBuildBytes(plan, hashes_.MemorySize(), keep_hashes) -
         hashes_.MemorySize());
  auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
  if (!plan.layout->build(&hashes_, keep_hashes, plan, ActiveCpu(), payload)) {
    return {};
  }
  Seal(payload, plan.payload_size, plan.last_byte, settings_.seal);
  built_kind_ = FilterKind::kFilter;
  finished_bytes_ += size;
  built_ = std::move(buffer.bytes);
  return {built_.get(), static_cast<size_t>(size)};
}

Slice BitsBuilder::BuildEmpty() {
  const size_t size = SealedFramingSize(settings_.seal);
  built_.reset(new char[size]());
  Seal(reinterpret_cast<unsigned char*>(built_.get()), 0, kEmptyLastByte,
       settings_.seal);
  built_kind_ = FilterKind::kEmpty;
  return {built_.get(), size};
}

Slice BitsBuilder::AlwaysMatch() {
  // Static, as it is needed when memory has run out.
  static const auto filter = [] {
    std::array<unsigned char, kAlwaysMatchSize> bytes{};
    Seal(bytes.data(), 1, /*last_byte=*/0, SealOptions());
    return bytes;
  }();
  built_.reset();
  built_kind_ = FilterKind::kAlways;
  return {reinterpret_cast<const char*>(filter.data()), filter.size()};
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
