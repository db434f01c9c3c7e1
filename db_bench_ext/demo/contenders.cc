#include "db_bench_ext/demo/contenders.h"

#include <memory>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"

namespace deltabloom::demo {
namespace {

constexpr char kRibbon[] = "rocksdb-ribbon";
constexpr char kRefilter[] = "rocksdb-bloom-refilter";
constexpr char kClassic[] = "deltabloom-classic";
constexpr char kLocal[] = "deltabloom-local";

RocksDBFilterOptions OptionsOf(const std::string& name, double bits_per_key) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits_per_key;
  if (name == kClassic) options.layout = Layout::kClassic;
  if (name == kLocal) options.layout = Layout::kLocal;
  if (name == kUniform) options.upper_bits_per_key = bits_per_key;
  return options;
}

}  // namespace

const std::vector<std::string>& FilterNames() {
  static const auto* const names = new std::vector<std::string>{
      kNoFilter, kRocksDBBloom, kRibbon,  kClassic,
      kLocal,    kUniform,      kDefault, kRefilter};
  return *names;
}

Policy MakePolicy(const std::string& name, double bits_per_key) {
  Policy policy;
  if (name == kNoFilter) return policy;
  policy.bits_per_key = bits_per_key;
  policy.refilters = name == kRefilter;
  if (name == kRocksDBBloom || name == kRefilter) {
    policy.filters.reset(rocksdb::NewBloomFilterPolicy(bits_per_key));
  } else if (name == kRibbon) {
    // Ribbon filters are used at every level. By default RocksDB 7 writes Bloom
    // filters in flushes.
    policy.filters.reset(rocksdb::NewRibbonFilterPolicy(
        bits_per_key, /*bloom_before_level=*/-1));
  } else {
    policy.filters =
        NewRocksDBFilterPolicyOrThrow(OptionsOf(name, bits_per_key));
  }
  return policy;
}

}  // namespace deltabloom::demo
