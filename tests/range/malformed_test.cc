// Every rule that a range filter can break, with the answer that docs/format.md
// requires; and bytes changed at random, which must not be read out of bounds.

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/coding.h"

namespace deltabloom::test {
namespace {

using internal::LoadFixed32;
using internal::RangePart;
using internal::StoreFixed64;

constexpr size_t kBody = 2;
constexpr size_t kCodes = kBody + 1 + 16 + 17;  // of numbers of 8 bytes

std::string NumbersPart() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert(BigEndian(i * i * 0x123456789abcd));
  }
  return PartOf(keys, 12, {}, {}, 1024);
}

// A part with a cut at bits and one at a delimiter.
std::string PrefixesPart() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert("group" + std::to_string(i % 40 * 791) + "/" +
                std::to_string(i * 7919 % 100'003));
  }
  return PartOf(keys, 16, {{"group", "grouq"}, {"group1/", "group10"}});
}

bool AlwaysMatches(const std::string& part) {
  // The part is in memory of its own, so that ASan sees its end.
  const std::vector<char> copy(part.begin(), part.end());
  const RangePart range({copy.data(), copy.size()});
  if (!range.AlwaysMatches()) return false;
  EXPECT_TRUE(range.MayMatch("", "\xff"));
  EXPECT_TRUE(range.MayMatch("zzz", "zzzz"));
  EXPECT_TRUE(range.MayMatch("zzz", std::nullopt));
  EXPECT_FALSE(range.HasKeyFrom(""));
  EXPECT_FALSE(range.HasKeyBelow("zzz"));
  return true;
}

// Changes the number of bytes before the size to `size`, and the size with it.
std::string Resized(std::string part, size_t size) {
  part.resize(part.size() - 8);
  part.resize(size);
  part.resize(size + 8);
  StoreFixed64(&part[size], size);
  return part;
}

// A little-endian number written over some bytes.
struct Edit {
  size_t at;
  uint64_t value;
  size_t size = 1;
};

struct Fault {
  const char* name;
  std::vector<Edit> edits;
};

void CheckFaults(const std::string& part, const std::vector<Fault>& faults,
                 size_t header) {
  ASSERT_FALSE(AlwaysMatches(part));
  for (const Fault& fault : faults) {
    std::string damaged = part;
    for (const auto& [at, value, size] : fault.edits) {
      for (size_t i = 0; i < size; ++i) {
        damaged.at(at + i) = static_cast<char>(value >> (8 * i));
      }
    }
    EXPECT_TRUE(AlwaysMatches(damaged)) << fault.name;
  }
  for (const size_t size : {header, part.size() - 9, part.size() - 7}) {
    EXPECT_TRUE(AlwaysMatches(Resized(part, size))) << size << " bytes";
  }
}

TEST(RangeMalformed, AroundTheBody) {
  for (const std::string& part : {NumbersPart(), PrefixesPart()}) {
    const size_t size = part.size() - 8;
    CheckFaults(part,
                {{"version 0", {{0, 0}}},
                 {"version 2", {{0, 2}}},
                 {"shape 0", {{1, 0}}},
                 {"shape 2", {{1, 2}}},
                 {"shape 4", {{1, 4}}},
                 {"the other shape", {{1, part[1] == 1 ? 3u : 1u}}},
                 {"a size of 0", {{size, 0, 8}}},
                 {"a size beyond", {{size, ~uint64_t{0}, 8}}}},
                kBody);
    EXPECT_TRUE(AlwaysMatches(""));
    EXPECT_TRUE(AlwaysMatches(part.substr(0, 9)));
    EXPECT_TRUE(AlwaysMatches(std::string(part).erase(2, 1)));
    EXPECT_TRUE(AlwaysMatches(std::string(part).insert(2, 1, 'x')));
  }
}

