#include "util/range/prune.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace deltabloom::internal::range {
namespace {

// Of a cell, beside its path and suffix: the codes that say where it branches.
constexpr uint64_t kCodeBits = 4;

// Of a normal number: e for 2^e <= number < 2^(e + 1).
int ExponentOf(double number) {
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return static_cast<int>(bits >> 52 & 0x7ff) - 1023;
}

// Bits of path per key, by the logarithm: eight prices from one power of 2
// to the next.
unsigned PriceOf(unsigned path, uint32_t keys) {
  const double ratio = static_cast<double>(path) / static_cast<double>(keys);
  const double square = ratio * ratio, fourth = square * square;
  return static_cast<unsigned>(
      std::clamp(32 + ExponentOf(fourth * fourth), 1,
                 static_cast<int>(Pruning::kPrices) - 1));
}

// The price of each branch. Branches are a binary tree, each above those that
// are deeper: its keys are told apart only after all keys above. So no price is
// less than one above.
std::vector<uint8_t> PricesOf(const std::vector<Branch>& branches,
                              unsigned suffix_bits) {
  const auto size = static_cast<uint32_t>(branches.size());
  std::vector<uint8_t> prices(size);
  std::vector<uint32_t> above(size), done, open;
  done.reserve(size);
  // Those below a branch are done before it is.
  for (uint32_t i = 1; i <= size; ++i) {
    while (!open.empty() &&
           (i == size || branches[open.back()].bits > branches[i].bits)) {
      const uint32_t at = open.back();
      open.pop_back();
      done.push_back(at);
      const uint32_t before = open.empty() ? 0 : open.back();
      above[at] = before;
      if (i < size &&
          (before == 0 || branches[before].bits <= branches[i].bits)) {
        above[at] = i;
      }
      if (above[at] == 0) continue;
      const unsigned path = branches[at].bits - branches[above[at]].bits;
      if (path > suffix_bits) {
        prices[at] = static_cast<uint8_t>(PriceOf(path, i - before));
      }
    }
    open.push_back(i);
  }
  for (auto at = done.rbegin(); at != done.rend(); ++at) {
    prices[*at] = std::max(prices[*at], prices[above[*at]]);
  }
  return prices;
}

}  // namespace

Pruning::Pruning(const std::vector<Branch>& branches, unsigned suffix_bits)
    : Pruning(branches, PricesOf(branches, suffix_bits), suffix_bits) {}

Pruning::Pruning(std::vector<Branch> branches, std::vector<uint8_t> prices,
                 unsigned suffix_bits)
    : branches_(std::move(branches)),
      prices_(std::move(prices)),
      suffix_bits_(suffix_bits) {
  for (size_t i = 1; i < branches_.size(); ++i) {
    const int rise = branches_[i].bits - branches_[i - 1].bits;
    ++keys_at_[prices_[i]];
    bits_at_[prices_[i]] +=
        kCodeBits + suffix_bits + static_cast<unsigned>(std::max(rise, 0));
  }
  for (unsigned price = 1; price < kPrices; ++price) {
    keys_at_[price] += keys_at_[price - 1];
    bits_at_[price] += bits_at_[price - 1];
  }
}

Pruning Pruning::Sample(const Sampling& sampling) const {
  return {SampleOf(branches_, sampling), SampleOf(prices_, sampling),
          suffix_bits_};
}

unsigned Pruning::PriceFor(double bits) const {
  unsigned price = kPrices - 1;
  while (price > 0 && BitsAt(price) > bits) --price;
  return price;
}

double Pruning::BitsAt(unsigned price) const {
  return static_cast<double>(bits_at_[price]);
}

std::vector<CellStart> Pruning::Cells(unsigned price) const {
  // Room for one that is no start: nothing to decide while they are written.
  std::vector<CellStart> cells(keys_at_[price] + 2);
  size_t starts = 1;
  for (uint32_t i = 1; i < branches_.size(); ++i) {
    cells[starts] = {i, branches_[i]};
    starts += prices_[i] <= price ? 1 : 0;
  }
  cells.resize(starts);
  return cells;
}

}  // namespace deltabloom::internal::range
