#include "util/range/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/coding.h"
#include "util/hash64.h"
#include "util/range/answer.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {
namespace {

const unsigned char* Bytes(std::string_view view) {
  return reinterpret_cast<const unsigned char*>(view.data());
}

// The header has the width, two bounds per byte, base, span and unit.
size_t HeaderSize(size_t width) { return 1 + 2 * width + 8 + 8 + 1; }

constexpr size_t kCodesHeaderSize = 9;
constexpr uint64_t kBucketsPerStart = 256;
constexpr unsigned kMaxLowBits = 31;
// The places of upper bits are stored in 32 bits.
constexpr uint64_t kMaxUpperBits = 0xffffffff;

uint64_t Starts(uint64_t buckets) {
  return (buckets + kBucketsPerStart - 1) / kBucketsPerStart;
}
uint64_t Words(uint64_t bits) { return (bits + 63) / 64; }

// In each byte the number of its ones.
uint64_t CountOnesPerByte(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

unsigned CountOnes(uint64_t word) {
  return static_cast<unsigned>(CountOnesPerByte(word) * 0x0101010101010101 >>
                               56);
}

// REQUIRES: word != 0.
unsigned TrailingZeros(uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}

// The place of the i-th one, counted from 0 (Vigna: "Broadword Implementation
// of Rank/Select Queries", 2008).
// REQUIRES: i < CountOnes(word).
unsigned SelectOne(uint64_t word, unsigned i) {
  // In each byte the ones up to its end; flags where they are i or fewer.
  const uint64_t sums = CountOnesPerByte(word) * 0x0101010101010101;
  const uint64_t flags =
      ((i * 0x0101010101010101 | 0x8080808080808080) - sums) >> 7 &
      0x0101010101010101;
  const auto byte = static_cast<unsigned>(flags * 0x0101010101010101 >> 56) * 8;
  i -= static_cast<unsigned>(sums << 8 >> byte & 0xff);
  word >>= byte;
  for (; i > 0; --i) word &= word - 1;
  return byte + TrailingZeros(word);
}

uint64_t CodesSize(uint64_t count, const CodesShape& shape) {
  // One word more, so that any low bits can be had by one load.
  return kCodesHeaderSize + 4 * Starts(shape.buckets) +
         8 * (Words(count + shape.buckets) + Words(count * shape.low_bits) + 1);
}

// The reduction, q of docs/format.md: where a block of `universe` numbers
// begins; the first stays in its place.
uint64_t BlockShift(uint64_t block, uint64_t universe) {
  return block == 0 ? 0 : ScaleHash(Remix64(block, 0), universe);
}

}  // namespace

// --- Reading ---------------------------------------------------------------

bool Numbers::ParseCodes(std::string_view bytes) {
  if (bytes.size() < kCodesHeaderSize) return false;
  const unsigned char* at = Bytes(bytes);
  shape_.low_bits = at[0];
  count_ = LoadFixed32(at + 1);
  shape_.buckets = LoadFixed32(at + 5);
  upper_bits_ = count_ + shape_.buckets;
  if (shape_.low_bits > kMaxLowBits || count_ == 0 || shape_.buckets == 0 ||
      upper_bits_ > kMaxUpperBits ||
      CodesSize(count_, shape_) != bytes.size()) {
    return false;
  }
  universe_ = shape_.Universe();
  upper_words_ = Words(upper_bits_);
  starts_ = at + kCodesHeaderSize;
  upper_ = starts_ + 4 * Starts(shape_.buckets);
  low_ = upper_ + 8 * upper_words_;
  return true;
}

inline uint64_t Numbers::UpperWord(uint64_t i) const {
  return LoadFixed64(upper_ + 8 * i);
}

inline uint64_t Numbers::Low(uint64_t i) const {
  const uint64_t bit = i * shape_.low_bits;
  return LoadFixed64(low_ + bit / 8) >> (bit % 8) &
         ((uint64_t{1} << shape_.low_bits) - 1);
}

// Where the ones of a bucket begin: after `bucket` zeros.
uint64_t Numbers::StartOfBucket(uint64_t bucket) const {
  const uint64_t start = LoadFixed32(starts_ + 4 * (bucket / kBucketsPerStart));
  uint64_t zeros = bucket % kBucketsPerStart;
  if (zeros == 0) return start <= upper_bits_ ? start : kNowhere;
  uint64_t word = start / 64;
  if (word >= upper_words_) return kNowhere;
  uint64_t bits = ~UpperWord(word) & (~uint64_t{0} << (start % 64));
  for (;;) {
    const unsigned here = CountOnes(bits);
    if (zeros <= here) break;
    zeros -= here;
    if (++word >= upper_words_) return kNowhere;
    bits = ~UpperWord(word);
  }
  return word * 64 + SelectOne(bits, static_cast<unsigned>(zeros) - 1) + 1;
}

// The place of the zero that ends the ones from `start` on.
uint64_t Numbers::EndOfBucket(uint64_t start) const {
  uint64_t mask = ~uint64_t{0} << (start % 64);
  for (uint64_t word = start / 64; word < upper_words_; ++word) {
    const uint64_t bits = ~UpperWord(word) & mask;
    if (bits != 0) return word * 64 + TrailingZeros(bits);
    mask = ~uint64_t{0};
  }
  return kNowhere;
}

bool Numbers::AnyIn(uint64_t first, uint64_t last) const {
  last = std::min(last, universe_ - 1);
  if (first > last) return false;
  const uint64_t low_mask = (uint64_t{1} << shape_.low_bits) - 1;
  const uint64_t bucket = first >> shape_.low_bits;
  const uint64_t start = StartOfBucket(bucket);
  if (start == kNowhere || start < bucket) return true;
  const uint64_t bucket_end = EndOfBucket(start);
  if (bucket_end == kNowhere) return true;
  // The smallest code from `first` on.
  uint64_t code = start - bucket;
  const uint64_t end = code + (bucket_end - start);
  if (end > count_) return true;
  for (uint64_t beyond = end; code < beyond;) {
    const uint64_t middle = code + (beyond - code) / 2;
    if (Low(middle) < (first & low_mask)) {
      code = middle + 1;
    } else {
      beyond = middle;
    }
  }
  if (code < end) return (bucket << shape_.low_bits | Low(code)) <= last;
  const uint64_t last_bucket = last >> shape_.low_bits;
  if (last_bucket == bucket || code == count_) return false;
  // Where the last bucket begins if there are no codes before it.
  const uint64_t place = code + last_bucket;
  if (StartOfBucket(last_bucket) != place) return true;
  if (place / 64 >= upper_words_) return true;
  if ((UpperWord(place / 64) >> (place % 64) & 1) == 0) return false;
  return Low(code) <= (last & low_mask);
}

bool Digits::Count() const {
  uint64_t last = 0;  // of the numbers that there are so far
  for (size_t i = 0; i < width; ++i) {
    if (least[i] > most[i]) return false;
    const uint64_t digits = uint64_t{most[i]} - least[i] + 1;
    if (__builtin_mul_overflow(last, digits, &last) ||
        __builtin_add_overflow(last, digits - 1, &last)) {
      return false;
    }
  }
  return true;
}

bool Digits::Below(std::string_view bound, uint64_t* keys) const {
  const unsigned char* bytes = Bytes(bound);
  size_t i = 0;
  if (constant > 0 && bound.size() >= constant &&
      std::memcmp(bytes, least, constant) == 0) {
    i = constant;
  }
  uint64_t number = 0;
  const size_t end = std::min(width, bound.size());
  for (; i < end; ++i) {
    if (bytes[i] < least[i] || bytes[i] > most[i]) break;
    number =
        number * (uint64_t{most[i]} - least[i] + 1) + (bytes[i] - least[i]);
  }
  const bool behind = i < end ? bytes[i] > most[i] : bound.size() > width;
  *keys = number + (behind ? 1 : 0);
  // Times the keys that differ from here on only; 2^64 is 0.
  for (; i < width; ++i) *keys *= uint64_t{most[i]} - least[i] + 1;
  // Beyond a key there is at least that one below.
  return !(behind && *keys == 0);
}

bool Numbers::Parse(std::string_view body) {
  if (body.empty()) return false;
  const unsigned char* at = Bytes(body);
  digits_.width = *at++;
  const size_t header = HeaderSize(digits_.width);
  if (body.size() < header) return false;
  digits_.least = at;
  digits_.most = at + digits_.width;
  if (!digits_.Count()) return false;
  while (digits_.constant < digits_.width &&
         digits_.least[digits_.constant] == digits_.most[digits_.constant]) {
    ++digits_.constant;
  }
  at += 2 * digits_.width;
  base_ = LoadFixed64(at);
  span_ = LoadFixed64(at + 8);
  unit_ = at[16];
  if (unit_ > 63 || base_ + span_ < base_) return false;
  return ParseCodes(body.substr(header));
}

// Returns whether there is a code for reduced numbers. Those that are too large
// by less than one universe begin again at 0.
bool Numbers::AnyCode(uint64_t first, uint64_t last) const {
  if (first >= universe_) {
    return AnyIn(first - universe_, last - universe_);
  }
  if (last < universe_) return AnyIn(first, last);
  return AnyIn(first, universe_ - 1) || AnyIn(0, last - universe_);
}

Answer Numbers::Ask(std::string_view lower,
                    std::optional<std::string_view> upper) const {
  if (upper.has_value() ? MayMatch(lower, *upper) : HasKeyFrom(lower)) {
    return Answer::kMayMatch;
  }
  return Answer::kNo;
}

bool Numbers::MayMatch(std::string_view lower, std::string_view upper) const {
  uint64_t first, end;
  if (!digits_.Below(lower, &first)) return false;
  const bool bounded = digits_.Below(upper, &end);
  if (bounded && end <= first) return false;
  uint64_t last = bounded ? end - 1 : ~uint64_t{0};
  if (last < base_ || first > base_ + span_) return false;
  first = (std::max(first, base_) - base_) >> unit_;
  last = (std::min(last, base_ + span_) - base_) >> unit_;
  if (last - first >= universe_ - 1) return true;
  uint64_t block = first / universe_;
  const uint64_t first_in = first - block * universe_;
  const uint64_t last_in = last - block * universe_;
  const uint64_t shift = BlockShift(block, universe_);
  if (last_in < universe_) return AnyCode(shift + first_in, shift + last_in);
  ++block;
  const uint64_t next_shift = BlockShift(block, universe_);
  return AnyCode(shift + first_in, shift + universe_ - 1) ||
         AnyCode(next_shift, next_shift + (last_in - universe_));
}

bool Numbers::HasKeyFrom(std::string_view bound) const {
  uint64_t below;
  return digits_.Below(bound, &below) && below <= base_ + span_;
}

std::string Numbers::Describe() const {
  return "numbers of " + std::to_string(digits_.width) + " bytes, " +
         std::to_string(count_) + " codes of " + std::to_string(universe_) +
         ", unit 2^" + std::to_string(unit_);
}

// --- Writing ---------------------------------------------------------------

namespace {

// The shape with the largest universe whose codes take no more than `bytes`
// bytes, without buckets if there is none.
CodesShape LargestShape(uint64_t count, uint64_t bytes) {
  if (count == 0 || count > kMaxUpperBits / 2) return {};
  CodesShape shape;
  // Takes the most low bits that leave room for as many buckets as codes.
  for (shape.low_bits = kMaxLowBits;; --shape.low_bits) {
    shape.buckets = count;
    if (CodesSize(count, shape) <= bytes) break;
    if (shape.low_bits == 0) return {};
  }
  const uint64_t most = std::min(2 * count - 1, kMaxUpperBits - count);
  uint64_t fits = count;
  for (uint64_t too_many = most + 1; fits + 1 < too_many;) {
    shape.buckets = fits + (too_many - fits) / 2;
    (CodesSize(count, shape) <= bytes ? fits : too_many) = shape.buckets;
  }
  shape.buckets = fits;
  return shape;
}

// The shape with the fewest bytes for codes smaller than `universe`.
CodesShape ShapeForUniverse(uint64_t count, uint64_t universe) {
  CodesShape shape;
  while (shape.low_bits < kMaxLowBits &&
         universe >> (shape.low_bits + 1) >= count) {
    ++shape.low_bits;
  }
  shape.buckets = ((universe - 1) >> shape.low_bits) + 1;
  return shape;
}

// The codes must ascend and be smaller than the shape's universe.
void AppendCodes(const std::vector<uint64_t>& codes, const CodesShape& shape,
                 std::string* dst) {
  const size_t start = dst->size();
  const uint64_t count = codes.size();
  dst->resize(start + CodesSize(count, shape));
  char* at = &(*dst)[start];
  *at = static_cast<char>(shape.low_bits);
  StoreFixed32(at + 1, static_cast<uint32_t>(count));
  StoreFixed32(at + 5, static_cast<uint32_t>(shape.buckets));
  char* const starts = at + kCodesHeaderSize;
  char* const upper = starts + 4 * Starts(shape.buckets);
  char* const low = upper + 8 * Words(count + shape.buckets);
  const uint64_t low_mask = (uint64_t{1} << shape.low_bits) - 1;
  uint64_t stored_starts = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bucket = codes[i] >> shape.low_bits;
    for (; stored_starts * kBucketsPerStart <= bucket; ++stored_starts) {
      StoreFixed32(starts + 4 * stored_starts,
                   static_cast<uint32_t>(i + stored_starts * kBucketsPerStart));
    }
    const uint64_t place = i + bucket;
    upper[place / 8] =
        static_cast<char>(upper[place / 8] | 1 << static_cast<int>(place % 8));
    const uint64_t bit = i * shape.low_bits;
    StoreFixed64(low + bit / 8, LoadFixed64(low + bit / 8) |
                                    (codes[i] & low_mask) << (bit % 8));
  }
  for (; stored_starts < Starts(shape.buckets); ++stored_starts) {
    StoreFixed32(
        starts + 4 * stored_starts,
        static_cast<uint32_t>(count + stored_starts * kBucketsPerStart));
  }
}

// At most this share of the empty ranges of range_length numbers shall match.
constexpr double kRate = 0.05;
// The unit is a sixteenth of a gap between keys that nine in ten gaps reach.
constexpr unsigned kGapLg = 4;
constexpr uint64_t kGapsPerSmallOne = 10;

// The last byte that is not the same in all keys, and one more.
size_t EndOfDifferences(const KeyStore& keys) {
  size_t end = keys.Width();
  while (end > 0 && keys.Least()[end - 1] == keys.Most()[end - 1]) --end;
  return end;
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

// Chooses the finest unit that serves: 0 keeps every bound on the rate for
// ranges next to keys. The unit is coarser if that helps ranges of
// range_length, but no coarser than they need, than makes all numbers fit, or
// than `most`.
unsigned UnitOf(uint64_t keys, uint64_t span, uint64_t universe,
                uint64_t range_length, unsigned most) {
  const double keys_per_code =
      static_cast<double>(keys) / static_cast<double>(universe);
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

}  // namespace

bool AreNumbers(const KeyStore& keys) {
  return keys.OneWidth() && EndOfDifferences(keys) <= kMaxCutBytes &&
         keys.DigitsOfKeys().Count();
}

NumbersPlan PlanNumbers(const KeyStore& keys, uint64_t bytes,
                        uint64_t range_length) {
  NumbersPlan plan;
  const size_t header = HeaderSize(keys.Width());
  if (bytes < header) return plan;
  plan.shape = LargestShape(keys.size(), bytes - header);
  if (plan.shape.buckets == 0) return plan;
  std::vector<uint64_t>& numbers = plan.numbers;
  numbers.reserve(keys.size());
  // The numbers of a key's first bytes, of which some are those of the last
  // key. A key of which the end was not kept ends like all others.
  std::vector<uint64_t> number_of(EndOfDifferences(keys) + 1);
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const unsigned char* const key = Bytes(cursor.key());
    for (size_t i = cursor.shared(); i + 1 < number_of.size(); ++i) {
      const unsigned least = keys.Least()[i];
      number_of[i + 1] =
          number_of[i] * (keys.Most()[i] - least + 1) + (key[i] - least);
    }
    numbers.push_back(number_of.back());
  }
  plan.base = numbers.front();
  for (uint64_t& number : numbers) number -= plan.base;
  plan.span = numbers.back();
  const unsigned gap_lg = SmallGapLg(numbers);
  plan.unit = UnitOf(keys.size(), plan.span, plan.shape.Universe(),
                     range_length, gap_lg > kGapLg ? gap_lg - kGapLg : 0);
  if (plan.span >> plan.unit < plan.shape.Universe()) {
    const CodesShape exact =
        ShapeForUniverse(keys.size(), (plan.span >> plan.unit) + 1);
    // Rounding to words can make it a little larger than the bytes allow.
    if (CodesSize(keys.size(), exact) <= bytes - header) plan.shape = exact;
  }
  return plan;
}

double NumbersPassing(const KeyStore& keys, const NumbersPlan& plan,
                      const std::vector<Sample>& samples) {
  const Digits digits = keys.DigitsOfKeys();
  const auto below = [&](std::string_view bound) {
    uint64_t number;
    return digits.Below(bound, &number) ? number : ~uint64_t{0};
  };
  const auto unit_of = [&](uint64_t number) {
    return (number - plan.base) >> plan.unit;
  };
  const auto universe = static_cast<double>(plan.shape.Universe());
  const double keys_per_code =
      plan.span >> plan.unit < plan.shape.Universe()
          ? 0
          : static_cast<double>(keys.size()) / universe;
  double passing = 0;
  for (const Sample& sample : samples) {
    const uint64_t lower = below(sample.lower), upper = below(sample.upper);
    if (lower >= upper) continue;
    const uint64_t first = unit_of(lower), last = unit_of(upper - 1);
    const bool near_key = unit_of(below(sample.before)) == first ||
                          unit_of(below(sample.after)) == last;
    const double rate =
        near_key ? 1
                 : std::min(1.0, static_cast<double>(last - first + 1) *
                                     keys_per_code);
    passing += sample.weight * rate;
  }
  return passing;
}

void AppendNumbers(const KeyStore& keys, NumbersPlan plan, std::string* dst) {
  const uint64_t universe = plan.shape.Universe();
  std::vector<uint64_t>& codes = plan.numbers;
  for (uint64_t& code : codes) {
    const uint64_t number = code >> plan.unit;
    const uint64_t block = number / universe;
    code = number - block * universe + BlockShift(block, universe);
    if (code >= universe) code -= universe;
  }
  if (plan.span >> plan.unit >= universe) {
    SortCodes(&codes,
              64 - static_cast<unsigned>(__builtin_clzll(universe - 1)));
  }
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  dst->push_back(static_cast<char>(keys.Width()));
  dst->append(reinterpret_cast<const char*>(keys.Least()), keys.Width());
  dst->append(reinterpret_cast<const char*>(keys.Most()), keys.Width());
  char numbers[8 + 8 + 1];
  StoreFixed64(numbers, plan.base);
  StoreFixed64(numbers + 8, plan.span);
  numbers[16] = static_cast<char>(plan.unit);
  dst->append(numbers, sizeof(numbers));
  AppendCodes(codes, plan.shape, dst);
}

}  // namespace deltabloom::internal::range
