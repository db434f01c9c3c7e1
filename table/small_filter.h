// Raw filters in engines that pass all keys of a small filter at once, and its
// bytes with every lookup. Classic ones are queried without parsing and built
// without allocations: for one lookup, a reciprocal of 64 bits and the choice
// of kernels cost as much as the lookup itself; for a few keys, so do a
// builder's allocations. All others go through Filter and FilterBuilder, with
// the same answers and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// The answer that Filter(filter, hash).MayMatch(key) gives.
inline bool MayMatchUnparsed(std::string_view filter, Hash hash,
                             std::string_view key) {
  if (filter.size() < 2) return false;
  const unsigned last_byte = static_cast<unsigned char>(filter.back());
  const size_t payload_size = filter.size() - 1;
  // Larger payloads have 2^32 bits or more, too many for the arithmetic below.
  constexpr uint64_t kMaxUnparsedPayload = uint64_t{1} << 28;
  if (last_byte == 0 || last_byte > classic::kMaxProbes ||
      payload_size > kMaxUnparsedPayload) {
    return Filter(filter, hash).MayMatch(key);
  }
  return classic::TestProbes(
      reinterpret_cast<const unsigned char*>(filter.data()),
      classic::Modulo32(static_cast<uint32_t>(payload_size * 8)), last_byte,
      classic::HashKey(hash, key));
}

// Appends the filter that a FilterBuilder makes of key_of(0 .. n-1).
template <typename KeyOf>
void AppendFilter(const FilterOptions& options, size_t n, const KeyOf& key_of,
                  std::string* dst) {
  constexpr uint64_t kMaxStackPayload = uint64_t{2} << 10;
  const Plan plan = PlanFilter(FindLayout(options.layout, options.hash), n,
                               ToMillibits(options.bits_per_key));
  if (plan.layout->layout != Layout::kClassic ||
      plan.payload_size > kMaxStackPayload) {
    FilterBuilder builder(options);
    for (size_t i = 0; i < n; ++i) builder.AddKey(key_of(i));
    builder.Finish(dst);
    return;
  }
  // A byte per bit, packed in the end. Setting bits in place would read many
  // bytes that were written just before, and wait for each.
  unsigned char flags[kMaxStackPayload * 8];
  const auto bits = static_cast<uint32_t>(plan.payload_size * 8);
  std::memset(flags, 0, bits);
  const uint32_t probes = plan.shape.As<classic::Shape>().probes;
  const classic::Modulo32 modulo(bits);
  for (size_t i = 0; i < n; ++i) {
    uint32_t h = classic::HashKey(options.hash, key_of(i));
    const uint32_t delta = classic::Delta(h);
    for (uint32_t probe = 0; probe < probes; ++probe, h += delta) {
      flags[modulo(h)] = 1;
    }
  }
  const size_t start = dst->size();
  dst->resize(start + plan.payload_size + 1);
  char* payload = &(*dst)[start];
  for (const unsigned char* from = flags; from < flags + bits; from += 8) {
    // Byte i is 0 or 1; the product has it as bit 56 + i, without carries.
    *payload++ =
        static_cast<char>(LoadFixed64(from) * 0x0102040810204080 >> 56);
  }
  dst->back() = static_cast<char>(plan.last_byte);
}

}  // namespace deltabloom::internal
