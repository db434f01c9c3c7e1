#include "util/range/prune.h"

#include <algorithm>
#include <cmath>

namespace deltabloom::internal::range {
namespace {

// Of a cell, beside its path and suffix: the codes that say where it branches.
constexpr uint64_t kCodeBits = 4;

// Bits of path per key, by the logarithm: kDear is never bought.
constexpr unsigned kPrices = 64;
unsigned PriceOf(uint64_t path, uint64_t keys) {
  const double ratio = static_cast<double>(path) / static_cast<double>(keys);
  const double price = 16 + 4 * std::log2(ratio);
  return static_cast<unsigned>(std::clamp(price, 1.0, kPrices - 1.0));
}

// The branches as a binary tree, each above those that are deeper: its keys are
// told apart only after all keys above.
class BranchTree {
 public:
  explicit BranchTree(const std::vector<uint32_t>& branches)
      : branches_(branches), left_(branches.size()), right_(branches.size()) {
    std::vector<uint32_t> open;
    for (uint32_t i = 1; i < branches.size(); ++i) {
      uint32_t below = 0;
      while (!open.empty() && branches[open.back()] > branches[i]) {
        below = open.back();
        open.pop_back();
      }
      left_[i] = below;
      if (!open.empty()) right_[open.back()] = i;
      open.push_back(i);
    }
    if (!open.empty()) root_ = open.front();
  }

  // The price of each branch, no less than those above it.
  std::vector<uint8_t> Prices(unsigned free_path) const {
    struct Visit {
      uint32_t branch, begin, end;  // of keys
      uint32_t above;  // bits that these have in common with others
      uint8_t price;
    };
    std::vector<uint8_t> prices(branches_.size());
    std::vector<Visit> open;
    const auto size = static_cast<uint32_t>(branches_.size());
    if (root_ != 0) open.push_back({root_, 0, size, branches_[root_], 0});
    while (!open.empty()) {
      const Visit at = open.back();
      open.pop_back();
      const uint32_t depth = branches_[at.branch];
      const uint32_t path = depth - at.above;
      uint8_t price = at.price;
      if (path > free_path) {
        price = std::max(
            price, static_cast<uint8_t>(PriceOf(path, at.end - at.begin)));
      }
      prices[at.branch] = price;
      const uint32_t left = left_[at.branch], right = right_[at.branch];
      if (left != 0) open.push_back({left, at.begin, at.branch, depth, price});
      if (right != 0) open.push_back({right, at.branch, at.end, depth, price});
    }
    return prices;
  }

 private:
  const std::vector<uint32_t>& branches_;
  std::vector<uint32_t> left_, right_;
  uint32_t root_ = 0;
};

}  // namespace

uint64_t CostOfAllCells(const std::vector<uint32_t>& branches) {
  uint64_t bits = kCodeBits * branches.size();
  for (size_t i = 2; i < branches.size(); ++i) {
    if (branches[i] > branches[i - 1]) bits += branches[i] - branches[i - 1];
  }
  return bits;
}

std::vector<CellStart> ChooseCells(const std::vector<uint32_t>& branches,
                                   unsigned suffix_bits, uint64_t bits) {
  std::vector<uint8_t> prices(branches.size());
  unsigned most = 0;
  if (CostOfAllCells(branches) + suffix_bits * branches.size() > bits) {
    prices = BranchTree(branches).Prices(suffix_bits);
    uint64_t keys_of_price[kPrices] = {}, path_of_price[kPrices] = {};
    for (size_t i = 1; i < branches.size(); ++i) {
      ++keys_of_price[prices[i]];
      const uint32_t before = i == 1 ? 0 : branches[i - 1];
      if (branches[i] > before)
        path_of_price[prices[i]] += branches[i] - before;
    }
    uint64_t sum = 0;
    for (unsigned price = 0; price < kPrices; ++price) {
      sum += (kCodeBits + suffix_bits) * keys_of_price[price] +
             path_of_price[price];
      if (sum <= bits) most = price;
    }
  }
  std::vector<CellStart> cells;
  cells.reserve(static_cast<size_t>(
      std::count_if(prices.begin(), prices.end(),
                    [most](uint8_t price) { return price <= most; })));
  cells.push_back({0, 0});
  for (size_t i = 1; i < branches.size(); ++i) {
    if (prices[i] <= most) cells.push_back({i, branches[i]});
  }
  return cells;
}

}  // namespace deltabloom::internal::range
