#include "engines/rocksdb/range/range_extractor.h"

#include <cstddef>
#include <mutex>
#include <set>

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::SliceTransform;

// Addresses for prefixes; nothing is ever read or written there, so that they
// take no memory. A thread takes a chunk of them at a time.
constexpr uint32_t kChunkSize = 4096;
constexpr uint32_t kChunks = 256;
char places[kChunks * kChunkSize];
std::atomic<uint32_t> next_chunk{0};

std::atomic<bool> ranges_stopped{false};

// A call of Transform.
struct Call {
  const char* place;
  const char* key;
  size_t key_size;
  const RangeExtractor* by;  // null if the order of keys is not known
  uintptr_t frame;           // where on the stack it ran
};

// The function that asks about a range calls Transform for both bounds itself,
// or through one small function. A Get or Put in the midst of another question,
// while the filter is read from a file or on another fiber, makes the same
// calls, but beneath all that reads it, or on another stack.
constexpr uintptr_t kMostBetweenFrames = 1024;

// The last calls of one thread.
struct Calls {
  Call last_but_one;
  Call last;
  // InDomain since the last Transform: how often, and of what the last time.
  uint32_t in_domain;
  const char* domain_key;
  size_t domain_key_size;
  // Between the two Transforms was one InDomain, of the second's key, and since
  // the second there was no call.
  bool are_bounds;
  const char* next_place;
  const char* end_of_places;
};

// Initial-exec, as lookup_counters.h explains; it takes some 130 bytes.
__thread Calls this_threads_calls __attribute__((tls_model("initial-exec")));

bool AreNear(uintptr_t a, uintptr_t b) {
  return (a < b ? b - a : a - b) <= kMostBetweenFrames;
}

const char* NewPlace(Calls* calls) {
  if (calls->next_place == calls->end_of_places) {
    const uint32_t chunk =
        next_chunk.fetch_add(1, std::memory_order_relaxed) % kChunks;
    calls->next_place = places + chunk * kChunkSize;
    calls->end_of_places = calls->next_place + kChunkSize;
  }
  return calls->next_place++;
}

// All extractors that live. Never destroyed: extractors may outlive static
// objects.
struct Extractors {
  std::mutex mutex;
  std::set<const SliceTransform*> all;
};

Extractors& TheExtractors() {
  static Extractors& extractors = *new Extractors;
  return extractors;
}

}  // namespace

RangeExtractor::RangeExtractor() {
  Extractors& extractors = TheExtractors();
  const std::lock_guard<std::mutex> lock(extractors.mutex);
  extractors.all.insert(this);
}

RangeExtractor::~RangeExtractor() {
  Extractors& extractors = TheExtractors();
  const std::lock_guard<std::mutex> lock(extractors.mutex);
  extractors.all.erase(this);
}

Slice RangeExtractor::Transform(const Slice& key) const {
  Calls& calls = this_threads_calls;
  calls.are_bounds = calls.in_domain == 1 && calls.domain_key == key.data() &&
                     calls.domain_key_size == key.size();
  calls.in_domain = 0;
  calls.last_but_one = calls.last;
  const bool bytewise =
      order_.load(std::memory_order_relaxed) == Order::kBytewise;
  calls.last = {NewPlace(&calls), key.data(), key.size(),
                bytewise ? this : nullptr,
                reinterpret_cast<uintptr_t>(__builtin_frame_address(0))};
  return {calls.last.place, 0};
}

bool RangeExtractor::InDomain(const Slice& key) const {
  Calls& calls = this_threads_calls;
  calls.are_bounds = false;
  ++calls.in_domain;
  calls.domain_key = key.data();
  calls.domain_key_size = key.size();
  return true;
}

void RangeExtractor::Trust() const {
  Order unknown = Order::kUnknown;
  order_.compare_exchange_strong(unknown, Order::kBytewise);
}

void RangeExtractor::Distrust() const { order_ = Order::kOther; }

const RangeExtractor* AsRangeExtractor(const SliceTransform* extractor) {
  Extractors& extractors = TheExtractors();
  const std::lock_guard<std::mutex> lock(extractors.mutex);
  if (extractors.all.count(extractor) == 0) return nullptr;
  return static_cast<const RangeExtractor*>(extractor);
}

void StopRanges() { ranges_stopped = true; }

bool RangesStopped() { return ranges_stopped; }

bool TakeBounds(const Slice& prefix, Bounds* bounds) {
  Calls& calls = this_threads_calls;
  const bool are_bounds = calls.are_bounds;
  calls.are_bounds = false;
  const Call& lower = calls.last_but_one;
  const Call& upper = calls.last;
  if (!are_bounds || prefix.size() != 0 || prefix.data() != lower.place ||
      lower.by == nullptr || lower.by != upper.by ||
      !AreNear(lower.frame, upper.frame) || RangesStopped()) {
    return false;
  }
  bounds->lower = {lower.key, lower.key_size};
  bounds->upper = {upper.key, upper.key_size};
  return bounds->lower < bounds->upper;
}

}  // namespace deltabloom::internal
