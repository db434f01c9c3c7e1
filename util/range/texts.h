// The shape "texts" of a range part, for keys of any bytes and sizes.
//
// Keys become strings of bits (alphabet.h), and of each is kept what tells it
// from its neighbours and a few bits more: cells that do not overlap and have
// all keys in them, small where keys are dense, as in SuRF (Zhang and others:
// "SuRF: Practical Range Query Filtering with Fast Succinct Tries", 2018).
// Where a few keys have much in common that no others have, telling them apart
// may cost more than it is worth: they share a cell then.
//
// Cells are written in order, each as its difference from the one before, in
// blocks that begin with the text of a key, as in a sorted table: a question
// bisects those and reads one block.
#ifndef DELTABLOOM_UTIL_RANGE_TEXTS_H_
#define DELTABLOOM_UTIL_RANGE_TEXTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "util/range/alphabet.h"
#include "util/range/bit_stream.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// How cells are written: of each, `suffix_bits` behind what tells it from its
// neighbours.
struct CellCoding {
  unsigned suffix_bits = 0;
  unsigned rise_bits = 0;   // low bits of the Rice codes of rises
  unsigned zeros_bits = 0;  // and of zeros
};

inline constexpr unsigned kMaxSuffixBits = 24;

// In a directory, sizes below it have one byte, others two more.
inline constexpr size_t kLongTextSize = 255;

// What a directory says of a block; views into it.
struct TextBlock {
  std::string_view prefix;  // of all its keys
  std::string_view first;   // prefix and more of the first key: behind the
                            // last key of the block before
  unsigned cells = 0;
  std::string_view stream;
};

// Reads the cells of a block.
class CellReader {
 public:
  CellReader(const Alphabet& alphabet, const CellCoding& coding,
             const TextBlock& block);

  // False behind the last, and where bytes contradict themselves: damaged().
  bool Next();
  bool damaged() const { return damaged_; }

  // To the first cell that is not in front of these bits. False as Next().
  bool Seek(TextBits* bits);

  // Negative, 0 or positive: the cell is in front of these bits, they are in it
  // or in front of it.
  int Compare(TextBits* bits);

 private:
  void Write(unsigned at, unsigned n, uint64_t bits);
  bool ReadBranch();
  bool SkipZeros(uint64_t zeros);
  bool Rise(uint64_t path);
  unsigned FirstDifference(TextBits* bits);

  CellCoding coding_;
  BitReader stream_;
  BitReader suffix_;  // where that of the cell is
  unsigned cells_left_;
  unsigned known_;           // bits of the cell before its rise
  unsigned branch_ = 0;      // where the next cell has its first other bit
  unsigned own_branch_ = 0;  // and where this one has
  bool first_ = true;
  bool damaged_ = false;
  // One more than needed, for bits that reach into it.
  uint64_t words_[kMaxDepth / 64 + 1];
};

class Texts {
 public:
  // False, and nothing else may be called then, if the body makes no sense.
  bool Parse(std::string_view body);

  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool HasKeyFrom(std::string_view bound) const;
  std::string Describe() const;

 private:
  bool Block(uint64_t i, TextBlock* block) const;
  bool BlocksUpTo(std::string_view bound, uint64_t* blocks) const;
  bool CellMayReach(CellReader* cell, const TextBlock& block,
                    std::string_view upper) const;
  bool MayHaveKeyFrom(std::string_view bound) const;
  bool MayMatchFrom(uint64_t i, std::string_view lower,
                    std::string_view upper) const;

  std::string_view prefix_;
  Alphabet alphabet_;
  CellCoding coding_;
  uint64_t blocks_ = 0;
  const unsigned char* offsets_ = nullptr;
  std::string_view records_;
};

// More keys cannot be written.
inline constexpr uint64_t kMaxTexts = 0xffffffff;
// What AppendTexts allocates per key.
inline constexpr uint64_t kTextsBytesPerKey = 22;
// Appends the body. False, and nothing appended, if it would take more bytes.
bool AppendTexts(const KeyStore& keys, uint64_t bytes, std::string* dst);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_TEXTS_H_
