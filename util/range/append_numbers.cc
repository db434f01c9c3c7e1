// Writing numbers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "util/coding.h"
#include "util/range/numbers.h"

namespace deltabloom::internal::range {
namespace {

// Ranges of range_length numbers shall match for no more of them.
constexpr double kRate = 0.05;
// Of the gaps between keys, the unit is a sixteenth of one that nine in ten
// reach.
constexpr unsigned kGapLg = 4;
constexpr uint64_t kGapsPerSmallOne = 10;

struct Bounds {
  std::vector<unsigned char> least, most;
  Digits digits;
};

// Digits that a key may have, in memory that they point to.
void SetBounds(const KeyStore& keys, Bounds* bounds) {
  for (size_t i = 0; i < keys.Width(); ++i) {
    bounds->least.push_back(keys.LeastAt(i));
    bounds->most.push_back(keys.MostAt(i));
  }
  bounds->digits.least = bounds->least.data();
  bounds->digits.most = bounds->most.data();
  bounds->digits.width = keys.Width();
}

// The last byte that is not the same in all keys, and one more.
size_t EndOfDifferences(const KeyStore& keys) {
  size_t end = keys.Width();
  while (end > 0 && keys.LeastAt(end - 1) == keys.MostAt(end - 1)) --end;
  return end;
}

// Numbers of all keys, ascending.
std::vector<uint64_t> NumbersOf(const KeyStore& keys, const Bounds& bounds) {
  std::vector<uint64_t> numbers;
  numbers.reserve(keys.size());
  KeyStore::Cursor cursor(keys);
  // A key of which the end was not kept ends like all others.
  Digits kept = bounds.digits;
  kept.width = EndOfDifferences(keys);
  while (cursor.Next()) {
    uint64_t number = 0;
    kept.Below(cursor.key().substr(0, kept.width), &number);
    numbers.push_back(number);
  }
  return numbers;
}

// The gap that all but one in kGapsPerSmallOne have at least, as a power of 2.
unsigned SmallGapLg(const std::vector<uint64_t>& numbers) {
  uint64_t of_lg[64] = {};
  for (size_t i = 1; i < numbers.size(); ++i) {
    ++of_lg[63 - __builtin_clzll(numbers[i] - numbers[i - 1])];
  }
  const uint64_t small = (numbers.size() - 1) / kGapsPerSmallOne;
  uint64_t sum = 0;
  for (unsigned lg = 0; lg < 64; ++lg) {
    sum += of_lg[lg];
    if (sum > small) return lg;
  }
  return 0;
}

// As fine as possible: 0 keeps every bound on the rate for ranges next to keys.
// Coarser where that helps ranges of range_length, no coarser than they need,
// than makes all numbers fit, or than the gaps allow.
unsigned UnitOf(const std::vector<uint64_t>& numbers, uint64_t universe,
                uint64_t range_length) {
  const double keys_per_code =
      static_cast<double>(numbers.size()) / static_cast<double>(universe);
  const uint64_t span = numbers.back() - numbers.front();
  const unsigned gap_lg = SmallGapLg(numbers);
  const unsigned most = gap_lg > kGapLg ? gap_lg - kGapLg : 0;
  const auto length = static_cast<double>(range_length);
  for (unsigned unit = 0;; ++unit) {
    const double codes = length / std::ldexp(1, static_cast<int>(unit)) + 1;
    if (unit == most || span >> unit < universe ||
        codes * keys_per_code <= kRate || codes <= 2) {
      return unit;
    }
  }
}

// Sorts by the low `bits` bits, which is all there is.
void SortCodes(std::vector<uint64_t>* codes, unsigned bits) {
  constexpr unsigned kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  if (codes->size() < kDigits) {
    std::sort(codes->begin(), codes->end());
    return;
  }
  std::vector<uint64_t> other(codes->size());
  for (unsigned shift = 0; shift < bits; shift += kDigitBits) {
    std::vector<size_t> ends(kDigits + 1);
    for (const uint64_t code : *codes) {
      ++ends[(code >> shift) % kDigits + 1];
    }
    for (size_t i = 1; i < kDigits; ++i) ends[i] += ends[i - 1];
    for (const uint64_t code : *codes) {
      other[ends[(code >> shift) % kDigits]++] = code;
    }
    codes->swap(other);
  }
}

void AppendHeader(const Bounds& bounds, uint64_t base, uint64_t span,
                  unsigned unit, std::string* dst) {
  dst->push_back(static_cast<char>(bounds.digits.width));
  dst->append(bounds.least.begin(), bounds.least.end());
  dst->append(bounds.most.begin(), bounds.most.end());
  char numbers[8 + 8 + 1];
  StoreFixed64(numbers, base);
  StoreFixed64(numbers + 8, span);
  numbers[16] = static_cast<char>(unit);
  dst->append(numbers, sizeof(numbers));
}

}  // namespace

bool AreNumbers(const KeyStore& keys) {
  if (!keys.OneWidth() || keys.KeptOfEach() < EndOfDifferences(keys)) {
    return false;
  }
  Bounds bounds;
  SetBounds(keys, &bounds);
  return bounds.digits.Count();
}

bool AreComposite(const KeyStore& keys) {
  bool varied = false, zero = false;
  for (size_t i = 0; i < keys.Width(); ++i) {
    const bool varies = keys.LeastAt(i) != keys.MostAt(i);
    if (varies && zero) return true;
    varied = varied || varies;
    zero = varied && keys.MostAt(i) == 0;
  }
  return false;
}

bool AppendNumbers(const KeyStore& keys, uint64_t bytes, uint64_t range_length,
                   std::string* dst) {
  Bounds bounds;
  SetBounds(keys, &bounds);
  const size_t header = 1 + 2 * bounds.digits.width + 8 + 8 + 1;
  if (bytes < header) return false;
  CodesShape shape = LargestShape(keys.size(), bytes - header);
  if (shape.buckets == 0) return false;
  std::vector<uint64_t> codes = NumbersOf(keys, bounds);
  const uint64_t base = codes.front();
  const uint64_t span = codes.back() - base;
  const unsigned unit = UnitOf(codes, shape.Universe(), range_length);
  if (span >> unit < shape.Universe()) {
    const CodesShape exact = ShapeForUniverse(keys.size(), (span >> unit) + 1);
    // Rounding to words can make it a little larger than the bytes allow.
    if (CodesSize(keys.size(), exact) <= bytes - header) shape = exact;
  }
  const uint64_t universe = shape.Universe();
  for (uint64_t& code : codes) {
    code = Reduced((code - base) >> unit, universe);
  }
  if (span >> unit >= universe) {
    SortCodes(&codes,
              64 - static_cast<unsigned>(__builtin_clzll(universe - 1)));
  }
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  AppendHeader(bounds, base, span, unit, dst);
  AppendCodes(codes, shape, dst);
  return true;
}

}  // namespace deltabloom::internal::range
