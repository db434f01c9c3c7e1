// Every rule that a range filter can break, with the answer that docs/format.md
// requires; and bytes changed at random, which must not be read out of bounds.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/coding.h"
#include "util/range/filter.h"

namespace deltabloom::test {
namespace {

using internal::LoadFixed32;
using internal::StoreFixed64;
using internal::range::Filter;

constexpr size_t kBody = 2;
constexpr size_t kCodes = kBody + 1 + 16 + 17;  // of numbers of 8 bytes

std::string NumbersFilter() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert(BigEndian(i * i * 0x123456789abcd));
  }
  return FilterOf(keys, 12, {}, {}, 1024);
}

// A filter with a cut at bits and one at a delimiter.
std::string PrefixesFilter() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert("group" + std::to_string(i % 40 * 791) + "/" +
                std::to_string(i * 7919 % 100'003));
  }
  return FilterOf(keys, 16, {{"group", "grouq"}, {"group1/", "group10"}});
}

bool AlwaysMatches(const std::string& bytes) {
  // The bytes are in memory of their own, so that ASan sees their end.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const Filter filter({copy.data(), copy.size()});
  if (!filter.AlwaysMatches()) return false;
  EXPECT_TRUE(filter.MayMatch("", "\xff"));
  EXPECT_TRUE(filter.MayMatch("zzz", "zzzz"));
  EXPECT_TRUE(filter.MayMatch("zzz", std::nullopt));
  EXPECT_FALSE(filter.HasKeyFrom(""));
  return true;
}

// Changes the number of bytes before the size to `size`, and the size with it.
std::string Resized(std::string bytes, size_t size) {
  bytes.resize(bytes.size() - 8);
  bytes.resize(size);
  bytes.resize(size + 8);
  StoreFixed64(&bytes[size], size);
  return bytes;
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

void CheckFaults(const std::string& bytes, const std::vector<Fault>& faults,
                 size_t header) {
  ASSERT_FALSE(AlwaysMatches(bytes));
  for (const Fault& fault : faults) {
    std::string damaged = bytes;
    for (const auto& [at, value, size] : fault.edits) {
      for (size_t i = 0; i < size; ++i) {
        damaged.at(at + i) = static_cast<char>(value >> (8 * i));
      }
    }
    EXPECT_TRUE(AlwaysMatches(damaged)) << fault.name;
  }
  for (const size_t size : {header, bytes.size() - 9, bytes.size() - 7}) {
    EXPECT_TRUE(AlwaysMatches(Resized(bytes, size))) << size << " bytes";
  }
}

TEST(RangeMalformed, AroundTheBody) {
  for (const std::string& bytes : {NumbersFilter(), PrefixesFilter()}) {
    const size_t size = bytes.size() - 8;
    CheckFaults(bytes,
                {{"version 0", {{0, 0}}},
                 {"version 2", {{0, 2}}},
                 {"shape 0", {{1, 0}}},
                 {"shape 2", {{1, 2}}},
                 {"shape 4", {{1, 4}}},
                 {"the other shape", {{1, bytes[1] == 1 ? 3u : 1u}}},
                 {"a size of 0", {{size, 0, 8}}},
                 {"a size beyond", {{size, ~uint64_t{0}, 8}}}},
                kBody);
    EXPECT_TRUE(AlwaysMatches(""));
    EXPECT_TRUE(AlwaysMatches(bytes.substr(0, 9)));
    EXPECT_TRUE(AlwaysMatches(std::string(bytes).erase(2, 1)));
    EXPECT_TRUE(AlwaysMatches(std::string(bytes).insert(2, 1, 'x')));
  }
}

TEST(RangeMalformed, Numbers) {
  const std::string bytes = NumbersFilter();
  ASSERT_EQ(bytes[1], 1);
  const auto low_bits = static_cast<unsigned char>(bytes[kCodes]);
  const uint64_t buckets = LoadFixed32(&bytes[kCodes + 5]);
  CheckFaults(bytes,
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
  std::string wide = bytes;
  wide[kBody] = 9;
  wide.replace(kBody + 1, 16, std::string(9, '\0') + std::string(9, '\xff'));
  EXPECT_TRUE(AlwaysMatches(Resized(wide, wide.size() - 8)));
}

// The places of the size of the last key and of the number of cuts.
size_t AfterText(const std::string& bytes, size_t at) {
  return at + 2 + static_cast<unsigned char>(bytes[at]);  // below 256
}
size_t LastOf(const std::string& bytes) { return AfterText(bytes, kBody + 1); }
size_t CutsOf(const std::string& bytes) {
  return AfterText(bytes, LastOf(bytes));
}

TEST(RangeMalformed, Prefixes) {
  const std::string bytes = PrefixesFilter();
  ASSERT_EQ(bytes[1], 3);
  const size_t cuts = CutsOf(bytes);
  const size_t cut = cuts + 2;
  CheckFaults(bytes,
              {{"another size of the first key", {{kBody + 1, 255}}},
               {"a first key beyond the end", {{kBody + 2, 255}}},
               {"a last key beyond the end", {{LastOf(bytes) + 1, 255}}},
               {"a first key above the last", {{kBody + 3, 'h'}}},
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
  const std::string bytes = PrefixesFilter();
  const size_t cuts = CutsOf(bytes);
  const auto count = static_cast<size_t>(bytes[cuts]);
  const std::string lower = "group2/", upper = "group20";
  ASSERT_FALSE(Filter(bytes).MayMatch(lower, upper));
  // Classic filters and those of unknown markers.
  for (const int last_byte : {0, 6, 41, 0x81, 0xff}) {
    std::string damaged = bytes;
    size_t end = cuts + 2 + 8 * count;
    for (size_t i = 0; i < count; ++i) {
      end += LoadFixed32(&bytes[cuts + 2 + 8 * i + 4]);
      damaged.at(end - 1) = static_cast<char>(last_byte);
    }
    const Filter filter(damaged);
    EXPECT_TRUE(filter.MayMatch(lower, upper)) << last_byte;
    EXPECT_FALSE(filter.MayMatch("h", "i")) << "the last key is known";
    EXPECT_FALSE(filter.MayMatch("a", "group")) << "and the first";
  }
}

TEST(RangeMalformed, ChangedBytesAreReadWithinBounds) {
  FreshRandom random;
  for (const std::string& bytes : {NumbersFilter(), PrefixesFilter()}) {
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = bytes;
      for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
        const size_t near = random.Below(2) == 0 ? 60 : damaged.size();
        damaged[random.Below(near)] = static_cast<char>(random.Next());
      }
      if (random.Below(4) == 0) {
        damaged =
            Resized(damaged, bytes.size() - 8 - random.Below(bytes.size() / 2));
      }
      const std::vector<char> copy(damaged.begin(), damaged.end());
      const Filter filter({copy.data(), copy.size()});
      const std::string text =
          "group" + std::to_string(random.Below(40) * 791) + "/";
      filter.MayMatch(text, text + "9");
      filter.MayMatch("", "\xff");
      const uint64_t number = random.Next();
      filter.MayMatch(BigEndian(number), BigEndian(number + 1000));
      filter.MayMatch(text, std::nullopt);
      filter.HasKeyFrom(text);
      filter.Describe();
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
