// seeded=true: filters that nobody can choose keys for, and the attack on
// filters without a seed that makes one want them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom::testing {
namespace {

using internal::NewBitsBuilder;
using internal::NewBitsReader;

PolicyPtr Policy(const std::string& layout, bool seeded) {
  return PolicyFromString("id=deltabloom:10:" + layout +
                          ";seeded=" + (seeded ? "true" : "false"));
}

std::string Build(const rocksdb::FilterPolicy& policy,
                  const std::vector<std::string>& keys) {
  const auto builder = NewBitsBuilder(policy);
  for (const std::string& key : keys) builder->AddKey(key);
  std::unique_ptr<const char[]> owner;
  const std::string filter = builder->Finish(&owner).ToString();
  EXPECT_TRUE(builder->MaybePostVerify(filter).ok());
  return filter;
}

size_t Matches(const rocksdb::FilterPolicy& policy, const std::string& filter,
               const std::vector<std::string>& keys) {
  const auto reader = NewBitsReader(policy, filter);
  size_t matches = 0;
  std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::Slice*> pointers;
  for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
  for (size_t begin = 0; begin < keys.size();) {
    // Batches of 0 to 40.
    const size_t n = std::min(begin % 41, keys.size() - begin);
    bool answers[41] = {};
    reader->MayMatch(static_cast<int>(n), &pointers[begin], answers);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(answers[i], reader->MayMatch(slices[begin + i]));
    }
    if (n < keys.size() - begin) {
      matches += reader->MayMatch(slices[begin + n]);
    }
    for (size_t i = 0; i < n; ++i) matches += answers[i];
    begin += n + 1;
  }
  return matches;
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

TEST(AttackTest, KeysThatCollideUnderTheUnkeyedHash) {
  for (const std::string& key : CollidingKeys(1000, 12345)) {
    ASSERT_EQ(internal::Hash64(key), 0u);
  }
}

// One chosen key is stored, thousands of others are asked for.
TEST(AttackTest, ChosenKeysPassAFilterWithoutSeedAndNoSeededOne) {
  constexpr size_t kAsked = 20000;
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  std::vector<std::string> stored = test::Random(seed).Keys(5000, 16);
  stored.push_back(CollidingKeys(1, 0)[0]);
  const std::vector<std::string> asked = CollidingKeys(kAsked, 1);
  for (const std::string layout : {"local", "compact"}) {
    SCOPED_TRACE(layout);
    const PolicyPtr unseeded = Policy(layout, false);
    EXPECT_EQ(Matches(*unseeded, Build(*unseeded, stored), asked), kAsked);
    const PolicyPtr seeded = Policy(layout, true);
    const std::string filter = Build(*seeded, stored);
    EXPECT_EQ(Matches(*seeded, filter, stored), stored.size());
    // About 1 %: 200, and six times the binomial error of 14.
    EXPECT_LT(Matches(*seeded, filter, asked), 300u);
  }
}

TEST(AttackTest, RatesOfSeededFiltersAreThoseOfTheLayout) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  const std::vector<std::string> stored = random.Keys(20000, 16);
  const std::vector<std::string> asked = random.Keys(100000, 16);
  for (const std::string layout : {"classic", "local", "compact"}) {
    SCOPED_TRACE(layout);
    const PolicyPtr unseeded = Policy(layout, false);
    const PolicyPtr seeded = Policy(layout, true);
    const std::string filter = Build(*seeded, stored);
    EXPECT_EQ(Matches(*seeded, filter, stored), stored.size());
    const auto with = static_cast<double>(Matches(*seeded, filter, asked));
    const auto without = static_cast<double>(
        Matches(*unseeded, Build(*unseeded, stored), asked));
    // Two samples of a binomial distribution, six times their error; and what
    // the rates of two classic filters may differ by.
    EXPECT_LT(std::abs(with - without),
              6 * std::sqrt(with + without) + 0.15 * without);
  }
}

TEST(SeededTest, BytesBeyondTheSeedAreThoseOfOtherKeys) {
  const PolicyPtr seeded = Policy("local", true);
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(Key(i));
  const std::string filter = Build(*seeded, keys);
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

// Another policy reads it: the seed is in the filter.
TEST(SeededTest, ReadByAnyPolicyOfDeltabloom) {
  const std::string filter = Build(*Policy("compact", true), {"a", "b"});
  for (const bool seeded : {false, true}) {
    EXPECT_EQ(Matches(*Policy("classic", seeded), filter, {"a", "b"}), 2u);
  }
  EXPECT_EQ(Matches(*RocksDBBloom(), filter, {"a", "b", "c", "d"}), 4u);
}

TEST(SeededTest, NoRandomBytesNoFilter) {
  internal::SetRandomSource([](void*, size_t) { return false; });
  EXPECT_EQ(NewBitsBuilder(*Policy("local", true)), nullptr);
  EXPECT_NE(NewBitsBuilder(*Policy("local", false)), nullptr);
  TempDir dir;
  auto db = Open(MakeOptions({Policy("local", true), false, nullptr}),
                 dir.Path("db"));
  Load(db.get(), 0, 100);
  const std::string log = ReadFile(dir.Path("db/LOG"));
  EXPECT_NE(log.find("gives no random bytes for a seed: this table gets no "
                     "filter"),
            std::string::npos);
  internal::SetRandomSource(nullptr);
  const Lookups lookups = GetAll(db.get(), 0, 100);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
  Load(db.get(), 100, 1100);
  ExpectNoneMissed(GetAll(db.get(), 0, 100));
  ExpectFiltered(GetAll(db.get(), 100, 1100), 1000);
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

TEST(SeededTest, Databases) {
  std::vector<std::string> layouts = LayoutNames();
  layouts.push_back("auto");
  for (const std::string& layout : layouts) {
    for (const bool partitioned : {false, true}) {
      SCOPED_TRACE(layout + (partitioned ? " partitioned" : ""));
      TempDir dir;
      const DbConfig config{
          Policy(layout, true), partitioned,
          [](rocksdb::Options*, rocksdb::BlockBasedTableOptions* table) {
            table->detect_filter_construct_corruption = true;
          }};
      auto db = Open(MakeOptions(config), dir.Path("db"));
      Load(db.get(), 0, 3000);
      ExpectFiltered(GetAll(db.get(), 0, 3000), 3000);
      ExpectFiltered(MultiGetAll(db.get(), 0, 3000), 3000);
      db.reset();
      db = Open(MakeOptions(config), dir.Path("db"));
      ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
      ExpectFiltered(GetAll(db.get(), 0, 3000), 3000);
      // The seed is in no OPTIONS.
      EXPECT_EQ(Option(*PolicyIn(db->GetOptions()), "seeded"), "on");
    }
  }
}

TEST(SeededTest, ByCallAndByName) {
  RocksDBFilterOptions options;
  options.seeded = true;
  EXPECT_EQ(Option(*NewRocksDBFilterPolicy(options), "seeded"), "on");
  EXPECT_EQ(Option(*Deltabloom(), "seeded"), "off");
  EXPECT_EQ(Option(*PolicyFromString("id=deltabloom;seeded=1"), "seeded"),
            "on");
  PolicyPtr policy;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), "id=deltabloom;seeded=yes", &policy);
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_NE(status.ToString().find("seeded 'yes' is unknown: use on or off"),
            std::string::npos)
      << status.ToString();
}

}  // namespace
}  // namespace deltabloom::testing
