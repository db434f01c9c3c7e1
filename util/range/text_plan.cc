#include "util/range/text_plan.h"

#include <algorithm>
#include <utility>

namespace deltabloom::internal::range {
namespace {

// Blocks are as small as lets the directory be such a part of all bytes.
constexpr uint64_t kDirectoryPart = 4;
constexpr uint32_t kSmallestBlock = 16;
constexpr uint32_t kLargestBlock = 64;
// Of so many blocks one in so many tells what codes are good.
constexpr size_t kManyBlocks = 256;
constexpr size_t kCodingStep = 8;

CellBlock MakeBlock(const std::vector<CellStart>& cells, uint32_t begin,
                    uint32_t end, unsigned width) {
  unsigned shared = begin + 1 < end ? kMaxDepth : cells[begin].branch.bits;
  for (uint32_t i = begin + 1; i < end; ++i) {
    shared = std::min<unsigned>(shared, cells[i].branch.bits);
  }
  CellBlock block{begin, end, shared / width, 0, 0};
  if (begin > 0) block.first = cells[begin].branch.bits / width + 1;
  block.first = std::max(block.first, block.prefix);
  return block;
}

// Blocks of half of `most` cells to `most`, cut where neighbours differ most.
std::vector<CellBlock> CutBlocks(const std::vector<CellStart>& cells,
                                 uint32_t most, unsigned width) {
  const auto size = static_cast<uint32_t>(cells.size());
  std::vector<CellBlock> blocks;
  blocks.reserve(2 * size / most + 2);
  for (uint32_t begin = 0; begin < size;) {
    uint32_t cut = size;
    if (cut - begin > most) {
      cut = begin + most;
      for (uint32_t i = cut; i >= begin + most / 2; --i) {
        if (cells[i].branch.bits < cells[cut].branch.bits) cut = i;
      }
    }
    blocks.push_back(MakeBlock(cells, begin, cut, width));
    begin = cut;
  }
  return blocks;
}

// Of offsets, sizes and texts.
uint64_t DirectorySize(const std::vector<CellBlock>& blocks) {
  uint64_t size = 0;
  for (const CellBlock& block : blocks) {
    size += 4 + TextSizeBytes(block.prefix) +
            TextSizeBytes(block.first - block.prefix) +
            TextSizeBytes(block.cells()) + block.first;
  }
  return size;
}

// The smallest blocks whose directory takes no more bytes, or the largest.
std::vector<CellBlock> ChooseBlocks(const std::vector<CellStart>& cells,
                                    uint64_t bytes, unsigned width) {
  uint32_t most = kLargestBlock;
  std::vector<CellBlock> blocks = CutBlocks(cells, most, width);
  // Half as large ones have a directory about twice as large.
  while (most > kSmallestBlock && DirectorySize(blocks) * 3 / 2 <= bytes) {
    most /= 2;
    std::vector<CellBlock> smaller = CutBlocks(cells, most, width);
    if (DirectorySize(smaller) > bytes) break;
    blocks.swap(smaller);
  }
  return blocks;
}

// A number that is written as a Rice code: of a rise, or of zeros.
struct Code {
  bool rise = false;
  unsigned number = 0;
};

// What the stream of a block says between two cells.
template <typename Function>
void ForEachCode(const std::vector<CellStart>& cells, const CellBlock& block,
                 unsigned width, Function function) {
  unsigned known = KnownAtStart(block, width);
  unsigned zeros = cells[block.begin].branch.zeros;
  for (uint32_t i = block.begin + 1; i < block.end; ++i) {
    const Branch branch = cells[i].branch;
    // If it is no rise: all zeros in front of the branch before but those in
    // front of this one. Of the first cell less may be known. (In a sample
    // there may seem to be none.)
    const unsigned path = branch.bits - known;
    const unsigned passed =
        std::max(zeros, branch.zeros + 1u) - (branch.zeros + 1u);
    const bool rise = branch.bits >= known;
    function(Code{rise, rise ? path : passed});
    known = branch.bits + 1u;
    zeros = branch.zeros;
  }
}

// How often there is each number.
class RiceNumbers {
 public:
  void Add(unsigned number) {
    if (of_number_.size() <= number) of_number_.resize(2 * number + 64);
    ++of_number_[number];
    most_ = std::max(most_, number);
  }

