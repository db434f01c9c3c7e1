// Which depths can reject a sample, and how many prefixes it asks for there.

#include "util/range/reach.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/range/subject.h"
#include "util/range/sample.h"

namespace deltabloom::test {
namespace {

using internal::range::Reach;
using internal::range::Sample;

// Returns how many prefixes the range asks for at each depth, from the bits
// with which all its keys begin to the deepest: "1 1 2 4". Keys are integers of
// 8 bytes.
std::string Asks(uint64_t before, uint64_t lower, uint64_t upper,
                 uint64_t after) {
  const Sample sample{BigEndian(lower), BigEndian(upper), BigEndian(before),
                      BigEndian(after), 1};
  const Reach reach(sample, 8);
  std::string text;
  for (size_t depth = reach.common(); depth <= reach.last(); ++depth) {
    text += (text.empty() ? "" : " ") + std::to_string(reach.AsksAt(depth));
  }
  return text;
}

// Keys from 0x4c to 0x57 begin with 4 or 5 in their last 4 bits but 4, which
// are two prefixes. A depth at which a key on either side has one of the
// prefixes cannot reject the range.
TEST(RangeReach, NoKeyAroundARangeHasAPrefixThatItAsksFor) {
  EXPECT_EQ(Asks(0x2f, 0x4c, 0x58, 0x70), "0 0 0 1 2 2 3 6");
  EXPECT_EQ(Asks(0x40, 0x4c, 0x58, 0x70), "0 0 0 0 0 2 3 6");
  EXPECT_EQ(Asks(0x48, 0x4c, 0x58, 0x70), "0 0 0 0 0 0 3 6");
  EXPECT_EQ(Asks(0x2f, 0x4c, 0x58, 0x5f), "0 0 0 0 0 2 3 6");
}

}  // namespace
}  // namespace deltabloom::test
