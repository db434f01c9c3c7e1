// The effect of a flipped bit and of a lost end: every bit of every filter is
// flipped in turn, every filter is cut at every length, and all its keys are
// looked up each time. Nothing crashes or reads out of bounds. A lost key would
// be lost to the user, because nothing above the filter notices.
#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/study/studies.h"
#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {
namespace {

using PolicyPtr = std::shared_ptr<const rocksdb::FilterPolicy>;

constexpr double kBitsPerKey = 10;
constexpr size_t kRocksDBFramingSize = 5;

constexpr Layout kLayouts[] = {Layout::kClassic, Layout::kLocal,
                               Layout::kCompact};

FilterKind Raw(Layout layout) {
  FilterOptions options;
  options.bits_per_key = kBitsPerKey;
  options.layout = layout;
  const auto build = [options](const std::vector<std::string>& keys) {
    FilterBuilder builder(options);
    for (const std::string& key : keys) builder.AddKey(key);
    std::string filter;
    builder.Finish(&filter);
    return filter;
  };
  const auto open = [](std::string_view filter) -> MayMatch {
    return [view = Filter(filter)](std::string_view key) {
      return view.MayMatch(key);
    };
  };
  return {std::string("raw ") + LayoutName(layout), internal::kRawFramingSize,
          build, open};
}

FilterKind OfPolicy(const std::string& name, size_t framing_size,
                    const PolicyPtr& policy) {
  const auto build = [policy](const std::vector<std::string>& keys) {
    const auto builder = internal::NewBitsBuilder(*policy);
    for (const std::string& key : keys) builder->AddKey(key);
    std::unique_ptr<const char[]> owner;
    return builder->Finish(&owner).ToString();
  };
  const auto open = [policy](std::string_view filter) -> MayMatch {
    const std::shared_ptr<rocksdb::FilterBitsReader> reader =
        internal::NewBitsReader(*policy, {filter.data(), filter.size()});
    return [reader](std::string_view key) {
      return reader->MayMatch({key.data(), key.size()});
    };
  };
  return {name, framing_size, build, open};
}

FilterKind Sealed(Layout layout, bool payload_check,
                  RocksDBCompatibility compatibility) {
  RocksDBFilterOptions options;
  options.bits_per_key = kBitsPerKey;
  options.layout = layout;
  options.payload_check = payload_check;
  options.compatibility = compatibility;
  std::string error;
  const PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  internal::SealOptions seal;
  seal.payload_check = payload_check;
  std::string name = std::string("sealed ") + LayoutName(layout);
  if (payload_check) name += ", payload_check";
  if (compatibility == RocksDBCompatibility::kOwn) name += ", own";
  return OfPolicy(name, internal::SealedFramingSize(seal), policy);
}

// Changes, and those of them that lose a key.
struct Count {
  uint64_t changes = 0;
  uint64_t losing = 0;

  void Add(bool loses) {
    ++changes;
    losing += loses;
  }
};

// Whether at least one of the keys is lost.
bool Loses(const FilterKind& kind, const std::string& filter,
           const std::vector<std::string>& keys) {
  // A copy of its own, so that sanitizers see the end.
  const std::vector<char> bytes(filter.begin(), filter.end());
  const auto may_match = kind.open({bytes.data(), bytes.size()});
  for (const std::string& key : keys) {
    if (!may_match(key)) return true;
  }
  return false;
}

struct Damage {
  Count payload_flips;
  Count framing_flips;
  Count truncations;
};

void StudyFilter(const FilterKind& kind, const std::vector<std::string>& keys,
                 Damage* damage) {
  const std::string filter = kind.build(keys);
  if (Loses(kind, filter, keys)) {
    throw std::runtime_error(kind.name + ": a key that was added is missed");
  }
  const size_t payload_size =
      filter.size() - std::min(filter.size(), kind.framing_size);
  std::string changed = filter;
  for (size_t bit = 0; bit < 8 * filter.size(); ++bit) {
    const auto mask = static_cast<char>(1 << bit % 8);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ mask);
    Count& count =
        bit / 8 < payload_size ? damage->payload_flips : damage->framing_flips;
    count.Add(Loses(kind, changed, keys));
    changed[bit / 8] = filter[bit / 8];
  }
  for (size_t size = 0; size < filter.size(); ++size) {
    damage->truncations.Add(Loses(kind, filter.substr(0, size), keys));
  }
}

}  // namespace

std::vector<FilterKind> FilterKinds() {
  std::vector<FilterKind> kinds;
  for (const Layout layout : kLayouts) kinds.push_back(Raw(layout));
  using Compatibility = RocksDBCompatibility;
  for (const auto& [payload_check, compatibility] :
       {std::pair{false, Compatibility::kBuiltin},
        {true, Compatibility::kBuiltin},
        {true, Compatibility::kOwn}}) {
    for (const Layout layout : kLayouts) {
      kinds.push_back(Sealed(layout, payload_check, compatibility));
    }
  }
  kinds.push_back(
      OfPolicy("RocksDB Bloom", kRocksDBFramingSize,
               PolicyPtr(rocksdb::NewBloomFilterPolicy(kBitsPerKey))));
  kinds.push_back(
      OfPolicy("RocksDB Ribbon", kRocksDBFramingSize,
               PolicyPtr(rocksdb::NewRibbonFilterPolicy(kBitsPerKey, -1))));
  return kinds;
}

std::vector<std::string> RandomKeys(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed + n);
  std::vector<std::string> keys(n, std::string(16, '\0'));
  for (std::string& key : keys) {
    for (char& byte : key) byte = static_cast<char>(random());
  }
  return keys;
}

Json StudyDamage(const std::vector<size_t>& numbers_of_keys, uint64_t seed) {
  Json rows = Json::array();
  for (const FilterKind& kind : FilterKinds()) {
    Damage damage;
    for (const size_t n : numbers_of_keys) {
      bench::ShowProgress("damage, " + kind.name + ", " + std::to_string(n) +
                          " keys");
      StudyFilter(kind, RandomKeys(n, seed), &damage);
    }
    rows.push_back({{"filter", kind.name},
                    {"payload_flips", damage.payload_flips.changes},
                    {"losing", damage.payload_flips.losing},
                    {"losing_percent",
                     100.0 * static_cast<double>(damage.payload_flips.losing) /
                         static_cast<double>(std::max<uint64_t>(
                             1, damage.payload_flips.changes))},
                    {"framing_flips", damage.framing_flips.changes},
                    {"losing_framing_flips", damage.framing_flips.losing},
                    {"truncations", damage.truncations.changes},
                    {"losing_truncations", damage.truncations.losing}});
  }
  return rows;
}

}  // namespace deltabloom::study
