#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/env.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// The fewest bits to which a size limit may lower a filter. With fewer bits, a
// filter lets at least two in five absent keys through.
constexpr uint32_t kLeastLoweredMillibits = 2000;

// The most bits up to `most` with which the payload has at most payload_limit
// bytes; 0 if so few bits are of no use.
uint32_t MillibitsWithin(uint64_t payload_limit, const LayoutRow& layout,
                         uint64_t keys, uint32_t most) {
  const auto fits = [&](uint32_t millibits) {
    return PlanFilter(&layout, keys, millibits).payload_size <= payload_limit;
  };
  uint32_t low = std::min(kLeastLoweredMillibits, most);
  if (!fits(low)) return 0;
  uint32_t high = most + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// RocksDB keeps the trailer of a block after a filter in its block cache.
constexpr uint64_t kBlockTrailerSize = 5;

// The size of a sealed filter with a payload of one byte and no probes, which
// matches every key.
constexpr size_t kAlwaysMatchSize = 1 + kSealedFramingSize;

// Returns a Corruption with this text, or without a text if memory has run out.
Status Corruption(const char* text) {
  Status status = Status::Corruption();
  WithoutThrowing([&] { status = Status::Corruption(text); });
  return status;
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

}  // namespace

FilterBits BitsFor(const LayoutRow& layout, uint64_t keys,
                   uint32_t millibits_per_key, uint64_t framing_size,
                   uint64_t max_filter_bytes) {
  assert(keys > 0);
  if (max_filter_bytes == kUnlimited) return {millibits_per_key, false};
  const uint64_t payload_limit =
      max_filter_bytes - std::min(max_filter_bytes, framing_size);
  const uint32_t within =
      MillibitsWithin(payload_limit, layout, keys, millibits_per_key);
  return {within, within < millibits_per_key};
}

FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes, bool grows) {
  FilterBuffer buffer;
  buffer.plan = PlanFilter(&layout, keys, millibits_per_key);
  if (grows) {
    const uint64_t overhead = framing_size + kBlockTrailerSize;
    const uint64_t wanted = buffer.plan.payload_size + overhead;
    // An allocation shows how many bytes the allocator provides. The buffer
    // itself is then allocated with its final size, so that nothing writes
    // beyond the size that was requested.
    const std::unique_ptr<char[]> probe(new char[wanted]);
    const uint64_t usable = malloc_usable_size(probe.get());
    // A filter that is larger by more than a third would gain little accuracy
    // for its bytes on disk.
    if (usable > wanted && usable - usable / 4 <= wanted) {
      buffer.plan.layout->grow(
          &buffer.plan,
          std::min(usable - overhead, max_filter_bytes - framing_size));
    }
  }
  buffer.bytes.reset(new char[buffer.plan.payload_size + framing_size]());
  return buffer;
}

SealOptions BuilderSettings::Framing() const {
  SealOptions options = seal;
  options.keys = mapping.keys();
  return options;
}

BuilderSettings SettingsFor(const PolicyOptions& options,
                            uint32_t millibits_per_key,
                            const LevelAtCreation& level,
                            const KeyMapping& mapping, BuildContext context) {
  BuilderSettings settings;
  static_cast<BuildContext&>(settings) = std::move(context);
  settings.layout = FindLayout(options.layout);
  settings.millibits_per_key = millibits_per_key;
  settings.max_build_bytes = options.max_build_bytes;
  settings.max_filter_bytes = options.max_filter_bytes;
  settings.mapping = mapping;
  settings.seal.level_at_creation = LevelByte(level);
  settings.seal.payload_check = options.payload_check;
  return settings;
}

Plan PlanSealed(const BuilderSettings& settings, uint64_t keys) {
  const uint32_t millibits =
      BitsFor(*settings.layout, keys, settings.millibits_per_key,
              SealedFramingSize(settings.Framing()), settings.max_filter_bytes)
          .millibits_per_key;
  if (millibits == 0) return {};
  const LayoutRow* const layout = FindAffordableLayout(
      settings.layout, keys, millibits, keys * settings.layout->hash_size,
      settings.detect_corruption, settings.max_build_bytes);
  return PlanFilter(layout, keys, millibits);
}

BitsBuilder::BitsBuilder(const BuilderSettings& settings)
    : hashes_(settings.layout->hash_size), settings_(settings) {
  settings_.seal = settings.Framing();
  if (settings.charged_cache != nullptr) {
    charge_ = std::make_unique<rocksdb::WriteBufferManager>(
        0, settings.charged_cache);
  }
}

