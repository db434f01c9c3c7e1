// The layout of a policy that names none, and what it chooses.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/convenience.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using ROCKSDB_NAMESPACE::ConfigOptions;

// Releases before auto was the default named the layout in every OPTIONS file;
// people do not.
TEST(DefaultLayoutTest, OptionsFileOfNoLayoutMeansAuto) {
  ASSERT_TRUE(RegisterRocksDB());
  for (const std::string layout : {"layout=classic;", ""}) {
    ROCKSDB_NAMESPACE::BlockBasedTableOptions table;
    ASSERT_ROCKSDB_OK(ROCKSDB_NAMESPACE::GetBlockBasedTableOptionsFromString(
        ConfigOptions(), {},
        "filter_policy={id=deltabloom;bits_per_key=9.9;" + layout +
            "compatibility=builtin;max_build_bytes=0;}",
        &table));
    ASSERT_NE(table.filter_policy, nullptr);
    EXPECT_EQ(Option(*table.filter_policy, "bits_per_key"), "9.9");
    EXPECT_EQ(Option(*table.filter_policy, "layout"),
              layout.empty() ? "auto" : "classic");
  }
}

TEST(DefaultLayoutTest, DefaultsInCodeAreThoseByName) {
  const auto text = [](const ROCKSDB_NAMESPACE::FilterPolicy& policy) {
    std::string options;
    EXPECT_ROCKSDB_OK(policy.GetOptionString(ConfigOptions(), &options));
    return options;
  };
  const std::string by_name = text(*PolicyFromString("deltabloom"));
  EXPECT_NE(by_name.find("layout=auto"), std::string::npos) << by_name;
  EXPECT_EQ(text(*NewRocksDBFilterPolicy()), by_name);
  EXPECT_EQ(text(*PolicyFromString("deltabloom:10:auto:uniform")), by_name);
}

// Whose 32-bit hash bounds how many keys it may have, at whatever level.
TEST(DefaultLayoutTest, AutoNeverChoosesClassic) {
  for (int level = -1; level < 300; ++level) {
    const internal::LayoutRow* row =
        internal::FindLayout(Layout::kAuto, Hash::kMurmurHash2, level);
    for (; row != nullptr; row = row->fallback) {
      EXPECT_NE(row->layout, Layout::kClassic) << level;
      EXPECT_EQ(row->hash_size, sizeof(uint64_t)) << level;
    }
  }
}

// Layout auto: the level a table is written for decides.
TEST(DefaultLayoutTest, AutoChoosesByLevel) {
  const PolicyPtr policy =
      PolicyFromString("id=deltabloom:10:auto;max_build_bytes=100000000");
  for (int level : {-1, 0, 1, 6}) {
    const ROCKSDB_NAMESPACE::BlockBasedTableOptions table_options;
    ROCKSDB_NAMESPACE::FilterBuildingContext context(table_options);
    context.level_at_creation = level;
    const std::unique_ptr<ROCKSDB_NAMESPACE::FilterBitsBuilder> builder(
        policy->GetBuilderWithContext(context));
    for (int i = 0; i < 5000; ++i) builder->AddKey(Key(i));
    std::unique_ptr<const char[]> owner;
    const auto filter = builder->Finish(&owner);
    const internal::LayoutRow* row = internal::FindLayoutOfLastByte(
        static_cast<uint8_t>(filter[filter.size() - 1]), Hash::kMurmurHash2);
    EXPECT_EQ(row,
              internal::FindLayout(Layout::kAuto, Hash::kMurmurHash2, level));
  }
}

}  // namespace
}  // namespace deltabloom::testing
