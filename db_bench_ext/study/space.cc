#include "db_bench_ext/study/studies.h"
#include "deltabloom/filter.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {

Rows StudySpace(const std::vector<KeySet>& sets, const Progress& progress) {
  Rows rows = Rows::array();
  for (const KeySet& set : sets) {
    if (set.keys.empty()) continue;
    for (const internal::LayoutRow* const* row = internal::kLayouts;
         *row != nullptr; ++row) {
      if ((*row)->classic_hash != Hash::kMurmurHash2) continue;
      for (int bits_per_key : {10, 15, 20}) {
        progress("space of " + set.name + ", " + (*row)->name + " at " +
                 std::to_string(bits_per_key) + " bits per key");
        FilterOptions options;
        options.layout = (*row)->layout;
        options.bits_per_key = bits_per_key;
        FilterBuilder builder(options);
        for (const std::string& key : set.keys) builder.AddKey(key);
        std::string bytes;
        builder.Finish(&bytes);
        const Filter filter(bytes);
        uint64_t missed = 0;
        uint64_t hits = 0;
        for (const std::string& key : set.keys) missed += !filter.MayMatch(key);
        for (const std::string& key : set.absent) hits += filter.MayMatch(key);
        const auto key_bytes = static_cast<double>(set.KeyBytes());
        const auto size = static_cast<double>(bytes.size());
        rows.push_back({
            {"dataset", set.name},
            {"layout", (*row)->name},
            {"bits_per_key", bits_per_key},
            {"keys", set.keys.size()},
            {"key_bytes", set.KeyBytes()},
            {"filter_bytes", bytes.size()},
            {"stored_bits_per_key",
             8 * size / static_cast<double>(set.keys.size())},
            {"space_saved", 1 - size / key_bytes},
            {"absent_keys_asked", set.absent.size()},
            {"false_positives", hits},
            {"false_positive_rate", static_cast<double>(hits) /
                                        static_cast<double>(set.absent.size())},
            {"error", RateError(hits, set.absent.size())},
            {"missed_keys", missed},
        });
      }
    }
  }
  return rows;
}

}  // namespace deltabloom::study
