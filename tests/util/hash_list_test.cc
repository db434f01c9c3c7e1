// The list of hashes: order, growth, memory.
#include "util/hash_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/util/replaced_new.h"

namespace deltabloom::internal {
namespace {

constexpr uint64_t kFirstChunk = 4096;
constexpr uint64_t kLargestChunk = 256 << 10;

// A multiplication by an odd number, so that both halves of a hash differ.
uint64_t HashOf(uint64_t i) { return i * 0x9e3779b97f4a7c15; }

template <typename T>
class HashListTest : public testing::Test {
 protected:
  void Add(uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) list_.Add(HashOf(i));
  }

  std::vector<T> Contents() const {
    std::vector<T> contents;
    list_.template ForEachChunk<T>([&](const T* hashes, size_t n) {
      contents.insert(contents.end(), hashes, hashes + n);
    });
    return contents;
  }

  static std::vector<T> Expected(uint64_t n) {
    std::vector<T> expected;
    for (uint64_t i = 0; i < n; ++i) {
      expected.push_back(static_cast<T>(HashOf(i)));
    }
    return expected;
  }

  HashList list_{sizeof(T)};
};

using HashSizes = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(HashListTest, HashSizes);

TYPED_TEST(HashListTest, KeepsOrderAtEverySize) {
  EXPECT_EQ(this->list_.hash_size(), sizeof(TypeParam));
  for (uint64_t n = 0; n < 5000; ++n) {
    ASSERT_EQ(this->list_.size(), n);
    if (n % 97 == 0 || (n + 1) * sizeof(TypeParam) % kFirstChunk < 16) {
      ASSERT_EQ(this->Contents(), this->Expected(n));
    }
    this->Add(n, n + 1);
  }
  EXPECT_EQ(this->Contents(), this->Expected(5000));
}

TYPED_TEST(HashListTest, UnusedPartStaysSmall) {
  EXPECT_EQ(this->list_.MemorySize(), 0u);
  for (uint64_t n = 1; n <= 5'000'000; ++n) {
    this->list_.Add(n);
    const uint64_t used = n * sizeof(TypeParam);
    const uint64_t memory = this->list_.MemorySize();
    ASSERT_GE(memory, used) << n;
    ASSERT_LE(memory - used, std::max(kFirstChunk, used / 32)) << n;
    ASSERT_LE(memory - used, kLargestChunk) << n;
  }
}

// A vector that doubles holds three times its contents while it copies.
TYPED_TEST(HashListTest, GrowsWithoutCopies) {
  test::ResetPeak();
  const size_t before = test::LiveBytes();
  const size_t allocations = test::Allocations();
  this->Add(0, 3'000'000);
  const size_t used = 3'000'000 * sizeof(TypeParam);
  EXPECT_GE(test::LiveBytes() - before, this->list_.MemorySize());
  EXPECT_LE(test::PeakBytes() - before, used + kLargestChunk + 16384);
  EXPECT_LE(test::LargestBlock(), kLargestChunk);
  EXPECT_LE(test::Allocations() - allocations, 350u);
}

TYPED_TEST(HashListTest, ClearFreesAndStartsAgain) {
  this->Add(0, 100'000);
  const size_t before = test::LiveBytes();
  const uint64_t memory = this->list_.MemorySize();
  this->list_.Clear();
  EXPECT_LE(test::LiveBytes(), before - memory);
  EXPECT_EQ(this->list_.size(), 0u);
  EXPECT_EQ(this->list_.MemorySize(), 0u);
  EXPECT_TRUE(this->Contents().empty());

  this->Add(0, 3000);
  EXPECT_EQ(this->Contents(), this->Expected(3000));
}

TYPED_TEST(HashListTest, ConsumingFreesAsItGoes) {
  using T = TypeParam;
  constexpr uint64_t kHashes = 500'000;
  this->Add(0, kHashes);
  const size_t full = test::LiveBytes();
  uint64_t seen = 0;
  size_t chunks = 0;
  this->list_.template ConsumeChunks<T>([&](const T* hashes, size_t n) {
    // Hashes that were passed to fn are freed, later ones are still there.
    ASSERT_EQ(test::LiveBytes(), full - seen * sizeof(T));
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(hashes[i], static_cast<T>(HashOf(seen + i)));
    }
    seen += n;
    ++chunks;
  });
  EXPECT_EQ(seen, kHashes);
  EXPECT_GT(chunks, 50u);
  EXPECT_EQ(this->list_.size(), 0u);
  EXPECT_EQ(this->list_.MemorySize(), 0u);
  this->Add(0, 10);
  EXPECT_EQ(this->Contents(), this->Expected(10));
}

}  // namespace
}  // namespace deltabloom::internal
