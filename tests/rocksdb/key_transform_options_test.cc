// key_transform as an option: texts, OPTIONS files, and filters of other
// transforms.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

using internal::NewBitsBuilder;
using internal::NewBitsReader;
using rocksdb::Status;

constexpr int kKeys = 1000;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string Build(const rocksdb::FilterPolicy& policy,
                  const std::vector<std::string>& keys) {
  const auto builder = NewBitsBuilder(policy);
  for (const std::string& key : keys) builder->AddKey(key);
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

TEST(KeyTransformOptionsTest, ByCallAndByName) {
  RegisterTransformsOfTests();
  RocksDBFilterOptions options;
  options.key_transform = "test.lowercase_too";
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  ASSERT_NE(policy, nullptr) << error;
  EXPECT_EQ(Option(*policy, "key_transform"), "test.lowercase_too@3");
  EXPECT_EQ(Option(*Deltabloom(), "key_transform"), "none");
  EXPECT_EQ(Option(*PolicyWith("none"), "key_transform"), "none");
  EXPECT_EQ(Option(*PolicyWith("ascii_lowercase"), "key_transform"),
            "ascii_lowercase@1");
  EXPECT_EQ(Option(*PolicyWith("test.lowercase_too@2"), "key_transform"),
            "test.lowercase_too@2");

  for (const char* unknown : {"nobody", "nobody@1", "", "ascii_lowercase@2"}) {
    const std::string answer =
        std::string("key_transform '") + unknown +
        "' is not registered in this process: call RegisterKeyTransform "
        "before, or use none, ";
    options.key_transform = unknown;
    EXPECT_TRUE(Contains(options.Validate(), answer)) << options.Validate();
    EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
    EXPECT_TRUE(Contains(error, answer)) << error;
    EXPECT_TRUE(Contains(error, "ascii_lowercase@1")) << error;
    policy.reset();
    const Status status = rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(),
        std::string("id=deltabloom;key_transform=") + unknown, &policy);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_TRUE(Contains(status.ToString(), answer)) << status.ToString();
  }
}

// RocksDB drops the error where it parses table options. The policy that is
// left opens no database, writes no filter and asks none.
TEST(KeyTransformOptionsTest, UnknownTransformIsNeverNone) {
  EXPECT_TRUE(RegisterRocksDB());
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.invoke_prepare_options = false;
  rocksdb::BlockBasedTableOptions table;
  ASSERT_ROCKSDB_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      config, {}, "filter_policy={id=deltabloom;key_transform=nobody@7;}",
      &table));
  const PolicyPtr policy = table.filter_policy;
  ASSERT_NE(policy, nullptr);
  EXPECT_TRUE(Contains(Option(*policy, "key_transform"), "nobody@7"));
  EXPECT_EQ(NewBitsBuilder(*policy), nullptr);
  for (const std::string& filter :
       {std::string(), std::string(3, '\0'), Build(*Deltabloom(), {"a"}),
        Build(*Deltabloom(), {}), Build(*RocksDBBloom(), {"a"}),
        Build(*PolicyWith("ascii_lowercase"), {"a"})}) {
    EXPECT_TRUE(NewBitsReader(*policy, filter)->MayMatch("b"));
  }
  TempDir dir;
  std::unique_ptr<rocksdb::DB> db;
  const Status status = rocksdb::DB::Open(MakeOptions({policy, false, nullptr}),
                                          dir.Path("db"), OpensInto(&db));
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(Contains(status.ToString(), "'nobody@7' is not registered"))
      << status.ToString();
}

TEST(KeyTransformOptionsTest, OptionsFileRoundTrip) {
  const EqualityComparator comparator(kIgnoreCase);
  TempDir dir;
  auto db =
      Open(MakeOptions(ConfigFor(comparator, PolicyWith("ascii_lowercase"))),
           dir.Path("db"));
  Load(db.get(), 0, kKeys);
  db.reset();
  for (int round = 0; round < 2; ++round) {
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(
        rocksdb::ConfigOptions(), dir.Path("db"), &db_options, &families));
    rocksdb::Options loaded(db_options, families[0].options);
    loaded.comparator = &comparator;
    loaded.statistics = rocksdb::CreateDBStatistics();
    ASSERT_NE(PolicyIn(loaded), nullptr);
    EXPECT_EQ(Option(*PolicyIn(loaded), "key_transform"), "ascii_lowercase@1");
    db = Open(loaded, dir.Path("db"));
    ExpectFiltered(GetUpper(db.get(), kKeys), kKeys);
    db.reset();
  }
}

