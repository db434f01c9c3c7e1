#include <malloc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/env.h"
#include "util/hash64.h"
#include "util/json.h"
#include "util/range/shapes.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// With fewer bits a filter lets two in five absent keys or more through.
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

// What RocksDB keeps after a filter in its block cache.
constexpr uint64_t kBlockTrailerSize = 5;
constexpr double kBalanceUnit = 4294967296.0;  // 2^32

// The keys of a range part take memory bit by bit.
constexpr uint64_t kChargeStep = uint64_t{64} << 10;

// Of a sealed filter with a payload of one byte and no probes.
constexpr size_t kAlwaysMatchSize = 1 + kSealedFramingSize;

// Without its text if memory has run out.
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

RangeKeysOptions RangeOptionsOf(const BuilderSettings& settings) {
  RangeKeysOptions options = settings.range_keys;
  if (settings.range)
    options.bits_per_key = settings.millibits_per_key / 1000.0;
  const HashedKeys& keys = settings.mapping.keys();
  if (keys.seeded) options.seed = keys.seed;
  options.statistics = settings.statistics.get();
  return options;
}

}  // namespace

FilterBits BitsFor(const FilterSizeOptions& options, const LayoutRow& layout,
                   uint64_t keys, uint64_t framing_size) {
  FilterBits bits{options.millibits_per_key, false, false};
  if (options.false_positive_rate != 0) {
    const MillibitsAndRate found =
        MillibitsForRate(&layout, keys, options.false_positive_rate);
    bits.millibits_per_key = std::max(found.millibits, kMinMillibitsPerKey);
    bits.rate_missed = found.rate > options.false_positive_rate;
  }
  if (options.max_filter_bytes == kUnlimited) return bits;
  const uint64_t payload_limit =
      options.max_filter_bytes -
      std::min(options.max_filter_bytes, framing_size);
  const uint32_t within =
      MillibitsWithin(payload_limit, layout, keys, bits.millibits_per_key);
  bits.lowered = within < bits.millibits_per_key;
  bits.millibits_per_key = within;
  return bits;
}

FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes,
                            const std::atomic<int64_t>* balance) {
  const uint64_t overhead = framing_size + kBlockTrailerSize;
  FilterBuffer buffer;
  buffer.plan = PlanFilter(&layout, keys, millibits_per_key);
  if (balance != nullptr) {
    const double planned_rate = PlanRate(buffer.plan);
    const double allowed_rate =
        planned_rate - static_cast<double>(balance->load()) / kBalanceUnit;
    // Smaller by up to a quarter, as in RocksDB.
    for (uint64_t sixteenths = 12; sixteenths < 16; ++sixteenths) {
      const Plan smaller = PlanFilter(
          &layout, keys,
          static_cast<uint32_t>(millibits_per_key * sixteenths / 16));
      if (PlanRate(smaller) <= allowed_rate) {
        buffer.plan = smaller;
        break;
      }
    }
    const uint64_t wanted = buffer.plan.payload_size + overhead;
    // The bytes that the allocator provides, found by allocating. The buffer
    // itself is then allocated with its final size, so that nothing writes
    // beyond the size that was requested.
    const std::unique_ptr<char[]> probe(new char[wanted]);
    const uint64_t usable = malloc_usable_size(probe.get());
    // More than a third above would buy little accuracy for its bytes on disk.
    if (usable > wanted && usable - usable / 4 <= wanted) {
      buffer.plan.layout->grow(
          &buffer.plan,
          std::min(usable - overhead, max_filter_bytes - framing_size));
    }
    buffer.balance_change = static_cast<int64_t>(
        (PlanRate(buffer.plan) - planned_rate) * kBalanceUnit);
  }
  buffer.bytes.reset(new char[buffer.plan.payload_size + framing_size]());
  return buffer;
}

BitsBuilder::BitsBuilder(const BuilderSettings& settings)
    : hashes_(settings.layout->hash_size),
      settings_(settings),
      range_keys_(RangeOptionsOf(settings_)) {
  settings_.seal.keys = settings.mapping.keys();
  if (settings.charged_cache != nullptr) {
    charge_ = std::make_unique<rocksdb::WriteBufferManager>(
        0, settings.charged_cache);
  }
}

inline void BitsBuilder::AddHash(uint64_t hash) {
  if (!WithoutThrowing([&] { hashes_.Add(hash); })) keys_lost_ = true;
  if (charge_ != nullptr &&
      (hashes_.MemorySize() != charged_hashes_ ||
       range_keys_.BuildBytes() > charged_range_keys_ + kChargeStep)) {
    Charge();
  }
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
  range_keys_.Add(key);
  const uint64_t hash = HashOf(key);
  if (last_key_ == hash) return;
  AddHash(hash);
  last_key_ = hash;
}

void BitsBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  range_keys_.AddKeyAndAlt(key, alt);
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
  range_keys_.Reset();
  checksum_ = 0;
  keys_lost_ = false;
  entries_.store(0, std::memory_order_relaxed);
  Charge();
  return filter;
}

void BitsBuilder::Charge(uint64_t more) {
  if (charge_ == nullptr) return;
  charged_hashes_ = hashes_.MemorySize();
  charged_range_keys_ = range_keys_.BuildBytes();
  const uint64_t bytes = charged_hashes_ + charged_range_keys_ +
                         finished_hashes_.MemorySize() + finished_bytes_ + more;
  const bool done = WithoutThrowing([&] {
    if (bytes > charged_) charge_->ReserveMem(bytes - charged_);
    if (bytes < charged_) charge_->FreeMem(charged_ - bytes);
    charged_ = bytes;
  });
  if (!done) charge_.reset();  // what RocksDB counted is not known
}

BitsBuilder::Frame BitsBuilder::FrameOf(uint64_t keys,
                                        uint64_t range_part_size) const {
  double bits = settings_.millibits_per_key / 1000.0;
  if (range_part_size != 0) {
    const double range_bits = range_keys_.bits_per_key();
    // A range part that learned may need less than its share.
    const double needed =
        8 * static_cast<double>(range_part_size) / static_cast<double>(keys);
    bits -= settings_.range_keys.learning ? std::min(range_bits, needed)
                                          : range_bits;
  }
  return {SealedFramingSize(settings_.seal) + range_part_size,
          ToMillibits(bits)};
}

FilterBits BitsBuilder::BitsIn(const Frame& frame, const LayoutRow& row,
                               uint64_t keys, uint64_t max_filter_bytes) const {
  return BitsFor({frame.millibits_per_key, settings_.false_positive_rate,
                  max_filter_bytes},
                 row, keys, frame.size);
}

std::string BitsBuilder::BuildRangePart() {
  const uint64_t bytes = hashes_.MemorySize() + range_keys_.BuildBytes();
  const uint64_t limit = settings_.max_build_bytes;
  if (limit != 0 && bytes > limit) range_keys_.Drop();
  Charge();
  std::string range_part;
  if (range_keys_.Finish(&range_part)) {
    LogLearned(range_part);
  } else {
    WarnOfNoRangePart(range_keys_.state());
  }
  return range_part;
}

// Without memory the next filter logs it. Of keys and bounds a line has only
// delimiters.
void BitsBuilder::LogLearned(std::string_view range_part) const {
  if (settings_.log == nullptr || !range_keys_.Learned()) return;
  WithoutThrowing([&] {
    std::string line;
    for (const range::Cut& cut : RangePart(range_part).LearnedCuts()) {
      line += (line.empty() ? "prefixes: " : ", ") + TextOf(cut);
    }
    if (line.empty()) line = "numbers";
    // With allocation=levels each table has other bits.
    const double all = settings_.millibits_per_key / 1000.0;
    const double more = range_keys_.bits_per_key() - RangeBitsPerKey(all);
    if (!range_keys_.learning()->IsNews(line + NumberText(more, 0))) return;
    rocksdb::Info(settings_.log,
                  "[deltabloom] ranges, by a sample of %zu: %s; at most %.1f "
                  "of %.1f bits per key",
                  range_keys_.questions(), line.c_str(),
                  range_keys_.bits_per_key(), all);
  });
}

Slice BitsBuilder::Build() {
  if (hashes_.size() == 0) return BuildEmpty();
  Slice filter;
  const std::string range_part = BuildRangePart();
  if (!range_part.empty()) {
    filter = BuildAround(range_part);
    if (filter.empty()) WarnOfNoRangePart(RangeKeys::State::kTooLarge);
  }
  if (filter.empty()) filter = BuildAround({});
  return filter.empty() ? AlwaysMatch() : filter;
}

