#include "db_bench_ext/study/filter_kinds.h"

#include <memory>
#include <random>
#include <stdexcept>

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

}  // namespace

std::vector<FilterKind> FilterKinds() {
  std::vector<FilterKind> kinds;
  for (const Layout layout : kLayouts) kinds.push_back(Raw(layout));
  const auto add_sealed = [&kinds](bool payload_check,
                                   RocksDBCompatibility compatibility) {
    for (const Layout layout : kLayouts) {
      kinds.push_back(Sealed(layout, payload_check, compatibility));
    }
  };
  add_sealed(false, RocksDBCompatibility::kBuiltin);
  add_sealed(true, RocksDBCompatibility::kBuiltin);
  add_sealed(true, RocksDBCompatibility::kOwn);
  kinds.push_back(
      OfPolicy("RocksDB Bloom", kRocksDBFramingSize,
               PolicyPtr(rocksdb::NewBloomFilterPolicy(kBitsPerKey))));
  kinds.push_back(
      OfPolicy("RocksDB Ribbon", kRocksDBFramingSize,
               PolicyPtr(rocksdb::NewRibbonFilterPolicy(kBitsPerKey, -1))));
  return kinds;
}

std::vector<std::string> StudyKeys(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed + n);
  std::vector<std::string> keys(n, std::string(16, '\0'));
  for (std::string& key : keys) {
    for (char& byte : key) byte = static_cast<char>(random());
  }
  return keys;
}

}  // namespace deltabloom::study
