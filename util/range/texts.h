// The shape "texts" of a range part, for keys of any bytes and sizes.
//
// The keys are cut into blocks of neighbours. Of each block is kept what all
// its keys have in common at the front, and a few bytes of the first and the
// last key behind that. What follows in a key is taken for digits in the base
// of the bytes that occur, and placed between first and last in proportion: one
// of a number of cells, the same for each block. The cells of all keys ascend
// and are kept in Elias-Fano form (codes.h).
//
// So long common beginnings cost once per block, and blocks are dense where
// keys are. The idea of infixes between sampled keys is Diva's (Eslami,
// Dayan: "Diva: Dynamic Range Filter for Var-Length Keys and Queries", 2025).
#ifndef DELTABLOOM_UTIL_RANGE_TEXTS_H_
#define DELTABLOOM_UTIL_RANGE_TEXTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/range/codes.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// The bytes that occur in keys, and what is behind a block's common beginning
// as a number.
class Alphabet {
 public:
  static constexpr size_t kSize = 32;  // a bit for each byte
  // A key's digits: more of it were not kept.
  static constexpr unsigned kMaxDigits = KeyStore::kBytesBehindDifference;

  explicit Alphabet() = default;
  explicit Alphabet(const unsigned char bits[kSize]);

  // Texts from `text` on in bytewise order have this number or more, if only
  // bytes that occur are in them. It is that of `text` itself then.
  uint64_t NumberFrom(std::string_view text) const;
  // Texts in front of `text` have numbers below this one.
  uint64_t NumberBelow(std::string_view text) const;
  // Texts that begin with `text` have numbers below this one.
  uint64_t NumberBehind(std::string_view text) const;

 private:
  unsigned digits_ = 0;
  std::array<uint64_t, kMaxDigits + 1> powers_ = {};  // of the base
  std::array<uint16_t, 256> below_ = {};  // bytes that occur, below this one
  std::array<bool, 256> occurs_ = {};
};

// What a directory says of a block; views into it.
struct TextBlock {
  std::string_view prefix;  // of all its keys
  std::string_view first;   // prefix and more of the first key: behind the
                            // last key of the block before
  std::string_view last;    // behind the prefix, some more of the last key
};

class Texts {
 public:
  // False, and nothing else may be called then, if the body makes no sense.
  bool Parse(std::string_view body);

  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool HasKeyFrom(std::string_view bound) const;
  std::string Describe() const;

 private:
  enum class Side { kFrom, kBelow };

  bool Block(uint64_t i, TextBlock* block) const;
  bool BlocksUpTo(std::string_view bound, uint64_t* blocks) const;
  bool Place(std::string_view bound, Side side, uint64_t* cell) const;

  std::string_view prefix_;
  Alphabet alphabet_;
  uint64_t blocks_ = 0;
  uint64_t cells_ = 0;
  const unsigned char* offsets_ = nullptr;
  std::string_view records_;
  Codes codes_;
};

// Of `cells` cells for the numbers from `first` to `last`, that of `number`.
// REQUIRES: first <= number <= last, cells < 2^32.
uint64_t CellOf(uint64_t number, uint64_t first, uint64_t last, uint64_t cells);

// What AppendTexts allocates per key.
inline constexpr uint64_t kTextsBytesPerKey = 12;
// Appends the body. False, and nothing appended, if it would take more bytes.
bool AppendTexts(const KeyStore& keys, uint64_t bytes, std::string* dst);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_TEXTS_H_