// Filters of another transform, of none, and RocksDB's own: no key is lost
// and none is turned away until compaction; one line in the LOG.
TEST(KeyTransformOptionsTest, OtherFiltersAreNotAsked) {
  struct Case {
    PolicyPtr before;
    const char* after;
    const char* told;
  };
  const PolicyPtr lower = PolicyWith("ascii_lowercase");
  for (const Case& other : std::vector<Case>{
           {PolicyWith("none"), "ascii_lowercase", "found has none"},
           {RocksDBBloom(), "ascii_lowercase", "is not Deltabloom's"},
           {RocksDBRibbon(), "ascii_lowercase", "is not Deltabloom's"},
           {PolicyWith("test.lowercase_too@1"), "ascii_lowercase",
            "has test.lowercase_too@1"},
           {PolicyWith("test.lowercase_too@1"), "test.lowercase_too@2",
            "has test.lowercase_too@1"},
           {lower, "none", "has ascii_lowercase@1"}}) {
    SCOPED_TRACE(std::string(other.told) + ", now " + other.after);
    const EqualityComparator comparator(kIgnoreCase);
    TempDir dir;
    auto db =
        Open(MakeOptions(ConfigFor(comparator, other.before)), dir.Path("db"));
    Load(db.get(), 0, kKeys);
    db.reset();
    db = Open(MakeOptions(ConfigFor(comparator, PolicyWith(other.after))),
              dir.Path("db"));
    const Lookups lookups = GetUpper(db.get(), kKeys);
    ExpectNoneMissed(lookups);
    EXPECT_EQ(lookups.useful, 0u);
    const std::string part = "filters of another key transform than";
    EXPECT_FALSE(Contains(ReadFile(dir.Path("db/LOG")), part));
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    // The second time nothing is said.
    ASSERT_ROCKSDB_OK(db->CompactRange(all, nullptr, nullptr));
    ASSERT_ROCKSDB_OK(db->CompactRange(all, nullptr, nullptr));
    const std::string log = ReadFile(dir.Path("db/LOG"));
    EXPECT_TRUE(Contains(log, part));
    EXPECT_EQ(log.find(part), log.rfind(part));
    EXPECT_TRUE(Contains(log, other.told));
    if (other.after != std::string("none")) {
      ExpectFiltered(GetUpper(db.get(), kKeys), kKeys);
    }
  }
}

// RocksDB without Deltabloom.
TEST(KeyTransformOptionsTest, RocksDBReadsThemAsMayMatch) {
  const EqualityComparator comparator(kIgnoreCase);
  TempDir dir;
  auto db =
      Open(MakeOptions(ConfigFor(comparator, PolicyWith("ascii_lowercase"))),
           dir.Path("db"));
  Load(db.get(), 0, kKeys);
  db.reset();
  db = Open(MakeOptions(ConfigFor(comparator, RocksDBBloom())), dir.Path("db"));
  const Lookups lookups = GetUpper(db.get(), kKeys);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
}

// An id that nobody registered, in bytes: named by its number.
TEST(KeyTransformOptionsTest, EmptyFilterOfAnotherTransformMayMatch) {
  const PolicyPtr lower = PolicyWith("ascii_lowercase");
  const PolicyPtr trim = PolicyWith("trim_trailing_spaces");
  const std::string empty = Build(*lower, {});
  EXPECT_FALSE(NewBitsReader(*lower, empty)->MayMatch("a"));
  EXPECT_TRUE(NewBitsReader(*trim, empty)->MayMatch("a"));
  EXPECT_TRUE(NewBitsReader(*Deltabloom(), empty)->MayMatch("a"));
  EXPECT_TRUE(NewBitsReader(*lower, Build(*trim, {}))->MayMatch("a"));
  EXPECT_TRUE(NewBitsReader(*lower, Build(*Deltabloom(), {}))->MayMatch("a"));
}

TEST(KeyTransformOptionsTest, EqualNeighboursCountOnce) {
  const auto builder = NewBitsBuilder(*PolicyWith("ascii_lowercase"));
  for (const char* key : {"A", "a", "a", "B", "b", "C"}) builder->AddKey(key);
  EXPECT_EQ(builder->EstimateEntriesAdded(), 3u);
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  builder->AddKeyAndAlt("Dd", "D");
  builder->AddKeyAndAlt("dD", "d");
  EXPECT_EQ(builder->EstimateEntriesAdded(), 5u);
#endif
}