Slice BitsBuilder::BuildAround(std::string_view range_part) {
  const Frame frame = FrameOf(hashes_.size(), range_part.size());
  const LayoutRow* row = settings_.layout;
  while (row != nullptr) {
    const FilterBits bits =
        BitsIn(frame, *row, hashes_.size(), settings_.max_filter_bytes);
    if (!range_part.empty() && bits.lowered) return {};
    if (bits.millibits_per_key != 0) {
      const LayoutRow* affordable = FindAffordableLayout(
          row, hashes_.size(), bits.millibits_per_key,
          hashes_.MemorySize() + range_part.size(), settings_.detect_corruption,
          settings_.max_build_bytes);
      if (affordable != row) {  // which may need other bits for the rate
        row = affordable;
        continue;
      }
    }
    WarnOf(bits);
    if (bits.millibits_per_key == 0) break;
    const Slice filter =
        BuildWith(*row, bits.millibits_per_key, frame, range_part);
    if (!filter.empty()) return filter;
    row = row->fallback;
  }
  return {};
}

Slice BitsBuilder::BuildWith(const LayoutRow& row, uint32_t millibits_per_key,
                             const Frame& frame, std::string_view range_part) {
  FilterBuffer buffer = AllocateFilter(row, hashes_.size(), millibits_per_key,
                                       frame.size, settings_.max_filter_bytes,
                                       settings_.optimize_for_memory
                                           ? &settings_.tally->rounding_balance
                                           : nullptr);
  const Plan& plan = buffer.plan;
  const uint64_t size = plan.payload_size + frame.size;
  const bool keep_hashes = settings_.detect_corruption;
  Charge(size + range_part.size() +
         PeakBuildBytes(plan, hashes_.MemorySize(), keep_hashes) -
         hashes_.MemorySize());
  auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
  if (!plan.layout->build(&hashes_, keep_hashes, plan, ActiveCpu(), payload)) {
    return {};
  }
  SealOptions seal = settings_.seal;
  seal.range_part = range_part;
  Seal(payload, plan.payload_size, plan.last_byte, seal);
  settings_.tally->rounding_balance += buffer.balance_change;
  finished_kind_ = FilterKind::kFilter;
  finished_range_hash_ = Hash64(range_part);
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
    intact = finished_range_hash_ == Hash64(RangePartOf(filter.ToStringView()));
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
  Frame frame =
      FrameOf(keys, MaxRangePartSize(keys, range_keys_.bits_per_key()));
  FilterBits bits = BitsIn(frame, row, keys, max_filter_bytes);
  if (bits.lowered) {  // then there is no range part
    frame = FrameOf(keys, 0);
    bits = BitsIn(frame, row, keys, max_filter_bytes);
  }
  if (bits.millibits_per_key == 0) return kAlwaysMatchSize;
  return PlanFilter(&row, keys, bits.millibits_per_key).payload_size +
         frame.size;
}

double BitsBuilder::EstimatedFpRate(size_t entries, size_t bytes) {
  if (entries == 0) return 0;
  const size_t framing_size = SealedFramingSize(settings_.seal);
  if (bytes <= framing_size) return 1;
  double bits_per_key = 8 * static_cast<double>(bytes - framing_size) /
                        static_cast<double>(entries);
  bits_per_key = std::max(0.0, bits_per_key - range_keys_.bits_per_key());
  return RateForMillibits(settings_.layout, entries,
                          ToMillibits(std::min(bits_per_key, kMaxBitsPerKey)));
}

template <typename Message>
void BitsBuilder::WarnOnce(BuilderWarning warning,
                           const Message& message) const {
  std::atomic<bool>& warned =
      settings_.tally->warned[static_cast<size_t>(warning)];
  if (settings_.log == nullptr || warned.exchange(true)) return;
  // Without memory the next filter warns.
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
  if (bits.rate_missed) {
    WarnOnce(BuilderWarning::kMissedRate, [&] {
      return "a filter of " + keys() +
             " has a higher rate than false_positive_rate=" +
             NumberText(settings_.false_positive_rate) +
             ", which its layout cannot reach: use another layout or "
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

void BitsBuilder::WarnOfNoRangePart(RangeKeys::State why) const {
  // By state. None if range parts are off, or there was no key.
  constexpr const char* kReasons[] = {
      nullptr,
      nullptr,
      "the column family lacks prefix_extractor=deltabloom.Range or "
      "whole_key_filtering",
      "its keys do not ascend bytewise, or memory ran out",
      "it would not fit max_build_bytes or max_filter_bytes",
      "there is none for its keys with so few bits per key"};
  const char* const reason = kReasons[static_cast<size_t>(why)];
  if (reason == nullptr) return;
  WarnOnce(BuilderWarning::kNoRangePart, [&] {
    return std::string("range=on, and a filter has no range part: ") + reason;
  });
}

}  // namespace deltabloom::internal
