// key_transform as an option: the registry, texts, OPTIONS files, filters of
// other transforms, and options of RocksDB that do not go with it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/key_transforms.h"
#include "engines/rocksdb/private_abi.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/random.h"
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

std::string Apply(const char* name, const std::string& key) {
  KeyScratch scratch;
  return std::string(
      internal::FindKeyTransform(name)->transform.function(key, &scratch));
}

TEST(KeyTransformRegistryTest, BuiltinTransforms) {
  EXPECT_EQ(Apply("ascii_lowercase", ""), "");
  EXPECT_EQ(Apply("ascii_lowercase", "@AZ[`az{"), "@az[`az{");
  EXPECT_EQ(Apply("ascii_lowercase", std::string("\0A\xc4\xe4\xff", 5)),
            std::string("\0a\xc4\xe4\xff", 5));
  EXPECT_EQ(Apply("trim_trailing_spaces", ""), "");
  EXPECT_EQ(Apply("trim_trailing_spaces", "   "), "");
  EXPECT_EQ(Apply("trim_trailing_spaces", " a b  "), " a b");
  EXPECT_EQ(Apply("trim_trailing_spaces", std::string("a \0 ", 4)),
            std::string("a \0", 3));
  EXPECT_EQ(Apply("trim_trailing_spaces", "a \t"), "a \t");
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  size_t spaces = 0;
  for (const std::string& key : test::Random(seed).MixedKeys(2000)) {
    EXPECT_EQ(Apply("ascii_lowercase", key), kIgnoreCase.counts(key));
    EXPECT_EQ(Apply("trim_trailing_spaces", key + std::string(spaces, ' ')),
              kPadSpace.counts(key));
    spaces = (spaces + 1) % 4;
  }
}

// docs/format.md, "Key transform".
TEST(KeyTransformRegistryTest, Ids) {
  EXPECT_EQ(internal::KeyTransformId("ascii_lowercase@1"), 0x7802baa7u);
  EXPECT_EQ(internal::KeyTransformId("trim_trailing_spaces@1"), 0x50b0ea61u);
  for (const char* name : {"ascii_lowercase", "trim_trailing_spaces"}) {
    const auto* transform = internal::FindKeyTransform(name);
    ASSERT_NE(transform, nullptr);
    EXPECT_EQ(transform->text, std::string(name) + "@1");
    EXPECT_EQ(transform->id, internal::KeyTransformId(transform->text));
    EXPECT_EQ(internal::FindKeyTransform(transform->id), transform);
  }
}

TEST(KeyTransformRegistryTest, NamesAndVersions) {
  RegisterTransformsOfTests();
  const auto* highest = internal::FindKeyTransform("test.lowercase_too");
  ASSERT_NE(highest, nullptr);
  EXPECT_EQ(highest->text, "test.lowercase_too@3");
  EXPECT_EQ(internal::FindKeyTransform("test.lowercase_too@3"), highest);
  EXPECT_EQ(internal::FindKeyTransform("test.lowercase_too@2")->text,
            "test.lowercase_too@2");
  for (const char* unknown :
       {"", "test.lowercase", "test.lowercase_too@4", "test.lowercase_too@03",
        "test.lowercase_too@", "@1", "Ascii_lowercase", "none"}) {
    EXPECT_EQ(internal::FindKeyTransform(unknown), nullptr) << unknown;
  }
}

TEST(KeyTransformRegistryTest, WhatIsRefused) {
  struct Case {
    std::string name;
    uint32_t version;
    std::string answer;
  };
  for (const Case& bad : std::vector<Case>{
           {"", 1, "the name '' is not legal: use 1 to 64 letters"},
           {std::string(65, 'a'), 1, "is not legal: use 1 to 64 letters"},
           {"none", 1, "the name 'none' is not legal"},
           {"a@b", 1, "the name 'a@b' is not legal"},
           {"a;b", 1, "the name 'a;b' is not legal"},
           {"a b", 1, "the name 'a b' is not legal"},
           {"\xc3\xa4", 1, "is not legal"},
           {"test.zero", 0, "version 0 is not legal: use 1 or more"},
           {"ascii_lowercase", 1,
            "ascii_lowercase@1 is registered already: a function that answers "
            "otherwise needs another version"}}) {
    std::string error;
    EXPECT_FALSE(RegisterForTest(bad.name, bad.version, Lower, &error))
        << bad.name;
    EXPECT_EQ(error.rfind("deltabloom: key transform", 0), 0u) << error;
    EXPECT_TRUE(Contains(error, bad.answer)) << error;
    EXPECT_FALSE(RegisterForTest(bad.name, bad.version, Lower));
  }
  KeyTransform empty;
  empty.name = "test.no_function";
  std::string error;
  EXPECT_FALSE(RegisterKeyTransform(empty, &error));
  EXPECT_TRUE(Contains(error, "test.no_function: no function")) << error;
  EXPECT_TRUE(RegisterForTest(std::string(64, 'a'), ~0u, Lower, &error))
      << error;
}

// Two texts of one id, found by trying.
TEST(KeyTransformRegistryTest, TwoNamesOfOneId) {
  const std::string first = "test.collides_75393";
  const std::string second = "test.collides_103412";
  ASSERT_EQ(internal::KeyTransformId(first + "@1"),
            internal::KeyTransformId(second + "@1"));
  std::string error;
  ASSERT_TRUE(RegisterForTest(first, 1, Lower, &error)) << error;
  EXPECT_FALSE(RegisterForTest(second, 1, Lower, &error));
  EXPECT_TRUE(Contains(error, "has the id of " + first)) << error;
  EXPECT_EQ(internal::FindKeyTransform(second), nullptr);
}

// A scratch is of any size, and a larger key leaves nothing to a smaller one.
TEST(KeyTransformRegistryTest, ScratchOfAnySize) {
  const auto* lower = internal::FindKeyTransform("ascii_lowercase");
  KeyScratch scratch;
  for (size_t size : {0, 1, 255, 256, 257, 100000, 300, 0, 256}) {
    EXPECT_EQ(lower->transform.function(std::string(size, 'A'), &scratch),
              std::string(size, 'a'));
  }
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
  EXPECT_FALSE(set("block_based_table_factory",
                   "{filter_policy={key_transform=nobody;}}")
                   .ok());
  const std::string now = Option(*PolicyIn(db->GetOptions()), "key_transform");
  EXPECT_TRUE(now == "ascii_lowercase@1" || Contains(now, "nobody")) << now;
  EXPECT_ROCKSDB_OK(db->Put({}, Key(0), Value(Key(0))));
  EXPECT_ROCKSDB_OK(db->Flush({}));
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
