// Choosing a layout: by name, automatically, and within a limit of memory; and
// the arithmetic of plans, up to sizes that no test can allocate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_policy.h"
#include "tests/filters.h"
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/layouts/layout.h"

namespace deltabloom {
namespace {

using internal::FindAffordableLayout;
using internal::FindLayout;
using internal::LayoutRow;
using internal::Plan;

constexpr Layout kUnknown = static_cast<Layout>(200);

// A filter ends in the last byte of one layout only.
TEST(LayoutSelection, LastBytesAreOfOneLayout) {
  for (const Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    for (unsigned last_byte = 0; last_byte < 256; ++last_byte) {
      std::string names;
      for (const LayoutRow* row : internal::kLayouts) {
        if (row->classic_hash == hash && last_byte >= row->first_marker &&
            last_byte <= row->last_marker) {
          names += std::string(names.empty() ? "" : ", ") + row->name;
        }
      }
      EXPECT_EQ(names.find(','), std::string::npos)
          << last_byte << ": " << names;
    }
  }
}

// A fallback is built from the hashes that were collected for the layout.
TEST(LayoutSelection, FallbacksHaveTheSameHash) {
  for (const LayoutRow* row : internal::kLayouts) {
    if (row->fallback == nullptr) continue;
    EXPECT_EQ(row->fallback->hash_size, row->hash_size) << row->name;
    for (const std::string key :
         {"", "a", "sixteen bytes...", "more than sixteen"}) {
      EXPECT_EQ(row->fallback->hash(key), row->hash(key)) << row->name << key;
    }
  }
}

TEST(LayoutSelection, NamesGoThereAndBack) {
  for (const char* name : {"classic", "local", "compact"}) {
    Layout layout = kUnknown;
    EXPECT_TRUE(ParseLayout(name, &layout)) << name;
    EXPECT_STREQ(LayoutName(layout), name);
    EXPECT_NE(internal::LayoutNames().find(name), std::string::npos);
  }
  for (const char* name :
       {"", "Classic", "local ", "classic-leveldb", "auto"}) {
    Layout layout = kUnknown;
    EXPECT_FALSE(ParseLayout(name, &layout)) << name;
    EXPECT_EQ(layout, kUnknown);
  }
  EXPECT_EQ(LayoutName(kUnknown), nullptr);
}

TEST(LayoutSelection, UnknownLayoutsAreRefusedWithTheLegalNames) {
  EXPECT_EQ(test::OptionsOf(kUnknown).Validate(),
            "layout 200 is unknown: use " + internal::LayoutNames());
  EXPECT_EQ(NewFilterPolicy(test::OptionsOf(kUnknown)), nullptr);
  for (Layout layout : {Layout::kLocal, Layout::kCompact}) {
    EXPECT_EQ(test::OptionsOf(layout).Validate(), "");
    EXPECT_NE(test::OptionsOf(layout, 10, Hash::kLevelDB).Validate(), "");
  }
}

TEST(LayoutSelection, PoliciesReadEveryLayout) {
  test::Random random(test::SeedOr(20261121));
  const auto keys = random.MixedKeys(500);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (const char* writer : {"classic", "local", "compact"}) {
    FilterOptions options;
    ASSERT_TRUE(ParseLayout(writer, &options.layout));
    std::string filter;
    NewFilterPolicy(options)->CreateFilter(views.data(), views.size(), &filter);
    for (const char* reader : {"classic", "local", "compact"}) {
      ASSERT_TRUE(ParseLayout(reader, &options.layout));
      const auto policy = NewFilterPolicy(options);
      int absent = 0;
      for (const auto& key : keys) {
        ASSERT_TRUE(policy->KeyMayMatch(key, filter));
        absent += !policy->KeyMayMatch(key + "x", filter);
      }
      EXPECT_GT(absent, 450) << writer << " read by " << reader;
    }
  }
}

// compact needs more than its list of hashes, local does not.
TEST(LayoutSelection, MemoryLimitTurnsCompactIntoLocal) {
  FilterOptions options = test::OptionsOf(Layout::kCompact);
  for (uint64_t limit : {0u, 1u << 30, 1u << 20}) {
    options.max_build_bytes = limit;
    FilterBuilder builder(options);
    for (int i = 0; i < 100000; ++i) builder.AddKey(std::to_string(i));
    EXPECT_LE(builder.BuildBytes(), limit == 0 ? ~uint64_t{0} : limit);
    const uint64_t size = builder.FilterSize();
    std::string filter;
    builder.Finish(&filter);
    EXPECT_EQ(filter.size(), size);
    EXPECT_EQ(DescribeFilter(filter).substr(0, 5),
              limit == 1 << 20 ? "local" : "compa");
  }
}

// Rows of which each needs a tenth of the memory of the one before.
struct Ladder {
  Ladder() {
    rows[2].plan = [](uint32_t, Plan*) { return true; };
    rows[1].plan = [](uint32_t, Plan* plan) {
      plan->build_bytes = plan->keys;
      return true;
    };
    rows[0].plan = [](uint32_t, Plan* plan) {
      plan->build_bytes = 10 * plan->keys;
      return true;
    };
    rows[0].fallback = &rows[1];
    rows[1].fallback = &rows[2];
  }

