#include "deltabloom/filter_policy.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/filter.h"
#include "deltabloom/leveldb.h"
#include "table/small_filter.h"

namespace deltabloom {
namespace {

std::string_view View(const leveldb::Slice& slice) {
  return {slice.data(), slice.size()};
}

class LevelDBPolicy : public leveldb::FilterPolicy {
 public:
  LevelDBPolicy(const FilterOptions& options, std::string name)
      : options_(options), name_(std::move(name)) {}

  const char* Name() const override { return name_.c_str(); }

  // LevelDB is built without exceptions. Without memory the filter is two zero
  // bytes, which match every key; no shorter one does. So the program ends if
  // there is no memory for these.
  void CreateFilter(const leveldb::Slice* keys, int n,
                    std::string* dst) const noexcept override {
    constexpr size_t kFallbackSize = 2;
    const size_t start = dst->size();
    dst->reserve(start + kFallbackSize);
    try {
      internal::AppendFilter(
          options_, static_cast<size_t>(n),
          [keys](size_t i) { return View(keys[i]); }, dst);
    } catch (const std::bad_alloc&) {
      dst->resize(start);
      dst->resize(start + kFallbackSize, '\0');  // there is room
    }
  }

  bool KeyMayMatch(const leveldb::Slice& key,
                   const leveldb::Slice& filter) const override {
    return internal::MayMatchUnparsed(View(filter), options_.hash, View(key));
  }

 private:
  const FilterOptions options_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<const leveldb::FilterPolicy> NewLevelDBBloomFilterPolicy(
    double bits_per_key, std::string* error) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  options.hash = Hash::kLevelDB;
  return NewLevelDBFilterPolicy(options, error);
}

std::unique_ptr<const leveldb::FilterPolicy> NewLevelDBFilterPolicy(
    const FilterOptions& options, std::string* error) {
  const auto policy = NewFilterPolicy(options);
  if (policy == nullptr) {
    if (error != nullptr) *error = options.Validate();
    return nullptr;
  }
  return std::make_unique<LevelDBPolicy>(options, policy->Name());
}

}  // namespace deltabloom
