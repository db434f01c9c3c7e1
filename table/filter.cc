#include "deltabloom/filter.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "table/framing.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/json.h"
#include "util/key_batch.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom {

using namespace internal;  // NOLINT

std::string FilterOptions::Validate() const {
  if (!ValidBitsPerKey(bits_per_key)) {
    return "bits_per_key = " + NumberText(bits_per_key) +
           " is out of range: use 0 to 1000, 10 gives about 1 % false "
           "positives";
  }
  if (FindLayout(layout, hash) == nullptr) {
    if (hash == Hash::kLevelDB) {
      return "LevelDB's hash goes with layout classic only: use MurmurHash2 "
             "for another layout";
    }
    return "layout " + std::to_string(static_cast<int>(layout)) +
           " is unknown: use " + LayoutNames();
  }
  return {};
}

struct FilterBuilder::Rep {
  explicit Rep(const FilterOptions& given) : options(given) {}

  const LayoutRow* Affordable() const {
    return FindAffordableLayout(row, hashes.size(), millibits,
                                hashes.MemorySize(), /*keep_hashes=*/false,
                                options.max_build_bytes);
  }
  Plan PlanNow() const {
    return PlanFilter(Affordable(), hashes.size(), millibits);
  }

  const FilterOptions options;
  const LayoutRow* const row = FindLayout(options.layout, options.hash);
  const uint32_t millibits = ToMillibits(options.bits_per_key);
  HashList hashes{row->hash_size};
};

FilterBuilder::FilterBuilder(const FilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

FilterBuilder::~FilterBuilder() = default;
FilterBuilder::FilterBuilder(FilterBuilder&&) noexcept = default;
FilterBuilder& FilterBuilder::operator=(FilterBuilder&&) noexcept = default;

void FilterBuilder::AddKey(std::string_view key) {
  rep_->hashes.Add(rep_->row->hash(key));
}

uint64_t FilterBuilder::KeysAdded() const { return rep_->hashes.size(); }

uint64_t FilterBuilder::FilterSize() const {
  return rep_->PlanNow().payload_size + kRawFramingSize;
}

uint64_t FilterBuilder::BuildBytes() const {
  return PeakBuildBytes(rep_->PlanNow(), rep_->hashes.MemorySize(),
                        /*keep_hashes=*/false);
}

void FilterBuilder::Finish(std::string* dst) {
  AppendRawFilter(rep_->Affordable(), rep_->millibits, &rep_->hashes, dst);
}

Filter::Filter(std::string_view filter, Hash hash) {
  static_assert(sizeof(ParsedFilter) <= sizeof(parsed_) &&
                alignof(ParsedFilter) <= 8 &&
                std::is_trivially_copyable<ParsedFilter>::value);
  auto* const parsed = ::new (static_cast<void*>(parsed_)) ParsedFilter;
  ParseRaw(filter, hash, ActiveCpu(), parsed, nullptr);
  may_match_ = parsed->may_match;
}

void Filter::MayMatch(const std::string_view* keys, size_t n,
                      bool* may_match) const {
  MayMatchViews(Parsed(), keys, n, may_match);
}

std::string DescribeFilter(std::string_view filter) {
  std::string why;
  ParsedFilter parsed;
  ParseRaw(filter, Hash::kMurmurHash2, ActiveCpu(), &parsed, &why);
  return why;
}

}  // namespace deltabloom