// What a transform throws crosses no call of RocksDB's.
TEST(KeyTransformOptionsTest, ATransformThatThrows) {
  static bool throws = false;
  KeyTransform transform;
  transform.name = "test.throws";
  transform.function = [](std::string_view key, KeyScratch*) {
    if (throws && key == "bad") throw 7;
    return key;
  };
  ASSERT_TRUE(RegisterKeyTransform(transform));
  for (const bool seeded : {false, true}) {
    throws = false;
    const PolicyPtr policy = PolicyWith("test.throws", "local", seeded);
    const std::string filter = Build(*policy, {"a"});
    const auto reader = NewBitsReader(*policy, filter);
    EXPECT_FALSE(reader->MayMatch("bad"));
    throws = true;
    EXPECT_TRUE(reader->MayMatch("a"));
    EXPECT_TRUE(reader->MayMatch("bad"));
    EXPECT_FALSE(reader->MayMatch("b"));
    rocksdb::Slice keys[] = {"b", "bad", "a"};
    rocksdb::Slice* pointers[] = {&keys[0], &keys[1], &keys[2]};
    bool answers[3] = {false, false, false};
    reader->MayMatch(3, pointers, answers);
    EXPECT_TRUE(answers[1] && answers[2]);
    const std::string lossy = Build(*policy, {"a", "bad", "c"});
    EXPECT_TRUE(NewBitsReader(*policy, lossy)->MayMatch("anything"));
    EXPECT_FALSE(NewBitsReader(*policy, Build(*policy, {"a"}))->MayMatch("c"));
  }
}

// SetOptions: fixed in a policy; from RocksDB 9.8 on a new one is made, whose
// unknown transform is an error, not none.
// Whoever comes to change them, and says why not.
TEST(KeyTransformOptionsTest, FixedWhenAPolicyIsMade) {
  const auto set = [](const char* name, const char* value) {
    internal::PolicyOptions options;
    return internal::ApplyPolicyOptions({{name, value}}, /*in_use=*/true,
                                        &options);
  };
  const std::string fixed =
      " is fixed when a policy is made: make another policy";
  EXPECT_EQ(set("key_transform", "none"), "");
  EXPECT_EQ(set("key_transform", "ascii_lowercase"), "key_transform" + fixed);
  EXPECT_EQ(set("key_transform", "nobody"), "key_transform" + fixed);
  EXPECT_EQ(set("compatibility", "builtin"), "");
  EXPECT_EQ(set("compatibility", "own"), "compatibility" + fixed);
}

TEST(KeyTransformOptionsTest, SetOptions) {
  const EqualityComparator comparator(kIgnoreCase);
  TempDir dir;
  const auto db =
      Open(MakeOptions(ConfigFor(comparator, PolicyWith("ascii_lowercase"))),
           dir.Path("db"));
  Load(db.get(), 0, kKeys);
  const auto set = [&](const std::string& name, const std::string& value) {
    return db->SetOptions({{name, value}});
  };
  const std::string field = "table_factory.filter_policy.deltabloom.";
  for (const char* value : {"none", "test.lowercase_too", "nobody"}) {
    EXPECT_FALSE(set(field + "key_transform", value).ok()) << value;
  }
  EXPECT_ROCKSDB_OK(set(field + "bits_per_key", "12"));
  EXPECT_ROCKSDB_OK(set(field + "seeded", "true"));
  EXPECT_FALSE(set(field + "seeded", "maybe").ok());
  const Status unknown = set("block_based_table_factory",
                             "{filter_policy={key_transform=nobody;}}");
  EXPECT_FALSE(unknown.ok());
  const std::string now = Option(*PolicyIn(db->GetOptions()), "key_transform");
  EXPECT_ROCKSDB_OK(db->Put({}, Key(0), Value(Key(0))));
  EXPECT_ROCKSDB_OK(db->Flush({}));
  if (Contains(now, "nobody")) {
    // RocksDB took over the new policy, but no OPTIONS file has it.
    EXPECT_TRUE(Contains(unknown.ToString(), "Unable to persist options"));
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(
        rocksdb::ConfigOptions(), dir.Path("db"), &db_options, &families));
    EXPECT_EQ(
        Option(*PolicyIn(rocksdb::Options(db_options, families.at(0).options)),
               "key_transform"),
        "ascii_lowercase@1");
    EXPECT_TRUE(Contains(ReadFile(dir.Path("db/LOG")),
                         "key_transform 'nobody' is not registered"));
  } else {
    EXPECT_EQ(now, "ascii_lowercase@1");
  }
  ExpectNoneMissed(GetUpper(db.get(), kKeys));
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908
  ASSERT_ROCKSDB_OK(
      set("block_based_table_factory",
          "{filter_policy={bits_per_key=14;key_transform=ascii_lowercase;}}"));
#endif
  // Another field keeps the transform.
  ASSERT_ROCKSDB_OK(
      set("block_based_table_factory", "{filter_policy={bits_per_key=16;}}"));
  EXPECT_EQ(Option(*PolicyIn(db->GetOptions()), "key_transform"),
            "ascii_lowercase@1");
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_ROCKSDB_OK(db->CompactRange(all, nullptr, nullptr));
  ExpectFiltered(GetUpper(db.get(), kKeys), kKeys);
}

}  // namespace
}  // namespace deltabloom::testing
