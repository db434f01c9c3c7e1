// SipHash-2-4 against the 64 vectors of its reference implementation
// (github.com/veorq/SipHash, vectors.h) and longer data under other keys, all
// computed with OpenSSL's SIPHASH.
#include "util/siphash.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/csv.h"

namespace deltabloom::internal {
namespace {

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

TEST(SipHash, AnyAlignment) {
  const SipHashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string data;
  for (int i = 0; i < 40; ++i) data.push_back(static_cast<char>(7 * i));
  for (size_t at = 0; at < 16; ++at) {
    const std::string moved = std::string(at, 'x') + data;
    EXPECT_EQ(SipHash(key, std::string_view(moved).substr(at)),
              SipHash(key, data));
  }
}

TEST(SipHash, EveryBitOfTheKeyCounts) {
  std::string bytes(kSipHashKeySize, '\x5a');
  const uint64_t hash = SipHash(LoadSipHashKey(bytes.data()), "key");
  for (size_t bit = 0; bit < 8 * kSipHashKeySize; ++bit) {
    std::string other = bytes;
    other[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const SipHashKey key = LoadSipHashKey(other.data());
    EXPECT_NE(SipHash(key, "key"), hash) << bit;
    std::string stored(kSipHashKeySize, '\0');
    StoreSipHashKey(stored.data(), key);
    EXPECT_EQ(stored, other);
  }
}

}  // namespace
}  // namespace deltabloom::internal
