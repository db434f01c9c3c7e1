// Every row of the two tables of answers in docs/format.md, chapter Framings.
#include "table/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/csv.h"
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
  FilterOptions options;
  options.layout = layout;
  FilterBuilder builder(options);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string filter;
  builder.Finish(&filter);
  return filter;
}

std::string SealedFilterOf(const std::vector<std::string>& keys,
                           bool payload_check = false,
                           Layout layout = Layout::kClassic) {
  std::string filter = RawFilterOf(keys, layout);
  const auto last_byte = static_cast<uint8_t>(filter.back());
  filter.pop_back();
  const size_t payload_size = filter.size();
  const SealOptions options{kLevel, payload_check};
  filter.resize(payload_size + SealedFramingSize(options));
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, last_byte,
       options);
  return filter;
}

// Recomputes the check after a byte of the trailer was changed on purpose.
std::string Resealed(std::string filter, size_t from_end, char value) {
  const auto end = [&] { return &filter[0] + filter.size(); };
  end()[-static_cast<int>(from_end)] = value;
  std::string covered(end() - 16, 16);
  covered.replace(7, 4, 4, '\0');
  covered.resize(24);
  StoreFixed64(&covered[16], filter.size());
  StoreFixed32(end() - 9,
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
  std::string filter(kSealedFramingSize, '\0');
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), 0, kEmptyLastByte,
       SealOptions());
  ParsedFilter parsed;
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
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back(std::to_string(i));
  for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    const std::string filter = SealedFilterOf(keys, true, layout);
    EXPECT_EQ(filter.size(), SealedFilterOf(keys, false, layout).size() + 8);
    ASSERT_EQ(Sealed(filter, &parsed), FilterKind::kFilter);
    EXPECT_EQ(SealedLevel(filter), kLevel);
    for (const std::string& key : keys) EXPECT_TRUE(MayMatch(parsed, key));
  }
  std::string filter(kSealedFramingSize + 8, '\0');
  SealOptions options;
  options.payload_check = true;
  ASSERT_EQ(SealedFramingSize(options), filter.size());
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), 0, kEmptyLastByte,
       options);
  EXPECT_EQ(Sealed(filter, &parsed), FilterKind::kEmpty);
}

TEST(PayloadCheck, EveryFlippedBitAndEveryTruncationIsNoticed) {
  ParsedFilter parsed;
  std::string why;
  for (Layout layout : {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    std::vector<std::string> keys;
    for (int i = 0; i < 300; ++i) keys.push_back(std::to_string(i));
    const std::string filter = SealedFilterOf(keys, true, layout);
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

}  // namespace
}  // namespace deltabloom::internal
