#include "deltabloom/filter.h"

#include <stdexcept>

#include "table/framing.h"
#include "util/hash_list.h"
#include "util/json.h"
#include "util/key_batch.h"
#include "util/layouts/layout.h"

namespace deltabloom {

using internal::ActiveCpu;
using internal::LayoutRow;
using internal::Plan;

std::string FilterOptions::Validate() const {
  if (!internal::ValidBitsPerKey(bits_per_key)) {
    return "bits_per_key = " + internal::NumberText(bits_per_key) +
           " is out of range: use 0 to 1000, 10 gives about 1 % false "
           "positives";
  }
  if (internal::FindLayout(layout, hash) == nullptr) {
    if (hash == Hash::kLevelDB) {
      return "LevelDB's hash goes with layout classic only: use MurmurHash2 "
             "for another layout";
    }
    return "layout " + std::to_string(static_cast<int>(layout)) +
           " is unknown: use " + internal::LayoutNames();
  }
  return {};
}

// Finish needs the hashes once only.
constexpr bool kKeepHashes = false;

struct FilterBuilder::Rep {
  explicit Rep(const FilterOptions& options)
      : row(internal::FindLayout(options.layout, options.hash)),
        millibits(internal::ToMillibits(options.bits_per_key)),
        max_build_bytes(options.max_build_bytes),
        hashes(row->hash_size) {}

  const LayoutRow* Affordable() const {
    return internal::FindAffordableLayout(row, hashes.size(), millibits,
                                          hashes.MemorySize(), kKeepHashes,
                                          max_build_bytes);
  }
  Plan PlanNow() const {
    return internal::PlanFilter(Affordable(), hashes.size(), millibits);
  }

  const LayoutRow* row;
  uint32_t millibits;
  uint64_t max_build_bytes;
  internal::HashList hashes;
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
  return rep_->PlanNow().payload_size + internal::kRawFramingSize;
}

uint64_t FilterBuilder::BuildBytes() const {
  return internal::PeakBuildBytes(rep_->PlanNow(), rep_->hashes.MemorySize(),
                                  kKeepHashes);
}

void FilterBuilder::Finish(std::string* dst) {
  internal::AppendRawFilter(rep_->Affordable(), rep_->millibits, &rep_->hashes,
                            dst);
}

Filter::Filter(std::string_view filter, Hash hash) {
  internal::ParseRaw(filter, hash, ActiveCpu(), &parsed_, nullptr);
}

void Filter::MayMatch(const std::string_view* keys, size_t n,
                      bool* may_match) const {
  internal::MayMatchViews(parsed_, keys, n, may_match);
}

std::string DescribeFilter(std::string_view filter) {
  std::string why;
  internal::ParsedFilter parsed;
  internal::ParseRaw(filter, Hash::kMurmurHash2, ActiveCpu(), &parsed, &why);
  return why;
}

}  // namespace deltabloom
