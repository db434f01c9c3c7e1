#include <stdexcept>
#include <string_view>

#include "db_bench_ext/filter_bench/competitor.h"
#include "deltabloom/rocksdb.h"
#include "rocksdb/filter_policy.h"
#include "table/framing.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/rates/rates.h"

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
  const internal::LayoutRow* const row = internal::FindLayoutOfLastByte(
      static_cast<unsigned char>(filter.back()), Hash::kMurmurHash2);
  if (row->layout == Layout::kClassic) {
    // Its row has what the worst sizes were measured to have.
    const auto& shape = parsed.shape.As<internal::classic::Shape>();
    return internal::BloomRateOfHash(static_cast<double>(shape.bits), keys,
                                     shape.probes, 32);
  }
  return row->rate(parsed.shape, static_cast<uint64_t>(keys));
}

// A layout with options of the policy.
struct Variant {
  const char* suffix;  // of the competitor's name
  bool seeded;
  const char* key_transform;
  bool statistics;
};

// The filters alone; the others take part only where they are named.
constexpr Variant kVariants[] = {
    {"", false, "none", false},
    {"-seeded", true, "none", false},
    {"-lowercase", false, "ascii_lowercase", false},
    {"-counted", false, "none", true}};

std::shared_ptr<const rocksdb::FilterPolicy> NewPolicy(Layout layout,
                                                       const Variant& variant,
                                                       double bits_per_key) {
  RocksDBFilterOptions options;
  options.layout = layout;
  options.bits_per_key = bits_per_key;
  options.seeded = variant.seeded;
  options.key_transform = variant.key_transform;
  options.statistics = variant.statistics;
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

CompetitorEntry EntryOf(const internal::LayoutRow& row,
                        const Variant& variant) {
  const Layout layout = row.layout;
  CompetitorEntry entry;
  entry.name = std::string("deltabloom-") + row.name + variant.suffix;
  entry.has_policy = true;
  // A layout that keeps long hashes also works on them.
  const double build_bytes = row.hash_size == 4 ? 6 : 40;
  entry.build_bytes_per_key = [build_bytes](size_t) { return build_bytes; };
  entry.make = [layout, variant](double bits_per_key) {
    return std::make_unique<DeltabloomCompetitor>(
        NewPolicy(layout, variant, bits_per_key));
  };
  entry.only_named = *variant.suffix != '\0';
  return entry;
}

}  // namespace

// One of every layout that the table lists and RocksDB can store, and its
// variants.
std::vector<CompetitorEntry> DeltabloomCompetitors() {
  std::vector<CompetitorEntry> entries;
  for (const Variant& variant : kVariants) {
    for (const internal::LayoutRow* const* row = internal::kLayouts;
         *row != nullptr; ++row) {
      if ((*row)->classic_hash == Hash::kMurmurHash2) {
        entries.push_back(EntryOf(**row, variant));
      }
    }
  }
  return entries;
}

}  // namespace deltabloom::bench
