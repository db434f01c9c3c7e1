// Raw filters for tests.
#pragma once

#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "util/layouts/layout.h"

namespace deltabloom::test {

// Every layout that there is.
inline std::vector<Layout> AllLayouts() {
  std::vector<Layout> layouts;
  for (const internal::LayoutRow* row : internal::kLayouts) {
    if (row->classic_hash == Hash::kMurmurHash2) layouts.push_back(row->layout);
  }
  return layouts;
}

inline FilterOptions OptionsOf(Layout layout, double bits_per_key = 10,
                               Hash hash = Hash::kMurmurHash2) {
  FilterOptions options;
  options.layout = layout;
  options.bits_per_key = bits_per_key;
  options.hash = hash;
  return options;
}

// The filter that a FilterBuilder makes.
template <typename Keys>
std::string RawFilter(const Keys& keys, const FilterOptions& options = {}) {
  FilterBuilder builder(options);
  for (const auto& key : keys) builder.AddKey(key);
  std::string filter;
  builder.Finish(&filter);
  return filter;
}

// "0", "1", ...
inline std::vector<std::string> DecimalKeys(size_t n) {
  std::vector<std::string> keys(n);
  for (size_t i = 0; i < n; ++i) keys[i] = std::to_string(i);
  return keys;
}

}  // namespace deltabloom::test
