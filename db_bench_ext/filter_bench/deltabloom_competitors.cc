#include <stdexcept>
#include <string_view>

#include "db_bench_ext/filter_bench/competitor.h"
#include "db_bench_ext/filter_bench/theory.h"
#include "deltabloom/rocksdb.h"
#include "rocksdb/filter_policy.h"
#include "table/framing.h"
#include "util/classic/shape.h"
#include "util/compact/shape.h"
#include "util/layout.h"
#include "util/local/shape.h"

namespace deltabloom::bench {
namespace {

std::optional<double> SealedRate(std::string_view filter, double keys) {
  internal::ParsedFilter parsed;
  internal::HashedKeys hashed;
  if (internal::ParseSealed(filter, internal::CpuLevel::kPortable, &hashed,
                            &parsed,
                            nullptr) != internal::FilterKind::kFilter) {
    return std::nullopt;
  }
  const auto last_byte = static_cast<unsigned char>(filter.back());
  switch (
      internal::FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2)->layout) {
    case Layout::kClassic: {
      const auto& shape = parsed.shape.As<internal::classic::Shape>();
      return BloomRate(static_cast<double>(shape.bits), shape.probes, keys, 32);
    }
    case Layout::kLocal: {
      const auto& shape = parsed.shape.As<internal::local::Shape>();
      return LocalRate(static_cast<double>(shape.blocks), shape.first,
                       shape.second, keys);
    }
    case Layout::kCompact: {
      const auto& shape = parsed.shape.As<internal::compact::Shape>();
      return CompactRate(shape.columns,
                         static_cast<double>(shape.narrow) /
                             static_cast<double>(shape.blocks()),
                         keys);
    }
    case Layout::kAuto:
      break;
  }
  return std::nullopt;
}

// What is done to keys before they are hashed.
struct KeyOptions {
  const char* suffix;  // of the competitor's name
  bool seeded;
  const char* key_transform;
};

constexpr KeyOptions kAsTheyAre = {"", false, "none"};
constexpr KeyOptions kMapped[] = {{"-seeded", true, "none"},
                                  {"-lowercase", false, "ascii_lowercase"}};

std::shared_ptr<const rocksdb::FilterPolicy> NewPolicy(Layout layout,
                                                       const KeyOptions& keys,
                                                       double bits_per_key) {
  RocksDBFilterOptions options;
  options.layout = layout;
  options.bits_per_key = bits_per_key;
  options.seeded = keys.seeded;
  options.key_transform = keys.key_transform;
  std::string error;
  std::shared_ptr<const rocksdb::FilterPolicy> policy =
      NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return policy;
}

class DeltabloomCompetitor : public PolicyCompetitor {
 public:
  using PolicyCompetitor::PolicyCompetitor;

  std::optional<double> TheoreticalRate(const Slice& filter,
                                        uint64_t keys) const override {
    return SealedRate(filter.ToStringView(), static_cast<double>(keys));
  }
};

void AddCompetitors(const KeyOptions& keys, bool only_named,
                    std::vector<CompetitorEntry>* entries) {
  for (const internal::LayoutRow* const* row = internal::kLayouts;
       *row != nullptr; ++row) {
    if ((*row)->classic_hash != Hash::kMurmurHash2) continue;
    const Layout layout = (*row)->layout;
    // A layout that keeps long hashes also works on them.
    const double build_bytes = (*row)->hash_size == 4 ? 6 : 40;
    entries->push_back({std::string("deltabloom-") + (*row)->name + keys.suffix,
                        false, true,
                        [build_bytes](size_t) { return build_bytes; },
                        [layout, keys](double bits_per_key) {
                          return std::make_unique<DeltabloomCompetitor>(
                              NewPolicy(layout, keys, bits_per_key));
                        },
                        only_named});
  }
}

}  // namespace

// One of every layout that the table lists and RocksDB can store; named, with
// its keys seeded or transformed.
std::vector<CompetitorEntry> DeltabloomCompetitors() {
  std::vector<CompetitorEntry> entries;
  AddCompetitors(kAsTheyAre, /*only_named=*/false, &entries);
  for (const KeyOptions& keys : kMapped) {
    AddCompetitors(keys, /*only_named=*/true, &entries);
  }
  return entries;
}

}  // namespace deltabloom::bench
