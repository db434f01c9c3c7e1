// The optional fields key transform and seed: docs/format.md, "What is hashed".
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "tests/csv.h"
#include "util/coding.h"
#include "util/hash.h"

namespace deltabloom::internal {
namespace {

constexpr uint32_t kLowercase = 0x7802baa7;  // ascii_lowercase@1
constexpr SipHashKey kSeed{0x0706050403020100, 0x0f0e0d0c0b0a0908};

HashedKeys Keys(bool transformed, bool seeded) {
  HashedKeys keys;
  keys.transformed = transformed;
  if (transformed) keys.transform_id = kLowercase;
  keys.seeded = seeded;
  if (seeded) keys.seed = kSeed;
  return keys;
}

std::string Seeded(const std::string& key) {
  char bytes[kSeededKeySize];
  SeededKey(kSeed, key, bytes);
  return std::string(bytes, sizeof(bytes));
}

// Of keys as the layout hashes them.
std::string SealedFilterOf(const std::vector<std::string>& keys,
                           const SealOptions& seal,
                           Layout layout = Layout::kClassic) {
  FilterOptions options;
  options.layout = layout;
  FilterBuilder builder(options);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string filter;
  if (!keys.empty()) builder.Finish(&filter);
  uint8_t last_byte = kEmptyLastByte;
  if (!filter.empty()) {
    last_byte = static_cast<uint8_t>(filter.back());
    filter.pop_back();
  }
  const size_t payload_size = filter.size();
  filter.resize(payload_size + SealedFramingSize(seal));
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, last_byte,
       seal);
  return filter;
}

TEST(HashedKeys, WorkedExamples) {
  EXPECT_EQ(SealedFilterOf({"a"}, {2, false, Keys(true, false)}),
            test::FromHex("0000000000004992"
                          "a7ba0278"
                          "ce626c4d010202496d32c90000000006"));
  EXPECT_EQ(SealedFilterOf({Seeded("a")}, {2, false, Keys(false, true)}),
            test::FromHex("00200002a0000880"
                          "000102030405060708090a0b0c0d0e0f"
                          "ce626c4d010102241c16700000000006"));
  EXPECT_EQ(SealedFilterOf({Seeded("a")}, {2, true, Keys(true, true)}),
            test::FromHex("00200002a0000880"
                          "d69a35d6f0a8caa0"
                          "a7ba0278"
                          "000102030405060708090a0b0c0d0e0f"
                          "ce626c4d010702ef5e90610000000006"));
}

TEST(HashedKeys, SeededKeyIsSipHashInLittleEndian) {
  EXPECT_EQ(Seeded("a"), test::FromHex("ca4811a7e9e8a32b"));
  for (const auto& row : test::ReadCsv("siphash.csv")) {
    char bytes[kSeededKeySize];
    SeededKey(LoadSipHashKey(test::FromHex(row[0]).data()),
              test::FromHex(row[1]), bytes);
    EXPECT_EQ(LoadFixed64(bytes), std::stoull(row[2], nullptr, 16));
  }
}

// Every combination of fields, of every layout, and without keys.
TEST(HashedKeys, RoundTrip) {
  for (unsigned fields = 0; fields < 8; ++fields) {
    const HashedKeys keys = Keys((fields & 2) != 0, (fields & 1) != 0);
    const SealOptions seal{7, (fields & 4) != 0, keys};
    EXPECT_EQ(SealedFramingSize(seal),
              kSealedFramingSize + (keys.seeded ? 16u : 0u) +
                  (keys.transformed ? 4u : 0u) + (fields >= 4 ? 8u : 0u));
    for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
      for (int count : {0, 1, 2000}) {
        std::vector<std::string> added;
        for (int i = 0; i < count; ++i) added.push_back(std::to_string(i));
        const std::string filter = SealedFilterOf(added, seal, layout);
        EXPECT_EQ(filter[filter.size() - 11], static_cast<char>(fields));
        ParsedFilter parsed;
        HashedKeys read;
        std::string why;
        ASSERT_EQ(ParseSealed(filter, ActiveCpu(), &read, &parsed, &why),
                  count == 0 ? FilterKind::kEmpty : FilterKind::kFilter);
        EXPECT_EQ(read.transformed, keys.transformed);
        EXPECT_EQ(read.transform_id, keys.transform_id);
        EXPECT_EQ(read.seeded, keys.seeded);
        EXPECT_EQ(read.seed.low, keys.seed.low);
        EXPECT_EQ(read.seed.high, keys.seed.high);
        EXPECT_EQ(SealedLevel(filter), 7);
        for (const std::string& key : added) {
          EXPECT_TRUE(parsed.may_match(parsed, key));
        }
        if (count != 0) {
          EXPECT_EQ(why.find(", key transform 7802baa7") != std::string::npos,
                    keys.transformed);
          EXPECT_EQ(why.find(", seeded") != std::string::npos, keys.seeded);
        }
        // A reader that cannot map keys.
        ASSERT_EQ(ParseSealed(filter, ActiveCpu(), &parsed, &why),
                  keys.AsTheyAre()
                      ? (count == 0 ? FilterKind::kEmpty : FilterKind::kFilter)
                      : FilterKind::kAlways);
        if (!keys.AsTheyAre()) {
          EXPECT_TRUE(parsed.may_match(parsed, "absent"));
          EXPECT_EQ(why.rfind("always matches: ", 0), 0u) << why;
        }
      }
    }
  }
}

