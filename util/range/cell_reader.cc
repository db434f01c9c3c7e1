#include <algorithm>

#include "util/range/bits.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {

CellReader::CellReader(const Alphabet& alphabet, const CellCoding& coding,
                       const TextBlock& block)
    : coding_(coding), stream_(block.stream), cells_left_(block.cells) {
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

// The branch is behind the known bits.
inline bool CellReader::Rise() {
  uint64_t path = stream_.TakeRice(coding_.rise_bits);
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

bool CellReader::Next() {
  if (cells_left_ == 0) return false;
  --cells_left_;
  if (!first_) {
    Write(branch_, 1, 1);
    known_ = branch_ + 1;
  }
  first_ = false;
  damaged_ = known_ + kMaxSuffixBits >= kMaxDepth;
  if (damaged_) return false;
  if (cells_left_ > 0) {
    damaged_ = !(stream_.Take(1) != 0
                     ? Rise()
                     : SkipZeros(stream_.TakeRice(coding_.zeros_bits)));
    if (damaged_) return false;
  }
  Write(known_, coding_.suffix_bits, stream_.Take(coding_.suffix_bits));
  depth_ = known_ + coding_.suffix_bits;
  damaged_ = stream_.PastEnd();
  return !damaged_;
}

int CellReader::Compare(TextBits* bits) const {
  unsigned i = 0;
  for (; (i + 1) * 64 <= depth_; ++i) {
    const uint64_t other = bits->Word(i);
    if (words_[i] != other) return words_[i] < other ? -1 : 1;
  }
  const unsigned rest = depth_ % 64;
  if (rest == 0) return 0;
  const uint64_t own = words_[i] >> (64 - rest);
  const uint64_t other = bits->Word(i) >> (64 - rest);
  return own == other ? 0 : own < other ? -1 : 1;
}

}  // namespace deltabloom::internal::range
