// Builders and readers of filters: what RocksDB may call, what docs/format.md
// requires of bytes of every kind, seeded filters under attack, and filters
// while they are built.
#include "deltabloom/filter.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "engines/rocksdb/policy/memory_charge.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/cache.h"
#include "table/framing.h"
#include "tests/random.h"
#include "tests/rocksdb/delegating_policy.h"
#include "tests/rocksdb/test_db.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/layout_rates.h"
#include "util/siphash.h"
// Newer releases declare the functions of a Cache here.
#if __has_include("rocksdb/advanced_cache.h")
#include "rocksdb/advanced_cache.h"
#endif

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;
using internal::FilterBits;
using internal::LayoutRow;

constexpr uint64_t kFraming = internal::kSealedFramingSize;

class BuilderTest : public ::testing::TestWithParam<std::string> {
 protected:
  static BuilderSettings Settings(bool detect_corruption = false) {
    BuilderSettings settings;
    settings.detect_corruption = detect_corruption;
    settings.layout = internal::FindLayoutOfName(GetParam());
    settings.millibits_per_key = 10000;
    return settings;
  }

  // The filter of these keys, in owner_.
  Slice Build(BitsBuilder* builder, const std::vector<std::string>& keys,
              Status* status = nullptr) {
    for (const std::string& key : keys) builder->AddKey(key);
    return builder->Finish(&owner_, status);
  }

  static int MatchesOf(const Slice& filter,
                       const std::vector<std::string>& keys) {
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    return Matches(reader.get(), keys);
  }

  // Returns how many of the absent keys match; fails unless all of the others
  // do.
  static int FalsePositives(const Slice& filter, int begin, int end) {
    EXPECT_EQ(MatchesOf(filter, Keys(begin, end)), end - begin);
    return MatchesOf(filter, Keys(begin, end, 1));
  }

