// Which neighbours among texts are told apart.
#ifndef DELTABLOOM_UTIL_RANGE_PRUNE_H_
#define DELTABLOOM_UTIL_RANGE_PRUNE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/alphabet.h"

namespace deltabloom::internal::range {

// Bits that a key has in common with the key before, behind what all begin
// with. None for the first key.
struct Branch {
  uint16_t bits = 0;
  uint16_t zeros = 0;  // among them
};
static_assert(kMaxDepth <= 0xffff);

// A key that begins another cell than the key before.
struct CellStart {
  uint32_t key = 0;
  Branch branch;
};

// A sample: one in `part` of all, in runs of `run`, but `least` or all of them.
struct Sampling {
  size_t run;
  size_t part;
  size_t least;
};

template <typename T>
std::vector<T> SampleOf(const std::vector<T>& all, const Sampling& sampling) {
  const size_t part = std::min(sampling.part, all.size() / sampling.least);
  if (part < 2) return all;
  std::vector<T> sample;
  sample.reserve(all.size() / part + sampling.run);
  for (size_t at = 0; at < all.size(); at += part * sampling.run) {
    const size_t end = std::min(all.size(), at + sampling.run);
    sample.insert(sample.end(), all.begin() + static_cast<ptrdiff_t>(at),
                  all.begin() + static_cast<ptrdiff_t>(end));
  }
  return sample;
}

// Groups of keys that stay together: those first that have most in common for
// their number. The price of a key says how much it has with the key before.
// Groups have more than suffix_bits beyond what tells them from others, so that
// a cell with its suffix holds all of them.
class Pruning {
 public:
  static constexpr unsigned kPrices = 128;

  // Of all keys in order, no more than 2^32 - 1.
  Pruning(const std::vector<Branch>& branches, unsigned suffix_bits);

  // Of some of the keys, at the same prices.
  Pruning Sample(const Sampling& sampling) const;

  size_t size() const { return branches_.size(); }

  // The highest price at which cells cost about so many bits, or 0; and the
  // bits that they cost.
  unsigned PriceFor(double bits) const;
  double BitsAt(unsigned price) const;

  // Starts of the cells of no higher price.
  std::vector<CellStart> Cells(unsigned price) const;

 private:
  Pruning(std::vector<Branch> branches, std::vector<uint8_t> prices,
          unsigned suffix_bits);

  std::vector<Branch> branches_;
  std::vector<uint8_t> prices_;
  unsigned suffix_bits_;
  uint64_t keys_at_[kPrices] = {};  // and at lower prices
  uint64_t bits_at_[kPrices] = {};
};

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_PRUNE_H_
