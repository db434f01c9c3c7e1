// Payloads as docs/format.md defines them: every field of the sizes, right or
// wrong, has its answer, and no lookup leaves the payload.
#include "util/layouts/compact/compact.h"

#include "tests/layouts/compact_hashes.h"
#include "tests/layouts/subject.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::compact::kRow;
using reference::CompactBlocks;
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
        test::Build(test::RandomHashes(&random, n), blocks,
                    test::PayloadSize(blocks, 7, 2), Cpu::kPortable);
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
      Check(
          WithSizes(&random, test::PayloadSize(blocks, columns, missing),
                    blocks0, blocks1, last, static_cast<unsigned>(round) % 16),
          &random, &counts);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(counts.malformed, 0u);
}

// The example of docs/format.md.
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
    const std::string bytes = test::Build(hashes, {2, 0, 0}, 72, level);
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

}  // namespace
}  // namespace deltabloom
