#include "util/range/texts.h"

#include <algorithm>

#include "util/coding.h"

namespace deltabloom::internal::range {
namespace {

constexpr uint64_t kMostNumbers = uint64_t{1} << 62;
constexpr size_t kRecordHeaderSize = 2;

unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

Alphabet::Alphabet(const unsigned char bits[kSize]) {
  uint16_t occurring = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    below_[byte] = occurring;
    occurs_[byte] = (bits[byte / 8] >> (byte % 8) & 1) != 0;
    if (occurs_[byte]) ++occurring;
  }
  // The digit 0 is the end of a text.
  const uint64_t base = uint64_t{occurring} + 1;
  powers_[0] = 1;
  while (digits_ < kMaxDigits && powers_[digits_] <= kMostNumbers / base) {
    powers_[digits_ + 1] = powers_[digits_] * base;
    ++digits_;
  }
}

uint64_t Alphabet::NumberFrom(std::string_view text) const {
  const size_t end = std::min<size_t>(text.size(), digits_);
  uint64_t number = 0;
  for (size_t i = 0; i < end; ++i) {
    const unsigned char byte = ByteAt(text, i);
    number = number * powers_[1] + below_[byte] + 1;
    // In place of a byte that does not occur, the next that does; where there
    // is none, it is one more of the digit before.
    if (!occurs_[byte]) return number * powers_[digits_ - i - 1];
  }
  return number * powers_[digits_ - end];
}

uint64_t Alphabet::NumberBelow(std::string_view text) const {
  const uint64_t number = NumberFrom(text);
  if (text.size() <= digits_) return number;
  // Texts of the same digits may be in front of it.
  for (size_t i = 0; i < digits_; ++i) {
    if (!occurs_[ByteAt(text, i)]) return number;
  }
  return number + 1;
}

uint64_t Alphabet::NumberBehind(std::string_view text) const {
  const size_t size = std::min<size_t>(text.size(), digits_);
  return NumberFrom(text.substr(0, size)) + powers_[digits_ - size];
}

uint64_t CellOf(uint64_t number, uint64_t first, uint64_t last,
                uint64_t cells) {
  uint64_t most = last - first;
  uint64_t place = number - first;
  // Products of 64 bits are fine enough.
  if (most >> 32 != 0) {
    const int shift = 32 - __builtin_clzll(most);
    most >>= shift;
    place >>= shift;
  }
  return place * cells / (most + 1);
}

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
  if (!take(12, &part)) return false;
  blocks_ = LoadFixed32(part.data());
  cells_ = LoadFixed32(part.data() + 4);
  const uint64_t records_size = LoadFixed32(part.data() + 8);
  if (blocks_ == 0 || cells_ == 0 || !take(4 * blocks_, &part) ||
      !take(records_size, &records_)) {
    return false;
  }
  offsets_ = reinterpret_cast<const unsigned char*>(part.data());
  return codes_.Parse(body) && cells_ <= codes_.shape().Universe() / blocks_;
}

bool Texts::Block(uint64_t i, TextBlock* block) const {
  const uint64_t begin = LoadFixed32(offsets_ + 4 * i);
  const uint64_t end =
      i + 1 < blocks_ ? LoadFixed32(offsets_ + 4 * (i + 1)) : records_.size();
  if (end > records_.size() || begin > end || end - begin < kRecordHeaderSize) {
    return false;
  }
  const std::string_view record = records_.substr(begin, end - begin);
  const size_t prefix = ByteAt(record, 0), last = ByteAt(record, 1);
  if (record.size() < kRecordHeaderSize + prefix + last) return false;
  block->first = record.substr(kRecordHeaderSize,
                               record.size() - kRecordHeaderSize - last);
  block->prefix = block->first.substr(0, prefix);
  block->last = record.substr(record.size() - last);
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

// kFrom: keys from the bound on are in this cell or behind it. kBelow: keys in
// front of the bound are in front of this cell. False if the bytes contradict
// themselves.
bool Texts::Place(std::string_view bound, Side side, uint64_t* cell) const {
  const int order = bound.substr(0, prefix_.size()).compare(prefix_);
  if (order != 0) {
    *cell = order < 0 ? 0 : blocks_ * cells_;
    return true;
  }
  bound.remove_prefix(prefix_.size());
  uint64_t blocks;
  if (!BlocksUpTo(bound, &blocks)) return false;
  *cell = blocks * cells_;
  if (blocks == 0) return true;
  TextBlock block;
  if (!Block(blocks - 1, &block)) return false;
  if (bound.substr(0, block.prefix.size()) != block.prefix) return true;
  bound.remove_prefix(block.prefix.size());
  const uint64_t first =
      alphabet_.NumberFrom(block.first.substr(block.prefix.size()));
  const uint64_t behind = alphabet_.NumberBehind(block.last);
  if (behind <= first) return false;
  const uint64_t number = side == Side::kFrom ? alphabet_.NumberFrom(bound)
                                              : alphabet_.NumberBelow(bound);
  if (number >= behind) return true;
  *cell -= cells_;
  if (number <= first) return true;
  if (side == Side::kFrom) {
    *cell += CellOf(number, first, behind - 1, cells_);
  } else {
    *cell += CellOf(number - 1, first, behind - 1, cells_) + 1;
  }
  return true;
}

bool Texts::MayMatch(std::string_view lower, std::string_view upper) const {
  uint64_t first, end;
  if (!Place(lower, Side::kFrom, &first)) return true;
  if (!Place(upper, Side::kBelow, &end)) return true;
  return first < end && codes_.AnyIn(first, end - 1);
}

bool Texts::HasKeyFrom(std::string_view bound) const {
  int order = bound.substr(0, prefix_.size()).compare(prefix_);
  if (order != 0) return order < 0;
  bound.remove_prefix(prefix_.size());
  TextBlock block;
  if (!Block(blocks_ - 1, &block)) return false;
  order = bound.substr(0, block.prefix.size()).compare(block.prefix);
  if (order != 0) return order < 0;
  return bound.substr(block.prefix.size()) <= block.last;
}

std::string Texts::Describe() const {
  return "texts, " + std::to_string(codes_.count()) + " codes in " +
         std::to_string(blocks_) + " blocks of " + std::to_string(cells_) +
         " cells";
}

}  // namespace deltabloom::internal::range
