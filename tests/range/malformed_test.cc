// Every malformed field of a range filter with its answer: damage must never
// crash a scan or lose a key.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/random.h"
#include "tests/range/declarations.h"
#include "util/coding.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"

namespace deltabloom::test {
namespace {

using internal::range::Answer;
using internal::range::AskedFilters;
using internal::range::Filter;
using internal::range::Order;

// Where the fields of a filter begin.
constexpr size_t kSizeAt = 1, kOrderAt = 9, kDelimitersAt = 10, kBytesAt = 11,
                 kPrefixesAt = 13, kHeldAt = 21;

class RangeMalformed : public ::testing::Test {
 protected:
  // Changes the bytes, sets the size that they have then, and asks for a range
  // that the filter denies.
  Answer With(const std::function<void(std::string*)>& change) {
    std::string bytes = bytes_;
    change(&bytes);
    if (bytes.size() >= kOrderAt) {
      internal::StoreFixed64(&bytes[kSizeAt], bytes.size());
    }
    return Ask(bytes);
  }
  Answer WithByte(size_t at, int byte) {
    return With(
        [&](std::string* bytes) { (*bytes)[at] = static_cast<char>(byte); });
  }

  static Answer Ask(std::string_view bytes) {
    const std::string copy(bytes);
    const Filter filter(copy);
    EXPECT_FALSE(filter.Describe().empty());
    return AskedFilters(FindTestFunction)
        .Ask(filter, RangeOfBounds(Order::kBytewise, "b/", "b0"));
  }

  const std::string bytes_ = FilterOf("'/'", {"a/1", "a/2", "c/1", "d/1"}, 100);
  // The sizes of the texts are 3, 0, 3 and 3.
  const size_t left_out_at_ = kHeldAt + 2 + 3;
  const size_t smallest_at_ = left_out_at_ + 2;
  const size_t largest_at_ = smallest_at_ + 2 + 3;
};

TEST_F(RangeMalformed, UnchangedItDenies) {
  EXPECT_EQ(Ask(bytes_), Answer::kNo);
}

TEST_F(RangeMalformed, AnySizeButTheRealOne) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_EQ(Ask(bytes_.substr(0, size)), Answer::kUnknown) << size;
  }
  EXPECT_EQ(Ask(bytes_ + '\0'), Answer::kUnknown);
}

TEST_F(RangeMalformed, Fields) {
  for (const int version : {0, 1, 3, 255}) {
    EXPECT_EQ(WithByte(0, version), Answer::kUnknown) << version;
  }
  // Another order is not this scan's; others there are none.
  for (const int order : {1, 2, 255}) {
    EXPECT_EQ(WithByte(kOrderAt, order), Answer::kUnknown) << order;
  }
  for (const int delimiters : {0, 17, 255}) {
    EXPECT_EQ(WithByte(kDelimitersAt, delimiters), Answer::kUnknown);
  }
  EXPECT_EQ(WithByte(kBytesAt + 1, 0), Answer::kUnknown);  // 0
  EXPECT_EQ(WithByte(kBytesAt, 1), Answer::kUnknown);      // 1,025
  // The number of prefixes is only shown.
  EXPECT_EQ(WithByte(kPrefixesAt + 7, 255), Answer::kNo);
  EXPECT_EQ(WithByte(left_out_at_, 200), Answer::kUnknown);
  EXPECT_EQ(WithByte(largest_at_, 255), Answer::kUnknown);
  EXPECT_EQ(WithByte(smallest_at_ + 2, 'z'), Answer::kUnknown);
}

TEST_F(RangeMalformed, Declarations) {
  EXPECT_EQ(WithByte(kHeldAt + 2, '"'), Answer::kUnknown);
  EXPECT_EQ(WithByte(kHeldAt + 3, '!'), Answer::kNoPlace);
  for (const std::string& held :
       {std::string(), std::string("'/',"), std::string("1025"),
        std::string("none@1"), std::string("throws@1"),
        std::string("unordered@1"), std::string("beyond@1"),
        std::string("'/'x17")}) {
    EXPECT_EQ(With([&](std::string* bytes) {
                bytes->replace(kHeldAt + 2, 3, held);
                (*bytes)[kHeldAt] = static_cast<char>(held.size());
              }),
              Answer::kUnknown)
        << held;
  }
}

TEST_F(RangeMalformed, LowerLimitsAreThoseOfTheReader) {
  // The delimiter of "b/" ends after 2 bytes.
  EXPECT_EQ(With([](std::string* bytes) {
              (*bytes)[kBytesAt] = 2;
              (*bytes)[kBytesAt + 1] = 0;
            }),
            Answer::kNo);
  EXPECT_EQ(With([](std::string* bytes) {
              (*bytes)[kBytesAt] = 1;
              (*bytes)[kBytesAt + 1] = 0;
            }),
            Answer::kNoPlace);
}

TEST_F(RangeMalformed, TheFilterOfPrefixes) {
  const size_t at = largest_at_ + 2 + 3;
  EXPECT_EQ(With([&](std::string* bytes) { bytes->resize(at); }), Answer::kNo);
  EXPECT_EQ(With([&](std::string* bytes) { bytes->resize(at + 1); }),
            Answer::kUnknown);
  for (const int last : {0, 7, 30, 200, 255}) {
    EXPECT_EQ(WithByte(bytes_.size() - 1, last), Answer::kUnknown) << last;
  }
  EXPECT_EQ(
      With([](std::string* bytes) { bytes->erase(bytes->size() - 2, 1); }),
      Answer::kUnknown);
}

TEST_F(RangeMalformed, ChangedBytesAreReadWithinBounds) {
  FreshRandom random;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = bytes_;
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
    }
    internal::StoreFixed64(&bytes[kSizeAt], bytes.size());
    const std::vector<char> copy(bytes.begin(), bytes.end());
    Ask({copy.data(), copy.size()});
  }
}

}  // namespace
}  // namespace deltabloom::test
