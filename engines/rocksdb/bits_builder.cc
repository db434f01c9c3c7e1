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
#include "util/rate.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::Logger;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;

// A sealed filter without probes. Static, since it answers for lack of memory.
struct AlwaysMatchFilter {
  AlwaysMatchFilter() {
    Seal(bytes.data(), kPayloadSize, /*last_byte=*/0, SealOptions());
  }

  static constexpr size_t kPayloadSize = 1;
  static constexpr size_t kSize = kPayloadSize + kSealedFramingSize;
  std::array<unsigned char, kSize> bytes{};
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
      maps_keys_(settings.mapping.IsNeeded()),
      finished_hashes_(settings.layout->hash_size),
      charge_(settings.charged_cache) {}

inline void BitsBuilder::AddHash(uint64_t hash) {
  try {
    hashes_.Add(hash);
  } catch (const std::bad_alloc&) {
    keys_lost_ = true;
  }
  if (charge_.on() && hashes_.MemorySize() != charged_hashes_) Charge();
  checksum_ ^= hash;
  entries_.store(entries_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
}

// False: the key is lost.
inline bool BitsBuilder::HashOf(const Slice& key, uint64_t* hash) {
  if (__builtin_expect(maps_keys_, false)) return HashMapped(key, hash);
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
  if (settings_.statistics != nullptr) {
    settings_.statistics->CountBuilt(filter.ToStringView(), finished_kind_,
                                     entries_.load(std::memory_order_relaxed));
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
  Charge();
}

void BitsBuilder::Charge(uint64_t more) {
  charged_hashes_ = hashes_.MemorySize();
  charge_.Set(charged_hashes_ + finished_hashes_.MemorySize() +
              finished_bytes_ + more);
}

FilterBits BitsBuilder::BitsOf(const LayoutRow& row, uint64_t keys,
                               uint64_t max_filter_bytes) const {
  return BitsFor({settings_.millibits_per_key, settings_.false_positive_rate,
                  max_filter_bytes},
                 row, keys, framing_size_);
}

Slice BitsBuilder::AlwaysMatch(std::unique_ptr<const char[]>* owner) {
  static const AlwaysMatchFilter filter;
  owner->reset();
  finished_kind_ = FilterKind::kAlways;
  return {reinterpret_cast<const char*>(filter.bytes.data()),
          filter.bytes.size()};
}

Slice BitsBuilder::Build(std::unique_ptr<const char[]>* owner) {
  if (hashes_.size() == 0) return BuildEmpty(owner);
  const LayoutRow* row = settings_.layout;
  while (row != nullptr) {
    const FilterBits bits =
        BitsOf(*row, hashes_.size(), settings_.max_filter_bytes);
    if (bits.millibits_per_key != 0) {
      const LayoutRow* affordable = FindAffordableLayout(
          row, hashes_.size(), bits.millibits_per_key, hashes_.MemorySize(),
          settings_.detect_corruption, settings_.max_build_bytes);
      if (affordable != row) {  // which may need other bits for the rate
        row = affordable;
        continue;
      }
    }
    TellOf(bits);
    if (bits.millibits_per_key == 0) break;
    const Slice filter = BuildWith(*row, bits.millibits_per_key, owner);
    if (!filter.empty()) return filter;
    row = row->fallback;
  }
  return AlwaysMatch(owner);
}

Slice BitsBuilder::BuildEmpty(std::unique_ptr<const char[]>* owner) {
  std::unique_ptr<char[]> bytes(new char[framing_size_]());
  Seal(reinterpret_cast<unsigned char*>(bytes.get()), 0, kEmptyLastByte, seal_);
  finished_kind_ = FilterKind::kEmpty;
  *owner = std::move(bytes);
  return {owner->get(), framing_size_};
}

Slice BitsBuilder::BuildWith(const LayoutRow& row, uint32_t millibits_per_key,
                             std::unique_ptr<const char[]>* owner) {
  FilterBuffer buffer = AllocateFilter(
      row, hashes_.size(), millibits_per_key, framing_size_,
      settings_.max_filter_bytes,
      settings_.optimize_for_memory ? &settings_.tally->rounding_balance
                                    : nullptr);
  const Plan& plan = buffer.plan;
  const uint64_t size = plan.payload_size + framing_size_;
  const bool keep_hashes = settings_.detect_corruption;
  Charge(size + PeakBuildBytes(plan, hashes_.MemorySize(), keep_hashes) -
         hashes_.MemorySize());
  auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
  if (!plan.layout->build(&hashes_, keep_hashes, plan, ActiveCpu(), payload)) {
    return {};
  }
  Seal(payload, plan.payload_size, plan.last_byte, seal_);
  settings_.tally->rounding_balance += buffer.balance_change;
  finished_kind_ = FilterKind::kFilter;
  finished_bytes_ += size;
  *owner = std::move(buffer.bytes);
  return {owner->get(), static_cast<size_t>(size)};
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

// Partitions are cut by it: by the limit, too, so that it lowers few bits.
size_t BitsBuilder::ApproximateNumEntries(size_t bytes) {
  const uint64_t limit = std::min<uint64_t>(bytes, settings_.max_filter_bytes);
  // The most keys whose filter fits, by bisection: sizes grow with keys.
  uint64_t fits = 0;
  uint64_t exceeds = uint64_t{1} << 32;
  while (exceeds - fits > 1) {
    const uint64_t keys = fits + (exceeds - fits) / 2;
    (SizeFor(keys, kUnlimited) <= limit ? fits : exceeds) = keys;
  }
  return fits;
}

size_t BitsBuilder::CalculateSpace(size_t entries) {
  return SizeFor(entries, settings_.max_filter_bytes);
}

size_t BitsBuilder::SizeFor(uint64_t keys, uint64_t max_filter_bytes) const {
  if (keys == 0) return framing_size_;
  const uint32_t millibits =
      BitsOf(*settings_.layout, keys, max_filter_bytes).millibits_per_key;
  if (millibits == 0) return AlwaysMatchFilter::kSize;
  return PlanFilter(settings_.layout, keys, millibits).payload_size +
         framing_size_;
}

double BitsBuilder::EstimatedFpRate(size_t entries, size_t bytes) {
  if (entries == 0) return 0;
  if (bytes <= framing_size_) return 1;
  const double bits_per_key = 8 * static_cast<double>(bytes - framing_size_) /
                              static_cast<double>(entries);
  return RateForMillibits(settings_.layout, entries,
                          ToMillibits(std::min(bits_per_key, kMaxBitsPerKey)));
}

// Once each, for they would stand in the LOG for every table.
template <typename Warning>
void BitsBuilder::WarnOnce(std::atomic<bool>* told,
                           const Warning& warning) const {
  if (settings_.log == nullptr || told->exchange(true)) return;
  try {
    warning(settings_.log);
  } catch (const std::bad_alloc&) {
    *told = false;  // the next filter says it
  }
}

void BitsBuilder::WarnOfManyKeys() const {
  const uint64_t many = settings_.layout->many_keys;
  if (many == 0 || hashes_.size() <= many) return;
  WarnOnce(&settings_.tally->warned_of_many_keys, [&](Logger* log) {
    ROCKSDB_NAMESPACE::Warn(
        log,
        "[deltabloom] %llu keys in one %s filter: beyond some %llu million its "
        "hash adds false positives; use another layout or partitioned filters",
        static_cast<unsigned long long>(hashes_.size()), settings_.layout->name,
        static_cast<unsigned long long>(many / 1'000'000));
  });
}

void BitsBuilder::TellOf(const FilterBits& bits) const {
  SharedTally& tally = *settings_.tally;
  const auto keys = static_cast<unsigned long long>(hashes_.size());
  const auto limit =
      static_cast<unsigned long long>(settings_.max_filter_bytes);
  if (bits.rate_missed) {
    WarnOnce(&tally.told_of_missed_rate, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] a filter of %llu keys has a higher rate than "
          "false_positive_rate=%g, which its layout cannot reach: use another "
          "layout or partitioned filters",
          keys, settings_.false_positive_rate);
    });
  }
  if (bits.millibits_per_key == 0) {
    WarnOnce(&tally.told_of_no_filter, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] no filter for %llu keys, max_filter_bytes=%llu leaves "
          "less than 2 bits per key: use a higher limit, smaller tables or "
          "partitioned filters",
          keys, limit);
    });
  } else if (bits.lowered) {
    WarnOnce(&tally.told_of_lowered_bits, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] %.3f bits per key in a filter of %llu keys, which has "
          "to fit max_filter_bytes=%llu",
          bits.millibits_per_key / 1000.0, keys, limit);
    });
  }
}

}  // namespace deltabloom::internal
