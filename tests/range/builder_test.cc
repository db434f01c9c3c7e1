// The builder of range filters: input that it rejects, its memory, its choice
// of cuts, and bytes that must not change.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "tests/util/replaced_new.h"
#include "util/hash64.h"
#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/cut_text.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"
#include "util/range/key_store.h"
#include "util/range/numbers_writer.h"

namespace deltabloom::test {
namespace {

using internal::Remix64;
using internal::range::Filter;
using internal::range::FilterBuilder;

template <typename KeyOf>
std::vector<std::string> Sorted(uint64_t n, KeyOf key_of) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < n; ++i) keys.push_back(key_of(Remix64(i, 0), i));
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::string> Integers(uint64_t n) {
  return Sorted(n, [](uint64_t h, uint64_t) { return BigEndian(h); });
}

std::vector<std::string> Decimals(uint64_t n) {
  return Sorted(n, [](uint64_t h, uint64_t) {
    const std::string digits = std::to_string(h % 9999999);
    return "user" + std::string(8 - digits.size(), '0') + digits;
  });
}

std::vector<std::string> Paths(uint64_t n) {
  return Sorted(n, [](uint64_t h, uint64_t) {
    return "https://" + std::to_string(h % 50) + ".org/" +
           std::to_string(h / 50 % 100) + "/" + std::to_string(h >> 48);
  });
}

// Keys of one size that are no numbers.
std::vector<std::string> Hashes(uint64_t n) {
  return Sorted(n, [](uint64_t h, uint64_t i) {
    return BigEndian(h) + BigEndian(Remix64(i, 1));
  });
}

std::string Built(const std::vector<std::string>& keys, double bits) {
  return FilterOf({keys.begin(), keys.end()}, bits, {}, {},
                  internal::range::kRangeLength);
}

// Pins the bytes of filters whose cuts are fixed or, for numbers, follow from
// the keys.
TEST(RangeBuilder, BytesStayTheSame) {
  struct Golden {
    std::vector<std::string> keys;
    const char* cuts;
    double bits;
    size_t size;
    uint64_t hash;
  };
  const Golden goldens[] = {
      {Integers(2000), "", 10, 2653, 0xefacc8f612384626},
      {Integers(2000), "", 18, 4653, 0x643473298e235434},
      {Integers(2000), "", 5.5, 1497, 0x77708b604c37d2b9},
      {Decimals(2000), "", 10, 2421, 0xe3048e4071e83810},
      {Paths(2000), "'/'x3", 10, 261, 0xe28f1e1a768bcf03},
      {Paths(2000), "'/'x4,12,'.'+20b,14", 10, 2596, 0xdb25424339beb4fb},
  };
  for (const Golden& golden : goldens) {
    std::vector<internal::range::Cut> cuts;
    ASSERT_TRUE(internal::range::ParseCuts(golden.cuts, &cuts));
    const std::string bytes =
        FilterOf({golden.keys.begin(), golden.keys.end()}, golden.bits, {},
                 cuts, internal::range::kRangeLength);
    EXPECT_EQ(bytes.size(), golden.size) << golden.keys[0] << golden.bits;
    EXPECT_EQ(internal::Hash64(bytes), golden.hash)
        << golden.keys[0] << golden.bits << " " << bytes.size() << " 0x"
        << std::hex << internal::Hash64(bytes) << Filter(bytes).Describe();
  }
}

// The bytes of docs/format.md.
TEST(RangeBuilder, WorkedExample) {
  const std::string bytes = Built({BigEndian(5), BigEndian(7)}, 10);
  std::string expected(
      "\x01\x01"
      "\x08"
      "\0\0\0\0\0\0\0\x05"
      "\0\0\0\0\0\0\0\x07"
      "\0\0\0\0\0\0\0\0"
      "\x02\0\0\0\0\0\0\0"
      "\0"
      "\0"
      "\x02\0\0\0"
      "\x03\0\0\0"
      "\0\0\0\0"
      "\x09\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0",
      2 + 1 + 16 + 16 + 1 + 9 + 4 + 8 + 8);
  expected += std::string("\x41\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(bytes, expected) << testing::PrintToString(bytes);
  EXPECT_EQ(Filter(bytes).Describe(),
            "numbers of 8 bytes, 2 codes of 3, unit 2^0");
}

// A scan that the keys suggest may reach beyond the first and the last key.
// Readers ask for no number there.
TEST(RangeBuilder, NumbersBesideAllKeysDoNotPass) {
  // Neither has the number of the smallest or largest possible key.
  constexpr uint64_t kFirst = 0x4080000000000000;
  constexpr uint64_t kLast = 0xc080000000000000;
  internal::range::KeyStore keys;
  const auto add = [&keys](const std::string& key) {
    keys.Add(key, internal::range::CommonPrefix(key, keys.Last()));
  };
  add(BigEndian(kFirst));
  for (const std::string& key : Integers(2000)) {
    if (BigEndian(kFirst) < key && key < BigEndian(kLast)) add(key);
  }
  add(BigEndian(kLast));
  const internal::range::NumbersPlan plan =
      PlanNumbers(keys, 1500, uint64_t{1} << 48);
  ASSERT_TRUE(plan.Fits());
  ASSERT_GT(plan.unit, 0u);
  const auto passing = [&](uint64_t lower, uint64_t upper) {
    const std::string far(8, '\0');
    return NumbersPassing(
        keys, plan, {{BigEndian(lower), BigEndian(upper), far, far, 1}}, 0, 1);
  };
  const uint64_t length = uint64_t{3} << plan.unit;
  EXPECT_GT(passing(kFirst, kFirst + length), 0.001);
  EXPECT_LT(passing(kFirst, kFirst + length), 0.01);
  EXPECT_EQ(passing(kFirst - length, kFirst + length),
            passing(kFirst, kFirst + length));
  EXPECT_EQ(passing(kLast - length, kLast + 100 * length),
            passing(kLast - length, kLast + 1));
  EXPECT_EQ(passing(kFirst - length, kFirst), 0);
  EXPECT_EQ(passing(kLast + 1, kLast + length), 0);
}

TEST(RangeBuilder, OneKeyIsANumber) {
  const std::string bytes = FilterOf({BigEndian(1000)}, 10);
  EXPECT_EQ(Filter(bytes).Describe(),
            "numbers of 8 bytes, 1 codes of 1, unit 2^0");
}

// Cuts that samples chose come first for keys alike, and leave room for those
// that other keys need.
TEST(RangeBuilder, LearnedCutsOfOtherKeys) {
  const auto group = [](uint64_t i) { return "u" + std::to_string(i) + '/'; };
  const auto user = [](uint64_t i) { return BigEndian(1'000'000 + i); };
  const auto filter_of = [](FilterBuilder* builder, const auto& prefix_of) {
    KeySet keys;
    for (uint64_t i = 0; i < 8000; i += 2) {
      for (uint64_t k = i % 9 / 3; k < 3; ++k) {
        keys.insert(prefix_of(i) + BigEndian(1000 + i % 7 + k));
      }
    }
    for (const std::string& key : keys) builder->AddKey(key);
    std::string bytes;
    EXPECT_TRUE(builder->Finish(&bytes));
    return bytes;
  };
  const auto passing = [](const std::string& bytes, const auto& prefix_of) {
    int count = 0;
    for (uint64_t i = 1; i < 8000; i += 2) {
      const std::string prefix = prefix_of(i);
      count += Filter(bytes).MayMatch(prefix, NextPrefix(prefix));
    }
    return count;
  };
  FilterBuilder asked(10), alone(10), after(10);
  for (uint64_t i = 1; i < 400; i += 2) {
    asked.AddSample(group(i), NextPrefix(group(i)));
  }
  const std::string learned = filter_of(&asked, group);
  const auto cuts = Filter(learned).LearnedCuts();
  ASSERT_FALSE(cuts.empty());
  after.SetLearnedCuts(cuts);
  const std::string alike = filter_of(&after, group);
  EXPECT_LT(passing(alike, group), passing(filter_of(&alone, group), group));
  // Fewer than half of these keys have the cuts, so they are ignored.
  EXPECT_TRUE(filter_of(&after, user) == filter_of(&alone, user));
  EXPECT_TRUE(Filter(alike).LearnedCuts().empty());
}

TEST(RangeBuilder, RefusesWhatIsNotInOrder) {
  FilterBuilder builder(10);
  std::string bytes = "before";
  for (const char* key : {"b", "bb", "ba"}) builder.AddKey(key);
  EXPECT_EQ(builder.KeysAdded(), 0u);
  builder.AddKey("c");
  EXPECT_FALSE(builder.Finish(&bytes));
  EXPECT_EQ(bytes, "before");
  // Bytes are unsigned, and it is empty again.
  for (const char* key : {"\x7f", "\x80", "\x80"}) builder.AddKey(key);
  EXPECT_EQ(builder.KeysAdded(), 2u);
  EXPECT_TRUE(builder.Finish(&bytes));
  EXPECT_TRUE(Filter(bytes.substr(6)).MayMatch("\x80", "\x81"));
}

TEST(RangeBuilder, RefusesNoKeysAndNoBits) {
  std::string bytes;
  EXPECT_FALSE(FilterBuilder(10).Finish(&bytes));
  for (const double bits : {0.0, -1.0}) {
    FilterBuilder builder(bits);
    for (const std::string& key : Integers(5000)) builder.AddKey(key);
    EXPECT_FALSE(builder.Finish(&bytes)) << bits;
  }
  EXPECT_EQ(bytes, "");
}

// Few keys, whose codes are rounded up to words, and must still fit.
TEST(RangeBuilder, SizesOfFewKeys) {
  Random random(SeedOr(3));
  for (unsigned n = 20; n < 40; ++n) {
    for (double bits = 5.5; bits < 10; bits += 0.25) {
      for (int round = 0; round < 20; ++round) {
        KeySet keys;
        while (keys.size() < n) {
          const std::string digits =
              std::to_string(random.Below(10'000'000'000));
          keys.insert(std::string(10 - digits.size(), '0') + digits);
        }
        ASSERT_LE(FilterOf(keys, bits).size(),
                  internal::range::MaxFilterSize(n, bits))
            << n << " keys, " << bits << " bits";
      }
    }
  }
}

// Equal keys and samples give equal bytes, however the samples come.
TEST(RangeBuilder, SamplesDecide) {
  const std::vector<std::string> paths = Paths(5000);
  const KeySet keys(paths.begin(), paths.end());
  Samples samples;
  for (int i = 0; i < 99; ++i) {
    const std::string path = "https://" + std::to_string(10 + i % 40) +
                             ".org/" + std::to_string(100 + i) + "/";
    samples.push_back({path, NextPrefix(path)});
  }
  const std::string bytes = FilterOf(keys, 10, samples);
  EXPECT_NE(bytes, FilterOf(keys, 10));
  EXPECT_EQ(bytes, FilterOf(keys, 10, samples));
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(bytes, FilterOf(keys, 10, samples));
  const Filter filter(bytes);
  for (const auto& [lower, upper] : samples) {
    EXPECT_FALSE(filter.MayMatch(lower, upper)) << lower << filter.Describe();
  }
}

// A sample of weight 3 counts as three; open ones and those without weight do
// not count.
TEST(RangeBuilder, WeightsOfSamples) {
  const std::vector<std::string> paths = Paths(5000);
  FilterBuilder weighed(10), repeated(10);
  for (int i = 0; i < 60; ++i) {
    const std::string path = "https://" + std::to_string(10 + i % 40) + ".org/";
    const std::string group = path + std::to_string(100 + i) + "/";
    weighed.AddSample(group, NextPrefix(group), 3);
    for (int n = 0; n < 3; ++n) {
      repeated.AddSample(group, NextPrefix(group));
    }
    weighed.AddSample(path + "~", std::nullopt);
    for (const double none : {0.0, -1.0, std::nan("")}) {
      weighed.AddSample(path, NextPrefix(path), none);
    }
  }
  std::string filters[2];
  for (const std::string& path : paths) {
    weighed.AddKey(path);
    repeated.AddKey(path);
  }
  EXPECT_TRUE(weighed.Finish(&filters[0]) && repeated.Finish(&filters[1]));
  EXPECT_EQ(filters[0], filters[1]);
  EXPECT_FALSE(Filter(filters[0]).LearnedCuts().empty());
}

// Ranges before the first key and beyond the last one are rejected without a
// cut, so nothing is learned from them, in a builder's second filter neither.
TEST(RangeBuilder, SamplesBesideAllKeysTeachNothing) {
  FilterBuilder builder(10);
  for (int i = 100; i < 200; ++i) {
    const std::string group = "group" + std::to_string(i) + "/";
    builder.AddSample(group, NextPrefix(group));
  }
  for (const char* const first : {"a", "z"}) {
    KeySet keys;
    for (int i = 0; i < 5000; ++i) {
      keys.insert(first + std::to_string(i / 10) + "/" + std::to_string(i));
    }
    for (const std::string& key : keys) builder.AddKey(key);
    std::string bytes;
    EXPECT_TRUE(builder.Finish(&bytes));
    EXPECT_TRUE(bytes == FilterOf(keys, 10));
    EXPECT_TRUE(Filter(bytes).LearnedCuts().empty());
  }
}

// Few groups have the smaller numbers, and no sample is about one.
TEST(RangeBuilder, SamplesOfSeveralSizesStandForSmallerOnes) {
  const auto group = [](uint64_t i) {
    const std::string digits = std::to_string(i);
    return static_cast<char>(digits.size()) + digits;
  };
  KeySet keys;
  for (uint64_t i = 0; i < 60'000; i += 2) {
    keys.insert(group(i) + BigEndian(i % 7));
  }
  Samples samples;
  for (uint64_t i = 1001; i < 60'000; i += 200) {
    samples.push_back({group(i), NextPrefix(group(i))});
  }
  const std::string bytes = FilterOf(keys, 16, samples);
  int passed = 0;
  for (uint64_t i = 101; i < 1000; i += 2) {
    passed += Filter(bytes).MayMatch(group(i), NextPrefix(group(i)));
  }
  EXPECT_LE(passed, 10) << Filter(bytes).Describe();
}

// If all keys are near each other, all numbers are exact, and take no more
// bytes than that needs.
TEST(RangeBuilder, DenseNumbersTakeFewBytes) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 10'000; ++i) keys.push_back(BigEndian(7 * i));
  const std::string bytes = Built(keys, 20);
  EXPECT_LT(bytes.size(), 10'000 * 51 / 80);
  const Filter filter(bytes);
  for (uint64_t i = 0; i < 60'000; ++i) {
    EXPECT_EQ(filter.MayMatch(BigEndian(i), BigEndian(i + 1)), i % 7 == 0);
  }
}

// Bits per prefix are bought as long as they fit, to the last byte.
TEST(RangeBuilder, CutsGetAllBitsThatFit) {
  const std::vector<std::string> hashes = Hashes(1 << 14);
  const KeySet keys(hashes.begin(), hashes.end());
  const auto size_in = [&keys](double bytes) {
    return FilterOf(keys, bytes / (1 << 11), {}, {{0, 0, 64}}).size();
  };
  for (double bits = 3.5; bits < 12; ++bits) {
    const size_t size = size_in(bits * (1 << 11));
    const auto fits =
        static_cast<double>(size - internal::range::kFilterFreeBytes);
    EXPECT_EQ(size_in(fits), size);
    const size_t less = size_in(fits - 1);
    EXPECT_TRUE(0 < less && less < size) << less;
  }
}

// The keys around a sample are kept as far as cuts reach.
TEST(RangeBuilder, SamplesBetweenLongKeysTakeLittleMemory) {
  const std::string end(1'000'000, 'x');
  const size_t before = LiveBytes();
  FilterBuilder builder(10);
  for (int i = 100; i < 200; ++i) {
    builder.AddSample("b" + std::to_string(i), "b" + std::to_string(i + 1));
  }
  builder.AddKey("a" + end);
  builder.AddKey("c" + end);
  // Twice the last key, and 100 times no more than 2,500 bytes.
  EXPECT_LT(LiveBytes() - before, 2'300'000u);
}

TEST(RangeBuilder, MemoryIsWhatItSays) {
  const auto check = [](const std::vector<std::string>& keys, double bits,
                        std::vector<internal::range::Cut> cuts,
                        size_t samples = 0) {
    std::string bytes;
    bytes.reserve(keys.size() * 3);
    const size_t before = LiveBytes();
    ResetPeak();
    FilterBuilder builder(bits);
    builder.SetCuts(std::move(cuts));
    for (size_t i = 0; i < samples; ++i) {
      const std::string& key = keys[i * keys.size() / samples];
      builder.AddSample(key.substr(0, 1000) + '\1', key.substr(0, 1000) + '\2');
    }
    for (const std::string& key : keys) builder.AddKey(key);
    const uint64_t said = builder.EstimatedBuildBytes();
    EXPECT_TRUE(builder.Finish(&bytes));
    const size_t peak = PeakBytes() - before;
    EXPECT_LE(peak, said + said / 8) << keys[0];
    EXPECT_GE(peak, said / (samples == 0 ? 2 : 3)) << keys[0];
  };
  for (const auto& keys :
       {Integers(200'000), Paths(200'000), Hashes(200'000)}) {
    check(keys, 10, {});
    check(keys, 10, {}, 256);
  }
  // Samples between keys of which each is longer than a cut.
  std::vector<std::string> long_keys;
  for (const std::string& key : Integers(3000)) {
    long_keys.push_back(key + std::string(2000, 'x'));
  }
  check(long_keys, 10, {}, 2048);
  // Five cuts that distinguish all keys.
  std::vector<internal::range::Cut> cuts;
  ASSERT_TRUE(internal::range::ParseCuts("64b,65b,66b,67b,68b", &cuts));
  check(Hashes(100'000), 16, {cuts[0]});
  check(Hashes(100'000), 16, cuts);
}

}  // namespace
}  // namespace deltabloom::test
