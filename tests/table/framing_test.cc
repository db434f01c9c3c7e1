// Every row of the two tables of answers in docs/format.md, chapter Framings.
#include "table/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "util/coding.h"
#include "util/hash.h"
#include "util/key_batch.h"

namespace deltabloom::internal {
namespace {

constexpr uint8_t kLevel = 2;

FilterKind Raw(const std::string& filter, ParsedFilter* parsed,
               Hash hash = Hash::kMurmurHash2, std::string* why = nullptr) {
  return ParseRaw(filter, hash, ActiveCpu(), parsed, why);
}

FilterKind Sealed(const std::string& filter, ParsedFilter* parsed,
                  std::string* why = nullptr) {
  return ParseSealed(filter, ActiveCpu(), parsed, why);
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  bool many = false;
  MayMatchViews(parsed, &key, 1, &many);
  EXPECT_EQ(parsed.may_match(parsed, key), many);
  return many;
}

std::string RawFilterOf(const std::vector<std::string>& keys,
                        Layout layout = Layout::kClassic) {
  return test::RawFilter(keys, test::OptionsOf(layout));
}

// Of keys as the layout hashes them.
std::string SealedFilterOf(const std::vector<std::string>& keys,
                           const SealOptions& seal,
                           Layout layout = Layout::kClassic) {
  std::string filter;
  uint8_t last_byte = kEmptyLastByte;
  if (!keys.empty()) {
    filter = RawFilterOf(keys, layout);
    last_byte = static_cast<uint8_t>(filter.back());
    filter.pop_back();
  }
  const size_t payload_size = filter.size();
  filter.resize(payload_size + SealedFramingSize(seal));
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, last_byte,
       seal);
  return filter;
}

std::string SealedFilterOf(const std::vector<std::string>& keys,
                           bool payload_check = false,
                           Layout layout = Layout::kClassic) {
  return SealedFilterOf(keys, SealOptions{kLevel, payload_check}, layout);
}

// Changes a byte of a framing of this size and makes the check right again.
std::string Resealed(std::string filter, size_t from_end, char value,
                     size_t framing_size = kSealedFramingSize) {
  filter[filter.size() - from_end] = value;
  std::string covered = filter.substr(filter.size() - framing_size);
  covered.replace(framing_size - 9, 4, 4, '\0');
  covered.resize(framing_size + 8);
  StoreFixed64(&covered[framing_size], filter.size());
  StoreFixed32(&filter[filter.size() - 9],
               MurmurHash2(covered.data(), covered.size(), 0xde17ab10));
  return filter;
}

TEST(RawFraming, WorkedExample) {
  EXPECT_EQ(RawFilterOf({"a"}),
            std::string("\x00\x00\x00\x00\x00\x00\x49\x92\x06", 9));
}

TEST(RawFraming, EveryShortLengthAndLastByte) {
  // Zeroed payloads: a filter that is truly probed answers "absent".
  for (size_t size = 0; size <= 64; ++size) {
    for (int last = 0; last < 256; ++last) {
      SCOPED_TRACE("size " + std::to_string(size) + " last byte " +
                   std::to_string(last));
      std::string filter(size, '\0');
      if (size > 0) filter.back() = static_cast<char>(last);
      ParsedFilter parsed;
      for (Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
        const FilterKind kind = Raw(filter, &parsed, hash);
        if (size <= 1) {
          EXPECT_EQ(kind, FilterKind::kEmpty);
          EXPECT_FALSE(MayMatch(parsed, "key"));
        } else if (last >= 1 && last <= 30) {
          EXPECT_EQ(kind, FilterKind::kFilter);
          EXPECT_FALSE(MayMatch(parsed, "key"));
        } else if (last == 0 || hash == Hash::kLevelDB ||
                   FindLayoutOfLastByte(static_cast<uint8_t>(last), hash) ==
                       nullptr) {
          EXPECT_EQ(kind, FilterKind::kAlways);
          EXPECT_TRUE(MayMatch(parsed, "key"));
        } else {
          MayMatch(parsed, "key");  // another layout: any answer, no crash
        }
        if (size == 0) break;
      }
    }
  }
}

TEST(RawFraming, FullPayloadMatchesEverything) {
  std::string filter(65, '\xff');
  filter.back() = 30;
  ParsedFilter parsed;
  EXPECT_EQ(Raw(filter, &parsed), FilterKind::kFilter);
  EXPECT_TRUE(MayMatch(parsed, ""));
  EXPECT_TRUE(MayMatch(parsed, std::string(1000, '\x80')));
}

TEST(SealedFraming, WorkedExample) {
  EXPECT_EQ(SealedFilterOf({"a"}),
            std::string("\x00\x00\x00\x00\x00\x00\x49\x92"
                        "\xce\x62\x6c\x4d\x01\x00\x02\x15\xc1\x3e\xa7"
                        "\x00\x00\x00\x00\x06",
                        24));
}

TEST(SealedFraming, RoundTrip) {
  const std::string filter = SealedFilterOf({"a", "b", ""});
  ParsedFilter parsed;
  std::string why;
  ASSERT_EQ(Sealed(filter, &parsed, &why), FilterKind::kFilter);
  EXPECT_EQ(why, "classic, 6 probes, 64 bits");
  EXPECT_EQ(SealedLevel(filter), kLevel);
  for (const char* key : {"a", "b", ""}) EXPECT_TRUE(MayMatch(parsed, key));
  EXPECT_FALSE(MayMatch(parsed, "c"));
}

TEST(SealedFraming, NoKey) {
  const std::string filter = SealedFilterOf({});
  ParsedFilter parsed;
  EXPECT_EQ(filter.size(), kSealedFramingSize);
  EXPECT_EQ(Sealed(filter, &parsed), FilterKind::kEmpty);
  EXPECT_FALSE(MayMatch(parsed, "a"));
  for (int last = 1; last < 256; ++last) {
    const std::string odd = Resealed(filter, 1, static_cast<char>(last));
    EXPECT_EQ(Sealed(odd, &parsed), FilterKind::kAlways) << last;
    EXPECT_TRUE(MayMatch(parsed, "a"));
  }
}

TEST(SealedFraming, ForeignBytes) {
  const std::string filter = SealedFilterOf({"a"});
  ParsedFilter parsed;
  for (size_t size = 0; size < kSealedFramingSize; ++size) {
    EXPECT_EQ(Sealed(filter.substr(filter.size() - size), &parsed),
              FilterKind::kForeign)
        << size;
    EXPECT_TRUE(MayMatch(parsed, "c"));
  }
  for (size_t at = 13; at <= 16; ++at) {
    std::string other = filter;
    other[other.size() - at] ^= 1;
    EXPECT_EQ(Sealed(other, &parsed), FilterKind::kForeign) << at;
  }
}

TEST(SealedFraming, DamagedTrailerMatchesEverything) {
  const std::string filter = SealedFilterOf({"a"});
  ParsedFilter parsed;
  for (size_t at = 1; at <= 12; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = filter;
      damaged[damaged.size() - at] ^= static_cast<char>(1 << bit);
      EXPECT_EQ(Sealed(damaged, &parsed), FilterKind::kAlways)
          << at << " bit " << bit;
      EXPECT_TRUE(MayMatch(parsed, "c"));
    }
  }
}

