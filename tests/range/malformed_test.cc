// Every rule that a range part can break, with the answer that docs/format.md
// requires; and bytes changed at random, which must not be read out of bounds.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/coding.h"

namespace deltabloom::test {
namespace {

using internal::LoadFixed32;
using internal::LoadFixed64;
using internal::RangePart;
using internal::StoreFixed32;
using internal::StoreFixed64;

constexpr size_t kBody = 2;
constexpr size_t kCodes = kBody + 1 + 16 + 17;  // of numbers of 8 bytes

std::string NumbersPart() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert(BigEndian(i * i * 0x123456789abcd));
  }
  return PartOf(keys, 12);
}

// With a cut at bits and one at a delimiter.
std::string PrefixesPart() {
  KeySet keys;
  for (uint64_t i = 0; i < 600; ++i) {
    keys.insert("group" + std::to_string(i % 40 * 791) + "/" +
                std::to_string(i * 7919 % 100'003));
  }
  return PartOf(keys, 16, {{"group", "grouq"}, {"group1/", "group10"}});
}

bool AlwaysMatches(const std::string& part) {
  // In memory of its own, so that ASan sees its end.
  const auto copy = std::make_unique<char[]>(part.size());
  std::copy(part.begin(), part.end(), copy.get());
  const RangePart range({copy.get(), part.size()});
  if (range.AlwaysMatches()) {
    EXPECT_TRUE(range.MayMatch("", "\xff"));
    EXPECT_TRUE(range.MayMatch("zzz", "zzzz"));
    EXPECT_FALSE(range.HasKeyFrom(""));
    return true;
  }
  return false;
}

struct Fault {
  const char* name;
  std::function<void(std::string*)> make;
};

void SetByte(std::string* part, size_t at, int value) {
  part->at(at) = static_cast<char>(value);
}

// Removes or adds bytes before the size, which stays right.
void Resize(std::string* part, long change) {
  const size_t size = part->size() - 8;
  const size_t changed = static_cast<size_t>(static_cast<long>(size) + change);
  part->resize(changed);
  part->resize(changed + 8);
  StoreFixed64(&(*part)[changed], changed);
}

void CheckFaults(const std::string& part, const std::vector<Fault>& faults) {
  ASSERT_FALSE(AlwaysMatches(part));
  for (const Fault& fault : faults) {
    std::string damaged = part;
    fault.make(&damaged);
    EXPECT_TRUE(AlwaysMatches(damaged)) << fault.name;
  }
}

TEST(RangeMalformed, AroundTheBody) {
  for (const std::string& part : {NumbersPart(), PrefixesPart()}) {
    CheckFaults(
        part,
        {{"no bytes", [](std::string* p) { p->clear(); }},
         {"9 bytes", [](std::string* p) { *p = p->substr(0, 9); }},
         {"version 0", [](std::string* p) { SetByte(p, 0, 0); }},
         {"version 2", [](std::string* p) { SetByte(p, 0, 2); }},
         {"shape 0", [](std::string* p) { SetByte(p, 1, 0); }},
         {"shape 2", [](std::string* p) { SetByte(p, 1, 2); }},
         {"shape 4", [](std::string* p) { SetByte(p, 1, 4); }},
         {"a byte too few", [](std::string* p) { p->erase(2, 1); }},
         {"a byte too many", [](std::string* p) { p->insert(2, 1, 'x'); }},
         {"a size of 0",
          [](std::string* p) { StoreFixed64(&(*p)[p->size() - 8], 0); }},
         {"a size beyond", [](std::string* p) {
            StoreFixed64(&(*p)[p->size() - 8], ~uint64_t{0});
          }}});
  }
  // The other shape's body.
  std::string numbers = NumbersPart();
  numbers[1] = 3;
  EXPECT_TRUE(AlwaysMatches(numbers));
}

TEST(RangeMalformed, Numbers) {
  const std::string part = NumbersPart();
  ASSERT_EQ(part[1], 1);
  const uint64_t buckets = LoadFixed32(&part[kCodes + 5]);
  CheckFaults(
      part,
      {{"another width", [](std::string* p) { SetByte(p, kBody, 7); }},
       {"a width beyond the end",
        [](std::string* p) { SetByte(p, kBody, 255); }},
       {"least above most",
        [](std::string* p) {
          SetByte(p, kBody + 8, 200);
          SetByte(p, kBody + 16, 100);
        }},
       {"base + span beyond 2^64",
        [](std::string* p) {
          StoreFixed64(&(*p)[kBody + 17], ~uint64_t{0});
          StoreFixed64(&(*p)[kBody + 25], 1);
        }},
       {"unit 64", [](std::string* p) { SetByte(p, kCodes - 1, 64); }},
       {"low_bits 32", [](std::string* p) { SetByte(p, kCodes, 32); }},
       {"other low_bits",
        [](std::string* p) { SetByte(p, kCodes, (*p)[kCodes] + 1); }},
       {"count 0", [](std::string* p) { StoreFixed32(&(*p)[kCodes + 1], 0); }},
       {"buckets 0",
        [](std::string* p) { StoreFixed32(&(*p)[kCodes + 5], 0); }},
       {"many more buckets",
        [&](std::string* p) {
          StoreFixed32(&(*p)[kCodes + 5], static_cast<uint32_t>(buckets + 99));
        }},
       {"count + buckets of 2^32",
        [](std::string* p) {
          StoreFixed32(&(*p)[kCodes + 1], 0x80000000);
          StoreFixed32(&(*p)[kCodes + 5], 0x80000000);
        }},
       {"a byte too few in the body", [](std::string* p) { Resize(p, -1); }},
       {"a byte too many in the body", [](std::string* p) { Resize(p, 1); }},
       {"a header alone", [](std::string* p) {
          Resize(p,
                 static_cast<long>(kCodes) - static_cast<long>(p->size()) + 8);
        }}});
}

// More than 2^64 keys would have 9 bytes of any value.
TEST(RangeMalformed, TooManyNumbers) {
  std::string part = NumbersPart();
  part[kBody] = 9;
  part.replace(kBody + 1, 16, std::string(9, '\0') + std::string(9, '\xff'));
  Resize(&part, 0);
  EXPECT_TRUE(AlwaysMatches(part));
}

TEST(RangeMalformed, Prefixes) {
  const std::string part = PrefixesPart();
  ASSERT_EQ(part[1], 3);
  const size_t cuts = kBody + 2 + static_cast<unsigned char>(part[kBody + 1]);
  const size_t cut = cuts + 1;
  const auto set_cut = [cut](std::string* p, int count, int bits) {
    SetByte(p, cut, count);
    SetByte(p, cut + 2, bits);
    SetByte(p, cut + 3, bits >> 8);
  };
  CheckFaults(
      part,
      {{"a last key beyond the end",
        [](std::string* p) { SetByte(p, kBody + 1, 255); }},
       {"no cuts", [&](std::string* p) { SetByte(p, cuts, 0); }},
       {"17 cuts", [&](std::string* p) { SetByte(p, cuts, 17); }},
       {"0 bits", [&](std::string* p) { set_cut(p, 0, 0); }},
       {"1,025 bits", [&](std::string* p) { set_cut(p, 0, 1025); }},
       {"a delimiter and bits", [&](std::string* p) { set_cut(p, 1, 8); }},
       {"a filter beyond the end",
        [&](std::string* p) { StoreFixed32(&(*p)[cut + 4], 0xffffffff); }},
       {"a byte after the filters", [](std::string* p) { Resize(p, 1); }},
       {"a byte too few", [](std::string* p) { Resize(p, -1); }},
       {"a header alone", [&](std::string* p) {
          Resize(p, static_cast<long>(cut) - static_cast<long>(p->size()) + 8);
        }}});
}

// A filter that no reader knows answers nothing; the other cuts do.
TEST(RangeMalformed, FiltersOfCuts) {
  const std::string part = PrefixesPart();
  const size_t cuts = kBody + 2 + static_cast<unsigned char>(part[kBody + 1]);
  const auto count = static_cast<size_t>(part[cuts]);
  const std::string lower = "group2/", upper = "group20";
  ASSERT_FALSE(RangePart(part).MayMatch(lower, upper));
  // Classic filters and those of unknown markers.
  for (const int last_byte : {0, 6, 41, 0x81, 0xff}) {
    std::string damaged = part;
    size_t end = cuts + 1 + 8 * count;
    for (size_t i = 0; i < count; ++i) {
      end += LoadFixed32(&part[cuts + 1 + 8 * i + 4]);
      SetByte(&damaged, end - 1, last_byte);
    }
    const RangePart range(damaged);
    EXPECT_TRUE(range.MayMatch(lower, upper)) << last_byte;
    EXPECT_FALSE(range.MayMatch("h", "i")) << "the last key is known";
  }
}

TEST(RangeMalformed, ChangedBytesAreReadWithinBounds) {
  const uint64_t seed = SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const std::string& part : {NumbersPart(), PrefixesPart()}) {
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = part;
      for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
        const size_t near = random.Below(2) == 0 ? 60 : damaged.size();
        damaged[random.Below(near)] = static_cast<char>(random.Next());
      }
      if (random.Below(4) == 0) {
        Resize(&damaged, -static_cast<long>(random.Below(part.size() / 2)));
      }
      const auto copy = std::make_unique<char[]>(damaged.size());
      std::copy(damaged.begin(), damaged.end(), copy.get());
      const RangePart range({copy.get(), damaged.size()});
      const std::string text =
          "group" + std::to_string(random.Below(40) * 791) + "/";
      range.MayMatch(text, text + "9");
      range.MayMatch("", "\xff");
      const uint64_t number = random.Next();
      range.MayMatch(BigEndian(number), BigEndian(number + 1000));
      range.HasKeyFrom(text);
      range.Describe();
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
