// What is let through, against the theory of util/range/numbers.h, within five
// standard errors; the same at every run unless DELTABLOOM_SEED asks for
// others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/range/subject.h"
#include "util/hash64.h"

namespace deltabloom::test {
namespace {

constexpr uint64_t kKeys = 50'000;
constexpr int kQuestions = 40'000;

class UniformKeys : public testing::Test {
 protected:
  void Build(double bits, uint64_t range_length) {
    Random random(SeedOr(7));
    keys_.clear();
    while (keys_.size() < kKeys) keys_.insert(random.Key(8));
    internal::RangePartBuilder builder(bits, range_length);
    for (const std::string& key : keys_) builder.AddKey(key);
    part_.clear();
    ASSERT_TRUE(builder.Finish(&part_));
    unit_ = static_cast<unsigned char>(part_[2 + 1 + 16 + 16]);
  }

  double Rate(uint64_t length) const {
    const internal::RangePart range(part_);
    Random random(SeedOr(8));
    int matches = 0;
    for (int asked = 0; asked < kQuestions;) {
      const uint64_t first = random.Next() >> 1;
      const std::string lower = BigEndian(first);
      const std::string upper = BigEndian(first + length);
      if (AnyKeyIn(keys_, lower, upper)) continue;
      ++asked;
      matches += range.MayMatch(lower, upper) ? 1 : 0;
    }
    return static_cast<double>(matches) / kQuestions;
  }

  double BitsPerKey() const {
    return static_cast<double>(part_.size()) * 8 / kKeys;
  }

  KeySet keys_;
  std::string part_;
  unsigned unit_ = 0;
};

double Error(double rate) { return std::sqrt(rate * (1 - rate) / kQuestions); }

// Grafite's bound: l / 2^(B - 2).
TEST_F(UniformKeys, NoMoreThanTheBound) {
  for (const double bits : {8.0, 12.0, 16.5}) {
    Build(bits, 1);
    EXPECT_EQ(unit_, 0u);
    for (const unsigned length : {1u, 4u, 16u, 64u, 1024u}) {
      const double bound = std::min(
          1.0, static_cast<double>(length) / std::exp2(BitsPerKey() - 2));
      // Directory and header take a part of the bits.
      EXPECT_LE(Rate(length), 1.2 * bound + 5 * Error(bound))
          << bits << " " << length;
    }
  }
}

// With a unit: (l / 2^unit + 1) / 2^(B - 2).
TEST_F(UniformKeys, UnitsServeLongerRanges) {
  Build(10, 1024);
  EXPECT_GT(unit_, 0u);
  for (const unsigned length : {1u, 64u, 1024u, 4096u}) {
    const double codes =
        static_cast<double>(length) / std::exp2(static_cast<double>(unit_)) + 1;
    const double bound = codes / std::exp2(BitsPerKey() - 2);
    EXPECT_LE(Rate(length), 1.2 * bound + 5 * Error(bound)) << length;
  }
}

TEST(RangeShare, CountsEveryBitOnce) {
  for (const double bits : {6.0, 10.0, 18.0, 24.5}) {
    EXPECT_DOUBLE_EQ(
        internal::RangeBitsPerKey(bits) + internal::PointBitsPerKey(bits),
        bits);
    EXPECT_GT(internal::PointBitsPerKey(bits), 1);
  }
}

// A scan of one group of several: questions of other groups, then none.
struct Schema {
  const char* name;
  std::string (*key)(Random*, uint64_t group);
  std::string (*prefix)(uint64_t group);
  double learned, from_keys;  // the most that may pass
};

const Schema kSchemas[] = {
    {"integers in a row",
     [](Random* random, uint64_t group) {
       return BigEndian(group) + BigEndian(random->Below(1'000'000));
     },
     [](uint64_t group) { return BigEndian(group); }, 0.002, 0.05},
    {"hashed value, random key",
     [](Random* random, uint64_t group) {
       return BigEndian(internal::Remix64(group, 0)) + random->Key(8);
     },
     [](uint64_t group) { return BigEndian(internal::Remix64(group, 0)); },
     0.005, 0.05},
    {"user:%d:order:%d",
     [](Random* random, uint64_t group) {
       return "user:" + std::to_string(group) +
              ":order:" + std::to_string(random->Below(1'000'000));
     },
     [](uint64_t group) { return "user:" + std::to_string(group) + ":"; },
     0.002, 0.05},
    {"paths",
     [](Random* random, uint64_t group) {
       return "/data/" + std::to_string(group % 97) + "/" +
              std::to_string(group) + "/" +
              std::to_string(random->Below(1'000'000));
     },
     [](uint64_t group) {
       return "/data/" + std::to_string(group % 97) + "/" +
              std::to_string(group) + "/";
     },
     0.005, 0.05},
};

TEST(RangeRate, ScansOfOneGroup) {
  for (const Schema& schema : kSchemas) {
    Random random(SeedOr(9));
    KeySet keys;
    // Even groups exist.
    while (keys.size() < 20'000) {
      keys.insert(schema.key(&random, 2 * random.Below(5000)));
    }
    const auto draw = [&] {
      const std::string prefix = schema.prefix(2 * random.Below(5000) + 1);
      return std::make_pair(prefix, NextPrefix(prefix));
    };
    Questions questions;
    for (int i = 0; i < 256; ++i) questions.push_back(draw());
    for (const bool learned : {false, true}) {
      const std::string part =
          PartOf(keys, 10, learned ? questions : Questions());
      const internal::RangePart range(part);
      int passed = 0;
      for (int i = 0; i < kQuestions; ++i) {
        const auto [lower, upper] = draw();
        passed += range.MayMatch(lower, upper) ? 1 : 0;
      }
      const double rate = static_cast<double>(passed) / kQuestions;
      EXPECT_LE(rate, learned ? schema.learned : schema.from_keys)
          << schema.name << (learned ? ", learned: " : ", from keys: ")
          << range.Describe();
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
