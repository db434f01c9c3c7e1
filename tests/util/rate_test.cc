// The rates that layouts compute, compared with filters of random hashes; every
// bound is the binomial error of the count.
#include <algorithm>
#include <cmath>
#include <memory>

#include "deltabloom/sizing.h"
#include "tests/random.h"
#include "util/rates/layout_rates.h"

namespace deltabloom {
namespace {

using internal::LayoutRow;
using internal::Plan;

constexpr Layout kBuilt[] = {Layout::kClassic, Layout::kLocal,
                             Layout::kCompact};

const LayoutRow& Row(Layout layout) {
  return *internal::FindLayout(layout, Hash::kMurmurHash2);
}

const uint64_t kSeed = test::SeedOr(1);

// Four and a half deviations: with other seeds one comparison of 100,000 fails.
double Error(double expected) { return 4.5 * std::sqrt(expected) + 4.5; }

struct Case {
  uint64_t keys;
  double bits_per_key;
};

// The positives among `lookups` absent hashes of one filter. False if its keys
// cannot be built.
bool CountHits(const Plan& plan, uint64_t lookups, test::Random* random,
               double* hits) {
  const LayoutRow& row = *plan.layout;
  const unsigned shift = row.hash_size == 4 ? 32 : 0;
  internal::HashList hashes(row.hash_size);
  for (uint64_t i = 0; i < plan.keys; ++i) hashes.Add(random->Next() >> shift);
  std::unique_ptr<unsigned char[]> payload(
      new unsigned char[plan.payload_size]());
  if (!row.build(&hashes, false, plan, internal::ActiveCpu(), payload.get())) {
    return false;
  }
  internal::ParsedFilter parsed{};
  parsed.payload = payload.get();
  parsed.payload_size = plan.payload_size;
  EXPECT_TRUE(row.parse(plan.last_byte, internal::ActiveCpu(), &parsed));
  EXPECT_EQ(row.rate(parsed.shape, plan.keys), PlanRate(plan));
  for (uint64_t i = 0; i < lookups; ++i) {
    *hits += row.may_match_hash(parsed, random->Next() >> shift);
  }
  return true;
}

// Compares the rate of the layout with filters of 50,000 keys together, and at
// least eight of them: where a key has few bits, filters of the same size
// differ by more than the error of counting (one of 50,000 keys in 25,000 bits
// by 0.0018, and a million lookups of it by 0.0003). The rate lies between
// `least_share` and `most_share` of the expected one.
void Check(Layout layout, const Case& at, double least_share = 1,
           double most_share = 1) {
  const Plan plan =
      PlanFilter(&Row(layout), at.keys, internal::ToMillibits(at.bits_per_key));
  const uint64_t filters = std::max<uint64_t>(8, 50000 / at.keys);
  const uint64_t lookups_each = 1000000 / filters;
  test::Random random(kSeed ^ at.keys);
  double hits = 0;
  double lookups = 0;
  for (uint64_t i = 0; i < filters; ++i) {
    if (CountHits(plan, lookups_each, &random, &hits)) {
      lookups += static_cast<double>(lookups_each);
    }
  }
  SCOPED_TRACE(testing::Message()
               << LayoutName(layout) << ", " << at.keys << " keys, "
               << at.bits_per_key << " bits, seed " << kSeed);
  EXPECT_GE(lookups, 500000);
  const double expected = PlanRate(plan) * lookups;
  EXPECT_LE(hits, most_share * expected + Error(most_share * expected));
  EXPECT_GE(hits, least_share * expected - Error(least_share * expected));
}

TEST(Rate, OfLocalIsExact) {
  for (const double bits :
       {.5, 1., 3., 5., 7., 9.6, 10.3, 12., 13., 15., 20.}) {
    Check(Layout::kLocal, {50000, bits});
  }
  // Few blocks, and probes in a block that is its own neighbour.
  for (const Case& at :
       {Case{1000, 10}, Case{100, 10}, Case{300, 16}, Case{60, 16},
        Case{42, 12}, Case{30, 16}, Case{3, 4}}) {
    Check(Layout::kLocal, at);
  }
}

TEST(Rate, OfCompactIsExact) {
  for (const double bits : {1.5, 2., 3.3, 5., 7.7, 10., 12.5, 15., 17.}) {
    Check(Layout::kCompact, {50000, bits});
  }
  // Its fallback is counted: here local is built.
  for (const Case& at :
       {Case{1000, 10}, Case{300, 9}, Case{100, 10}, Case{50000, .5}}) {
    Check(Layout::kCompact, at);
  }
}

// The table holds the worst of eight sizes of some numbers of keys and probes:
// most others are up to a quarter below, a few a tenth above.
TEST(Rate, OfClassicIsThatOfTheWorstSizes) {
  for (const double bits : {.5, 2., 3.3, 5., 7.7, 10., 12.5, 15., 18.}) {
    for (const uint64_t keys : {20000u, 150000u, 700000u}) {
      Check(Layout::kClassic, {keys, bits}, 0.7, 1.1);
    }
  }
  for (const Case& at : {Case{5000, 10}, Case{1000, 10}, Case{300, 9},
                         Case{100, 10}, Case{50, 10}, Case{10, 10}}) {
    Check(Layout::kClassic, at, 0.7, 1.1);
  }
}

TEST(Rate, OfNoKeysIsNone) {
  for (const Layout layout : kBuilt) {
    EXPECT_EQ(RateForMillibits(&Row(layout), 0, 10000), 0);
    EXPECT_EQ(MillibitsForRate(&Row(layout), 0, 0.01).millibits, 0u);
  }
}

// Of any number of keys and bits a rate, which grows with the keys.
TEST(Rate, IsOneForAllSizes) {
  for (const Layout layout : kBuilt) {
    for (const uint32_t millibits :
         {0u, 1u, 500u, 2000u, 10000u, 31000u, internal::kMaxMillibits}) {
      double last = 0;
      for (uint64_t keys = 1; keys != 0; keys *= 2) {
        const double rate = RateForMillibits(&Row(layout), keys, millibits);
        ASSERT_GE(rate, 0) << keys << " keys, " << millibits;
        ASSERT_LE(rate, 1) << keys << " keys, " << millibits;
        // Beyond its reach compact is local, which has no end at 32 bits.
        if (keys > 10000000 && millibits < 32000) {
          ASSERT_GE(rate, last * 0.99) << keys << " keys, " << millibits;
        }
        last = rate;
      }
    }
  }
}

TEST(MillibitsForRate, IsTheFewest) {
  for (const Layout layout : kBuilt) {
    const LayoutRow& row = Row(layout);
    for (const uint64_t keys : {1u, 40u, 300u, 5000u, 60000u, 1000000u}) {
      for (double rate = 0.9; rate > 1e-5; rate *= 0.8) {
        const internal::MillibitsAndRate found =
            MillibitsForRate(&row, keys, rate);
        SCOPED_TRACE(testing::Message()
                     << row.name << ", " << keys << " keys, rate " << rate);
        EXPECT_EQ(found.rate, RateForMillibits(&row, keys, found.millibits));
        if (found.rate > rate) {
          // The hash of classic does not reach it.
          EXPECT_EQ(layout, Layout::kClassic);
          EXPECT_LT(found.millibits, 100000u);
          const double least =
              RateForMillibits(&row, keys, internal::kMaxMillibits);
          EXPECT_GT(least, rate);
          EXPECT_LE(found.rate, 1.1 * least);
          continue;
        }
        if (found.millibits == 0) continue;
        const auto fewer =
            static_cast<uint32_t>(found.millibits - 1 - found.millibits / 1000);
        EXPECT_GT(RateForMillibits(&row, keys, fewer), rate);
      }
    }
  }
}

TEST(Sizing, OfLayouts) {
  const double nan = std::nan("");
  for (const Layout layout : kBuilt) {
    const double bits = BitsPerKeyForRate(layout, 0.001, 100000);
    EXPECT_LE(RateForBitsPerKey(layout, bits, 100000), 0.001);
    EXPECT_GT(RateForBitsPerKey(layout, bits * 0.99, 100000), 0.001);
    EXPECT_EQ(BitsPerKeyForRate(layout, 1, 100000), 0);
    EXPECT_EQ(BitsPerKeyForRate(layout, 2, 100000), 0);
    EXPECT_EQ(BitsPerKeyForRate(layout, 0, 100000), HUGE_VAL);
    EXPECT_EQ(BitsPerKeyForRate(layout, -1, 100000), HUGE_VAL);
    EXPECT_TRUE(std::isnan(BitsPerKeyForRate(layout, nan, 100000)));
    for (const double illegal : {nan, -1.0, 1000.5, HUGE_VAL}) {
      EXPECT_TRUE(std::isnan(RateForBitsPerKey(layout, illegal, 100000)));
    }
  }
  // 32 columns at most; some 2^-32 of the keys share a hash of 32 bits.
  EXPECT_EQ(RateForBitsPerKey(Layout::kCompact, 1000, 100000),
            std::ldexp(1, -32));
  EXPECT_EQ(BitsPerKeyForRate(Layout::kClassic, 1e-4, 10000000), HUGE_VAL);
  EXPECT_EQ(RateForBitsPerKey(Layout::kAuto, 10, 100000),
            RateForBitsPerKey(Layout::kCompact, 10, 100000));
  EXPECT_TRUE(std::isnan(RateForBitsPerKey(static_cast<Layout>(9), 10, 1)));
  EXPECT_TRUE(std::isnan(BitsPerKeyForRate(static_cast<Layout>(9), .1, 1)));
}

}  // namespace
}  // namespace deltabloom
