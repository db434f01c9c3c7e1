// seeded=true: filters against keys that an attacker chooses, and the attack on
// filters without a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/key_transforms.h"
#include "table/framing.h"
#include "tests/random.h"
#include "tests/rocksdb/filters.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom::testing {
namespace {

PolicyPtr Policy(const std::string& layout, bool seeded) {
  return PolicyFromString("id=deltabloom:10:" + layout +
                          ";seeded=" + (seeded ? "true" : "false"));
}

// How many match, which batches of 0 to 40 and single lookups agree on.
int MatchesBothWays(const FilterPolicy& policy, const std::string& filter,
                    const std::vector<std::string>& keys) {
  const auto reader = NewBitsReader(policy, filter);
  for (size_t begin = 0; begin < keys.size(); begin += begin % 41 + 1) {
    std::vector<std::string> batch;
    std::vector<bool> answers;
    for (size_t i = begin; i < std::min(begin + begin % 41, keys.size()); ++i) {
      batch.push_back(keys[i]);
      answers.push_back(reader->MayMatch(keys[i]));
    }
    EXPECT_EQ(MatchBatch(reader.get(), batch), answers);
  }
  return Matches(reader.get(), keys);
}

internal::SipHashKey SeedOf(const std::string& filter) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  internal::ParseSealed(filter, internal::ActiveCpu(), &keys, &parsed, nullptr);
  EXPECT_TRUE(keys.seeded);
  return keys.seed;
}

// 16-byte keys whose 64-bit hash is 0. The hash of 16 bytes multiplies two
// words, a and b, and folds the product of (low word xor a constant) with the
// rest; where low is that constant the second product is 0, whatever the rest.
// So any odd a has a b, and a line of arithmetic finds it.
std::vector<std::string> CollidingKeys(size_t n, uint64_t first) {
  std::vector<std::string> keys;
  for (uint64_t a = 2 * first + 1; keys.size() < n; a += 2) {
    uint64_t inverse = a;  // Newton: right bits double with each step
    for (int i = 0; i < 6; ++i) inverse *= 2 - a * inverse;
    const uint64_t b = inverse * (internal::kHash64End ^ 16);
    std::string key(16, '\0');
    internal::StoreFixed64(&key[0], a ^ internal::kHash64Lanes[0]);
    internal::StoreFixed64(&key[8], b ^ internal::kHash64Lanes[1]);
    keys.push_back(key);
  }
  return keys;
}

class AttackTest : public ::testing::Test {
 protected:
  const uint64_t seed_ = test::SeedOfThisRun();
  test::Random random_{seed_};
};

TEST_F(AttackTest, KeysThatCollideUnderTheUnkeyedHash) {
  for (const std::string& key : CollidingKeys(1000, 12345)) {
    ASSERT_EQ(internal::Hash64(key), 0u);
  }
}

// One chosen key is stored, thousands of others are looked up.
TEST_F(AttackTest, ChosenKeysPassAFilterWithoutSeedAndNoSeededOne) {
  constexpr int kLookups = 20000;
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed_));
  std::vector<std::string> stored = random_.Keys(5000, 16);
  stored.push_back(CollidingKeys(1, 0)[0]);
  const std::vector<std::string> chosen = CollidingKeys(kLookups, 1);
  for (const std::string layout : {"local", "compact"}) {
    SCOPED_TRACE(layout);
    const PolicyPtr unseeded = Policy(layout, false);
    EXPECT_EQ(MatchesBothWays(*unseeded, Build(*unseeded, stored), chosen),
              kLookups);
    const PolicyPtr seeded = Policy(layout, true);
    const std::string filter = Build(*seeded, stored);
    EXPECT_EQ(MatchesBothWays(*seeded, filter, stored), 5001);
    // About 1 %: 200, and six times the binomial error of 14.
    EXPECT_LT(MatchesBothWays(*seeded, filter, chosen), 300);
  }
}