  std::unique_ptr<const char[]> owner_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, BuilderTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(BuilderTest, OneObjectFinishesManyPartitions) {
  BitsBuilder builder(Settings());
  int begin = 0;
  for (const int size : {1000, 1, 0, 5000, 2}) {
    for (const auto& key : Keys(begin, begin + size)) builder.AddKey(key);
    EXPECT_EQ(builder.EstimateEntriesAdded(), static_cast<size_t>(size));
    Status status = Status::Aborted();
    const Slice filter = builder.Finish(&owner_, &status);
    ASSERT_OK(status);
    ASSERT_OK(builder.MaybePostVerify(filter));
    EXPECT_EQ(builder.EstimateEntriesAdded(), 0u);
    EXPECT_EQ(filter.data(), owner_.get());
    // 10 bits per key, and some layouts have a least size.
    EXPECT_LE(filter.size(), static_cast<size_t>(size) * 10 / 8 + 300);
    if (size == 0) {
      EXPECT_EQ(filter.size(), kFraming);
      EXPECT_EQ(MatchesOf(filter, {"key", ""}), 0);
    }
    // 1 % is expected, with a standard deviation of 7 among 5,000 keys.
    EXPECT_LE(FalsePositives(filter, begin, begin + size), size / 60 + 3);
    // The keys of earlier filters must be gone.
    EXPECT_LE(MatchesOf(filter, Keys(0, begin)), begin / 20);
    begin += size;
  }
}

// Every size that the builder returns counts the optional field.
TEST_P(BuilderTest, PayloadCheckTakesEightBytesAndSeesAFlippedBit) {
  size_t sizes[2] = {};
  for (bool check : {false, true}) {
    BuilderSettings settings = Settings();
    settings.seal.payload_check = check;
    BitsBuilder builder(settings);
    const Slice filter = Build(&builder, Keys(0, 1000));
    sizes[check] = filter.size();
    EXPECT_EQ(builder.CalculateSpace(1000), filter.size());
    EXPECT_GE(builder.ApproximateNumEntries(filter.size()), 1000u);
    EXPECT_LT(builder.ApproximateNumEntries(filter.size() - 1), 1000u);
    EXPECT_TRUE(builder.MaybePostVerify(filter).ok());
    std::string flipped = filter.ToString();
    flipped[100] = static_cast<char>(flipped[100] ^ 1);
    EXPECT_EQ(MatchesOf(flipped, Keys(0, 1000, 1)) == 1000, check);
  }
  EXPECT_EQ(sizes[1], sizes[0] + 8);
}

// Call by call: a key that AddKeyAndAlt leaves out must be in through another
// call.
TEST_P(BuilderTest, DropsNeighbours) {
  BitsBuilder builder(Settings());
  struct Call {
    const char* key;
    const char* alt;  // null: AddKey
    size_t entries;   // afterwards
  };
  for (const Call& call : std::initializer_list<Call>{
           {"a", nullptr, 1},
           {"b", "a", 2},      // the alt is the key before
           {"c", "c", 3},      // each other
           {"ca", "c", 4},     // the alt before
           {"ca", "d", 5},     // the key before
           {"cb", "d", 6},     // the alt before, and no key
           {"d", "e", 7},      // the key is the alt before
           {"d", nullptr, 7},  // the key before
           {"e", nullptr, 8},  // not compared with the alt before
           {"f", "g", 10},
       }) {
    if (call.alt == nullptr) {
      builder.AddKey(call.key);
    } else {
      builder.AddKeyAndAlt(call.key, call.alt);
    }
    EXPECT_EQ(builder.EstimateEntriesAdded(), call.entries) << call.key;
  }
  EXPECT_EQ(MatchesOf(builder.Finish(&owner_),
                      {"a", "b", "c", "ca", "cb", "d", "e", "f", "g"}),
            9);
  // Repetitions across Finish are keys of the next filter.
  builder.AddKeyAndAlt("f", "g");
  EXPECT_EQ(builder.EstimateEntriesAdded(), 2u);
}

TEST_P(BuilderTest, ApproximateNumEntriesFits) {
  BitsBuilder builder(Settings());
  for (const size_t bytes :
       {0u, 1u, 15u, 16u, 17u, 100u, 512u, 4096u, 1u << 20}) {
    const size_t entries = builder.ApproximateNumEntries(bytes);
    if (entries > 0) {
      EXPECT_LE(builder.CalculateSpace(entries), bytes);
    }
    EXPECT_GT(builder.CalculateSpace(entries + 1), bytes);
  }
  // Sized right, not merely small.
  EXPECT_GT(builder.ApproximateNumEntries(4096), 3000u);
  // Above every size: still fits the 32 bits that RocksDB keeps.
  EXPECT_LE(builder.ApproximateNumEntries(~size_t{0}), 0xffffffffu);
  EXPECT_GT(builder.ApproximateNumEntries(~size_t{0}), 0x7fffffffu);
  for (const uint32_t millibits : {500u, 1'000'000u}) {
    BuilderSettings settings = Settings();
    settings.millibits_per_key = millibits;
    const size_t entries = BitsBuilder(settings).ApproximateNumEntries(4096);
    EXPECT_GT(entries, 0u);
    EXPECT_LE(entries, 0xffffffffu);
  }
}

TEST_P(BuilderTest, EstimatedRateFallsWithBytes) {
  BitsBuilder builder(Settings());
  EXPECT_EQ(builder.EstimatedFpRate(0, 0), 0);
  EXPECT_EQ(builder.EstimatedFpRate(1, 16), 1);
  EXPECT_EQ(builder.EstimatedFpRate(1000, 1250 + 16),
            RateForMillibits(Settings().layout, 1000, 10000));
  EXPECT_LT(builder.EstimatedFpRate(1000, 2000), 0.001);
  EXPECT_GT(builder.EstimatedFpRate(1000, 100), 0.5);
  EXPECT_LT(builder.EstimatedFpRate(1000, 1000000), 0.001);
}

// All builders of a policy give one warning, of more keys than docs/guide.md
// says (20 million; fewer here).
TEST(BuilderWarningTest, ManyKeysOfClassic) {
  LayoutRow classic = *internal::FindLayoutOfName("classic");
  classic.many_keys = 50;
  LineLogger log;
  BuilderSettings settings;
  settings.layout = &classic;
  settings.millibits_per_key = 10000;
  settings.log = &log;
  for (const int keys : {50, 51, 52}) {
    BitsBuilder builder(settings);
    for (const std::string& key : Keys(0, keys)) builder.AddKey(key);
    std::unique_ptr<const char[]> owner;
    builder.Finish(&owner);
    EXPECT_EQ(log.lines.size(), keys == 50 ? 0u : 1u);
  }
  EXPECT_CONTAINS(log.lines.at(0), "[deltabloom] 51 keys in one classic");
  EXPECT_CONTAINS(log.lines.at(0), "use another layout or partitioned filters");
}

// A builder in which a test can change hashes, as many as there are.
class DamagedBuilder : public BitsBuilder {
 public:
  using BitsBuilder::BitsBuilder;
  void Damage() {
    const uint64_t hashes = hashes_.size();
    hashes_.Clear();
    while (hashes_.size() < hashes) hashes_.Add(42);
  }
};

TEST_P(BuilderTest, DetectsChangedHashes) {
  DamagedBuilder builder(Settings(/*detect_corruption=*/true));
  for (const auto& key : Keys(0, 100)) builder.AddKey(key);
  builder.Damage();
  Status status;
  const Slice filter = builder.Finish(&owner_, &status);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  // A caller that ignores the status loses nothing.
  FalsePositives(filter, 0, 100);
  const Slice sound = Build(&builder, Keys(0, 100), &status);
  ASSERT_OK(status);
  EXPECT_OK(builder.MaybePostVerify(sound));
}

TEST_P(BuilderTest, DetectsFlippedByte) {
  BitsBuilder builder(Settings(/*detect_corruption=*/true));
  const Slice first = Build(&builder, Keys(0, 1000));
  const std::string sound = first.ToString();
  EXPECT_OK(builder.MaybePostVerify(first));
  // The damage is in the payload, and in each byte of the trailer.
  std::vector<size_t> places = {sound.size() / 2};
  for (size_t i = 1; i <= kFraming; ++i) places.push_back(sound.size() - i);
  for (const size_t place : places) {
    ASSERT_EQ(Build(&builder, Keys(0, 1000)).ToString(), sound);
    std::string damaged = sound;
    damaged[place] = static_cast<char>(~damaged[place]);
    EXPECT_TRUE(builder.MaybePostVerify(damaged).IsCorruption()) << place;
  }
  const std::string empty = builder.Finish(&owner_).ToString();
  EXPECT_OK(builder.MaybePostVerify(empty));
  Build(&builder, Keys(0, 10));
  EXPECT_TRUE(builder.MaybePostVerify(empty).IsCorruption());
}

uint64_t AllocatedSize(const LayoutRow& layout, uint64_t keys, bool grows) {
  BuilderSettings settings;
  settings.optimize_for_memory = grows;
  return internal::AllocateFilter(settings, layout, keys, 10'000)
      .plan.payload_size;
}

// A filter never has fewer bits than are set; what the allocator adds depends
// on the allocator.
TEST_P(BuilderTest, OptimizedForMemoryItOnlyGrows) {
  const LayoutRow& layout = *internal::FindLayoutOfName(GetParam());
  for (uint64_t keys = 1; keys < 5000; keys += 37) {
    const uint64_t planned = PlanFilter(&layout, keys, 10'000).payload_size;
    EXPECT_EQ(AllocatedSize(layout, keys, false), planned);
    EXPECT_GE(AllocatedSize(layout, keys, true), planned);
    EXPECT_LE(AllocatedSize(layout, keys, true),
              planned * 4 / 3 + kFraming + 5);
  }
  BuilderSettings settings = Settings();
  settings.optimize_for_memory = true;
  BitsBuilder builder(settings);
  for (int keys = 500; keys < 5000; keys += 370) {
    const Slice filter = Build(&builder, Keys(0, keys));
    EXPECT_LE(FalsePositives(filter, 0, keys), keys / 10);
  }
}

TEST(FilterBufferTest, TakesAllBytesThatTheAllocatorGives) {
  const LayoutRow& classic = *internal::FindLayoutOfName("classic");
  constexpr uint64_t kBlockTrailerSize = 5;  // RocksDB's, after the filter
  constexpr uint64_t kOverhead = kFraming + kBlockTrailerSize;
  for (uint64_t keys = 500; keys < 600; ++keys) {
    const uint64_t wanted =
        PlanFilter(&classic, keys, 10'000).payload_size + kOverhead;
    const std::unique_ptr<char[]> probe(new char[wanted]);
    EXPECT_EQ(AllocatedSize(classic, keys, true),
              malloc_usable_size(probe.get()) - kOverhead)
        << keys;
  }
}

TEST(FilterBitsTest, FitTheLimitOrAreNone) {
  for (const std::string& name : LayoutNames()) {
    const LayoutRow& row = *internal::FindLayoutOfName(name);
    for (const uint64_t keys : {1u, 50u, 500u, 20000u, 1000000u}) {
      for (const uint64_t limit : {uint64_t{1}, uint64_t{16}, uint64_t{81},
                                   keys / 5, keys / 3, keys, keys * 10}) {
        if (limit == 0) continue;
        SCOPED_TRACE(name + ", " + std::to_string(keys) + " keys in " +
                     std::to_string(limit));
        BuilderSettings settings;
        settings.millibits_per_key = 10000;
        settings.max_filter_bytes = limit;
        const FilterBits bits = internal::BitsFor(settings, row, keys);
        const auto size = [&](uint32_t millibits) {
          return PlanFilter(&row, keys, millibits).payload_size + kFraming;
        };
        EXPECT_EQ(bits.lowered, size(10000) > limit);
        if (bits.millibits_per_key == 0) {
          EXPECT_GT(size(2000), limit);
          continue;
        }
        EXPECT_GE(bits.millibits_per_key, 2000u);
        EXPECT_LE(size(bits.millibits_per_key), limit);
        if (bits.lowered) {
          EXPECT_GT(size(bits.millibits_per_key + 1), limit);
        }
      }
    }
  }
}

// Compares the answers of `policy` and of RocksDB's own reader.
void ExpectSameAnswers(const FilterPolicy& policy, const std::string& filter,
                       int keys) {
  static const PolicyPtr builtin = RocksDBBloom();
  const auto ours = NewBitsReader(policy, filter);
  const auto theirs = NewBitsReader(*builtin, filter);
  for (int i = 0; i < keys; ++i) {
    ASSERT_EQ(ours->MayMatch(Key(i)), theirs->MayMatch(Key(i))) << i;
  }
}

TEST(ReaderTest, EveryLengthAndLastByte) {
  const PolicyPtr family = Deltabloom();
  const PolicyPtr own = Deltabloom(10, RocksDBCompatibility::kOwn);
  const std::vector<std::string> keys = Keys(0, 20);
  for (const char fill : {'\0', '\x5a', '\xff'}) {
    for (size_t size = 0; size <= 64; ++size) {
      for (int last = 0; last < 256; ++last) {
        std::string filter(size, fill);
        if (size > 0) filter.back() = static_cast<char>(last);
        // No magic: for RocksDB's reader, unless it would lose keys.
        if (size > 5) {
          ExpectSameAnswers(*family, filter, 10);
        } else {
          EXPECT_EQ(Matches(*family, filter, keys), 20);
        }
        EXPECT_EQ(Matches(*own, filter, keys), 20);
      }
    }
  }
}

// Does the same to bytes with the magic and a right check, so that the last
// byte decides.
TEST(ReaderTest, EveryPayloadSizeAndLastByteSealed) {
  const PolicyPtr policy = Deltabloom();
  const PolicyPtr builtin = RocksDBBloom();
  const std::vector<std::string> keys = Keys(0, 20);
  for (size_t payload = 0; payload <= 48; ++payload) {
    for (int last = 0; last < 256; ++last) {
      std::string filter(payload + kFraming, '\xff');
      internal::Seal(reinterpret_cast<unsigned char*>(filter.data()), payload,
                     static_cast<uint8_t>(last),
                     internal::SealOptions{0, false});
      const int matches = Matches(*policy, filter, keys);
      if (payload == 0 && last == 0) {
        EXPECT_EQ(matches, 0);
      } else if (last <= 30) {
        EXPECT_EQ(matches, 20) << payload << " " << last;
      }
      // RocksDB without Deltabloom reads every key through any of them.
      EXPECT_EQ(Matches(*builtin, filter, keys), 20);
    }
  }
}

TEST_P(BuilderTest, BatchesAnswerAsSingleKeys) {
  for (const bool seeded : {false, true}) {
    const PolicyPtr policy = PolicyFromString("id=deltabloom:10:" + GetParam() +
                                              (seeded ? ";seeded=on" : ""));
    const std::string filter = testing::Build(*policy, Keys(0, 1000));
    const auto reader = NewBitsReader(*policy, filter);
    for (int n = 0; n <= 70; ++n) {
      // Lengths differ within a batch; half of the keys are there.
      std::vector<std::string> keys;
      std::vector<bool> answers;
      for (int i = 0; i < n; ++i) {
        keys.push_back(Key(i * 7 % 2000) +
                       std::string(static_cast<size_t>(i % 5 / 4), 'x'));
        answers.push_back(reader->MayMatch(keys.back()));
      }
      for (const bool before : {false, true}) {
        EXPECT_EQ(MatchBatch(reader.get(), keys, before), answers);
      }
    }
  }
}

TEST(ReaderTest, BatchesOfConstantAnswersAndOfNoKeys) {
  for (const char* text : {"id=deltabloom", "id=deltabloom;statistics=false",
                           "id=deltabloom;seeded=true",
                           "id=deltabloom;key_transform=ascii_lowercase"}) {
    const PolicyPtr policy = PolicyFromString(text);
    for (const auto& [filter, answer] :
         {std::make_pair(Build(*policy, {}), false),
          std::make_pair(Build(*policy, Keys(0, 1000)), true),
          std::make_pair(std::string(3, 'x'), true)}) {
      const auto reader = NewBitsReader(*policy, filter);
      for (const int n : {0, -1}) reader->MayMatch(n, nullptr, nullptr);
      EXPECT_EQ(reader->MayMatch(Key(0)), answer) << text;
      EXPECT_EQ(MatchBatch(reader.get(), std::vector<std::string>(33, Key(0)),
                           !answer),
                std::vector<bool>(33, answer));
    }
  }
}

PolicyPtr Policy(const std::string& layout, bool seeded) {
  return PolicyFromString("id=deltabloom:10:" + layout +
                          ";seeded=" + (seeded ? "true" : "false"));
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

// One chosen key is stored, and thousands of others are looked up.
TEST(SeededTest, ChosenKeysPassAFilterWithoutSeedAndNoSeededOne) {
  constexpr int kLookups = 20000;
  std::vector<std::string> stored = test::FreshRandom().Keys(5000, 16);
  stored.push_back(CollidingKeys(1, 0)[0]);
  const std::vector<std::string> chosen = CollidingKeys(kLookups, 1);
  for (const std::string& key : chosen) ASSERT_EQ(internal::Hash64(key), 0u);
  for (const std::string layout : {"local", "compact"}) {
    SCOPED_TRACE(layout);
    const PolicyPtr unseeded = Policy(layout, false);
    EXPECT_EQ(Matches(*unseeded, Build(*unseeded, stored), chosen), kLookups);
    const PolicyPtr seeded = Policy(layout, true);
    const std::string filter = Build(*seeded, stored);
    EXPECT_EQ(Matches(*seeded, filter, stored), 5001);
    // About 1 %: 200, and six times the binomial error of 14.
    EXPECT_LT(Matches(*seeded, filter, chosen), 300);
  }
}

TEST(SeededTest, BytesBeyondTheSeedAreThoseOfOtherKeys) {
  internal::TheProcess().random_source = [](void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(i);
    }
    return true;
  };
  const std::vector<std::string> keys = Keys(0, 1000);
  const std::string filter = Build(*Policy("local", true), keys);
  internal::TheProcess().random_source = nullptr;
  const internal::SipHashKey seed = SeedOf(filter);
  EXPECT_EQ(seed.low, 0x0706050403020100u);
  EXPECT_EQ(seed.high, 0x0f0e0d0c0b0a0908u);
  std::vector<std::string> mapped;
  for (const std::string& key : keys) {
    std::string bytes(internal::kSeededKeySize, '\0');
    internal::SeededKey(seed, key, &bytes[0]);
    mapped.push_back(bytes);
  }
  const std::string other = Build(*Policy("local", false), mapped);
  const size_t payload = other.size() - kFraming;
  EXPECT_EQ(filter.substr(0, payload), other.substr(0, payload));
  EXPECT_EQ(filter.size(), other.size() + internal::kSipHashKeySize);
}

TEST(SeededTest, EveryBuilderHasItsOwnSeed) {
  const PolicyPtr policy = Policy("compact", true);
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
  internal::TheProcess().random_source = [](void*, size_t) { return false; };
  EXPECT_EQ(NewBitsBuilder(*Policy("local", true)), nullptr);
  EXPECT_NE(NewBitsBuilder(*Policy("local", false)), nullptr);
  TestDb db(Policy("local", true));
  db.Load(0, 100);
  EXPECT_CONTAINS(
      db.Log(), "gives no random bytes for a seed: this table gets no filter");
  internal::TheProcess().random_source = nullptr;
  db.ExpectUnfiltered(0, 100);
  db.Load(100, 1100);
  ExpectNoneMissed(GetAll(db, 0, 100));
  db.ExpectFiltered(100, 1100);
}

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The cache charges memory in units, and some bytes for each entry.
constexpr uint64_t kSlack = kMiB;

class ConstructionChargeTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr int kKeys = 400000;

  BlockBasedTableOptions TableOptions(bool charge) {
    BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.filter_policy = PolicyFromString("deltabloom:10:" + GetParam());
    if (!charge) return table;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 703
    table.cache_usage_options.options_overrides.insert(
        {rocksdb::CacheEntryRole::kFilterConstruction,
         { rocksdb::CacheEntryRoleOptions::Decision::kEnabled }});
#else
    table.reserve_table_builder_memory = true;
#endif
    return table;
  }

  static void AddKeys(rocksdb::FilterBitsBuilder* builder) {
    for (int i = 0; i < kKeys; ++i) {
      builder->AddKey({reinterpret_cast<const char*>(&i), sizeof(i)});
    }
  }

  const std::shared_ptr<rocksdb::Cache> cache_ =
      rocksdb::NewLRUCache(64 * kMiB, 0);
};

INSTANTIATE_TEST_SUITE_P(Layouts, ConstructionChargeTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(ConstructionChargeTest, FollowsABuilder) {
  const auto table = TableOptions(true);
  auto builder = NewBitsBuilder(*table.filter_policy, table);
  const uint64_t hashes =
      uint64_t{kKeys} * internal::FindLayoutOfName(GetParam())->hash_size;
  for (uint64_t filter = 0; filter < 2; ++filter) {
    // Filters that are finished stay charged while the builder lives.
    const uint64_t filters = uint64_t{kKeys} * 10 / 8 * filter;
    AddKeys(builder.get());
    EXPECT_GE(cache_->GetUsage(), hashes + filters);
    EXPECT_LE(cache_->GetUsage(), hashes + filters + kSlack);
    std::unique_ptr<const char[]> owner;
    EXPECT_GT(builder->Finish(&owner).size(), 400000u);
    EXPECT_GE(cache_->GetUsage(), filters + kKeys * 10 / 8);
    // RocksDB gives back late: from three quarters down.
    EXPECT_LE(cache_->GetUsage(), (filters + kKeys * 10 / 8) * 4 / 3 + kSlack);
  }
  builder.reset();
  EXPECT_EQ(cache_->GetUsage(), 0u);
}

// Until the filter is verified they take more memory than the filter.
TEST_P(ConstructionChargeTest, CountsTheHashesThatAreKeptToVerify) {
  auto table = TableOptions(true);
  table.detect_filter_construct_corruption = true;
  const auto builder = NewBitsBuilder(*table.filter_policy, table);
  AddKeys(builder.get());
  std::unique_ptr<const char[]> owner;
  const auto filter = builder->Finish(&owner);
  const uint64_t hashes =
      uint64_t{kKeys} * internal::FindLayoutOfName(GetParam())->hash_size;
  EXPECT_GE(cache_->GetUsage(), hashes + filter.size());
  EXPECT_OK(builder->MaybePostVerify(filter));
}

// The filter is built all the same, and the cache stays within its limit.
TEST_P(ConstructionChargeTest, AbsorbsAStrictLimit) {
  auto table = TableOptions(true);
  const auto full = rocksdb::NewLRUCache(kMiB, 0, true);
  table.block_cache = full;
  auto charged = NewBitsBuilder(*table.filter_policy, table);
  const auto free = NewBitsBuilder(*table.filter_policy, TableOptions(false));
  AddKeys(charged.get());
  AddKeys(free.get());
  EXPECT_EQ(cache_->GetUsage(), 0u);
  EXPECT_GT(full->GetUsage(), kMiB / 2);
  EXPECT_LE(full->GetUsage(), kMiB);
  std::unique_ptr<const char[]> owner;
  std::unique_ptr<const char[]> other_owner;
  EXPECT_EQ(charged->Finish(&owner), free->Finish(&other_owner));
  charged.reset();
  EXPECT_EQ(full->GetUsage(), 0u);
}

#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 703
// RocksDB decides so for its own filters.
TEST(CacheToChargeTest, TheRoleCountsBeforeTheRest) {
  using Decision = rocksdb::CacheEntryRoleOptions::Decision;
  const struct {
    Decision rest;
    Decision role;
    bool charged;
  } cases[] = {{Decision::kDisabled, Decision::kEnabled, true},
               {Decision::kEnabled, Decision::kDisabled, false},
               {Decision::kEnabled, Decision::kFallback, true},
               {Decision::kDisabled, Decision::kFallback, false}};
  BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kMiB, 0);
  EXPECT_EQ(internal::CacheToCharge(table), nullptr);
  for (const auto& c : cases) {
    table.cache_usage_options.options.charged = c.rest;
    table.cache_usage_options
        .options_overrides[rocksdb::CacheEntryRole::kFilterConstruction]
        .charged = c.role;
    EXPECT_EQ(internal::CacheToCharge(table),
              c.charged ? table.block_cache : nullptr);
  }
}
#endif

// Flips a byte of the filter between Finish and MaybePostVerify.
class FlippingBuilder : public DelegatingBuilder {
 public:
  using DelegatingBuilder::DelegatingBuilder;
  using DelegatingBuilder::Finish;

  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override {
    const Slice filter = DelegatingBuilder::Finish(owner, status);
    char& byte = const_cast<char&>(filter.data()[filter.size() / 2]);
    byte = static_cast<char>(~byte);
    return filter;
  }
};

// Parameters: partitioned, layout.
class ConstructionCorruptionTest
    : public ::testing::TestWithParam<std::tuple<bool, std::string>> {};

INSTANTIATE_TEST_SUITE_P(
    Policies, ConstructionCorruptionTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(LayoutNames())));

// If detection is off, the damage loses keys.
TEST_P(ConstructionCorruptionTest, FlushFailsAndWritesNothing) {
  const auto& [partitioned, layout] = GetParam();
  const PolicyPtr policy = std::make_shared<DelegatingPolicy<FlippingBuilder>>(
      PolicyFromString("deltabloom:10:" + layout));
  for (const bool detect : {false, true}) {
    TestDb db(policy, partitioned, [detect](auto*, auto* table) {
      table->detect_filter_construct_corruption = detect;
    });
    for (const auto& key : Keys(0, 1000)) db.Put(key, Value(key));
    const Status status = db->Flush({});
    EXPECT_EQ(status.IsCorruption(), detect) << status.ToString();
    if (!detect) {
      EXPECT_GT(GetAll(db, 0, 1000).missed, 0);
      continue;
    }
    EXPECT_CONTAINS(status.ToString(), "deltabloom: a filter changed");
    std::string files;
    ASSERT_TRUE(db->GetProperty("rocksdb.num-files-at-level0", &files));
    EXPECT_EQ(files, "0");
  }
}

}  // namespace
}  // namespace deltabloom::testing
