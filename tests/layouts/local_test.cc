// Local as docs/format.md defines it, beyond the tests of every layout, and its
// false-positive rate.
#include "util/layouts/local/local.h"

#include "table/framing.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/hash64.h"
#include "util/key_batch.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::FilterKind;
using internal::local::kRow;

TEST(LocalFormat, WorkedExample) {
  const std::string filter = test::RawFilter(std::vector<std::string>{"abc"},
                                             test::OptionsOf(Layout::kLocal));
  EXPECT_EQ(filter, test::FromHex("00000000000000000000000000000000"
                                  "00000000000000020000000000000000"
                                  "00000000000000000000800020000000"
                                  "00010000000000000004000000000004"
                                  "26"));
  EXPECT_EQ(DescribeFilter(filter), "local, 6 probes, 1 blocks of 64 bytes");
}

FilterKind KindOfRaw(size_t payload_size, int marker) {
  std::string filter(payload_size + 1, '\0');
  filter.back() = static_cast<char>(marker);
  internal::ParsedFilter parsed;
  const FilterKind kind =
      ParseRaw(filter, Hash::kMurmurHash2, Cpu::kPortable, &parsed, nullptr);
  // Zero bits match nothing; what is malformed matches everything.
  const std::string_view view = "key";
  bool many = false;
  MayMatchViews(parsed, &view, 1, &many);
  EXPECT_EQ(parsed.may_match(parsed, view), kind == FilterKind::kAlways);
  EXPECT_EQ(many, kind == FilterKind::kAlways);
  return kind;
}

TEST(LocalFormat, MarkersOfEveryBitsPerKey) {
  for (uint32_t millibits = 0; millibits <= 30000; ++millibits) {
    ASSERT_EQ(PlanFilter(&kRow, 1000, millibits).last_byte,
              reference::kLocal.build({}, millibits, 64).back())
        << millibits;
  }
  EXPECT_EQ(PlanFilter(&kRow, 1000, 1000000).last_byte, 56);
}

TEST(LocalFormat, MalformedFieldsMayMatch) {
  for (int marker = 33; marker <= 56; ++marker) {
    SCOPED_TRACE(marker);
    const bool legal = marker <= 40 || marker >= 48;
    for (size_t size = 1; size < 400; ++size) {
      EXPECT_EQ(KindOfRaw(size, marker), legal && size % 64 == 0
                                             ? FilterKind::kFilter
                                             : FilterKind::kAlways)
          << size;
    }
  }
  EXPECT_EQ(KindOfRaw(64, 32), FilterKind::kAlways);
  EXPECT_EQ(KindOfRaw(64, 57), FilterKind::kAlways);
}

}  // namespace
}  // namespace deltabloom