TEST(SealedFraming, WrongTotalSizeMatchesEverything) {
  const std::string filter = SealedFilterOf({"a"});
  ParsedFilter parsed;
  EXPECT_EQ(Sealed(filter.substr(1), &parsed), FilterKind::kAlways);
  EXPECT_EQ(Sealed(std::string(1, '\0') + filter, &parsed),
            FilterKind::kAlways);
}

TEST(SealedFraming, UnknownFieldsWithAValidCheckMatchEverything) {
  const std::string filter = SealedFilterOf({"a"});
  ParsedFilter parsed;
  std::string why;
  // Reserved, zero, flags, version.
  for (size_t at : std::initializer_list<size_t>{2, 3, 4, 5, 11, 12}) {
    for (int value = 0; value < 256; ++value) {
      const std::string odd = Resealed(filter, at, static_cast<char>(value));
      if (odd == filter) continue;
      EXPECT_EQ(Sealed(odd, &parsed, &why), FilterKind::kAlways)
          << at << " value " << value;
      EXPECT_TRUE(MayMatch(parsed, "c"));
      EXPECT_EQ(why.rfind("always matches: ", 0), 0u) << why;
    }
  }
  // The level is information only.
  const std::string other_level = Resealed(filter, 10, '\x07');
  EXPECT_EQ(Sealed(other_level, &parsed), FilterKind::kFilter);
  EXPECT_FALSE(MayMatch(parsed, "c"));
}

TEST(PayloadCheck, WorkedExample) {
  EXPECT_EQ(SealedFilterOf({"a"}, true),
            test::FromHex("0000000000004992"
                          "485bdfa2be99e633"
                          "ce626c4d0104023dc8cb0000000000"
                          "06"));
}

TEST(LevelByteTest, EveryByteHasOneMeaning) {
  for (int byte = 0; byte < 256; ++byte) {
    const LevelAtCreation made = ParseLevelByte(static_cast<uint8_t>(byte));
    EXPECT_EQ(made.level, byte == 255 ? -1 : byte % 128);
    EXPECT_EQ(made.bottommost, byte >= 128 && byte != 255);
    EXPECT_EQ(LevelByte(made), byte);
  }
  EXPECT_EQ(LevelByte({128, false}), kUnknownLevel);
  EXPECT_EQ(LevelByte({127, true}), kUnknownLevel);
  EXPECT_EQ(LevelByte({-7, true}), kUnknownLevel);
}