  // The low bits with which their codes are shortest.
  unsigned LowBits() const {
    unsigned best = 0;
    uint64_t least = ~uint64_t{0};
    for (unsigned low = 0; low <= kMaxRiceLowBits; ++low) {
      if (most_ >> low > kMaxRiceOnes) continue;
      const uint64_t bits = BitsWith(low);
      if (bits < least) {
        least = bits;
        best = low;
      }
    }
    return best;
  }

 private:
  uint64_t BitsWith(unsigned low) const {
    uint64_t bits = 0;
    for (size_t i = 0; i < of_number_.size(); ++i) {
      bits += of_number_[i] * ((i >> low) + 1 + low);
    }
    return bits;
  }

  std::vector<uint64_t> of_number_;
  unsigned most_ = 0;
};

// Without suffixes, by every `step`-th block.
CellCoding CodingFor(const TextPlan& plan, unsigned width, size_t step) {
  RiceNumbers numbers[2];
  for (size_t i = 0; i < plan.blocks.size(); i += step) {
    ForEachCode(plan.cells, plan.blocks[i], width,
                [&](Code code) { numbers[code.rise].Add(code.number); });
  }
  return {0, numbers[true].LowBits(), numbers[false].LowBits()};
}

// Sets the bits of all blocks. False if the coding has no code for a number.
bool CountBits(unsigned width, TextPlan* plan) {
  const unsigned low[2] = {plan->coding.zeros_bits, plan->coding.rise_bits};
  unsigned most_ones = 0;
  for (CellBlock& block : plan->blocks) {
    uint32_t bits = 0;
    ForEachCode(plan->cells, block, width, [&](Code code) {
      const unsigned path = code.rise ? code.number : 0;
      const unsigned ones = code.number >> low[code.rise];
      most_ones = std::max(most_ones, ones);
      bits += 2 + ones + low[code.rise] + path;
    });
    block.bits = bits;
  }
  return most_ones <= kMaxRiceOnes;
}

uint64_t SizeOf(const TextPlan& plan, unsigned suffix_bits) {
  uint64_t size = DirectorySize(plan.blocks);
  for (const CellBlock& block : plan.blocks) {
    size += (block.bits + uint64_t{suffix_bits} * block.cells() + 7) / 8;
  }
  return size;
}

}  // namespace

TextPlan PlanTexts(std::vector<CellStart> cells, unsigned width,
                   unsigned suffix_bits, uint64_t bytes) {
  TextPlan plan;
  plan.blocks = ChooseBlocks(cells, bytes / kDirectoryPart, width);
  plan.cells = std::move(cells);
  plan.coding = CodingFor(plan, width,
                          plan.blocks.size() < kManyBlocks ? 1 : kCodingStep);
  if (!CountBits(width, &plan)) {
    plan.coding = CodingFor(plan, width, 1);
    CountBits(width, &plan);
  }
  plan.coding.suffix_bits = suffix_bits;
  plan.size = SizeOf(plan, suffix_bits);
  return plan;
}

void AddSuffixes(unsigned width, uint64_t bytes, TextPlan* plan) {
  unsigned bits = std::min(kMaxSuffixBits, 14 * width);
  if (bytes > plan->size) {
    const uint64_t more = 8 * (bytes - plan->size) / plan->cells.size() + 1;
    bits = static_cast<unsigned>(
        std::min<uint64_t>(bits, plan->coding.suffix_bits + more));
  }
  while (bits > plan->coding.suffix_bits && SizeOf(*plan, bits) > bytes) --bits;
  plan->coding.suffix_bits = bits;
  plan->size = SizeOf(*plan, bits);
}

double RateOfPlan(const TextPlan& plan, size_t keys) {
  const std::vector<CellStart>& cells = plan.cells;
  const auto bits_at = [&](size_t i) {
    return i > 0 && i < cells.size() ? cells[i].branch.bits : 0u;
  };
  size_t matching = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t end = i + 1 < cells.size() ? cells[i + 1].key : keys;
    const size_t in_cell = end - cells[i].key;
    // Without a key the cell of its nearer neighbour reaches further.
    const unsigned left = bits_at(i), right = bits_at(i + 1);
    const unsigned other = left < right
                               ? std::max(left, bits_at(i + 2))
                               : std::max(right, i > 0 ? bits_at(i - 1) : 0u);
    const bool matches =
        std::max(left, right) > other + plan.coding.suffix_bits;
    if (in_cell > 1 || matches) matching += in_cell;
  }
  return static_cast<double>(matching) / static_cast<double>(keys);
}

}  // namespace deltabloom::internal::range
