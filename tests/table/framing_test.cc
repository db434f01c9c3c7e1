// Every row of the two tables of answers in docs/format.md, chapter Framings.
#include "table/framing.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash.h"
#include "util/key_batch.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/siphash.h"

namespace deltabloom::internal {
namespace {

using test::FromHex;

constexpr uint8_t kLevel = 2;
constexpr uint32_t kLowercase = 0x7802baa7;  // ascii_lowercase@1
constexpr SipHashKey kSeed{0x0706050403020100, 0x0f0e0d0c0b0a0908};

// The flags of the optional fields.
enum : unsigned { kSeeded = 1, kTransformed = 2, kChecked = 4 };
constexpr unsigned kAllFields = 8;

size_t FramingSize(unsigned fields) {
  return 16 + ((fields & kSeeded) != 0 ? 16 : 0) +
         ((fields & kTransformed) != 0 ? 4 : 0) +
         ((fields & kChecked) != 0 ? 8 : 0);
}

SealOptions SealOf(unsigned fields) {
  SealOptions seal{kLevel, (fields & kChecked) != 0};
  seal.keys.transformed = (fields & kTransformed) != 0;
  if (seal.keys.transformed) seal.keys.transform_id = kLowercase;
  seal.keys.seeded = (fields & kSeeded) != 0;
  if (seal.keys.seeded) seal.keys.seed = kSeed;
  return seal;
}

// Returns a sealed filter of the keys, which are those that the layout hashes.
std::string Sealed(const std::vector<std::string>& keys, unsigned fields = 0,
                   Layout layout = Layout::kClassic) {
  std::string filter;
  uint8_t last_byte = kEmptyLastByte;
  if (!keys.empty()) {
    filter = test::RawFilter(keys, test::OptionsOf(layout));
    last_byte = static_cast<uint8_t>(filter.back());
    filter.pop_back();
  }
  const SealOptions seal = SealOf(fields);
  const size_t payload_size = filter.size();
  filter.resize(payload_size + SealedFramingSize(seal));
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, last_byte,
       seal);
  return filter;
}

std::string Seeded(const std::string& key) {
  char bytes[kSeededKeySize];
  SeededKey(kSeed, key, bytes);
  return std::string(bytes, sizeof(bytes));
}

// Changes one byte and computes the check of a framing of this size again.
std::string Resealed(std::string filter, size_t from_end, int value,
                     size_t framing_size = kSealedFramingSize) {
  filter[filter.size() - from_end] = static_cast<char>(value);
  std::string covered = filter.substr(filter.size() - framing_size);
  covered.replace(framing_size - 9, 4, 4, '\0');
  covered.resize(framing_size + 8);
  StoreFixed64(&covered[framing_size], filter.size());
  StoreFixed32(&filter[filter.size() - 9],
               MurmurHash2(covered.data(), covered.size(), 0xde17ab10));
  return filter;
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  bool many = false;
  MayMatchViews(parsed, &key, 1, &many);
  EXPECT_EQ(parsed.may_match(parsed, key), many);
  return many;
}

struct Opened {
  explicit Opened(const std::string& filter)
      : kind(ParseSealed(filter, ActiveCpu(), &keys, &parsed, &why)) {
    ParsedFilter again;
    HashedKeys keys_again;
    EXPECT_EQ(ParseSealed(filter, ActiveCpu(), &keys_again, &again, nullptr),
              kind);
    EXPECT_EQ(kind == FilterKind::kAlways,
              why.rfind("always matches: ", 0) == 0)
        << why;
    if (kind == FilterKind::kFilter) return;
    EXPECT_EQ(MayMatch(parsed, "absent"), kind != FilterKind::kEmpty) << why;
  }