// A changed seed or id would lose nearly every key.
TEST(HashedKeys, EveryFlippedBitOfTheFramingAndEveryTruncationIsNoticed) {
  for (unsigned fields = 1; fields < 8; ++fields) {
    const SealOptions seal{7, (fields & 4) != 0,
                           Keys((fields & 2) != 0, (fields & 1) != 0)};
    const std::string filter = SealedFilterOf({"a", "b"}, seal);
    ParsedFilter parsed;
    HashedKeys keys;
    for (size_t bit = 0; bit < 8 * SealedFramingSize(seal); ++bit) {
      std::string flipped = filter;
      const size_t at = filter.size() - 1 - bit / 8;
      flipped[at] ^= static_cast<char>(1 << bit % 8);
      const bool in_magic = bit / 8 >= 12 && bit / 8 < 16;
      ASSERT_EQ(ParseSealed(flipped, ActiveCpu(), &keys, &parsed, nullptr),
                in_magic ? FilterKind::kForeign : FilterKind::kAlways)
          << "fields " << fields << " bit " << bit << " from the end";
      ASSERT_TRUE(keys.AsTheyAre());
      ASSERT_TRUE(parsed.may_match(parsed, "absent"));
    }
    for (size_t size = 0; size < filter.size(); ++size) {
      for (const std::string& part :
           {filter.substr(0, size), filter.substr(filter.size() - size)}) {
        const FilterKind kind =
            ParseSealed(part, ActiveCpu(), &keys, &parsed, nullptr);
        ASSERT_TRUE(kind == FilterKind::kForeign || kind == FilterKind::kAlways)
            << size;
        ASSERT_TRUE(parsed.may_match(parsed, "absent"));
      }
    }
  }
}

// Flags for fields that the bytes have no room for, with a check that would
// hold for what there is.
TEST(HashedKeys, NoRoomForTheFields) {
  for (unsigned fields = 1; fields < 8; ++fields) {
    const size_t framing = SealedFramingSize(
        {7, (fields & 4) != 0, Keys((fields & 2) != 0, (fields & 1) != 0)});
    for (size_t size = kSealedFramingSize; size < framing; ++size) {
      std::string filter(size, '\0');
      auto* bytes = reinterpret_cast<unsigned char*>(&filter[0]);
      Seal(bytes, size - kSealedFramingSize, 6, SealOptions());
      filter[size - 11] = static_cast<char>(fields);
      std::string covered = filter;
      covered.replace(size - 9, 4, 4, '\0');
      covered.resize(size + 8);
      StoreFixed64(&covered[size], size);
      StoreFixed32(&filter[size - 9],
                   MurmurHash2(covered.data(), covered.size(), 0xde17ab10));
      ParsedFilter parsed;
      HashedKeys keys;
      EXPECT_EQ(ParseSealed(filter, ActiveCpu(), &keys, &parsed, nullptr),
                FilterKind::kAlways)
          << fields << " " << size;
      EXPECT_TRUE(keys.AsTheyAre());
      EXPECT_TRUE(parsed.may_match(parsed, "absent"));
    }
  }
}

// Flags that this version does not know, beside those that it knows, with a
// check that holds.
TEST(HashedKeys, UnknownFlagsMatchEverything) {
  const SealOptions seal{7, true, Keys(true, true)};
  for (unsigned flags = 16; flags < 256; ++flags) {
    std::string filter = SealedFilterOf({"a"}, seal);
    const size_t framing = SealedFramingSize(seal);
    filter[filter.size() - 11] = static_cast<char>(flags);
    std::string covered = filter.substr(filter.size() - framing);
    covered.replace(framing - 9, 4, 4, '\0');
    covered.resize(framing + 8);
    StoreFixed64(&covered[framing], filter.size());
    StoreFixed32(&filter[filter.size() - 9],
                 MurmurHash2(covered.data(), covered.size(), 0xde17ab10));
    ParsedFilter parsed;
    HashedKeys keys;
    EXPECT_EQ(ParseSealed(filter, ActiveCpu(), &keys, &parsed, nullptr),
              FilterKind::kAlways)
        << flags;
    EXPECT_TRUE(keys.AsTheyAre());
    EXPECT_TRUE(parsed.may_match(parsed, "absent"));
  }
}

}  // namespace
}  // namespace deltabloom::internal
