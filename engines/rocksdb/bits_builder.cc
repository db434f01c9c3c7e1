#include "engines/rocksdb/bits_builder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "engines/rocksdb/filter_buffer.h"
#include "rocksdb/env.h"
#include "util/cpu.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;

// A sealed filter without probes. Static, since it answers for lack of memory.
struct AlwaysMatchFilter {
  AlwaysMatchFilter() {
    Seal(bytes.data(), kPayloadSize, /*last_byte=*/0, SealOptions());
  }

  static constexpr size_t kPayloadSize = 1;
  std::array<unsigned char, kPayloadSize + kSealedFramingSize> bytes{};
};

// Without its text if there is no memory for it.
Status Corruption(const char* text) {
  try {
    return Status::Corruption(text);
  } catch (const std::bad_alloc&) {
    return Status::Corruption();
  }
}

template <typename Fn>
void ForEachHash(const HashList& hashes, Fn fn) {
  const auto chunk = [&fn](const auto* words, size_t n) {
    for (size_t i = 0; i < n; ++i) fn(uint64_t{words[i]});
  };
  if (hashes.hash_size() == sizeof(uint32_t)) {
    hashes.ForEachChunk<uint32_t>(chunk);
  } else {
    hashes.ForEachChunk<uint64_t>(chunk);
  }
}

SealOptions WithKeys(SealOptions seal, const KeyMapping& mapping) {
  seal.keys = mapping.keys();
  return seal;
}

}  // namespace

BitsBuilder::BitsBuilder(const BuilderSettings& settings)
    : hashes_(settings.layout->hash_size),
      settings_(settings),
      seal_(WithKeys(settings.seal, settings.mapping)),
      framing_size_(SealedFramingSize(seal_)),
      finished_hashes_(settings.layout->hash_size) {}

inline void BitsBuilder::AddHash(uint64_t hash) {
  try {
    hashes_.Add(hash);
  } catch (const std::bad_alloc&) {
    keys_lost_ = true;
  }
  checksum_ ^= hash;
  entries_.store(entries_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
}

// False: the key is lost.
inline bool BitsBuilder::HashOf(const Slice& key, uint64_t* hash) {
  if (settings_.mapping.IsNeeded()) return HashMapped(key, hash);
  *hash = settings_.layout->hash({key.data(), key.size()});
  return true;
}

bool BitsBuilder::HashMapped(const Slice& key, uint64_t* hash) {
  try {
    *hash = settings_.layout->hash(
        settings_.mapping.Map({key.data(), key.size()}, &key_space_));
    return true;
  } catch (...) {  // what a key transform throws is not known
    keys_lost_ = true;
    return false;
  }
}

// Keys come sorted, so a repeated one follows itself, as do keys that a
// comparator with a key transform calls equal.
void BitsBuilder::AddKey(const Slice& key) {
  uint64_t hash;
  if (!HashOf(key, &hash) || last_key_.Is(hash)) return;
  AddHash(hash);
  last_key_.Set(hash);
}

void BitsBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  uint64_t key_hash, alt_hash;
  if (!HashOf(key, &key_hash) || !HashOf(alt, &alt_hash)) return;
  // RocksDB hands over sorted keys, each with its prefix, so that a repeated
  // hash equals the one before it, or that of the last pair.
  if (alt_hash != key_hash && !last_alt_.Is(alt_hash) &&
      !last_key_.Is(alt_hash)) {
    AddHash(alt_hash);
  }
  if (!last_key_.Is(key_hash) && !last_alt_.Is(key_hash)) AddHash(key_hash);
  last_key_.Set(key_hash);
  last_alt_.Set(alt_hash);
}

size_t BitsBuilder::EstimateEntriesAdded() {
  return entries_.load(std::memory_order_relaxed);
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* owner) {
  return Finish(owner, nullptr);
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* owner,
                          Status* status) {
  if (status != nullptr) *status = Status::OK();
  WarnOfManyKeys();
  Slice filter;
  try {
    filter = keys_lost_ ? AlwaysMatch(owner) : Build(owner);
  } catch (const std::bad_alloc&) {
    filter = AlwaysMatch(owner);
  }
  if (settings_.detect_corruption && !keys_lost_ && !HashesIntact()) {
    filter = AlwaysMatch(owner);
    if (status != nullptr) {
      *status = Corruption(
          "deltabloom: the hashes of a filter changed in memory while it was "
          "built");
    }
  }
  finished_hashes_.Clear();
  if (finished_kind_ == FilterKind::kFilter && settings_.detect_corruption) {
    std::swap(finished_hashes_, hashes_);
  }
  Reset();
  return filter;
}

void BitsBuilder::Reset() {
  hashes_.Clear();
  last_key_ = {};
  last_alt_ = {};
  checksum_ = 0;
  keys_lost_ = false;
  entries_.store(0, std::memory_order_relaxed);
}

