// Which cuts are chosen.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/delimiters.h"
#include "util/range/filter.h"
#include "util/range/key_store.h"
#include "util/range/reach.h"
#include "util/range/sample.h"
#include "util/range/sampled_keys.h"

namespace deltabloom::test {
namespace {

// Keys of the example in docs/design.md, "Ranges: which cuts": of the even
// numbers below 10,000 each fiftieth is absent.
bool IsAbsent(uint64_t even) { return even / 2 % 50 == 7; }

std::string Beginning(uint64_t even) {
  return std::string("\0\0\0\7", 4) + BigEndian(even);
}

KeySet KeysOfTheExample() {
  Random random(1);
  KeySet keys;
  for (uint64_t even = 0; keys.size() < 20'000; even = (even + 2) % 10'000) {
    if (IsAbsent(even)) continue;
    keys.insert(Beginning(even) + BigEndian(random.Next()));
  }
  return keys;
}

std::string CutsOf(const KeySet& keys, const Samples& samples) {
  const std::string bytes = FilterOf(keys, 8, samples);
  EXPECT_LE(bytes.size(), 20'160u);
  return internal::range::Filter(bytes).Describe();
}

TEST(RangeChoice, TheExampleOfTheDesign) {
  const KeySet keys = KeysOfTheExample();
  EXPECT_EQ(CutsOf(keys, {}),
            "prefixes: 13 (14913 bytes), 11 (129 bytes), 12 (4899 bytes)");
  Samples absent;
  for (uint64_t even = 0; even < 10'000; even += 2) {
    if (IsAbsent(even))
      absent.push_back({Beginning(even), Beginning(even + 1)});
  }
  EXPECT_EQ(CutsOf(keys, absent),
            "learned prefixes: 12 (7347 bytes), 13 (12425 bytes), 11 (129 "
            "bytes)");
}

// A cut that has all bits that it can have is not added again, although samples
// still pass.
TEST(RangeChoice, EachCutIsChosenOnce) {
  Samples samples;
  for (uint64_t even = 0; even < 10'000; even += 2) {
    if (IsAbsent(even)) {
      samples.push_back({Beginning(even), Beginning(even + 1)});
    }
  }
  const std::string bytes = FilterOf(KeysOfTheExample(), 60, samples);
  EXPECT_EQ(internal::range::Filter(bytes).Describe(),
            "learned prefixes: 12 (14699 bytes), 13 (59657 bytes), 11 (129 "
            "bytes)");
}

// Seven bytes reject scans of both kinds of groups, but are expensive, as most
// keys are of a third kind; a delimiter rejects one kind and is cheap. So the
// cut at seven bytes is added first and then loses its bits to the delimiters.
// If the other keys buy bits for it again, it is not one that samples chose.
TEST(RangeChoice, LearnedCutsAreThoseThatSamplesBoughtBitsFor) {
  Random random(1);
  KeySet keys;
  for (int i = 0; i < 10'000; ++i) {
    keys.insert("z" + FromBytes(&random, 7, "abcdefghij"));
  }
  Samples samples;
  for (int i = 0; i < 200; ++i) {
    // Four of them are shorter, so the places of the delimiters vary.
    const std::string number = std::to_string((i < 4 ? 10'000 : 100'000) + i);
    for (const std::string& group : {"x" + number + "/", "y" + number + "~"}) {
      if (i % 2 == 0) {
        keys.insert(group + "1");
      } else {
        samples.push_back({group, NextPrefix(group)});
      }
    }
  }
  EXPECT_EQ(CutsOf(keys, samples),
            "learned prefixes: '~'x1 (193 bytes), '/'x1 (129 bytes), 49b (5972 "
            "bytes), 41b (3934 bytes)");
  using internal::range::Cut;
  EXPECT_EQ(internal::range::Filter(FilterOf(keys, 8, samples)).LearnedCuts(),
            std::vector<Cut>({{1, '~', 0}, {1, '/', 0}}));
}

// Other keys part from a key where they differ, and not where all begin alike.
TEST(RangeChoice, PartingsOfSampledKeys) {
  internal::range::KeyStore keys;
  keys.Add("ab1", 0);
  keys.Add("ab2", 2);
  keys.Add("ab3", 2);
  // '1' and '2' share 6 bits, '2' and '3' share 7.
  const auto sampled = SampleKeys(keys);
  ASSERT_EQ(sampled.size(), 3u);
  using Partings = std::vector<unsigned>;
  EXPECT_EQ(sampled[0].partings, Partings({22}));
  EXPECT_EQ(sampled[1].partings, Partings({22, 23}));
  EXPECT_EQ(sampled[2].partings, Partings({22, 23}));
  EXPECT_EQ(sampled[2].SharedBelow(16), -1);
  EXPECT_EQ(sampled[2].SharedBelow(23), 22);
  EXPECT_EQ(sampled[2].SharedBelow(24), 23);
  EXPECT_EQ(sampled[1].next, "ab3");
  EXPECT_EQ(sampled[2].next, "");
}

TEST(RangeChoice, NumberOfSampledKeys) {
  for (const auto& [count, expected] : std::vector<std::pair<unsigned, size_t>>{
           {1, 1}, {127, 127}, {128, 64}, {191, 95}, {10'000, 64}}) {
    internal::range::KeyStore keys;
    for (unsigned i = 0; i < count; ++i) {
      const std::string key = BigEndian(i);
      keys.Add(key, internal::range::CommonPrefix(key, keys.Last()));
    }
    EXPECT_EQ(SampleKeys(keys).size(), expected) << count;
  }
}

// A delimiter is tried once two samples have it at different places.
TEST(RangeChoice, DelimitersWhosePlaceVaries) {
  const auto delimiters = [](const std::string& group,
                             const std::string& other) {
    std::vector<internal::range::Sample> samples;
    std::vector<internal::range::Reach> reaches;
    for (const std::string& prefix : {group, other}) {
      samples.push_back({prefix, NextPrefix(prefix), "", "z", 1});
    }
    for (const auto& sample : samples) reaches.emplace_back(sample, 1);
    return FindDelimiters(samples, reaches);
  };
  using internal::range::Cut;
  EXPECT_EQ(delimiters("a/", "bb/"), std::vector<Cut>({{1, '/', 0}}));
  EXPECT_EQ(delimiters("a/", "b/"), std::vector<Cut>());
}

}  // namespace
}  // namespace deltabloom::test