TEST(PayloadCheck, RoundTripWithEveryLayoutAndWithoutKeys) {
  ParsedFilter parsed;
  const std::vector<std::string> keys = test::DecimalKeys(3000);
  for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    const std::string filter = SealedFilterOf(keys, true, layout);
    EXPECT_EQ(filter.size(), SealedFilterOf(keys, false, layout).size() + 8);
    ASSERT_EQ(Sealed(filter, &parsed), FilterKind::kFilter);
    EXPECT_EQ(SealedLevel(filter), kLevel);
    for (const std::string& key : keys) EXPECT_TRUE(MayMatch(parsed, key));
  }
  const std::string filter = SealedFilterOf({}, true);
  EXPECT_EQ(filter.size(), kSealedFramingSize + 8);
  EXPECT_EQ(Sealed(filter, &parsed), FilterKind::kEmpty);
}

TEST(PayloadCheck, EveryFlippedBitAndEveryTruncationIsNoticed) {
  ParsedFilter parsed;
  std::string why;
  for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    const std::string filter =
        SealedFilterOf(test::DecimalKeys(300), true, layout);
    for (size_t bit = 0; bit < 8 * filter.size(); ++bit) {
      std::string flipped = filter;
      flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
      const FilterKind kind = Sealed(flipped, &parsed, &why);
      const bool in_magic =
          filter.size() - bit / 8 >= 13 && filter.size() - bit / 8 <= 16;
      ASSERT_EQ(kind, in_magic ? FilterKind::kForeign : FilterKind::kAlways)
          << "bit " << bit;
      ASSERT_TRUE(MayMatch(parsed, "absent"));
      if (bit / 8 < filter.size() - 24) {
        ASSERT_NE(why.find("payload"), std::string::npos) << why;
      }
    }
    for (size_t size = kSealedFramingSize; size < filter.size(); ++size) {
      ASSERT_EQ(Sealed(filter.substr(filter.size() - size), &parsed),
                FilterKind::kAlways)
          << size;
      ASSERT_NE(Sealed(filter.substr(0, size), &parsed), FilterKind::kFilter);
    }
  }
}

// A flag for a field that the bytes have no room for.
TEST(PayloadCheck, NoRoomForTheField) {
  ParsedFilter parsed;
  for (size_t payload_size = 0; payload_size < 8; ++payload_size) {
    std::string filter(payload_size + kSealedFramingSize, '\0');
    Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, 6,
         SealOptions());
    EXPECT_EQ(Sealed(Resealed(filter, 11, 4), &parsed), FilterKind::kAlways);
  }
}

TEST(SealedFraming, EveryLastByte) {
  const std::string filter = SealedFilterOf({"a"});
  ParsedFilter parsed;
  for (int last = 0; last < 256; ++last) {
    const std::string other = Resealed(filter, 1, static_cast<char>(last));
    const FilterKind kind = Sealed(other, &parsed);
    if (last >= 1 && last <= 30) {
      EXPECT_EQ(kind, FilterKind::kFilter) << last;
    } else if (FindLayoutOfLastByte(static_cast<uint8_t>(last),
                                    Hash::kMurmurHash2) == nullptr ||
               last == 0) {
      EXPECT_EQ(kind, FilterKind::kAlways) << last;
      EXPECT_TRUE(MayMatch(parsed, "c"));
    }
  }
}

TEST(DescribeFilter, SaysWhatTheBytesAre) {
  EXPECT_EQ(DescribeFilter(RawFilterOf({"a"})), "classic, 6 probes, 64 bits");
  EXPECT_EQ(DescribeFilter(""), "holds no key");
  EXPECT_EQ(DescribeFilter("\x06"), "holds no key");
  EXPECT_EQ(DescribeFilter(std::string(2, '\0')),
            "always matches: it has no probes");
  EXPECT_EQ(DescribeFilter("a\xff"), "always matches: unknown last byte 255");
}

// --- The optional fields key transform and seed: docs/format.md, "What is
// hashed" -------------------------------------------------------------------

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

SealOptions SealOf(unsigned fields) {
  return {7, (fields & 4) != 0, Keys((fields & 2) != 0, (fields & 1) != 0)};
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
    const SealOptions seal = SealOf(fields);
    const HashedKeys& keys = seal.keys;
    EXPECT_EQ(SealedFramingSize(seal),
              kSealedFramingSize + (keys.seeded ? 16u : 0u) +
                  (keys.transformed ? 4u : 0u) + (fields >= 4 ? 8u : 0u));
    for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
      for (size_t count : {0u, 1u, 2000u}) {
        const auto added = test::DecimalKeys(count);
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
    const SealOptions seal = SealOf(fields);
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
    const size_t framing = SealedFramingSize(SealOf(fields));
    for (size_t size = kSealedFramingSize; size < framing; ++size) {
      std::string filter(size, '\0');
      auto* bytes = reinterpret_cast<unsigned char*>(&filter[0]);
      Seal(bytes, size - kSealedFramingSize, 6, SealOptions());
      filter = Resealed(filter, 11, static_cast<char>(fields), size);
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
    const std::string filter =
        Resealed(SealedFilterOf({"a"}, seal), 11, static_cast<char>(flags),
                 SealedFramingSize(seal));
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
