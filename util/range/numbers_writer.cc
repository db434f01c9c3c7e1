#include "util/range/numbers_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/coding.h"
#include "util/range/bytes.h"
#include "util/range/codes.h"
#include "util/range/cut.h"
#include "util/range/digits.h"
#include "util/range/key_store.h"
#include "util/range/numbers.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {
namespace {

// --- Numbers of keys --------------------------------------------------------

std::vector<uint64_t> NumbersOf(const KeyStore& keys) {
  std::vector<uint64_t> numbers;
  numbers.reserve(keys.size());
  // At [i] the number of the key's first i bytes. A key has those of the bytes
  // that it shares with the key before.
  std::vector<uint64_t> number_of(keys.Width() + 1);
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const unsigned char* const key = BytesOf(cursor.key());
    for (size_t i = cursor.shared(); i + 1 < number_of.size(); ++i) {
      const unsigned least = keys.Least()[i];
      number_of[i + 1] =
          number_of[i] * (keys.Most()[i] - least + 1) + (key[i] - least);
    }
    numbers.push_back(number_of.back());
  }
  return numbers;
}

// --- The unit ---------------------------------------------------------------

// docs/design.md ("Units of numbers") has measurements with other values.
//
// At most this share of the empty ranges of range_length numbers shall match.
constexpr double kRate = 0.05;
// The unit is a sixteenth of a gap between keys that nine in ten gaps reach.
constexpr unsigned kGapLg = 4;
constexpr uint64_t kGapsPerSmallOne = 10;

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

// --- Codes ------------------------------------------------------------------

// Sorts codes below 2^bits, by one byte after the other from the lowest on.
// With 20,000 to 1,000,000 codes std::sort takes 5 to 10 times as long.
void SortCodes(std::vector<uint64_t>* codes, unsigned bits) {
  std::vector<uint64_t> other(codes->size());
  for (unsigned shift = 0; shift < bits; shift += 8) {
    size_t ends[256 + 1] = {};
    for (const uint64_t code : *codes) ++ends[(code >> shift & 0xff) + 1];
    for (size_t i = 1; i < 256; ++i) ends[i] += ends[i - 1];
    for (const uint64_t code : *codes) {
      other[ends[code >> shift & 0xff]++] = code;
    }
    codes->swap(other);
  }
}

// Turns numbers into codes, in their order, each once.
void ReduceToCodes(const NumbersPlan& plan, std::vector<uint64_t>* numbers) {
  const uint64_t universe = plan.shape.Universe();
  for (uint64_t& code : *numbers) {
    const uint64_t number = code >> plan.unit;
    const uint64_t block = number / universe;
    code = number - block * universe + BlockShift(block, universe);
    if (code >= universe) code -= universe;
  }
  // Codes of a single block are in the order of their keys.
  if (!plan.IsExact()) {
    SortCodes(numbers,
              64 - static_cast<unsigned>(__builtin_clzll(universe - 1)));
  }
  numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
}

}  // namespace

bool AreNumbers(const KeyStore& keys) {
  static_assert(KeyStore::kMaxWidth <= kMaxCutBytes);  // keys are kept whole
  return keys.OneWidth() && keys.DigitsOfKeys().Fit();
}

NumbersPlan PlanNumbers(const KeyStore& keys, uint64_t bytes,
                        uint64_t range_length) {
  NumbersPlan plan;
  const size_t header = NumbersHeaderSize(keys.Width());
  if (bytes < header) return plan;
  const uint64_t bytes_of_codes = bytes - header;
  plan.shape = LargestShape(keys.size(), bytes_of_codes);
  if (!plan.Fits()) return plan;

  plan.numbers = NumbersOf(keys);
  plan.base = plan.numbers.front();
  for (uint64_t& number : plan.numbers) number -= plan.base;
  plan.span = plan.numbers.back();
  const unsigned gap_lg = SmallGapLg(plan.numbers);
  plan.unit = UnitOf(keys.size(), plan.span, plan.shape.Universe(),
                     range_length, gap_lg > kGapLg ? gap_lg - kGapLg : 0);
  if (plan.IsExact()) {
    const CodesShape exact =
        ShapeForUniverse(keys.size(), (plan.span >> plan.unit) + 1);
    // It has fewer codes, but rounding to words can make it a little larger
    // than the bytes allow.
    if (CodesSize(keys.size(), exact) <= bytes_of_codes) plan.shape = exact;
  }
  return plan;
}

double NumbersPassing(const KeyStore& keys, const NumbersPlan& plan,
                      const std::vector<Sample>& samples, size_t first,
                      size_t last) {
  const Digits digits = keys.DigitsOfKeys();
  const auto number_of = [&](std::string_view bound) {
    uint64_t number;
    return digits.CountBelow(bound, &number) ? number : ~uint64_t{0};
  };
  const uint64_t last_number = plan.base + plan.span;
  // REQUIRES: number >= plan.base.
  const auto unit_of = [&](uint64_t number) {
    return (number - plan.base) >> plan.unit;
  };
  const auto is_in_unit = [&](uint64_t number, uint64_t unit) {
    return number >= plan.base && unit_of(number) == unit;
  };
  const double keys_per_code =
      plan.IsExact() ? 0
                     : static_cast<double>(keys.size()) /
                           static_cast<double>(plan.shape.Universe());
  double passing = 0;
  for (size_t i = first; i < last; ++i) {
    const Sample& sample = samples[i];
    const uint64_t lower = number_of(sample.lower);
    const uint64_t upper = number_of(sample.upper);
    // Readers reject what lies beside all keys: a scan that the keys suggest
    // may begin before the first one or end behind the last one.
    if (lower >= upper || upper <= plan.base || lower > last_number) continue;
    const uint64_t first_unit = unit_of(std::max(lower, plan.base));
    const uint64_t last_unit = unit_of(std::min(upper - 1, last_number));
    const bool shares_unit_with_key =
        is_in_unit(number_of(sample.before), first_unit) ||
        is_in_unit(number_of(sample.after), last_unit);
    const double units = static_cast<double>(last_unit - first_unit + 1);
    const double rate =
        shares_unit_with_key ? 1 : std::min(1.0, units * keys_per_code);
    passing += sample.weight * rate;
  }
  return passing;
}

void AppendNumbers(const KeyStore& keys, NumbersPlan plan, std::string* dst) {
  std::vector<uint64_t> codes = std::move(plan.numbers);
  ReduceToCodes(plan, &codes);
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
