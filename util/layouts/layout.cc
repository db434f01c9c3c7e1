#include "util/layouts/layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/key_batch.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/compact/compact.h"
#include "util/layouts/local/local.h"
#include "util/parsed_filter.h"
#include "util/span.h"

namespace deltabloom::internal {
namespace {

constexpr const LayoutRow* kRowsOfLayouts[] = {&classic::kMurmurHash2Row,
                                               &classic::kLevelDBHashRow,
                                               &local::kRow, &compact::kRow};

// Lookups that answer kAnswer for every key.
template <bool kAnswer>
constexpr Lookup kAlways = {
    [](const ParsedFilter&, std::string_view) { return kAnswer; },
    [](const ParsedFilter&, KeyBatch, size_t n, bool* may_match) {
      std::fill_n(may_match, n, kAnswer);
    }};

}  // namespace

const Span<const LayoutRow*> kLayouts(kRowsOfLayouts);

const LayoutRow* FindLayout(Layout layout, Hash hash) {
  for (const LayoutRow* row : kLayouts) {
    if (row->layout == layout && row->classic_hash == hash) return row;
  }
  return nullptr;
}

Plan PlanFilter(const LayoutRow* row, uint64_t keys,
                uint32_t millibits_per_key) {
  Plan plan;
  do {
    plan = Plan();
    plan.layout = row;
    plan.keys = keys;
    row = row->fallback;
  } while (!plan.layout->plan(millibits_per_key, &plan));
  return plan;
}

uint64_t PeakBuildBytes(const Plan& plan, uint64_t hash_list_size,
                        bool keep_hashes) {
  if (keep_hashes) return hash_list_size + plan.build_bytes;
  return plan.build_bytes - plan.late_build_bytes +
         std::max(hash_list_size, plan.late_build_bytes);
}

const LayoutRow* FindAffordableLayout(const LayoutRow* row, uint64_t keys,
                                      uint32_t millibits_per_key,
                                      uint64_t hash_list_size, bool keep_hashes,
                                      uint64_t max_build_bytes) {
  while (max_build_bytes != 0 && row->fallback != nullptr &&
         PeakBuildBytes(PlanFilter(row, keys, millibits_per_key),
                        hash_list_size, keep_hashes) > max_build_bytes) {
    row = row->fallback;
  }
  return row;
}

void AppendRawFilter(const LayoutRow* row, uint32_t millibits_per_key,
                     HashList* hashes, std::string* dst) {
  const size_t start = dst->size();
  for (; row != nullptr; row = row->fallback) {
    const Plan plan = PlanFilter(row, hashes->size(), millibits_per_key);
    dst->resize(start);
    // On a 32-bit machine the size would be cut off.
    if (plan.payload_size >= dst->max_size() - start) throw std::bad_alloc();
    dst->resize(start + plan.payload_size + 1, '\0');
    row = plan.layout;
    if (row->build(hashes, /*keep_hashes=*/false, plan, ActiveCpu(),
                   reinterpret_cast<unsigned char*>(&(*dst)[start]))) {
      dst->back() = static_cast<char>(plan.last_byte);
      break;
    }
  }
  hashes->Clear();
}

std::string LayoutNames() {
  std::string names;
  for (const LayoutRow* row : kLayouts) {
    if (row->classic_hash != Hash::kMurmurHash2) continue;
    names += (names.empty() ? "" : ", ") + std::string(row->name);
  }
  return names;
}

const LayoutRow* FindLayoutOfLastByte(uint8_t last_byte, Hash hash) {
  for (const LayoutRow* row : kLayouts) {
    if (row->classic_hash == hash && last_byte >= row->first_marker &&
        last_byte <= row->last_marker) {
      return row;
    }
  }
  return nullptr;
}

const LayoutRow* FindLayoutOfName(std::string_view name) {
  for (const LayoutRow* row : kLayouts) {
    if (name == row->name) return row;
  }
  return nullptr;
}

void SetAlwaysMatch(ParsedFilter* parsed) { SetLookup(kAlways<true>, parsed); }
void SetNeverMatch(ParsedFilter* parsed) { SetLookup(kAlways<false>, parsed); }

bool ValidBitsPerKey(double bits_per_key) {
  // NaN fails this comparison.
  return bits_per_key >= 0 && bits_per_key <= kMaxBitsPerKey;
}

uint32_t ToMillibits(double bits_per_key) {
  return static_cast<uint32_t>(std::lround(bits_per_key * 1000));
}

}  // namespace deltabloom::internal

namespace deltabloom {

const char* LayoutName(Layout layout) {
  const internal::LayoutRow* row = internal::FindLayout(layout);
  return row == nullptr ? nullptr : row->name;
}

bool ParseLayout(std::string_view name, Layout* layout) {
  const internal::LayoutRow* row = internal::FindLayoutOfName(name);
  if (row == nullptr || row->classic_hash != Hash::kMurmurHash2) return false;
  *layout = row->layout;
  return true;
}

}  // namespace deltabloom
