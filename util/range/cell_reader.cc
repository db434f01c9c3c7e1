#include <algorithm>

#include "util/range/bits.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {

CellReader::CellReader(const Alphabet& alphabet, const CellCoding& coding,
                       const TextBlock& block)
    : coding_(coding),
      stream_(block.stream),
      suffix_(block.stream),
      cells_left_(block.cells) {
  std::string_view text = block.first.substr(block.prefix.size());
  // Of damaged bytes: Next() sees that it is too much.
  text = text.substr(0, kMaxDepth / alphabet.width());
  // Of its last byte the first bit at least is not that of the key before.
  known_ = static_cast<unsigned>(text.size()) * alphabet.width();
  if (known_ > 0) known_ -= alphabet.width() - 1;
  TextBits bits(alphabet, text, TextBits::Side::kFrom);
  for (unsigned i = 0; i * 64 < known_; ++i) words_[i] = bits.Word(i);
}

// What is behind these bits in their last word is cleared.
inline void CellReader::Write(unsigned at, unsigned n, uint64_t bits) {
  if (n == 0) return;
  const unsigned word = at / 64, offset = at % 64;
  bits <<= 64 - n;
  const uint64_t kept =
      offset == 0 ? 0 : words_[word] & ~(~uint64_t{0} >> offset);
  words_[word] = kept | bits >> offset;
  if (offset + n > 64) words_[word + 1] = bits << (64 - offset);
}

// The branch is at that zero of the known bits, from the last one on.
inline bool CellReader::SkipZeros(uint64_t zeros) {
  if (known_ == 0) return false;
  unsigned word = (known_ - 1) / 64;
  uint64_t candidates = ~words_[word] & ~uint64_t{0}
                                            << (63 - (known_ - 1) % 64);
  for (;;) {
    const unsigned here = CountOnes(candidates);
    if (zeros < here) break;
    if (word == 0) return false;
    zeros -= here;
    candidates = ~words_[--word];
  }
  branch_ =
      word * 64 + 63 - SelectOne(candidates, static_cast<unsigned>(zeros));
  return true;
}

// The branch is behind the known bits and so many more.
inline bool CellReader::Rise(uint64_t path) {
  if (path >= kMaxDepth - known_ - kMaxSuffixBits) return false;
  while (path > 0) {
    const auto n = static_cast<unsigned>(std::min<uint64_t>(path, 48));
    Write(known_, n, stream_.Take(n));
    known_ += n;
    path -= n;
  }
  branch_ = known_;
  Write(known_++, 1, 0);
  return true;
}

// Most often one look at the stream has it all.
inline bool CellReader::ReadBranch() {
  const uint64_t bits = stream_.Peek();
  const bool rises = bits >> 63 != 0;
  const unsigned low = rises ? coding_.rise_bits : coding_.zeros_bits;
  const auto ones = static_cast<unsigned>(__builtin_clzll(~(bits << 1)));
  const unsigned size = 1 + ones + 1 + low;
  if (size > BitReader::kPeekBits) {
    stream_.Skip(1);
    const uint64_t number = stream_.TakeRice(low);
    return rises ? Rise(number) : SkipZeros(number);
  }
  const uint64_t number =
      uint64_t{ones} << low | bits << (ones + 2) >> 1 >> (63 - low);
  if (!rises) {
    stream_.Skip(size);
    return SkipZeros(number);
  }
  if (size + number > BitReader::kPeekBits ||
      number >= kMaxDepth - known_ - kMaxSuffixBits) {
    stream_.Skip(size);
    return Rise(number);
  }
  const auto path = static_cast<unsigned>(number);
  stream_.Skip(size + path);
  // With the zero behind it.
  Write(known_, path + 1, bits << size >> 1 >> (63 - path) << 1);
  known_ += path + 1;
  branch_ = known_ - 1;
  return true;
}

bool CellReader::Next() {
  if (cells_left_ == 0) return false;
  --cells_left_;
  if (!first_) {
    Write(branch_, 1, 1);
    known_ = branch_ + 1;
    own_branch_ = branch_;
  }
  first_ = false;
  damaged_ = known_ + kMaxSuffixBits >= kMaxDepth ||
             (cells_left_ > 0 && !ReadBranch());
  if (damaged_) return false;
  suffix_ = stream_;
  stream_.Skip(coding_.suffix_bits);
  damaged_ = stream_.PastEnd();
  return !damaged_;
}

// Behind the cell if none of its bits does.
unsigned CellReader::FirstDifference(TextBits* bits) {
  BitReader suffix = suffix_;
  Write(known_, coding_.suffix_bits, suffix.Take(coding_.suffix_bits));
  const unsigned depth = known_ + coding_.suffix_bits;
  for (unsigned i = 0; i * 64 < depth; ++i) {
    const uint64_t difference = words_[i] ^ bits->Word(i);
    if (difference == 0) continue;
    const auto zeros = static_cast<unsigned>(__builtin_clzll(difference));
    return std::min(depth, i * 64 + zeros);
  }
  return depth;
}

int CellReader::Compare(TextBits* bits) {
  const unsigned at = FirstDifference(bits);
  if (at == known_ + coding_.suffix_bits) return 0;
  return (words_[at / 64] >> (63 - at % 64) & 1) == 0 ? -1 : 1;
}

bool CellReader::Seek(TextBits* bits) {
  if (!Next()) return false;
  while (Compare(bits) < 0) {
    // The cell has a 0 where the bits have a 1; so do cells that branch off
    // behind, and those that do before are larger.
    const unsigned at = FirstDifference(bits);
    do {
      if (!Next()) return false;
    } while (own_branch_ > at);
    if (own_branch_ < at) return true;
  }
  return true;
}

}  // namespace deltabloom::internal::range
