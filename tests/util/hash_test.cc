// The hashes that are on disk: known answers, and that the 64-bit hash spreads
// the bits of structured keys.
#include "util/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

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

std::string Little(uint64_t value) {
  std::string bytes(8, '\0');
  StoreFixed64(&bytes[0], value);
  return bytes;
}

std::string Big(uint64_t value) {
  std::string bytes = Little(value);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

void ExpectDistinct(std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
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

// No two of the keys share a hash, and every half of the hash collides and
// spreads as random numbers would.
void ExpectRandomLooking(const std::function<std::string(uint64_t)>& key) {
  constexpr uint64_t kKeys = 1 << 18;
  constexpr double kHalves = 4294967296.0;
  std::vector<uint64_t> hashes(kKeys);
  for (uint64_t i = 0; i < kKeys; ++i) hashes[i] = Hash64(key(i));
  ExpectDistinct(hashes);
  const double expected = kKeys * (kKeys / kHalves) / 2;
  for (int shift = 0; shift <= 32; shift += 16) {
    SCOPED_TRACE(testing::Message() << "bits from " << shift);
    std::vector<uint32_t> halves;
    std::vector<double> buckets(4096);
    for (uint64_t hash : hashes) {
      halves.push_back(static_cast<uint32_t>(hash >> shift));
      buckets[halves.back() >> 20] += 1;
    }
    std::sort(halves.begin(), halves.end());
    double collisions = 0;
    for (size_t i = 1; i < halves.size(); ++i) {
      collisions += halves[i] == halves[i - 1];
    }
    EXPECT_NEAR(collisions, expected, 6 * std::sqrt(expected));
    double chi_square = 0;
    for (double count : buckets) {
      chi_square += (count - kKeys / 4096.0) * (count - kKeys / 4096.0);
    }
    chi_square /= kKeys / 4096.0;
    EXPECT_NEAR(chi_square, 4095, 6 * std::sqrt(2 * 4095.0));
  }
}

TEST(Hash64, SpreadsStructuredKeys) {
  const std::string zeros(47, '\0');
  using I = uint64_t;
  const std::pair<const char*, std::function<std::string(I)>> kSets[] = {
      {"little-endian", Little},
      {"big-endian", Big},
      {"4 bytes", [](I i) { return Little(i).substr(0, 4); }},
      {"7 bytes", [](I i) { return Big(i).substr(1); }},
      {"shifted", [](I i) { return Little(i << 40); }},
      {"decimal", [](I i) { return std::to_string(i); }},
      {"decimal in 16", [](I i) { return std::to_string(i + (1ull << 52)); }},
      {"number and text", [](I i) { return Big(i) + "00000000"; }},
      {"text of 24", [](I i) { return Big(i) + "0000000000000000"; }},
      {"one word twice", [](I i) { return Little(i) + Little(i); }},
      {"word and complement", [](I i) { return Little(i) + Little(~i); }},
      {"two small words",
       [](I i) { return Little(i >> 10) + Little(i & 1023); }},
      {"four small words",
       [](I i) {
         return Little(i % 27) + Little(i / 27 % 27) + Little(i / 729 % 27) +
                Little(i / 19683);
       }},
      {"in 40 zeros",
       [&](I i) { return zeros.substr(0, 16) + Big(i) + zeros.substr(0, 16); }},
      {"in 100 zeros",
       [&](I i) { return zeros.substr(0, 45) + Big(i) + zeros; }},
      {"words",
       [](I i) {
         const char* const kWords[] = {"the", "of",   "user", "order",
                                       "a",   "item", "00",   "price"};
         std::string key;
         for (int part = 0; part < 7; ++part, i /= 8) {
           key += std::string(kWords[i % 8]) + "/";
         }
         return key;
       }},
      {"a set bit in each third of 24 bytes",
       [](I i) {
         return Little(1ull << (i & 63)) + Little(1ull << (i >> 6 & 63)) +
                Little((i >> 12) << 40);
       }},
  };
  for (const auto& [name, key] : kSets) {
    SCOPED_TRACE(name);
    ExpectRandomLooking(key);
  }
}

// A product is 0 for every b when a is 0; a known word of a key can bring
// that about. The other word must still count.
TEST(Hash64, NoWordSwallowsAnother) {
  constexpr uint64_t kKeys = 1 << 16;
  for (uint64_t rest :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 32,
        uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{1}, kHash64End}) {
    for (int lane = 0; lane < 4; ++lane) {
      const std::string fixed =
          Little(kHash64Lanes[static_cast<size_t>(lane)] ^ rest);
      const std::string two_words = Little(7) + Little(8);
      const auto key = [&](uint64_t i) {
        const std::string varied = Little(i);
        const std::string pair =
            lane % 2 == 0 ? fixed + varied : varied + fixed;
        return lane < 2 ? pair : two_words + pair;
      };
      std::vector<uint64_t> hashes;
      for (uint64_t i = 0; i < kKeys; ++i) hashes.push_back(Hash64(key(i)));
      SCOPED_TRACE(testing::Message() << "lane " << lane << " rest " << rest);
      ExpectDistinct(hashes);
    }
  }
}

TEST(Hash64, TellsLengthsApart) {
  for (char fill : {'\0', '\xff', 'a'}) {
    std::vector<uint64_t> hashes;
    for (size_t size = 0; size < 5000; ++size) {
      hashes.push_back(Hash64(std::string(size, fill)));
    }
    ExpectDistinct(hashes);
  }
}

TEST(Hash64, RemixPermutesDifferentlyInEveryStream) {
  std::vector<uint64_t> all;
  for (uint64_t stream = 0; stream < 8; ++stream) {
    for (uint64_t i = 0; i < 1 << 16; ++i) {
      all.push_back(Remix64(i << 30, stream));
    }
  }
  ExpectDistinct(all);
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
