// Payloads as docs/format.md defines them: every field of the sizes, right or
// wrong, has its answer, and no lookup leaves the payload. Construction: bytes
// equal the naive reference's at every level, every threshold and more than one
// seed come up, and no input breaks it.
#include "util/layouts/compact/compact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/layouts/compact_hashes.h"
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::compact::kRow;
using reference::CompactBlocks;
using test::Build;
using test::PayloadSize;
using test::Random;
using test::Reader;

const uint64_t kSeed = test::SeedOr(20260502);
constexpr char kMarker = static_cast<char>(internal::compact::kMarker);

struct Counts {
  unsigned valid = 0;
  unsigned malformed = 0;
};

// Compares parse and answers with the reference for a payload of any bytes.
void Check(const std::string& bytes, Random* random, Counts* counts) {
  const bool valid = reference::CompactIsValid(bytes);
  ++(valid ? counts->valid : counts->malformed);
  for (Cpu level : test::AllLevels()) {
    const Reader reader(kRow, level, bytes + kMarker);
    ASSERT_EQ(reader.valid(), valid) << testing::PrintToString(bytes);
    if (!valid) continue;
    for (int i = 0; i < 8; ++i) {
      const std::string key = random->Key(random->Below(40));
      const bool expected =
          reference::CompactMayMatch(bytes, internal::Hash64(key));
      ASSERT_EQ(reader.MayMatch(key), expected);
      ASSERT_EQ(reader.MayMatchHash(key), expected);
      ASSERT_EQ(reader.MayMatchMany({key, key, key}, 0, 3)[2], expected);
    }
    // The lowest and the highest places.
    for (uint64_t hash : {uint64_t{0}, ~uint64_t{0}}) {
      ASSERT_EQ(kRow.may_match_hash(reader.parsed(), hash),
                reference::CompactMayMatch(bytes, hash));
    }
  }
}

std::string WithSizes(Random* random, size_t size, uint64_t blocks0,
                      uint64_t blocks1, unsigned last, unsigned seed) {
  std::string bytes = random->Key(size);
  if (size < 8) return bytes;
  internal::StoreFixed32(&bytes[size - 8], static_cast<uint32_t>(blocks0));
  internal::StoreFixed32(
      &bytes[size - 4],
      static_cast<uint32_t>(blocks1 | last << 24 | seed << 28));
  return bytes;
}

