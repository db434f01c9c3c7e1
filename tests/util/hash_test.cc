// The hashes that are on disk: known answers, at any alignment.
#include "util/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/csv.h"
#include "util/hash64.h"
#include "util/siphash.h"

namespace deltabloom::internal {
namespace {

TEST(MurmurHash2, EqualsReference) {
  for (const auto& row : test::ReadCsv("murmurhash2.csv")) {
    const std::string key = test::FromHex(row.at(0));
    const auto seed = static_cast<uint32_t>(std::stoul(row.at(1), nullptr, 16));
    const auto expected =
        static_cast<uint32_t>(std::stoul(row.at(2), nullptr, 16));
    EXPECT_EQ(MurmurHash2(key.data(), key.size(), seed), expected)
        << "key " << row[0] << " seed " << row[1];
  }
}

TEST(Hash64, KnownAnswers) {
  for (const auto& row : test::ReadCsv("hash64.csv")) {
    const std::string key = test::FromHex(row.at(0));
    const uint64_t hash = std::stoull(row.at(1), nullptr, 16);
    SCOPED_TRACE("key " + row[0]);
    EXPECT_EQ(Hash64(key), hash);
    EXPECT_EQ(Hash64AnySize(key.data(), key.size()), hash);
    EXPECT_EQ(Remix64(hash, 0), std::stoull(row.at(2), nullptr, 16));
    EXPECT_EQ(Remix64(hash, 1), std::stoull(row.at(3), nullptr, 16));
  }
}

TEST(Hash64, ReadsAtAnyAlignmentAndNothingElse) {
  for (size_t size = 0; size <= 130; ++size) {
    std::string key(size, '\0');
    for (size_t i = 0; i < size; ++i) key[i] = static_cast<char>(37 * i + 1);
    const uint64_t expected = Hash64(key);
    for (size_t shift = 0; shift < 8; ++shift) {
      // A heap block that ends with the key: a sanitizer sees reads beyond.
      const std::unique_ptr<char[]> block(new char[shift + size]);
      std::copy(key.begin(), key.end(), block.get() + shift);
      EXPECT_EQ(Hash64(block.get() + shift, size), expected) << size;
      EXPECT_EQ(Hash64AnySize(block.get() + shift, size), expected) << size;
      for (size_t bits = 1; size >= 8 && bits <= 8 * size; ++bits) {
        std::string prefix = key.substr(0, (bits + 7) / 8);
        prefix.back() &= static_cast<char>(0xff00 >> ((bits - 1) % 8 + 1));
        ASSERT_EQ(Hash64OfBits(block.get() + shift, bits), Hash64(prefix))
            << bits << " bits of " << size << " bytes";
      }
    }
  }
}

TEST(Hash64, PortableProductEqualsTheCompilers) {
  const uint64_t edges[] = {
      0, 1, 2, 0xffffffff, uint64_t{1} << 32, ~uint64_t{0}, ~uint64_t{0} << 32};
  const auto expect_equal = [](uint64_t a, uint64_t b) {
    const Pair64 portable = Multiply128Portable(a, b);
    EXPECT_EQ(portable.low, Multiply128(a, b).low) << a << " * " << b;
    EXPECT_EQ(portable.high, Multiply128(a, b).high) << a << " * " << b;
  };
  for (uint64_t a : edges) {
    for (uint64_t b : edges) expect_equal(a, b);
  }
  for (uint64_t i = 0; i < 10000; ++i)
    expect_equal(Remix64(i, 0), Remix64(i, 1));
}

// The 64 vectors of the reference implementation of SipHash-2-4
// (github.com/veorq/SipHash, vectors.h) and longer data under other keys, all
// computed with OpenSSL's SIPHASH.
TEST(SipHash, KnownAnswers) {
  const auto rows = test::ReadCsv("siphash.csv");
  ASSERT_EQ(rows.size(), 68u);
  for (const auto& row : rows) {
    const SipHashKey key = LoadSipHashKey(test::FromHex(row[0]).data());
    EXPECT_EQ(SipHash(key, test::FromHex(row[1])),
              std::stoull(row[2], nullptr, 16))
        << row[0] << " " << row[1];
  }
}

}  // namespace
}  // namespace deltabloom::internal