TEST(RangeMalformed, Numbers) {
  const std::string part = NumbersPart();
  ASSERT_EQ(part[1], 1);
  const auto low_bits = static_cast<unsigned char>(part[kCodes]);
  const uint64_t buckets = LoadFixed32(&part[kCodes + 5]);
  CheckFaults(part,
              {{"another width", {{kBody, 7}}},
               {"a width beyond the end", {{kBody, 255}}},
               {"least above most", {{kBody + 8, 200}, {kBody + 16, 100}}},
               {"base + span beyond 2^64",
                {{kBody + 17, ~uint64_t{0}, 8}, {kBody + 25, 1, 8}}},
               {"unit 64", {{kCodes - 1, 64}}},
               {"low_bits 32", {{kCodes, 32}}},
               {"other low_bits", {{kCodes, low_bits + 1u}}},
               {"count 0", {{kCodes + 1, 0, 4}}},
               {"buckets 0", {{kCodes + 5, 0, 4}}},
               {"many more buckets", {{kCodes + 5, buckets + 99, 4}}},
               {"count + buckets of 2^32",
                {{kCodes + 1, 0x80000000, 4}, {kCodes + 5, 0x80000000, 4}}}},
              kCodes);
  // More than 2^64 keys would have 9 bytes of any value.
  std::string wide = part;
  wide[kBody] = 9;
  wide.replace(kBody + 1, 16, std::string(9, '\0') + std::string(9, '\xff'));
  EXPECT_TRUE(AlwaysMatches(Resized(wide, wide.size() - 8)));
}

// The places of the size of the last key and of the number of cuts.
size_t AfterText(const std::string& part, size_t at) {
  return at + 2 + static_cast<unsigned char>(part[at]);  // below 256
}
size_t LastOf(const std::string& part) { return AfterText(part, kBody + 1); }
size_t CutsOf(const std::string& part) { return AfterText(part, LastOf(part)); }

TEST(RangeMalformed, Prefixes) {
  const std::string part = PrefixesPart();
  ASSERT_EQ(part[1], 3);
  const size_t cuts = CutsOf(part);
  const size_t cut = cuts + 2;
  CheckFaults(part,
              {{"another size of the first key", {{kBody + 1, 255}}},
               {"a first key beyond the end", {{kBody + 2, 255}}},
               {"a last key beyond the end", {{LastOf(part) + 1, 255}}},
               {"no cuts", {{cuts, 0}}},
               {"17 cuts", {{cuts, 17}}},
               {"more learned cuts than cuts", {{cuts, 2}, {cuts + 1, 3}}},
               {"0 bits", {{cut, 0}, {cut + 2, 0, 2}}},
               {"8,193 bits", {{cut, 0}, {cut + 2, 8193, 2}}},
               {"a delimiter and 8,193 bits", {{cut, 1}, {cut + 2, 8193, 2}}},
               {"a filter beyond the end", {{cut + 4, 0xffffffff, 4}}}},
              cut);
}

// A filter that no reader knows answers nothing; the other cuts do.
TEST(RangeMalformed, FiltersOfCuts) {
  const std::string part = PrefixesPart();
  const size_t cuts = CutsOf(part);
  const auto count = static_cast<size_t>(part[cuts]);
  const std::string lower = "group2/", upper = "group20";
  ASSERT_FALSE(RangePart(part).MayMatch(lower, upper));
  // Classic filters and those of unknown markers.
  for (const int last_byte : {0, 6, 41, 0x81, 0xff}) {
    std::string damaged = part;
    size_t end = cuts + 2 + 8 * count;
    for (size_t i = 0; i < count; ++i) {
      end += LoadFixed32(&part[cuts + 2 + 8 * i + 4]);
      damaged.at(end - 1) = static_cast<char>(last_byte);
    }
    const RangePart range(damaged);
    EXPECT_TRUE(range.MayMatch(lower, upper)) << last_byte;
    EXPECT_FALSE(range.MayMatch("h", "i")) << "the last key is known";
    EXPECT_FALSE(range.MayMatch("a", "group")) << "and the first";
  }
}

TEST(RangeMalformed, ChangedBytesAreReadWithinBounds) {
  FreshRandom random;
  for (const std::string& part : {NumbersPart(), PrefixesPart()}) {
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = part;
      for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
        const size_t near = random.Below(2) == 0 ? 60 : damaged.size();
        damaged[random.Below(near)] = static_cast<char>(random.Next());
      }
      if (random.Below(4) == 0) {
        damaged =
            Resized(damaged, part.size() - 8 - random.Below(part.size() / 2));
      }
      const std::vector<char> copy(damaged.begin(), damaged.end());
      const RangePart range({copy.data(), copy.size()});
      const std::string text =
          "group" + std::to_string(random.Below(40) * 791) + "/";
      range.MayMatch(text, text + "9");
      range.MayMatch("", "\xff");
      const uint64_t number = random.Next();
      range.MayMatch(BigEndian(number), BigEndian(number + 1000));
      range.MayMatch(text, std::nullopt);
      range.HasKeyFrom(text);
      range.HasKeyBelow(text);
      range.Describe();
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