inline void BitsBuilder::AddHash(uint64_t hash) {
  if (!WithoutThrowing([&] { hashes_.Add(hash); })) keys_lost_ = true;
  if (charge_ != nullptr && hashes_.MemorySize() != charged_hashes_) Charge();
  checksum_ ^= hash;
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
    ForEachHash(hashes_, [this](uint64_t hash) { checksum_ ^= hash; });
    if (checksum_ != 0) {
      filter = AlwaysMatch();
      if (status != nullptr) {
        *status = Corruption(
            "deltabloom: the hashes of a filter changed in memory while it was "
            "built");
      }
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
  *owner = std::move(built_);
  hashes_.Clear();
  last_key_.reset();
  last_alt_.reset();
  checksum_ = 0;
  keys_lost_ = false;
  entries_.store(0, std::memory_order_relaxed);
  Charge();
  return filter;
}

void BitsBuilder::Charge(uint64_t more) {
  if (charge_ == nullptr) return;
  charged_hashes_ = hashes_.MemorySize();
  const uint64_t bytes =
      charged_hashes_ + finished_hashes_.MemorySize() + finished_bytes_ + more;
  const bool done = WithoutThrowing([&] {
    if (bytes > charged_) charge_->ReserveMem(bytes - charged_);
    if (bytes < charged_) charge_->FreeMem(charged_ - bytes);
    charged_ = bytes;
  });
  if (!done) charge_.reset();  // what RocksDB counted is not known
}

FilterBits BitsBuilder::BitsOf(const LayoutRow& row, uint64_t keys,
                               uint64_t max_filter_bytes) const {
  return BitsFor(row, keys, settings_.millibits_per_key,
                 SealedFramingSize(settings_.seal), max_filter_bytes);
}

Slice BitsBuilder::Build() {
  if (hashes_.size() == 0) return BuildEmpty();
  const LayoutRow* row = settings_.layout;
  while (row != nullptr) {
    const FilterBits bits =
        BitsOf(*row, hashes_.size(), settings_.max_filter_bytes);
    if (bits.millibits_per_key != 0) {
      const LayoutRow* affordable = FindAffordableLayout(
          row, hashes_.size(), bits.millibits_per_key, hashes_.MemorySize(),
          settings_.detect_corruption, settings_.max_build_bytes);
      if (affordable != row) {  // which may get other bits within the limit
        row = affordable;
        continue;
      }
    }
    WarnOf(bits);
    if (bits.millibits_per_key == 0) break;
    const Slice filter = BuildWith(*row, bits.millibits_per_key);
    if (!filter.empty()) return filter;
    row = row->fallback;
  }
  return AlwaysMatch();
}

Slice BitsBuilder::BuildWith(const LayoutRow& row, uint32_t millibits_per_key) {
  const size_t framing_size = SealedFramingSize(settings_.seal);
  FilterBuffer buffer =
      AllocateFilter(row, hashes_.size(), millibits_per_key, framing_size,
                     settings_.max_filter_bytes, settings_.optimize_for_memory);
  const Plan& plan = buffer.plan;
  const uint64_t size = plan.payload_size + framing_size;
  const bool keep_hashes = settings_.detect_corruption;
  Charge(size + PeakBuildBytes(plan, hashes_.MemorySize(), keep_hashes) -
         hashes_.MemorySize());
  auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
  if (!plan.layout->build(&hashes_, keep_hashes, plan, ActiveCpu(), payload)) {
    return {};
  }
  Seal(payload, plan.payload_size, plan.last_byte, settings_.seal);
  finished_kind_ = FilterKind::kFilter;
  finished_bytes_ += size;
  built_ = std::move(buffer.bytes);
  return {built_.get(), static_cast<size_t>(size)};
}

Slice BitsBuilder::BuildEmpty() {
  const size_t size = SealedFramingSize(settings_.seal);
  built_.reset(new char[size]());
  Seal(reinterpret_cast<unsigned char*>(built_.get()), 0, kEmptyLastByte,
       settings_.seal);
  finished_kind_ = FilterKind::kEmpty;
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
  finished_kind_ = FilterKind::kAlways;
  return {reinterpret_cast<const char*>(filter.data()), filter.size()};
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

// RocksDB cuts partitions by it: by the limit as well, so that the limit lowers
// few bits.
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

size_t BitsBuilder::SizeFor(uint64_t keys, uint64_t max_filter_bytes) const {
  if (keys == 0) return SealedFramingSize(settings_.seal);
  const LayoutRow& row = *settings_.layout;
  const FilterBits bits = BitsOf(row, keys, max_filter_bytes);
  if (bits.millibits_per_key == 0) return kAlwaysMatchSize;
  return PlanFilter(&row, keys, bits.millibits_per_key).payload_size +
         SealedFramingSize(settings_.seal);
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

template <typename Message>
void BitsBuilder::WarnOnce(BuilderWarning warning,
                           const Message& message) const {
  std::atomic<bool>& warned =
      settings_.tally->warned[static_cast<size_t>(warning)];
  if (settings_.log == nullptr || warned.exchange(true)) return;
  // If memory has run out, the flag stays false, so the next filter warns.
  warned = WithoutThrowing([&] {
    rocksdb::Warn(settings_.log, "[deltabloom] %s", message().c_str());
  });
}

void BitsBuilder::WarnOf(const FilterBits& bits) const {
  const auto keys = [this] { return std::to_string(hashes_.size()) + " keys"; };
  const auto limit = [this] {
    return "max_filter_bytes=" + std::to_string(settings_.max_filter_bytes);
  };
  const uint64_t many = settings_.layout->many_keys;
  if (many != 0 && hashes_.size() > many) {
    WarnOnce(BuilderWarning::kManyKeys, [&] {
      return keys() + " in one " + settings_.layout->name +
             " filter: beyond some " + std::to_string(many / 1'000'000) +
             " million its hash adds false positives; use another layout or "
             "partitioned filters";
    });
  }
  if (bits.millibits_per_key == 0) {
    WarnOnce(BuilderWarning::kNoFilter, [&] {
      return "no filter for " + keys() + ", " + limit() +
             " leaves less than 2 bits per key: use a higher limit, smaller "
             "tables or partitioned filters";
    });
  } else if (bits.lowered) {
    WarnOnce(BuilderWarning::kLoweredBits, [&] {
      return NumberText(bits.millibits_per_key / 1000.0, 3) +
             " bits per key in a filter of " + keys() + ", which has to fit " +
             limit();
    });
  }
}

}  // namespace deltabloom::internal
