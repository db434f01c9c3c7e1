// What is let through, against the theory of util/range/shapes.h, within five
// standard errors; the same at every run unless DELTABLOOM_SEED asks for
// others.

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/range/schemas.h"
#include "tests/range/subject.h"

namespace deltabloom::test {
namespace {

constexpr uint64_t kKeys = 50'000;
constexpr int kLookups = 40'000;

// Grafite's bound at B bits per key: l / 2^(B - 2); with a unit,
// (l / 2^unit + 1) / 2^(B - 2).
TEST(UniformKeys, NoMoreThanTheBound) {
  Random random(SeedOr(7));
  KeySet keys;
  while (keys.size() < kKeys) keys.insert(random.Key(8));
  for (const auto& [bits, range_length] :
       {std::pair{8.0, 1u}, {12.0, 1u}, {16.5, 1u}, {10.0, 1024u}}) {
    internal::RangePartBuilder builder(bits, range_length);
    for (const std::string& key : keys) builder.AddKey(key);
    std::string part;
    ASSERT_TRUE(builder.Finish(&part));
    const auto unit = static_cast<unsigned char>(part[2 + 1 + 16 + 16]);
    EXPECT_EQ(unit > 0, range_length > 1);
    const internal::RangePart range(part);
    for (const unsigned length : {1u, 4u, 16u, 64u, 1024u, 4096u}) {
      int matches = 0;
      for (int asked = 0; asked < kLookups;) {
        const uint64_t first = random.Next() >> 1;
        const std::string lower = BigEndian(first);
        const std::string upper = BigEndian(first + length);
        if (AnyKeyIn(keys, lower, upper)) continue;
        ++asked;
        matches += range.MayMatch(lower, upper) ? 1 : 0;
      }
      const double codes = unit == 0 ? length : std::ldexp(length, -unit) + 1;
      const double part_bits = static_cast<double>(part.size()) * 8 / kKeys;
      const double bound = std::min(1.0, codes / std::exp2(part_bits - 2));
      const double error = std::sqrt(bound * (1 - bound) / kLookups);
      // Directory and header take a part of the bits.
      EXPECT_LE(matches, kLookups * (1.2 * bound + 5 * error))
          << bits << " " << length;
    }
  }
}

using Draw = std::function<std::pair<std::string, std::string>()>;

// Of the empty ranges that are drawn at most these percents pass, at 10 bits
// per key, with a sample of them and without.
void ExpectFewPass(const KeySet& keys, const Draw& draw_any, double with_sample,
                   double from_keys) {
  const auto draw = [&] {
    for (;;) {
      const auto range = draw_any();
      if (range.first < range.second &&
          !AnyKeyIn(keys, range.first, range.second)) {
        return range;
      }
    }
  };
  Samples samples;
  for (int i = 0; i < 256; ++i) samples.push_back(draw());
  int passed_from_keys = 0;
  for (const bool learned : {false, true}) {
    const std::string part = PartOf(keys, 10, learned ? samples : Samples());
    const internal::RangePart range(part);
    int passed = 0;
    for (int i = 0; i < kLookups; ++i) {
      const auto [lower, upper] = draw();
      passed += range.MayMatch(lower, upper) ? 1 : 0;
    }
    EXPECT_LE(100.0 * passed / kLookups, learned ? with_sample : from_keys)
        << (learned ? "learned: " : "from keys: ") << range.Describe();
    if (!learned) passed_from_keys = passed;
    EXPECT_LE(passed, 1.1 * passed_from_keys + kLookups / 100)
        << range.Describe();
  }
}

// Scans of groups without keys.
class PrefixScans : public testing::TestWithParam<Schema> {};

TEST_P(PrefixScans, FewPass) {
  constexpr uint64_t kGroups = 5000;
  Random random(SeedOr(9));
  KeySet keys;
  // Even groups exist.
  while (keys.size() < 20'000) {
    keys.insert(GetParam().group(2 * random.Below(kGroups)) +
                GetParam().rest(&random));
  }
  const auto draw = [&] {
    const std::string prefix = GetParam().group(2 * random.Below(kGroups) + 1);
    return std::make_pair(prefix, NextPrefix(prefix));
  };
  ExpectFewPass(keys, draw, 1, 20);
}

// Two indexes in one table, of which the second has most keys.
TEST_P(PrefixScans, FewPassBesideAnotherIndex) {
  constexpr uint64_t kGroups = 5000;
  Random random(SeedOr(11));
  const Schema& other = kPrefixScans[3];  // UserOrderIntegers
  KeySet keys;
  while (keys.size() < 20'000) {
    const bool is_first = keys.size() < 6000;
    const Schema& schema = is_first ? GetParam() : other;
    keys.insert((is_first ? 'a' : 'b') +
                schema.group(2 * random.Below(kGroups)) + schema.rest(&random));
  }
  const std::string part = PartOf(keys, 10);
  int passed = 0;
  for (uint64_t i = 0; i < kGroups; ++i) {
    const std::string prefix = 'a' + GetParam().group(2 * i + 1);
    passed += internal::RangePart(part).MayMatch(prefix, NextPrefix(prefix));
  }
  EXPECT_LE(passed, kGroups / 4) << internal::RangePart(part).Describe();
}

constexpr auto kName = [](const auto& schema) {
  return std::string(schema.param.name);
};
INSTANTIATE_TEST_SUITE_P(Usual, PrefixScans, testing::ValuesIn(kPrefixScans),
                         kName);
INSTANTIATE_TEST_SUITE_P(Other, PrefixScans,
                         testing::ValuesIn(kOtherPrefixScans), kName);

// Ranges of integers, in percent of which pass, and of texts.
struct OtherScans {
  const char* name;
  uint64_t length;  // of ranges of integers
  std::string (*key)(Random*, uint64_t* last);
  std::string (*lower)(Random*, const std::vector<std::string>& keys);
  double learned, from_keys;
};

std::string Uniform(Random* random, uint64_t*) { return random->Key(8); }
std::string SixteenBytes(Random* random, uint64_t*) { return random->Key(16); }
std::string Series(Random* random, uint64_t* last) {
  *last = *last % 1000 == 0 ? random->Next() / 1000 * 1000 + 1
                            : *last + 1000 * (1 + random->Below(100)) + 1;
  return BigEndian(*last);
}
// A path with names of syllables.
std::string Text(Random* random, uint64_t*) {
  std::string text = "https://";
  for (uint64_t i = 0; i < 9; ++i) {
    text += "bcdfghkl"[random->Below(8)];
    text += "aeiou"[random->Below(i < 3 ? 2 : 5)];
    if (i % 3 == 2) text += "/";
  }
  return text + std::to_string(random->Below(100));
}

std::string Anywhere(Random* random, const std::vector<std::string>&) {
  return BigEndian(random->Next() >> 1);
}
template <uint64_t kMost>
std::string BehindAKey(Random* random, const std::vector<std::string>& keys) {
  const std::string& key = keys[random->Below(keys.size() - 1)];
  return BigEndian(NumberOf(key) + 1 + random->Below(kMost));
}
std::string OtherText(Random* random, const std::vector<std::string>&) {
  return Text(random, nullptr);
}

const OtherScans kOtherScans[] = {
    {"Uniform1024", 1024, Uniform, Anywhere, 0.5, 6},
    {"Uniform16384", 16'384, Uniform, Anywhere, 0.5, 60},
    // Much shorter than what lies between two keys, and longer than numbers.
    {"64thOfAGap", ~uint64_t{0} / 20'000 / 64, SixteenBytes, Anywhere, 3, 10},
    {"1024thOfAGap", ~uint64_t{0} / 20'000 / 1024, SixteenBytes, Anywhere, 3,
     8},
    {"Series1024", 1024, Series, BehindAKey<100'000>, 3, 15},
    {"Series16384", 16'384, Series, BehindAKey<100'000>, 20, 80},
    {"BehindAKey16", 16, Uniform, BehindAKey<1024>, 3, 12},
    {"BehindAKey1024", 1024, Uniform, BehindAKey<1024>, 15, 15},
    {"BehindAKey16384", 16'384, Uniform, BehindAKey<1024>, 60, 60},
    {"WholeTexts", 0, Text, OtherText, 5, 60},
};

class RangeScans : public testing::TestWithParam<OtherScans> {};

TEST_P(RangeScans, FewPass) {
  Random random(SeedOr(10));
  KeySet keys;
  uint64_t last = 0;
  while (keys.size() < 20'000) keys.insert(GetParam().key(&random, &last));
  const std::vector<std::string> sorted(keys.begin(), keys.end());
  const auto draw = [&] {
    const std::string lower = GetParam().lower(&random, sorted);
    return std::make_pair(lower,
                          GetParam().length == 0
                              ? NextPrefix(lower)
                              : BigEndian(NumberOf(lower) + GetParam().length));
  };
  ExpectFewPass(keys, draw, GetParam().learned, GetParam().from_keys);
}

INSTANTIATE_TEST_SUITE_P(All, RangeScans, testing::ValuesIn(kOtherScans),
                         kName);

}  // namespace
}  // namespace deltabloom::test
