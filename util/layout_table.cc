#include <cmath>

#include "util/classic.h"
#include "util/compact.h"
#include "util/layout.h"
#include "util/local.h"

namespace deltabloom::internal {

const LayoutRow* const kLayouts[] = {&kClassicMurmurHash2, &kClassicLevelDBHash,
                                     &kLocal, &kCompact, nullptr};

const LayoutRow* FindLayout(Layout layout, Hash hash) {
  for (const LayoutRow* const* row = kLayouts; *row != nullptr; ++row) {
    if ((*row)->layout == layout && (*row)->classic_hash == hash) return *row;
  }
  return nullptr;
}

const LayoutRow* FindLayoutOfLastByte(uint8_t last_byte, Hash hash) {
  for (const LayoutRow* const* row = kLayouts; *row != nullptr; ++row) {
    if ((*row)->classic_hash == hash && last_byte >= (*row)->first_marker &&
        last_byte <= (*row)->last_marker) {
      return *row;
    }
  }
  return nullptr;
}

const LayoutRow* FindLayoutOfName(std::string_view name) {
  for (const LayoutRow* const* row = kLayouts; *row != nullptr; ++row) {
    if (name == (*row)->name) return *row;
  }
  return nullptr;
}

void SetAlwaysMatch(ParsedFilter* parsed) {
  parsed->may_match = [](const ParsedFilter&, std::string_view) {
    return true;
  };
  parsed->may_match_many = [](const ParsedFilter&, const std::string_view*,
                              size_t n, bool* may_match) {
    for (size_t i = 0; i < n; ++i) may_match[i] = true;
  };
}

void SetNeverMatch(ParsedFilter* parsed) {
  parsed->may_match = [](const ParsedFilter&, std::string_view) {
    return false;
  };
  parsed->may_match_many = [](const ParsedFilter&, const std::string_view*,
                              size_t n, bool* may_match) {
    for (size_t i = 0; i < n; ++i) may_match[i] = false;
  };
}

bool ValidBitsPerKey(double bits_per_key) {
  // Written so that NaN fails.
  return bits_per_key >= 0 && bits_per_key <= kMaxBitsPerKey;
}

uint32_t ToMillibits(double bits_per_key) {
  return static_cast<uint32_t>(std::lround(bits_per_key * 1000));
}

}  // namespace deltabloom::internal
