#include "util/range/filter_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "util/hash_list.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/range/bytes.h"
#include "util/range/declaration.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"
#include "util/range/place.h"
#include "util/range/places.h"
#include "util/range/prefix.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::internal::range {
namespace {

// A filter stores the bytes that the first and the last key share, and up to
// this many more of each: enough for two components that differ.
constexpr size_t kBytesOfEnds = 16;

// A layout may round the size of a filter up by a block of 64 bytes.
constexpr uint64_t kBlockBytes = 64;

const LayoutRow* PrefixLayout() { return FindLayout(Layout::kCompact); }

uint32_t BitOf(size_t place) { return uint32_t{1} << place; }

uint32_t MillibitsOf(double bits) { return static_cast<uint32_t>(1000 * bits); }

}  // namespace

FilterBuilder::FilterBuilder(const PlacesToHold& places, Order order,
                             double bits_per_key)
    : places_(places.places),
      automatic_(places.automatic),
      order_(order),
      bits_per_key_(bits_per_key) {
  for (size_t i = 0; i < places_.places().size(); ++i) {
    if (places_.places()[i].window) windows_ |= BitOf(i);
  }
}

bool FilterBuilder::Add(std::string_view key) {
  size_t shared = 0;
  if (keys_ == 0) {
    first_ = key;
  } else {
    shared = CommonPrefix(key, last_);
    if (shared == key.size() && shared == last_.size()) return true;
    const bool is_larger = IsSmaller(last_, key, shared);
    if (is_larger != (order_ == Order::kBytewise)) return false;
  }
  AddPrefixes(key, shared);
  last_ = key;
  ++keys_;
  return true;
}

void FilterBuilder::AddPrefixes(std::string_view key, size_t shared) {
  ends_.clear();
  // A prefix that ends within the shared bytes is one of the last key, too, at
  // the same place: places depend on nothing but the bytes before them.
  const size_t old = 8 * shared;
  places_.ForEach(
      key, &old,
      [this](size_t place, size_t bits) {
        ends_.push_back({bits, BitOf(place)});
      },
      shared, &found_);
  if (automatic_) {
    // Each candidate is a kind of its own.
    for (size_t i = 0; i < found_.size; ++i) {
      const Places::Found::Delimiter& delimiter = found_.delimiters[i];
      if (delimiter.count == 1) ++keys_with_[delimiter.kind];
    }
  }
  if (places_.places().size() > 1) {
    std::sort(ends_.begin(), ends_.end(),
              [](const End& a, const End& b) { return a.bits < b.bits; });
  }
  for (size_t i = 0; i < ends_.size(); ++i) {
    End end = ends_[i];
    for (; i + 1 < ends_.size() && ends_[i + 1].bits == end.bits; ++i) {
      end.places |= ends_[i + 1].places;
    }
    AddPrefix(key, end);
  }
}

void FilterBuilder::AddPrefix(std::string_view key, const End& end) {
  const uint64_t hash = HashOfPrefix(key, end.bits);
  const uint32_t windows = end.places & windows_;
  if (windows != 0) {
    // Keys with the same window follow each other, though they may share fewer
    // bytes, as zeros are added to short keys.
    bool is_new = windows != end.places;
    ForEachBit(windows, [&](size_t place) {
      is_new = is_new || (windows_seen_ & BitOf(place)) == 0 ||
               last_window_[place] != hash;
      last_window_[place] = hash;
    });
    windows_seen_ |= windows;
    if (!is_new) return;
  }
  auto group = std::find_if(
      groups_.begin(), groups_.end(),
      [&](const Group& other) { return other.places == end.places; });
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), Group{end.places});
  }
  group->hashes.Add(hash);
}

uint64_t FilterBuilder::MemorySize() const {
  uint64_t size = first_.capacity() + last_.capacity();
  for (const Group& group : groups_) size += group.hashes.MemorySize();
  return size;
}

uint64_t FilterBuilder::CountPrefixes(uint32_t places) const {
  uint64_t prefixes = 0;
  for (const Group& group : groups_) {
    if ((group.places & places) != 0) prefixes += group.hashes.size();
  }
  return prefixes;
}

uint32_t FilterBuilder::LargestOf(uint32_t places) const {
  uint32_t largest = 0;
  uint64_t most = 0;
  ForEachBit(places, [&](size_t place) {
    const uint64_t prefixes = CountPrefixes(BitOf(place));
    if (largest != 0 && prefixes < most) return;
    largest = BitOf(place);
    most = prefixes;
  });
  return largest;
}

uint32_t FilterBuilder::DeclaredPlaces() const {
  uint32_t declared = 0;
  for (size_t i = 0; i < places_.places().size(); ++i) {
    // Nine in ten: a table may hold a few keys of another kind.
    if (!automatic_ || 10 * keys_with_[i] >= 9 * keys_) declared |= BitOf(i);
  }
  // A declaration has at most kMaxPlaces places.
  while (__builtin_popcount(declared) > static_cast<int>(kMaxPlaces)) {
    declared &= ~LargestOf(declared);
  }
  return declared;
}