  LayoutRow rows[3]{};
};

TEST(LayoutSelection, MemoryLimitDescendsTheFallbacks) {
  Ladder ladder;
  const auto chosen = [&](uint64_t limit, bool keep = false) {
    return FindAffordableLayout(&ladder.rows[0], 100, 10000, 50, keep, limit) -
           ladder.rows;
  };
  EXPECT_EQ(chosen(0), 0);
  EXPECT_EQ(chosen(1050), 0);
  EXPECT_EQ(chosen(1049), 1);
  EXPECT_EQ(chosen(150), 1);
  EXPECT_EQ(chosen(149), 2);
  EXPECT_EQ(chosen(1), 2);

  // The list of 50 bytes makes room for as much of the other memory.
  ladder.rows[0].plan = [](uint32_t, Plan* plan) {
    plan->build_bytes = 10 * plan->keys;
    plan->late_build_bytes = 2 * plan->keys;
    return true;
  };
  EXPECT_EQ(chosen(1000), 0);
  EXPECT_EQ(chosen(999), 1);
  EXPECT_EQ(chosen(1050, true), 0);
  EXPECT_EQ(chosen(1049, true), 1);
}

TEST(LayoutSelection, PlansDescendTheFallbacks) {
  Ladder ladder;
  EXPECT_EQ(PlanFilter(&ladder.rows[0], 7, 1).layout, &ladder.rows[0]);
  ladder.rows[0].plan = [](uint32_t, Plan* plan) {
    plan->build_bytes = 12345;  // must leave no trace
    return false;
  };
  const Plan plan = PlanFilter(&ladder.rows[0], 7, 1);
  EXPECT_EQ(plan.layout, &ladder.rows[1]);
  EXPECT_EQ(plan.keys, 7u);
  EXPECT_EQ(plan.build_bytes, 7u);
}

TEST(LayoutSelection, BuildersReportTheirMemory) {
  for (const LayoutRow* row : test::AllRows()) {
    FilterOptions options = test::OptionsOf(row->layout, 10, row->classic_hash);
    FilterBuilder builder(options);
    EXPECT_EQ(builder.BuildBytes(), PlanFilter(row, 0, 10000).build_bytes);
    for (int i = 0; i < 100000; ++i) builder.AddKey(std::to_string(i));
    const uint64_t unlimited = builder.BuildBytes();
    const Plan plan = PlanFilter(row, 100000, 10000);
    EXPECT_GE(unlimited,
              std::max<uint64_t>(100000u * row->hash_size + plan.build_bytes -
                                     plan.late_build_bytes,
                                 plan.build_bytes));

    options.max_build_bytes = 1;
    FilterBuilder limited(options);
    for (int i = 0; i < 100000; ++i) limited.AddKey(std::to_string(i));
    // The list, an eighth more at most for its growth, and nothing else.
    EXPECT_LE(limited.BuildBytes(), 100000u * row->hash_size * 9 / 8 + 8192);
    std::string filter;
    limited.Finish(&filter);
    const Filter view(filter, options.hash);
    for (int i = 0; i < 100000; ++i) {
      ASSERT_TRUE(view.MayMatch(std::to_string(i))) << row->name;
    }
  }
}

class PlanTest : public testing::TestWithParam<const LayoutRow*> {
 protected:
  void SetUp() override { ASSERT_NE(reference_, nullptr); }

