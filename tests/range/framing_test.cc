// A range part in a sealed filter: docs/format.md, chapter Framings.
#include "table/framing.h"

#include <gtest/gtest.h>

#include <string>

#include "deltabloom/filter.h"
#include "tests/range/subject.h"
#include "util/coding.h"
#include "util/hash.h"

namespace deltabloom::test {
namespace {

using namespace internal;

std::string SealedOf(const KeySet& keys, const SealOptions& options) {
  FilterBuilder builder;
  for (const std::string& key : keys) builder.AddKey(key);
  std::string filter;
  builder.Finish(&filter);
  const auto last_byte = static_cast<uint8_t>(filter.back());
  const size_t payload_size = filter.size() - 1;
  filter.resize(payload_size + SealedFramingSize(options));
  Seal(reinterpret_cast<unsigned char*>(&filter[0]), payload_size, last_byte,
       options);
  return filter;
}

FilterKind Parse(const std::string& filter, ParsedFilter* parsed) {
  HashedKeys keys;
  return ParseSealed(filter, ActiveCpu(), &keys, parsed, nullptr);
}

// With the check of the trailer and the optional fields made anew.
std::string Rechecked(std::string filter, size_t framing) {
  std::string covered = filter.substr(filter.size() - framing);
  covered.replace(framing - 9, 4, 4, '\0');
  covered.resize(framing + 8);
  StoreFixed64(&covered[framing], filter.size());
  StoreFixed32(&filter[filter.size() - 9],
               MurmurHash2(covered.data(), covered.size(), 0xde17ab10));
  return filter;
}

const KeySet& Keys() {
  static const auto& keys =
      *new KeySet{BigEndian(5), BigEndian(7), BigEndian(1000)};
  return keys;
}

TEST(RangeFraming, BesideEveryOtherField) {
  const std::string part = PartOf(Keys(), 10);
  ASSERT_FALSE(part.empty());
  for (unsigned fields = 0; fields < 4; ++fields) {
    SealOptions options;
    options.payload_check = (fields & 1) != 0;
    options.keys.seeded = (fields & 2) != 0;
    options.range_part = part;
    const std::string filter = SealedOf(Keys(), options);
    ParsedFilter parsed;
    std::string why;
    HashedKeys keys;
    EXPECT_EQ(ParseSealed(filter, ActiveCpu(), &keys, &parsed, &why),
              FilterKind::kFilter);
    EXPECT_NE(why.find(", with ranges"), std::string::npos) << why;
    EXPECT_EQ(keys.seeded, options.keys.seeded);
    EXPECT_EQ(RangePartOf(filter), part);
    EXPECT_EQ(parsed.payload_size, filter.size() - SealedFramingSize(options));
    if (!options.keys.seeded) {
      for (const std::string& key : Keys()) {
        EXPECT_TRUE(parsed.may_match(parsed, key));
      }
    }
    // RocksDB's own reader takes it for one that always matches.
    EXPECT_EQ(filter[filter.size() - 5], 0);
  }
}

TEST(RangeFraming, FiltersWithoutOneHaveNone) {
  const std::string filter = SealedOf(Keys(), {});
  ParsedFilter parsed;
  EXPECT_EQ(Parse(filter, &parsed), FilterKind::kFilter);
  EXPECT_EQ(RangePartOf(filter), "");
}

TEST(RangeFraming, TheSizeIsUnderTheCheck) {
  const std::string part = PartOf(Keys(), 10);
  SealOptions options;
  options.range_part = part;
  const std::string filter = SealedOf(Keys(), options);
  ParsedFilter parsed;
  for (size_t i = 0; i < 24; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = filter;
      char* byte = &flipped[flipped.size() - 1 - i];
      *byte = static_cast<char>(*byte ^ 1 << bit);
      const FilterKind kind = Parse(flipped, &parsed);
      EXPECT_TRUE(kind == FilterKind::kAlways || kind == FilterKind::kForeign)
          << i << " " << bit;
    }
  }
}

TEST(RangeFraming, ASizeBeyondTheFilterMatches) {
  const std::string part = PartOf(Keys(), 10);
  SealOptions options;
  options.range_part = part;
  const std::string filter = SealedOf(Keys(), options);
  constexpr size_t kFraming = 16 + 8;
  const uint64_t room = filter.size() - kFraming;
  ParsedFilter parsed;
  for (const uint64_t size : {room + 1, room + 8, ~uint64_t{0}, ~uint64_t{7}}) {
    std::string other = filter;
    StoreFixed64(&other[other.size() - kFraming], size);
    EXPECT_EQ(Parse(Rechecked(other, kFraming), &parsed), FilterKind::kAlways);
  }
  // All of it a range part: there is no payload then.
  std::string other = filter;
  StoreFixed64(&other[other.size() - kFraming], room);
  EXPECT_EQ(Parse(Rechecked(other, kFraming), &parsed), FilterKind::kAlways);
  other.back() = kEmptyLastByte;
  EXPECT_EQ(Parse(Rechecked(other, kFraming), &parsed), FilterKind::kAlways);
  EXPECT_TRUE(parsed.may_match(parsed, "absent"));
}

TEST(RangeFraming, ThePayloadCheckCoversIt) {
  const std::string part = PartOf(Keys(), 10);
  SealOptions options;
  options.payload_check = true;
  options.range_part = part;
  const std::string filter = SealedOf(Keys(), options);
  ParsedFilter parsed;
  for (size_t i = 0; i < filter.size(); ++i) {
    std::string flipped = filter;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const FilterKind kind = Parse(flipped, &parsed);
    EXPECT_TRUE(kind == FilterKind::kAlways || kind == FilterKind::kForeign)
        << i;
  }
}

TEST(RangeFraming, NotOfTransformedKeys) {
  const std::string part = PartOf(Keys(), 10);
  SealOptions options;
  options.keys.transformed = true;
  options.range_part = part;
  ParsedFilter parsed;
  EXPECT_EQ(Parse(SealedOf(Keys(), options), &parsed), FilterKind::kAlways);
}

}  // namespace
}  // namespace deltabloom::test