  ParsedFilter parsed;
  HashedKeys keys;
  std::string why;
  FilterKind kind;
};

// Parses bytes whose framing is either right or rejected.
FilterKind KindOf(const std::string& filter) {
  const Opened opened(filter);
  EXPECT_TRUE(opened.kind == FilterKind::kFilter || opened.keys.AsTheyAre());
  return opened.kind;
}

FilterKind ParseRawBytes(const std::string& filter, ParsedFilter* parsed,
                         Hash hash = Hash::kMurmurHash2) {
  return ParseRaw(filter, hash, ActiveCpu(), parsed, nullptr);
}

TEST(RawFraming, WorkedExample) {
  EXPECT_EQ(test::RawFilter(std::vector<std::string>{"a"}),
            FromHex("000000000000499206"));
}

TEST(RawFraming, EveryShortLengthAndLastByte) {
  // Zeroed payloads: a filter that is truly probed answers "absent".
  for (size_t size = 0; size <= 64; ++size) {
    for (int last = 0; last < (size == 0 ? 1 : 256); ++last) {
      SCOPED_TRACE(testing::Message() << "size " << size << " last " << last);
      std::string filter(size, '\0');
      if (size > 0) filter.back() = static_cast<char>(last);
      ParsedFilter parsed;
      for (Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
        const FilterKind kind = ParseRawBytes(filter, &parsed, hash);
        const bool matches = MayMatch(parsed, "key");
        if (size <= 1) {
          EXPECT_EQ(kind, FilterKind::kEmpty);
          EXPECT_FALSE(matches);
        } else if (last >= 1 && last <= 30) {
          EXPECT_EQ(kind, FilterKind::kFilter);
          EXPECT_FALSE(matches);
        } else if (last == 0 || hash == Hash::kLevelDB ||
                   FindLayoutOfLastByte(static_cast<uint8_t>(last), hash) ==
                       nullptr) {
          EXPECT_EQ(kind, FilterKind::kAlways);
          EXPECT_TRUE(matches);
        }  // Else another layout: any answer, no crash.
      }
    }
  }
}

TEST(SealedFraming, WorkedExamples) {
  EXPECT_EQ(Sealed({"a"}), FromHex("0000000000004992"
                                   "ce626c4d01000215c13ea70000000006"));
  EXPECT_EQ(Sealed({"a"}, kChecked), FromHex("0000000000004992"
                                             "485bdfa2be99e633"
                                             "ce626c4d0104023dc8cb0000000000"
                                             "06"));
  EXPECT_EQ(Sealed({"a"}, kTransformed),
            FromHex("0000000000004992"
                    "a7ba0278"
                    "ce626c4d010202496d32c90000000006"));
  EXPECT_EQ(Sealed({Seeded("a")}, kSeeded),
            FromHex("00200002a0000880"
                    "000102030405060708090a0b0c0d0e0f"
                    "ce626c4d010102241c16700000000006"));
  EXPECT_EQ(Sealed({Seeded("a")}, kChecked | kTransformed | kSeeded),
            FromHex("00200002a0000880"
                    "d69a35d6f0a8caa0"
                    "a7ba0278"
                    "000102030405060708090a0b0c0d0e0f"
                    "ce626c4d010702ef5e90610000000006"));
}

TEST(SealedFraming, SeededKeyIsSipHashInLittleEndian) {
  EXPECT_EQ(Seeded("a"), FromHex("ca4811a7e9e8a32b"));
  for (const auto& row : test::ReadCsv("siphash.csv")) {
    char bytes[kSeededKeySize];
    SeededKey(LoadSipHashKey(FromHex(row[0]).data()), FromHex(row[1]), bytes);
    EXPECT_EQ(LoadFixed64(bytes), std::stoull(row[2], nullptr, 16));
  }
}

// Every combination of fields, of every layout, and without keys.
TEST(SealedFraming, RoundTrip) {
  for (unsigned fields = 0; fields < kAllFields; ++fields) {
    const SealOptions seal = SealOf(fields);
    ASSERT_EQ(SealedFramingSize(seal), FramingSize(fields));
    for (const Layout layout : test::AllLayouts()) {
      for (size_t count : {0u, 1u, 2000u}) {
        SCOPED_TRACE(testing::Message() << "fields " << fields << ", "
                                        << LayoutName(layout) << ", " << count);
        const auto added = test::DecimalKeys(count);
        const std::string filter = Sealed(added, fields, layout);
        EXPECT_EQ(filter[filter.size() - 11], static_cast<char>(fields));
        // RocksDB's own reader takes it for one that always matches.
        EXPECT_EQ(filter[filter.size() - 5], 0);
        EXPECT_EQ(SealedLevel(filter), kLevel);
        const Opened opened(filter);
        const FilterKind kind =
            count == 0 ? FilterKind::kEmpty : FilterKind::kFilter;
        ASSERT_EQ(opened.kind, kind) << opened.why;
        EXPECT_EQ(opened.keys.transformed, seal.keys.transformed);
        EXPECT_EQ(opened.keys.transform_id, seal.keys.transform_id);
        EXPECT_EQ(opened.keys.seeded, seal.keys.seeded);
        EXPECT_EQ(opened.keys.seed.low, seal.keys.seed.low);
        EXPECT_EQ(opened.keys.seed.high, seal.keys.seed.high);
        for (const std::string& key : added) {
          EXPECT_TRUE(MayMatch(opened.parsed, key));
        }
        if (count != 0) {
          EXPECT_EQ(opened.parsed.payload_size,
                    filter.size() - SealedFramingSize(seal));
          const auto says = [&](const char* text) {
            return opened.why.find(text) != std::string::npos;
          };
          EXPECT_EQ(says(", key transform 7802baa7"), seal.keys.transformed);
          EXPECT_EQ(says(", seeded"), seal.keys.seeded);
        }
        // A reader that cannot map keys.
        ParsedFilter parsed;
        std::string why;
        const bool plain = seal.keys.AsTheyAre();
        ASSERT_EQ(ParseSealed(filter, ActiveCpu(), nullptr, &parsed, &why),
                  plain ? kind : FilterKind::kAlways);
        if (plain) continue;
        EXPECT_TRUE(MayMatch(parsed, "absent"));
        EXPECT_EQ(why.rfind("always matches: ", 0), 0u) << why;
      }
    }
  }
}

// The framing of any fields and, where there is a payload check, all bytes. A
// changed seed or id would lose nearly every key.
TEST(SealedFraming, EveryFlippedBitAndEveryOtherSizeIsNoticed) {
  for (unsigned fields = 0; fields < kAllFields; ++fields) {
    for (const Layout layout : test::AllLayouts()) {
      const std::string filter = Sealed(test::DecimalKeys(300), fields, layout);
      const bool checked = (fields & kChecked) != 0;
      const size_t framing = FramingSize(fields);
      for (size_t bit = 0; bit < 8 * (checked ? filter.size() : framing);
           ++bit) {
        std::string flipped = filter;
        flipped[filter.size() - 1 - bit / 8] ^= static_cast<char>(1 << bit % 8);
        const Opened opened(flipped);
        const bool in_magic = bit / 8 >= 12 && bit / 8 < 16;
        ASSERT_EQ(opened.kind,
                  in_magic ? FilterKind::kForeign : FilterKind::kAlways)
            << "fields " << fields << " bit " << bit << " from the end";
        ASSERT_TRUE(opened.keys.AsTheyAre());
        if (fields == kChecked && bit / 8 >= framing) {
          ASSERT_NE(opened.why.find("payload"), std::string::npos);
        }
      }
      for (size_t size = 0; size < filter.size(); ++size) {
        ASSERT_EQ(KindOf(filter.substr(filter.size() - size)),
                  size < 16 ? FilterKind::kForeign : FilterKind::kAlways)
            << size;
        const FilterKind kind = KindOf(filter.substr(0, size));
        ASSERT_TRUE(kind == FilterKind::kForeign || kind == FilterKind::kAlways)
            << size;
      }
      EXPECT_EQ(KindOf('\0' + filter), FilterKind::kAlways);
    }
  }
}

// The check is right, but a reserved or zero byte, a flag or the version is not
// known.
TEST(SealedFraming, UnknownFieldsMatchEverything) {
  for (unsigned fields : {0u, 7u}) {
    const std::string filter = Sealed({"a"}, fields);
    const size_t framing = FramingSize(fields);
    for (size_t at : std::initializer_list<size_t>{2, 3, 4, 5, 11, 12}) {
      // Known flags announce fields; the plain filter has none.
      for (int value = at == 11 && fields != 0 ? 8 : 0; value < 256; ++value) {
        const std::string odd = Resealed(filter, at, value, framing);
        if (odd == filter) continue;
        EXPECT_EQ(KindOf(odd), FilterKind::kAlways) << at << " " << value;
      }
    }
    // The level is information only.
    EXPECT_EQ(KindOf(Resealed(filter, 10, 7, framing)), FilterKind::kFilter);
  }
}

TEST(SealedFraming, EveryLastByte) {
  const std::string filter = Sealed({"a"});
  const std::string empty = Sealed({});
  EXPECT_EQ(empty.size(), kSealedFramingSize);
  for (int last = 0; last < 256; ++last) {
    const FilterKind kind = KindOf(Resealed(filter, 1, last));
    if (last >= 1 && last <= 30) {
      EXPECT_EQ(kind, FilterKind::kFilter) << last;
    } else if (last == 0 ||
               FindLayoutOfLastByte(static_cast<uint8_t>(last),
                                    Hash::kMurmurHash2) == nullptr) {
      EXPECT_EQ(kind, FilterKind::kAlways) << last;
    }
    EXPECT_EQ(KindOf(Resealed(empty, 1, last)),
              last == 0 ? FilterKind::kEmpty : FilterKind::kAlways);
  }
}

// Flags for fields that the bytes have no room for, with a check that would
// hold for the bytes that are there.
TEST(SealedFraming, NoRoomForTheFields) {
  for (unsigned fields = 1; fields < kAllFields; ++fields) {
    for (size_t size = 16; size < FramingSize(fields); ++size) {
      std::string filter(size, '\0');
      Seal(reinterpret_cast<unsigned char*>(&filter[0]), size - 16, 6, {});
      filter = Resealed(filter, 11, static_cast<int>(fields), size);
      EXPECT_EQ(KindOf(filter), FilterKind::kAlways) << fields << " " << size;
    }
  }
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

TEST(DescribeFilter, SaysWhatTheBytesAre) {
  EXPECT_EQ(DescribeFilter(""), "holds no key");
  EXPECT_EQ(DescribeFilter("\x06"), "holds no key");
  EXPECT_EQ(DescribeFilter(std::string(2, '\0')),
            "always matches: it has no probes");
  EXPECT_EQ(DescribeFilter("a\xff"), "always matches: unknown last byte 255");
}

}  // namespace
}  // namespace deltabloom::internal