TEST_F(AttackTest, RatesOfSeededFiltersAreThoseOfTheLayout) {
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed_));
  const std::vector<std::string> stored = random_.Keys(20000, 16);
  const std::vector<std::string> absent = random_.Keys(100000, 16);
  for (const std::string layout : {"classic", "local", "compact"}) {
    SCOPED_TRACE(layout);
    const PolicyPtr unseeded = Policy(layout, false);
    const PolicyPtr seeded = Policy(layout, true);
    const std::string filter = Build(*seeded, stored);
    EXPECT_EQ(MatchesBothWays(*seeded, filter, stored), 20000);
    const double with = MatchesBothWays(*seeded, filter, absent);
    const double without =
        MatchesBothWays(*unseeded, Build(*unseeded, stored), absent);
    // Two samples of a binomial distribution, six times their error; and what
    // the rates of two classic filters may differ by.
    EXPECT_LT(std::abs(with - without),
              6 * std::sqrt(with + without) + 0.15 * without);
  }
}

TEST(SeededTest, BytesBeyondTheSeedAreThoseOfOtherKeys) {
  const std::vector<std::string> keys = Keys(0, 1000);
  const std::string filter = Build(*Policy("local", true), keys);
  std::vector<std::string> mapped;
  for (const std::string& key : keys) {
    std::string bytes(internal::kSeededKeySize, '\0');
    internal::SeededKey(SeedOf(filter), key, &bytes[0]);
    mapped.push_back(bytes);
  }
  const std::string other = Build(*Policy("local", false), mapped);
  const size_t payload = other.size() - internal::kSealedFramingSize;
  EXPECT_EQ(filter.substr(0, payload), other.substr(0, payload));
  EXPECT_EQ(filter.size(), other.size() + internal::kSipHashKeySize);
}

TEST(SeededTest, EveryBuilderHasItsOwnSeed) {
  const PolicyPtr policy = Policy("auto", true);
  std::set<uint64_t> halves;
  for (int i = 0; i < 200; ++i) {
    const internal::SipHashKey seed = SeedOf(Build(*policy, {"a"}));
    halves.insert(seed.low);
    halves.insert(seed.high);
  }
  EXPECT_EQ(halves.size(), 400u);
}

// The seed is in the filter.
TEST(SeededTest, ReadByAnyPolicyOfDeltabloom) {
  const std::string filter = Build(*Policy("compact", true), {"a", "b"});
  for (const bool seeded : {false, true}) {
    EXPECT_EQ(Matches(*Policy("classic", seeded), filter, {"a", "b"}), 2);
  }
  EXPECT_EQ(Matches(*RocksDBBloom(), filter, {"a", "b", "c", "d"}), 4);
}

TEST(SeededTest, NoRandomBytesNoFilter) {
  internal::SetRandomSource([](void*, size_t) { return false; });
  EXPECT_EQ(NewBitsBuilder(*Policy("local", true)), nullptr);
  EXPECT_NE(NewBitsBuilder(*Policy("local", false)), nullptr);
  TestDb db(Policy("local", true));
  db.Load(0, 100);
  EXPECT_CONTAINS(
      db.Log(), "gives no random bytes for a seed: this table gets no filter");
  internal::SetRandomSource(nullptr);
  db.ExpectUnfiltered(0, 100);
  db.Load(100, 1100);
  ExpectNoneMissed(GetAll(db, 0, 100));
  db.ExpectFiltered(100, 1100);
}

TEST(SeededTest, SourceFillsTheWholeSeed) {
  internal::SetRandomSource([](void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(i);
    }
    return true;
  });
  const internal::SipHashKey seed =
      SeedOf(Build(*Policy("local", true), {"a"}));
  internal::SetRandomSource(nullptr);
  EXPECT_EQ(seed.low, 0x0706050403020100u);
  EXPECT_EQ(seed.high, 0x0f0e0d0c0b0a0908u);
}

}  // namespace
}  // namespace deltabloom::testing
