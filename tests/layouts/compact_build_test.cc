// Construction: bytes equal the naive reference's at every level, every
// threshold and more than one seed come up, and no input breaks it.
#include "tests/layouts/compact_hashes.h"
#include "tests/layouts/subject.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using reference::CompactBlocks;
using test::Build;
using test::PayloadSize;
using test::Random;

const uint64_t kSeed = test::SeedOr(20260501);

// What the payloads that were compared contain.
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
      // From loose to too full, which the reference takes long to find out.
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

// The order of the hashes must not show.
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

// When it gives up, and when it is asked to keep them.
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