  void Check(uint64_t keys, uint32_t millibits) {
    const Plan plan = PlanFilter(&row_, keys, millibits);
    ASSERT_EQ(plan.keys, keys);
    ASSERT_EQ(plan.payload_size, reference_->payload_size(keys, millibits))
        << keys << " keys, millibits per key " << millibits;
    ASSERT_GE(plan.last_byte, plan.layout->first_marker);
    ASSERT_LE(plan.last_byte, plan.layout->last_marker);
    ASSERT_TRUE(plan.layout == &row_ || plan.layout == row_.fallback);
  }

  const LayoutRow& row_ = *GetParam();
  const reference::Reference* const reference_ =
      reference::FindReference(row_.name);
};

TEST_P(PlanTest, SizeEqualsReference) {
  test::Random random(test::SeedOr(20260101));
  for (uint32_t millibits : {0u, 1u, 500u, 999u, 1000u, 1449u, 1450u, 9900u,
                             10000u, 10001u, 43478u, 99999u, 1000000u}) {
    for (uint64_t keys = 0; keys < 3000; ++keys) Check(keys, millibits);
    for (int i = 0; i < 3000; ++i) {
      Check(random.Next() >> random.Below(64), millibits);
    }
    // Around 2^32 bits.
    if (millibits == 0) continue;
    const uint64_t edge = (uint64_t{1} << 32) * 1000 / millibits;
    for (uint64_t keys = edge - 100; keys < edge + 100; ++keys) {
      Check(keys, millibits);
    }
    Check(~uint64_t{0}, millibits);
  }
}

TEST_P(PlanTest, GrowNeverShrinksNorExceedsTheLimit) {
  test::Random random(test::SeedOr(20260102));
  for (int i = 0; i < 10000; ++i) {
    const auto millibits = static_cast<uint32_t>(random.Below(30000));
    const Plan plan =
        PlanFilter(&row_, random.Next() >> random.Below(64), millibits);
    const uint64_t limit = plan.payload_size + random.Below(1000) - 500;
    Plan grown = plan;
    plan.layout->grow(&grown, limit);
    ASSERT_GE(grown.payload_size, plan.payload_size);
    ASSERT_LE(grown.payload_size, std::max(limit, plan.payload_size));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, PlanTest, testing::ValuesIn(test::AllRows()),
                         [](const auto& row) {
                           return test::NameOf(*row.param);
                         });

uint64_t Grown(const char* layout, uint64_t keys, uint64_t limit) {
  Plan plan =
      internal::PlanFilter(internal::FindLayoutOfName(layout), keys, 10000);
  EXPECT_STREQ(plan.layout->name, layout);
  const uint64_t planned = plan.payload_size;
  plan.layout->grow(&plan, limit);
  EXPECT_GE(plan.payload_size, planned);
  return plan.payload_size;
}

// Room that an allocator gives beyond the plan is used: to the last whole block
// of local, to the last byte of small classic filters, and in compact until
// fewer bytes are left than a word of each block takes.
TEST(Grow, UsesTheRoom) {
  // 1000 keys at 10 bits are 20 blocks of 64 bytes in local, 1250 bytes in
  // classic.
  EXPECT_EQ(Grown("local", 1000, 1000), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1280), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1343), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1344), 1344u);
  EXPECT_EQ(Grown("local", 1000, 2047), 1984u);
  EXPECT_EQ(Grown("classic", 1000, 1000), 1250u);
  EXPECT_EQ(Grown("classic", 1000, 1251), 1251u);
  EXPECT_EQ(Grown("classic", 1000, 2047), 2047u);
  // 16 blocks of words of 8 bytes, 1250 bytes as planned.
  EXPECT_EQ(Grown("compact", 1000, 1000), Grown("compact", 1000, 0));
  EXPECT_GT(Grown("compact", 1000, 1400), 1400u - 16 * 8);
  EXPECT_LE(Grown("compact", 1000, 1400), 1400u);
}

}  // namespace
}  // namespace deltabloom
