#include "deltabloom/filter_policy.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "table/small_filter.h"

namespace deltabloom {
namespace {

class OptionsPolicy : public FilterPolicy {
 public:
  explicit OptionsPolicy(const FilterOptions& options) : options_(options) {}

  const char* Name() const override {
    return options_.hash == Hash::kLevelDB ? "leveldb.BuiltinBloomFilter2"
                                           : "deltabloom.Filter.MurmurHash2";
  }

  void CreateFilter(const std::string_view* keys, size_t n,
                    std::string* dst) const override {
    internal::AppendFilter(
        options_, n, [keys](size_t i) { return keys[i]; }, dst);
  }

  bool KeyMayMatch(std::string_view key,
                   std::string_view filter) const override {
    return internal::MayMatchUnparsed(filter, options_.hash, key);
  }

 private:
  const FilterOptions options_;
};

}  // namespace

FilterPolicy::~FilterPolicy() = default;

std::unique_ptr<const FilterPolicy> NewBloomFilterPolicy(double bits_per_key) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  return NewFilterPolicy(options);
}

std::unique_ptr<const FilterPolicy> NewFilterPolicy(
    const FilterOptions& options) {
  if (!options.Validate().empty()) return nullptr;
  return std::make_unique<OptionsPolicy>(options);
}

}  // namespace deltabloom