FilterBuilder::Plan FilterBuilder::MakePlan(double bits) const {
  Plan plan;
  plan.declared = DeclaredPlaces();
  plan.held = plan.declared;
  for (;;) {
    plan.prefixes = CountPrefixes(plan.held);
    plan.bits =
        plan.prefixes == 0
            ? kMostBits
            : std::min(kMostBits, bits / static_cast<double>(plan.prefixes));
    const bool is_last = (plan.held & (plan.held - 1)) == 0;
    if (is_last || plan.bits >= kLeastBitsOfSeveral) return plan;
    plan.held &= ~LargestOf(plan.held);
  }
}

double FilterBuilder::BitsOf(const Limits& limits) const {
  return bits_per_key_ * static_cast<double>(keys_) +
         8 * static_cast<double>(limits.more_bytes);
}

uint64_t FilterBuilder::BuildBytes(const Limits& limits) const {
  const Plan plan = MakePlan(BitsOf(limits));
  const uint64_t size = MemorySize();
  if (plan.prefixes == 0) return size;
  return PeakBuildBytes(
      PlanFilter(PrefixLayout(), plan.prefixes, MillibitsOf(plan.bits)), size,
      /*keep_hashes=*/false);
}

HashList FilterBuilder::TakeHashes(uint32_t places) {
  HashList all(8);
  for (Group& group : groups_) {
    if ((group.places & places) == 0) {
      group.hashes.Clear();
    } else if (all.size() == 0) {
      all = std::move(group.hashes);
    } else {
      group.hashes.ConsumeChunks<uint64_t>(
          [&all](const uint64_t* hashes, size_t n) {
            for (size_t i = 0; i < n; ++i) all.Add(hashes[i]);
          });
    }
  }
  groups_.clear();
  return all;
}

std::string FilterBuilder::DeclarationOf(uint32_t places) const {
  std::vector<Place> declared;
  ForEachBit(places,
             [&](size_t i) { declared.push_back(places_.places()[i]); });
  return TextOf(declared);
}

std::string_view FilterBuilder::EndOfKeys(std::string_view key) const {
  const size_t size = CommonPrefix(first_, last_) + kBytesOfEnds;
  return key.substr(0, std::min(size, kMaxPlaceBytes));
}

std::string FilterBuilder::Finish(const Limits& limits, std::string* dst) {
  if (keys_ == 0) return "the table has no key";
  FilterHeader header;
  header.order = order_;
  header.smallest = EndOfKeys(first_);
  header.largest = EndOfKeys(last_);
  if (order_ == Order::kReverse) std::swap(header.smallest, header.largest);

  // The places are chosen before the size of the header is known, which names
  // them. So it is taken to name all places, which is the longest text.
  std::string before;
  AppendFilterHeader(header, 0, &before);
  const uint64_t beside =
      before.size() + TextOf(places_.places()).size() + 1 + kBlockBytes + 1;
  const double bits = std::min(
      BitsOf(limits),
      8 * static_cast<double>(limits.bytes - std::min(beside, limits.bytes)));
  const Plan plan = MakePlan(bits);
  if (plan.declared == 0) {
    return "no delimiter that nine in ten keys have: declare prefixes";
  }
  if (plan.bits < kLeastBits || beside > limits.bytes) {
    return "there are " + NumberText(plan.bits, 2) + " bits for each of " +
           std::to_string(plan.prefixes) + " prefixes, and 2 are needed";
  }
  const std::string held = DeclarationOf(plan.held);
  const std::string left_out = DeclarationOf(plan.declared & ~plan.held);
  header.held = held;
  header.left_out = left_out;
  header.prefixes = plan.prefixes;

  std::string filter;
  if (plan.prefixes > 0) {
    const uint32_t millibits = MillibitsOf(plan.bits);
    const uint64_t hash_bytes = MemorySize();
    const LayoutRow* const layout = FindAffordableLayout(
        PrefixLayout(), plan.prefixes, millibits, hash_bytes,
        /*keep_hashes=*/false, limits.build_bytes);
    if (limits.build_bytes != 0 &&
        PeakBuildBytes(PlanFilter(layout, plan.prefixes, millibits), hash_bytes,
                       /*keep_hashes=*/false) > limits.build_bytes) {
      return "building it takes more than max_build_bytes";
    }
    HashList hashes = TakeHashes(plan.held);
    AppendRawFilter(layout, millibits, &hashes, &filter);
  }
  AppendFilterHeader(header, filter.size(), dst);
  dst->append(filter);
  return {};
}

}  // namespace deltabloom::internal::range