Slice BitsBuilder::AlwaysMatch(std::unique_ptr<const char[]>* owner) {
  static const AlwaysMatchFilter filter;
  owner->reset();
  finished_kind_ = FilterKind::kAlways;
  return {reinterpret_cast<const char*>(filter.bytes.data()),
          filter.bytes.size()};
}

Slice BitsBuilder::Build(std::unique_ptr<const char[]>* owner) {
  if (hashes_.size() == 0) {
    std::unique_ptr<char[]> bytes(new char[framing_size_]());
    Seal(reinterpret_cast<unsigned char*>(bytes.get()), 0, kEmptyLastByte,
         seal_);
    finished_kind_ = FilterKind::kEmpty;
    *owner = std::move(bytes);
    return {owner->get(), framing_size_};
  }
  const bool keep_hashes = settings_.detect_corruption;
  const LayoutRow* affordable = FindAffordableLayout(
      settings_.layout, hashes_.size(), settings_.millibits_per_key,
      hashes_.MemorySize(), keep_hashes, settings_.max_build_bytes);
  const LayoutRow* row = affordable;
  while (row != nullptr) {
    FilterBuffer buffer = AllocateFilter(
        *row, hashes_.size(), settings_.millibits_per_key, framing_size_,
        settings_.optimize_for_memory ? &settings_.tally->rounding_balance
                                      : nullptr);
    auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
    if (!buffer.plan.layout->build(&hashes_, keep_hashes, buffer.plan,
                                   ActiveCpu(), payload)) {
      row = buffer.plan.layout->fallback;
      continue;
    }
    Seal(payload, buffer.plan.payload_size, buffer.plan.last_byte, seal_);
    settings_.tally->rounding_balance += buffer.balance_change;
    finished_kind_ = FilterKind::kFilter;
    *owner = std::move(buffer.bytes);
    return {owner->get(),
            static_cast<size_t>(buffer.plan.payload_size) + framing_size_};
  }
  return AlwaysMatch(owner);
}

bool BitsBuilder::HashesIntact() const {
  uint64_t checksum = 0;
  ForEachHash(hashes_, [&checksum](uint64_t hash) { checksum ^= hash; });
  return checksum == checksum_;
}

Status BitsBuilder::MaybePostVerify(const Slice& filter) {
  if (!settings_.detect_corruption) return Status::OK();
  ParsedFilter parsed;
  HashedKeys keys;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &keys, &parsed, nullptr);
  bool intact = kind == finished_kind_;
  if (intact && kind == FilterKind::kFilter) {
    const LayoutRow* row = FindLayoutOfLastByte(
        static_cast<uint8_t>(filter[filter.size() - 1]), Hash::kMurmurHash2);
    ForEachHash(finished_hashes_, [&](uint64_t hash) {
      intact = intact && row->may_match_hash(parsed, hash);
    });
  }
  finished_hashes_.Clear();
  if (intact) return Status::OK();
  return Corruption(
      "deltabloom: a filter changed in memory after it was built");
}

size_t BitsBuilder::ApproximateNumEntries(size_t bytes) {
  // The most keys whose filter fits, by bisection: sizes grow with keys.
  uint64_t fits = 0;
  uint64_t exceeds = uint64_t{1} << 32;
  while (exceeds - fits > 1) {
    const uint64_t keys = fits + (exceeds - fits) / 2;
    (CalculateSpace(keys) <= bytes ? fits : exceeds) = keys;
  }
  return fits;
}

size_t BitsBuilder::CalculateSpace(size_t entries) {
  if (entries == 0) return framing_size_;
  return PlanFilter(settings_.layout, entries, settings_.millibits_per_key)
             .payload_size +
         framing_size_;
}

double BitsBuilder::EstimatedFpRate(size_t entries, size_t bytes) {
  if (bytes <= framing_size_) return entries == 0 ? 0 : 1;
  return ModelledFalsePositiveRate(entries, bytes - framing_size_);
}

void BitsBuilder::WarnOfManyKeys() const {
  const uint64_t many = settings_.layout->many_keys;
  if (many == 0 || hashes_.size() <= many || settings_.log == nullptr ||
      settings_.tally->warned_of_many_keys.exchange(true)) {
    return;
  }
  try {
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] %llu keys in one %s filter: beyond some %llu million its "
        "hash adds false positives; use another layout or partitioned filters",
        static_cast<unsigned long long>(hashes_.size()), settings_.layout->name,
        static_cast<unsigned long long>(many / 1'000'000));
  } catch (const std::bad_alloc&) {
    settings_.tally->warned_of_many_keys = false;  // the next filter says it
  }
}

}  // namespace deltabloom::internal
