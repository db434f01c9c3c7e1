#include "util/range/texts.h"

#include "util/coding.h"

namespace deltabloom::internal::range {
namespace {

unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Negative, 0 or positive: `text` is in front of all that begins with `prefix`,
// begins with it, or is behind.
int ComparePrefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()).compare(prefix);
}

// Sizes have a byte, or that with all bits set and two more.
bool TakeSize(std::string_view* from, size_t* size) {
  if (from->empty()) return false;
  *size = ByteAt(*from, 0);
  from->remove_prefix(1);
  if (*size < kLongTextSize) return true;
  if (from->size() < 2) return false;
  *size = ByteAt(*from, 0) | size_t{ByteAt(*from, 1)} << 8;
  from->remove_prefix(2);
  return true;
}

}  // namespace

bool Texts::Parse(std::string_view body) {
  const auto take = [&body](uint64_t size, std::string_view* part) {
    if (body.size() < size) return false;
    *part = body.substr(0, size);
    body.remove_prefix(size);
    return true;
  };
  std::string_view part;
  if (!take(4, &part) || !take(LoadFixed32(part.data()), &prefix_) ||
      !take(Alphabet::kSize, &part)) {
    return false;
  }
  alphabet_ = Alphabet(reinterpret_cast<const unsigned char*>(part.data()));
  if (!take(3 + 4, &part)) return false;
  coding_.suffix_bits = ByteAt(part, 0);
  coding_.rise_bits = ByteAt(part, 1);
  coding_.zeros_bits = ByteAt(part, 2);
  if (coding_.suffix_bits > kMaxSuffixBits ||
      coding_.rise_bits > kMaxRiceLowBits ||
      coding_.zeros_bits > kMaxRiceLowBits) {
    return false;
  }
  blocks_ = LoadFixed32(part.data() + 3);
  if (blocks_ == 0 || !take(4 * blocks_, &part)) return false;
  offsets_ = reinterpret_cast<const unsigned char*>(part.data());
  records_ = body;
  return true;
}

bool Texts::Block(uint64_t i, TextBlock* block) const {
  const uint64_t begin = LoadFixed32(offsets_ + 4 * i);
  const uint64_t end =
      i + 1 < blocks_ ? LoadFixed32(offsets_ + 4 * (i + 1)) : records_.size();
  if (end > records_.size() || begin > end) return false;
  std::string_view record = records_.substr(begin, end - begin);
  size_t prefix, tail, cells;
  if (!TakeSize(&record, &prefix) || !TakeSize(&record, &tail) ||
      !TakeSize(&record, &cells) || cells == 0 ||
      record.size() < prefix + tail) {
    return false;
  }
  block->prefix = record.substr(0, prefix);
  block->first = record.substr(0, prefix + tail);
  block->cells = static_cast<unsigned>(cells);
  block->stream = record.substr(prefix + tail);
  return true;
}

// How many blocks begin at the bound or in front of it.
bool Texts::BlocksUpTo(std::string_view bound, uint64_t* blocks) const {
  uint64_t begin = 0;
  for (uint64_t end = blocks_; begin < end;) {
    const uint64_t middle = begin + (end - begin) / 2;
    TextBlock block;
    if (!Block(middle, &block)) return false;
    if (block.first <= bound) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  *blocks = begin;
  return true;
}

// Whether something in the cell may be in front of the bound.
bool Texts::CellMayReach(CellReader* cell, const TextBlock& block,
                         std::string_view upper) const {
  const int order = ComparePrefix(upper, block.prefix);
  if (order != 0) return order > 0;
  TextBits bits(alphabet_, upper.substr(block.prefix.size()),
                TextBits::Side::kUpTo);
  return cell->Compare(&bits) <= 0;
}

// The first cell from `lower` on is in block i, or is the first of the next.
bool Texts::MayMatchFrom(uint64_t i, std::string_view lower,
                         std::string_view upper) const {
  TextBlock block;
  if (!Block(i, &block)) return true;
  // What is in front of the first block begins there.
  if (lower < block.first) lower = block.first;
  if (ComparePrefix(lower, block.prefix) == 0) {
    TextBits bits(alphabet_, lower.substr(block.prefix.size()),
                  TextBits::Side::kFrom);
    CellReader cell(alphabet_, coding_, block);
    if (cell.Seek(&bits)) return CellMayReach(&cell, block, upper);
    if (cell.damaged()) return true;
  }
  if (i + 1 == blocks_) return false;
  if (!Block(i + 1, &block)) return true;
  if (upper <= block.first) return false;
  CellReader cell(alphabet_, coding_, block);
  return !cell.Next() || CellMayReach(&cell, block, upper);
}

bool Texts::MayMatch(std::string_view lower, std::string_view upper) const {
  const int lower_order = ComparePrefix(lower, prefix_);
  const int upper_order = ComparePrefix(upper, prefix_);
  if (lower_order > 0 || upper_order < 0) return false;
  lower = lower_order < 0 ? std::string_view() : lower.substr(prefix_.size());
  if (upper_order > 0) {
    // All keys from `lower` on, if there are any: only the last can tell.
    return lower_order < 0 || MayHaveKeyFrom(lower);
  }
  upper = upper.substr(prefix_.size());
  uint64_t blocks;
  if (!BlocksUpTo(lower, &blocks)) return true;
  return MayMatchFrom(blocks == 0 ? 0 : blocks - 1, lower, upper);
}

// Without the common prefix: false only if no key is there or behind.
bool Texts::MayHaveKeyFrom(std::string_view bound) const {
  TextBlock block;
  if (!Block(blocks_ - 1, &block) || bound < block.first) return true;
  if (ComparePrefix(bound, block.prefix) != 0) return false;
  TextBits bits(alphabet_, bound.substr(block.prefix.size()),
                TextBits::Side::kFrom);
  CellReader cell(alphabet_, coding_, block);
  return cell.Seek(&bits) || cell.damaged();
}

bool Texts::HasKeyFrom(std::string_view bound) const {
  int order = ComparePrefix(bound, prefix_);
  if (order != 0) return order < 0;
  bound.remove_prefix(prefix_.size());
  TextBlock block;
  if (!Block(blocks_ - 1, &block)) return false;
  if (bound <= block.first) return true;
  order = ComparePrefix(bound, block.prefix);
  if (order != 0) return order < 0;
  TextBits bits(alphabet_, bound.substr(block.prefix.size()),
                TextBits::Side::kUpTo);
  CellReader cell(alphabet_, coding_, block);
  while (cell.Next()) {
    if (cell.Compare(&bits) > 0) return true;
  }
  return false;
}

std::string Texts::Describe() const {
  uint64_t cells = 0;
  for (uint64_t i = 0; i < blocks_; ++i) {
    TextBlock block;
    if (Block(i, &block)) cells += block.cells;
  }
  return "texts, " + std::to_string(cells) + " cells in " +
         std::to_string(blocks_) + " blocks, " +
         std::to_string(coding_.suffix_bits) + " bits behind differences";
}

}  // namespace deltabloom::internal::range
