#include "engines/rocksdb/policy/built_filter.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "engines/rocksdb/policy/filter_size.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/slice.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

// Returns a filter without bytes if the layout cannot be built.
BuiltFilter BuildWith(const BuilderSettings& settings, const LayoutRow& row,
                      uint32_t millibits_per_key,
                      const std::function<void(uint64_t)>& charge,
                      HashList* hashes) {
  FilterBuffer buffer =
      AllocateFilter(settings, row, hashes->size(), millibits_per_key);
  const Plan& plan = buffer.plan;
  const size_t size =
      static_cast<size_t>(plan.payload_size) + SealedFramingSize(settings.seal);
  const bool keep_hashes = settings.detect_corruption;
  charge(size + PeakBuildBytes(plan, hashes->MemorySize(), keep_hashes) -
         hashes->MemorySize());
  auto* payload = reinterpret_cast<unsigned char*>(buffer.bytes.get());
  if (!plan.layout->build(hashes, keep_hashes, plan, ActiveCpu(), payload)) {
    return {};
  }
  Seal(payload, plan.payload_size, plan.last_byte, settings.seal);
  const rocksdb::Slice bytes(buffer.bytes.get(), size);
  return {bytes, std::move(buffer.bytes), FilterKind::kFilter};
}

BuiltFilter BuildEmpty(const SealOptions& seal) {
  const size_t size = SealedFramingSize(seal);
  auto memory = std::make_unique<char[]>(size);
  Seal(reinterpret_cast<unsigned char*>(memory.get()), 0, kEmptyLastByte, seal);
  const rocksdb::Slice bytes(memory.get(), size);
  return {bytes, std::move(memory), FilterKind::kEmpty};
}

}  // namespace

BuiltFilter BuildFilter(const BuilderSettings& settings,
                        const std::function<void(uint64_t)>& charge,
                        HashList* hashes) {
  if (hashes->size() == 0) return BuildEmpty(settings.seal);
  const LayoutRow* row = settings.layout;
  while (row != nullptr) {
    const FilterBits bits = BitsFor(settings, *row, hashes->size());
    if (bits.millibits_per_key != 0) {
      const LayoutRow* affordable = FindAffordableLayout(
          row, hashes->size(), bits.millibits_per_key, hashes->MemorySize(),
          settings.detect_corruption, settings.max_build_bytes);
      if (affordable != row) {  // which may get other bits within the limit
        row = affordable;
        continue;
      }
    }
    settings.warnings->WarnOf(bits, hashes->size(), *settings.layout,
                              settings.max_filter_bytes, settings.log);
    if (bits.millibits_per_key == 0) break;
    BuiltFilter filter =
        BuildWith(settings, *row, bits.millibits_per_key, charge, hashes);
    if (!filter.bytes.empty()) return filter;
    row = row->fallback;
  }
  return FilterThatMatchesAll();
}

BuiltFilter FilterThatMatchesAll() noexcept {
  static const auto filter = [] {
    std::array<unsigned char, kAlwaysMatchSize> bytes{};
    Seal(bytes.data(), 1, /*last_byte=*/0, SealOptions());
    return bytes;
  }();
  return {{reinterpret_cast<const char*>(filter.data()), filter.size()},
          nullptr,
          FilterKind::kAlways};
}

}  // namespace deltabloom::internal