TEST(CompactFormat, EverySmallPayloadWithEverySmallField) {
  Random random(kSeed);
  Counts counts;
  for (size_t size = 0; size <= 150; ++size) {
    for (uint64_t blocks0 = 0; blocks0 <= 6; ++blocks0) {
      for (uint64_t blocks1 = 0; blocks1 <= 3; ++blocks1) {
        for (unsigned last = 0; last <= 3; ++last) {
          const auto seed = static_cast<unsigned>(random.Below(16));
          Check(WithSizes(&random, size, blocks0, blocks1, last, seed), &random,
                &counts);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(counts.valid, 500u);
  EXPECT_GT(counts.malformed, 10000u);
}

TEST(CompactFormat, EveryBitOfTheSizesAndEveryOtherLength) {
  Random random(kSeed);
  Counts counts;
  const CompactBlocks shapes[] = {{3, 0, 0}, {9, 1, 0}, {40, 5, 2}};
  for (const CompactBlocks& blocks : shapes) {
    const uint64_t n = blocks[0] * 55;
    const std::string payload =
        Build(test::RandomHashes(&random, n), blocks, PayloadSize(blocks, 7, 2),
              Cpu::kPortable);
    ASSERT_FALSE(payload.empty());
    for (size_t bit = 0; bit < 64; ++bit) {
      std::string changed = payload;
      char& byte = changed[changed.size() - 8 + bit / 8];
      byte = static_cast<char>(byte ^ 1 << (bit % 8));
      Check(changed, &random, &counts);
    }
    const std::string sizes = payload.substr(payload.size() - 8);
    for (size_t size = 0; size < payload.size() + 300; ++size) {
      Check(random.Key(size) + sizes, &random, &counts);
      Check(payload.substr(0, size), &random, &counts);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.valid, 100u);
}

TEST(CompactFormat, LargestFieldsAreNoLargePayload) {
  Random random(kSeed);
  Counts counts;
  for (size_t size : {size_t{8}, size_t{1000}, size_t{100000}}) {
    Check(WithSizes(&random, size, 0xffffffff, 0xffffff, 15, 15), &random,
          &counts);
    Check(WithSizes(&random, size, 0xffffffff, 0, 0, 0), &random, &counts);
    Check(WithSizes(&random, size, 1, 0xffffff, 15, 15), &random, &counts);
    Check(WithSizes(&random, size, 1, 1, 15, 15), &random, &counts);
  }
  EXPECT_EQ(counts.valid, 0u);
}

TEST(CompactFormat, RandomBytesOfEveryWidth) {
  Random random(kSeed);
  Counts counts;
  for (uint64_t columns = 1; columns <= 32; ++columns) {
    for (int round = 0; round < 30; ++round) {
      const unsigned last = static_cast<unsigned>(random.Below(3));
      const uint64_t blocks1 = last > 0 ? 1 + random.Below(5) : random.Below(5);
      const uint64_t blocks0 = 1 + random.Below(20);
      const CompactBlocks blocks = {blocks0, blocks1,
                                    last == 0 ? 0 : uint64_t{1} << (last - 1)};
      const uint64_t all = blocks[0] + blocks[1] + blocks[2] + 1;
      const uint64_t missing = columns == 1 ? 0 : random.Below(all);
      Check(WithSizes(&random, PayloadSize(blocks, columns, missing), blocks0,
                      blocks1, last, static_cast<unsigned>(round) % 16),
            &random, &counts);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(counts.malformed, 0u);
}

TEST(CompactFormat, WorkedExample) {
  std::string expected(72, '\0');
  expected[8] = 8;
  expected[39] = 1;
  expected[64] = 2;
  std::vector<uint64_t> hashes;
  for (const char* key : {"a", "b", "c"}) {
    hashes.push_back(internal::Hash64(key));
  }
  EXPECT_EQ(hashes[0], 0x06cbb0de196fba55);
  EXPECT_EQ(hashes[2], 0xf0b2af92af34d94e);
  for (Cpu level : test::AllLevels()) {
    const std::string bytes = Build(hashes, {2, 0, 0}, 72, level);
    EXPECT_EQ(bytes, expected);
    const Reader reader(kRow, level, bytes + kMarker);
    ASSERT_TRUE(reader.valid());
    for (const char* key : {"a", "b", "c", "f"}) {
      EXPECT_TRUE(reader.MayMatch(key)) << key;
    }
    EXPECT_FALSE(reader.MayMatch("d"));
  }
}

TEST(CompactFormat, SizesRoundTrip) {
  Random random(kSeed);
  for (int i = 0; i < 10000; ++i) {
    const auto shape = internal::compact::ShapeOfBlocks(
        {1 + random.Below(0xffffffff), 1 + random.Below(0xffffff),
         uint64_t{1} << random.Below(15)},
        static_cast<unsigned>(random.Below(16)));
    unsigned char bytes[8];
    internal::compact::StoreSizes(shape.value(), bytes);
    const auto read = internal::compact::LoadSizes(bytes);
    for (int j = 0; j < 3; ++j) {
      ASSERT_EQ(read.value().layer_blocks[j], shape->layer_blocks[j]);
    }
    ASSERT_EQ(read->seed, shape->seed);
  }
}

struct Seen {
  std::set<unsigned> thresholds;
  std::set<unsigned> seeds;
  unsigned built = 0;
  unsigned gave_up = 0;

  void Note(const std::string& payload, const CompactBlocks& blocks) {
    if (payload.empty()) {
      ++gave_up;
      return;
    }
    ++built;
    seeds.insert(static_cast<unsigned char>(payload.back()) >> 4);
    const uint64_t fixed = reference::CompactFixedBytes(blocks);
    for (size_t i = payload.size() - fixed; i + 8 < payload.size(); ++i) {
      for (unsigned j = 0; j < 8; j += 2) {
        thresholds.insert(static_cast<unsigned char>(payload[i]) >> j & 3);
      }
    }
  }
};

void Compare(const std::vector<uint64_t>& hashes, const CompactBlocks& blocks,
             uint64_t payload_size, Seen* seen) {
  const std::string expected =
      reference::BuildCompact(hashes, blocks, payload_size);
  for (Cpu level : test::AllLevels()) {
    ASSERT_TRUE(Build(hashes, blocks, payload_size, level) == expected)
        << hashes.size() << " hashes, blocks " << blocks[0] << " " << blocks[1]
        << " " << blocks[2] << ", payload size " << payload_size << ", level "
        << internal::CpuName(level);
  }
  seen->Note(expected, blocks);
}

TEST(CompactBuild, EqualsReferenceInAnyShape) {
  constexpr CompactBlocks kShapes[] = {
      {1, 0, 0}, {2, 0, 0}, {5, 0, 0},  {1, 1, 0},  {4, 1, 0},  {7, 3, 0},
      {1, 1, 1}, {9, 2, 1}, {33, 4, 2}, {70, 9, 4}, {130, 6, 1}};
  Random random(kSeed);
  Seen seen;
  for (const CompactBlocks& blocks : kShapes) {
    const uint64_t rows = (blocks[0] + blocks[1] + blocks[2] + 1) * 64;
    for (uint64_t columns : {1u, 2u, 7u, 8u, 9u, 16u, 17u, 32u}) {
      // The rows go from loose to too full, which the reference takes long to
      // find out.
      for (uint64_t percent : {0u, 1u, 30u, 80u, 90u, 96u, 100u}) {
        if (percent == 100 && rows > 400) continue;
        const uint64_t missing = columns == 1 ? 0 : random.Below(rows / 64);
        Compare(test::RandomHashes(&random, rows * percent / 100), blocks,
                PayloadSize(blocks, columns, missing), &seen);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(seen.thresholds.size(), 3u);
  EXPECT_GT(seen.seeds.size(), 3u);
  EXPECT_GT(seen.built, 300u);
  EXPECT_GT(seen.gave_up, 30u);
}

TEST(CompactBuild, SizesEqualReference) {
  Random random(kSeed);
  const auto check = [](uint64_t keys) {
    const auto shape = internal::compact::ShapeFor(keys);
    const CompactBlocks expected = reference::CompactBlocksFor(keys);
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(shape ? shape->layer_blocks[i] : 0, expected[i])
          << keys << " keys";
    }
  };
  for (uint64_t keys = 0; keys < 20000; ++keys) check(keys);
  for (int i = 0; i < 20000; ++i) check(random.Next() >> random.Below(64));
  check(~uint64_t{0});
  EXPECT_EQ(
      internal::compact::ShapeFor(uint64_t{1} << 35).value().layer_blocks[2],
      16384u);
}

TEST(CompactBuild, OrderDoesNotMatter) {
  Random random(kSeed);
  std::vector<uint64_t> hashes = test::RandomHashes(&random, 30000);
  const CompactBlocks blocks = reference::CompactBlocksFor(hashes.size());
  const uint64_t size = PayloadSize(blocks, 9, 11);
  const std::string payload = Build(hashes, blocks, size, Cpu::kPortable);
  ASSERT_FALSE(payload.empty());
  std::sort(hashes.begin(), hashes.end());
  EXPECT_TRUE(Build(hashes, blocks, size, Cpu::kPortable) == payload);
  std::reverse(hashes.begin(), hashes.end());
  EXPECT_TRUE(Build(hashes, blocks, size, Cpu::kPortable) == payload);
}

TEST(CompactBuild, DuplicatesTakeNoRoom) {
  Random random(kSeed);
  Seen seen;
  for (size_t different : {1u, 2u, 100u, 5000u}) {
    std::vector<uint64_t> hashes = test::RandomHashes(&random, different);
    for (size_t i = 0; hashes.size() < 20000; ++i) hashes.push_back(hashes[i]);
    const CompactBlocks blocks = reference::CompactBlocksFor(hashes.size());
    Compare(hashes, blocks, PayloadSize(blocks, 7), &seen);
  }
  EXPECT_EQ(seen.gave_up, 0u);
}

// Keys that all begin at the right end of one bucket: nothing of it stays.
TEST(CompactBuild, BumpsACrowdedBucketWhole) {
  Random random(kSeed);
  Seen seen;
  const CompactBlocks blocks = reference::CompactBlocksFor(20000);
  const uint64_t one_start = ~uint64_t{0} / (blocks[0] * 64);
  std::vector<uint64_t> hashes = test::RandomHashes(&random, 15000);
  for (int i = 0; i < 130; ++i) {
    const uint64_t start = 128 * 33 + 100 + random.Below(28);
    hashes.push_back(one_start * start + random.Below(one_start));
  }
  Compare(hashes, blocks, PayloadSize(blocks, 7), &seen);
  EXPECT_EQ(seen.seeds, std::set<unsigned>{0});
  EXPECT_EQ(seen.thresholds.count(3), 1u);
}

// Hashes that share all of their high bits have one start; another seed parts
// them.
TEST(CompactBuild, PartsCollidingHashesByAnotherSeed) {
  Seen seen;
  for (uint64_t step : {uint64_t{1}, uint64_t{1} << 20}) {
    std::vector<uint64_t> hashes(20000);
    for (size_t i = 0; i < hashes.size(); ++i) hashes[i] = i * step;
    const CompactBlocks blocks = reference::CompactBlocksFor(hashes.size());
    Compare(hashes, blocks, PayloadSize(blocks, 7), &seen);
  }
  EXPECT_EQ(seen.seeds, std::set<unsigned>{1});
}

// A build leaves the hashes when it gives up, and when it is asked to keep
// them.
TEST(CompactBuild, GivesHashesBack) {
  Random random(kSeed);
  const CompactBlocks blocks = reference::CompactBlocksFor(10000);
  const uint64_t size = PayloadSize(blocks, 7);
  for (const size_t keys : {10000u, 20000u}) {
    std::vector<uint64_t> hashes = test::RandomHashes(&random, keys);
    for (const bool keep : {true, false}) {
      std::vector<unsigned char> payload(size);
      internal::HashList list = test::ListOf(hashes);
      const bool built = internal::compact::BuildShape(
          &list, keep, test::ShapeOf(blocks, size), Cpu::kPortable,
          payload.data());
      EXPECT_EQ(built, keys == 10000);
      std::sort(hashes.begin(), hashes.end());
      EXPECT_EQ(test::HashesIn(list) == hashes, keep || !built);
    }
  }
}

// The memory that building takes, as numbers: it decides which layout
// max_build_bytes allows. adversarial_test.cc compares it with what the
// allocator saw.
TEST(CompactBuild, BuildBytesKnownAnswers) {
  // 100,000 keys have 101,056 rows: each of them takes 8 bytes and a
  // fingerprint of 1, 2 or 4.
  static_assert(1039232 - 938176 == 101056 && 1241344 - 1039232 == 2 * 101056);
  const struct {
    uint64_t keys;
    uint32_t millibits;
    uint64_t build_bytes;
    uint64_t late_build_bytes;
  } kKnown[] = {
      {1000, 10000, 28304, 12288},
      {100000, 3000, 1803920, 938176},
      {100000, 7900, 1803920, 938176},
      {100000, 10000, 1904976, 1039232},
      {100000, 16000, 1904976, 1039232},
      {100000, 20000, 2107088, 1241344},
      {10000000, 10000, 185928576, 103528576},
  };
  for (const auto& known : kKnown) {
    const internal::Plan plan = internal::PlanFilter(
        internal::FindLayoutOfName("compact"), known.keys, known.millibits);
    ASSERT_STREQ(plan.layout->name, "compact");
    EXPECT_EQ(plan.build_bytes, known.build_bytes)
        << known.keys << ", " << known.millibits;
    EXPECT_EQ(plan.late_build_bytes, known.late_build_bytes)
        << known.keys << ", " << known.millibits;
  }
}

}  // namespace
}  // namespace deltabloom
