// Key transforms: the registry, the option, databases whose comparator calls
// different bytes equal, and RocksDB's own options that conflict.
#include "deltabloom/key_transform.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/cache.h"
#include "table/framing.h"
#include "tests/random.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

std::string Apply(const char* name, const std::string& key) {
  KeyScratch scratch;
  return std::string(
      internal::FindKeyTransform(name)->transform.function(key, &scratch));
}

TEST(KeyTransformRegistryTest, BuiltinTransforms) {
  const std::string cases[][3] = {
      {"ascii_lowercase", "", ""},
      {"ascii_lowercase", "@AZ[`az{", "@az[`az{"},
      {"ascii_lowercase", {"\0A\xc4\xe4\xff", 5}, {"\0a\xc4\xe4\xff", 5}},
      {"trim_trailing_spaces", "", ""},
      {"trim_trailing_spaces", "   ", ""},
      {"trim_trailing_spaces", " a b  ", " a b"},
      {"trim_trailing_spaces", {"a \0 ", 4}, {"a \0", 3}},
      {"trim_trailing_spaces", "a \t", "a \t"},
  };
  for (const auto& [name, key, result] : cases) {
    EXPECT_EQ(Apply(name.c_str(), key), result);
  }
  // A scratch has any size, and a larger key leaves nothing to a smaller one.
  const auto* lower = internal::FindKeyTransform("ascii_lowercase");
  KeyScratch scratch;
  for (const size_t size : {0u, 1u, 255u, 256u, 257u, 100000u, 300u, 0u}) {
    EXPECT_EQ(lower->transform.function(std::string(size, 'A'), &scratch),
              std::string(size, 'a'));
  }
  size_t spaces = 0;
  test::FreshRandom random;
  for (const std::string& key : random.MixedKeys(2000)) {
    EXPECT_EQ(Apply("ascii_lowercase", key), kIgnoreCase.compared(key));
    EXPECT_EQ(Apply("trim_trailing_spaces", key + std::string(spaces, ' ')),
              kPadSpace.compared(key));
    spaces = (spaces + 1) % 4;
  }
}

TEST(KeyTransformRegistryTest, NamesVersionsAndIds) {
  // docs/format.md, "Key transform".
  const std::pair<std::string, uint32_t> ids[] = {
      {"ascii_lowercase", 0x7802baa7u}, {"trim_trailing_spaces", 0x50b0ea61u}};
  for (const auto& [name, id] : ids) {
    const auto* transform = internal::FindKeyTransform(name);
    ASSERT_NE(transform, nullptr);
    EXPECT_EQ(transform->text, name + "@1");
    EXPECT_EQ(transform->id, id);
    EXPECT_EQ(internal::FindKeyTransform(id), transform);
  }
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
  std::string error;
  using Case = std::tuple<std::string, uint32_t, std::string>;
  for (const auto& [name, version, answer] : std::vector<Case>{
           {"", 1, "the name '' is not legal: use 1 to 64 letters"},
           {std::string(65, 'a'), 1, "is not legal: use 1 to 64 letters"},
           {"none", 1, "the name 'none' is not legal"},
           {"a@b", 1, "the name 'a@b' is not legal"},
           {"a;b", 1, "the name 'a;b' is not legal"},
           {"a b", 1, "the name 'a b' is not legal"},
           {"\xc3\xa4", 1, "is not legal"},
           {"test.zero", 0, "version 0 is not legal: use 1 or more"},
           {"ascii_lowercase", 1,
            "ascii_lowercase@1 is registered already: a function with other "
            "results needs another version"}}) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(RegisterForTest(name, version, Lower, &error));
    EXPECT_EQ(error.rfind("deltabloom: key transform", 0), 0u) << error;
    EXPECT_CONTAINS(error, answer);
    EXPECT_FALSE(RegisterForTest(name, version, Lower));
  }
  KeyTransform empty;
  empty.name = "test.no_function";
  EXPECT_FALSE(RegisterKeyTransform(empty, &error));
  EXPECT_CONTAINS(error, "test.no_function: no function");
  EXPECT_TRUE(RegisterForTest(std::string(64, 'a'), ~0u, Lower));
}

// Two texts of one id, found by trying.
TEST(KeyTransformRegistryTest, TwoNamesOfOneId) {
  const std::string first = "test.collides_75393";
  const std::string second = "test.collides_103412";
  std::string error;
  ASSERT_TRUE(RegisterForTest(first, 1, Lower, &error)) << error;
  EXPECT_FALSE(RegisterForTest(second, 1, Lower, &error));
  EXPECT_CONTAINS(error, "has the id of " + first);
  EXPECT_EQ(internal::FindKeyTransform(second), nullptr);
}

constexpr int kKeys = 2000;
const TestComparator kIgnoringCase(kIgnoreCase);

Options IgnoringCase(const std::string& transform) {
  return OptionsFor(kIgnoringCase, PolicyWith(transform));
}

TEST(KeyTransformOptionTest, ByCallAndByName) {
  RegisterTransformsOfTests();
  RocksDBFilterOptions options;
  options.key_transform = "test.lowercase_too";
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  ASSERT_NE(policy, nullptr) << error;
  EXPECT_EQ(Option(*policy, "key_transform"), "test.lowercase_too@3");
  for (const auto& [name, text] :
       {std::make_pair("none", "none"),
        std::make_pair("ascii_lowercase", "ascii_lowercase@1"),
        std::make_pair("test.lowercase_too@2", "test.lowercase_too@2")}) {
    EXPECT_EQ(Option(*PolicyWith(name), "key_transform"), text);
  }
  for (const std::string unknown :
       {"unregistered", "unregistered@1", "", "ascii_lowercase@2"}) {
    const std::string answer =
        "key_transform '" + unknown +
        "' is not valid: use none, or what RegisterKeyTransform registered in "
        "this process: ";
    options.key_transform = unknown;
    EXPECT_CONTAINS(options.Validate(), answer);
    EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
    EXPECT_CONTAINS(error, answer);
    EXPECT_CONTAINS(error, "ascii_lowercase@1");
    const std::string text = "id=deltabloom;key_transform=" + unknown;
    ExpectRefused(text, answer);
    EXPECT_TRUE(CreatePolicy(text, &policy).IsInvalidArgument());
  }
}

// RocksDB drops the error where it parses table options. The policy that is
// left opens no database, writes no filter and uses none.
TEST(KeyTransformOptionTest, UnknownTransformIsNeverNone) {
  EXPECT_TRUE(RegisterRocksDB());
  ConfigOptions config;
  config.ignore_unknown_options = true;
  config.invoke_prepare_options = false;
  BlockBasedTableOptions table;
  ASSERT_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      config, {}, "filter_policy={id=deltabloom;key_transform=unregistered@7;}",
      &table));
  const PolicyPtr policy = table.filter_policy;
  ASSERT_NE(policy, nullptr);
  EXPECT_CONTAINS(Option(*policy, "key_transform"), "unregistered@7");
  EXPECT_EQ(NewBitsBuilder(*policy), nullptr);
  for (const std::string& filter :
       {std::string(), std::string(3, '\0'), Build(*Deltabloom(), {"a"}),
        Build(*Deltabloom(), {}), Build(*RocksDBBloom(), {"a"}),
        Build(*PolicyWith("ascii_lowercase"), {"a"})}) {
    EXPECT_EQ(Matches(*policy, filter, {"b"}), 1);
  }
  EXPECT_CONTAINS(TestDb().TryOpen(MakeOptions({policy})).ToString(),
                  "'unregistered@7' is not valid");
}

// Filters of another transform, of none, and RocksDB's own: no key is lost
// and none is rejected until compaction; one line in the LOG.
TEST(KeyTransformOptionTest, OtherFiltersAreNotUsed) {
  using Case = std::tuple<PolicyPtr, std::string, std::string>;
  for (const auto& [before, after, in_the_log] : std::vector<Case>{
           {PolicyWith("none"), "ascii_lowercase", "found has none"},
           {RocksDBBloom(), "ascii_lowercase", "is not Deltabloom's"},
           {RocksDBRibbon(), "ascii_lowercase", "is not Deltabloom's"},
           {PolicyWith("test.lowercase_too@1"), "ascii_lowercase",
            "has test.lowercase_too@1"},
           {PolicyWith("test.lowercase_too@1"), "test.lowercase_too@2",
            "has test.lowercase_too@1"},
           {PolicyWith("ascii_lowercase"), "none", "has ascii_lowercase@1"}}) {
    SCOPED_TRACE(in_the_log + ", now " + after);
    TestDb db(OptionsFor(kIgnoringCase, before));
    db.Load(0, kKeys);
    db.Open(IgnoringCase(after));
    db.ExpectUnfiltered(0, kKeys, Upper);
    const std::string part = "filters of another key transform than";
    EXPECT_LACKS(db.Log(), part);
    // The second time nothing is logged.
    db.Rewrite();
    db.Rewrite();
    EXPECT_EQ(CountIn(db.Log(), part), 1);
    EXPECT_CONTAINS(db.Log(), in_the_log);
    if (after != "none") db.ExpectFiltered(0, kKeys, Upper);
  }
}

// Filters of a transform that this process has not registered: which one was
// it?
TEST(KeyTransformOptionTest, AnUnknownTransformIsNamedByItsId) {
  internal::SealOptions seal;
  seal.keys.transformed = true;
  seal.keys.transform_id = 0x0badcafe;
  std::string filter(internal::SealedFramingSize(seal), '\0');
  internal::Seal(reinterpret_cast<unsigned char*>(filter.data()), 0,
                 internal::kEmptyLastByte, seal);
  const PolicyPtr policy = PolicyWith("ascii_lowercase");
  EXPECT_EQ(Matches(*policy, filter, {"b"}), 1);
  TestDb db(OptionsFor(kIgnoringCase, policy));
  db.Load(0, kKeys);
  EXPECT_CONTAINS(db.Log(),
                  "has one with id 0badcafe that is not registered in this "
                  "process");
}

TEST(KeyTransformOptionTest, EmptyFilterOfAnotherTransformMayMatch) {
  const PolicyPtr lower = PolicyWith("ascii_lowercase");
  const PolicyPtr trim = PolicyWith("trim_trailing_spaces");
  for (const auto& [reader, writer] :
       {std::make_pair(trim, lower), std::make_pair(Deltabloom(), lower),
        std::make_pair(lower, trim), std::make_pair(lower, Deltabloom())}) {
    EXPECT_EQ(Matches(*reader, Build(*writer, {}), {"a"}), 1);
  }
  EXPECT_EQ(Matches(*lower, Build(*lower, {}), {"a"}), 0);
}

TEST(KeyTransformOptionTest, EqualNeighboursCountOnce) {
  const auto builder = NewBitsBuilder(*PolicyWith("ascii_lowercase"));
  for (const char* key : {"A", "a", "a", "B", "b", "C"}) builder->AddKey(key);
  EXPECT_EQ(builder->EstimateEntriesAdded(), 3u);
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  builder->AddKeyAndAlt("Dd", "D");
  builder->AddKeyAndAlt("dD", "d");
  EXPECT_EQ(builder->EstimateEntriesAdded(), 5u);
#endif
}

// An exception of a transform does not leave a call of RocksDB's.
TEST(KeyTransformOptionTest, ATransformThatThrows) {
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
    const auto answers = MatchBatch(reader.get(), {"b", "bad", "a"});
    EXPECT_TRUE(answers[1] && answers[2]);
    const std::string lossy = Build(*policy, {"a", "bad", "c"});
    EXPECT_EQ(Matches(*policy, lossy, {"anything"}), 1);
    EXPECT_EQ(Matches(*policy, Build(*policy, {"a"}), {"c"}), 0);
    // RocksDB 9.6.1 and later would not finish a last partition of no entries.
    const auto builder = NewBitsBuilder(*policy);
    builder->AddKey("bad");
    EXPECT_EQ(builder->EstimateEntriesAdded(), 1u);
  }
}

TEST(KeyTransformOptionTest, FixedWhenAPolicyIsMade) {
  const std::string fixed =
      " is fixed when a policy is made: make another policy";
  const std::string cases[][3] = {
      {"key_transform", "none", ""},
      {"key_transform", "ascii_lowercase", "key_transform" + fixed},
      {"key_transform", "unregistered", "key_transform" + fixed},
      {"compatibility", "builtin", ""},
      {"compatibility", "own", "compatibility" + fixed}};
  for (const auto& [name, value, error] : cases) {
    internal::PolicyOptions options;
    EXPECT_EQ(internal::ApplyPolicyOptions({{name, value}}, /*in_use=*/true,
                                           /*ignores_unknown=*/false, &options),
              error);
  }
}

// From RocksDB 9.8 on SetOptions makes a new policy. A transform that is
// unknown there is an error; it does not become none.
TEST(KeyTransformOptionTest, SetOptions) {
  TestDb db(IgnoringCase("ascii_lowercase"));
  db.Load(0, kKeys);
  for (const char* value : {"none", "test.lowercase_too", "unregistered"}) {
    EXPECT_FALSE(db.SetField("key_transform", value).ok()) << value;
  }
  EXPECT_OK(db.SetField("bits_per_key", "12"));
  EXPECT_OK(db.SetField("seeded", "true"));
  EXPECT_FALSE(db.SetField("seeded", "maybe").ok());
  const Status unknown = db.SetPolicy("{key_transform=unregistered;}");
  EXPECT_FALSE(unknown.ok());
  const std::string now = db.Option("key_transform");
  db.Put(Key(0), Value(Key(0)));
  db.Flush();
  if (now.find("unregistered") != std::string::npos) {
    // RocksDB uses the new policy, but no OPTIONS file has it.
    EXPECT_CONTAINS(unknown.ToString(), "Unable to persist options");
    EXPECT_EQ(Option(*PolicyIn(db.Loaded(/*strict=*/false)), "key_transform"),
              "ascii_lowercase@1");
    EXPECT_CONTAINS(db.Log(), "key_transform 'unregistered' is not valid");
  } else {
    EXPECT_EQ(now, "ascii_lowercase@1");
  }
  ExpectNoneMissed(GetAll(db, 0, kKeys, Upper));
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908
  ASSERT_OK(db.SetPolicy("{bits_per_key=14;key_transform=ascii_lowercase;}"));
#endif
  // Another field keeps the transform.
  ASSERT_OK(db.SetPolicy("{bits_per_key=16;}"));
  EXPECT_EQ(db.Option("key_transform"), "ascii_lowercase@1");
  db.Rewrite();
  db.ExpectFiltered(0, kKeys, Upper);
}

std::string Get(const TestDb& db, const std::string& key,
                const rocksdb::Snapshot* snapshot = nullptr) {
  ReadOptions read;
  read.snapshot = snapshot;
  std::string value;
  const Status status = db->Get(read, key, &value);
  return status.ok() ? value : status.ToString();
}

struct Variant {
  const char* layout;
  bool partitioned;
  bool seeded;
};

using Parameters = std::tuple<Equality, Variant>;

class KeyTransformTest : public ::testing::TestWithParam<Parameters> {
 protected:
  Options MakeOptions(const Change& change = nullptr) const {
    const Variant variant = std::get<1>(GetParam());
    return OptionsFor(
        comparator_,
        PolicyWith(equality_.transform, variant.layout, variant.seeded),
        variant.partitioned, change);
  }

  void ExpectAllFiltered() {
    for (unsigned spelling : {0u, 5u, 10u}) {
      SCOPED_TRACE("spelling " + std::to_string(spelling));
      db_.ExpectFiltered(0, kKeys, [&](const std::string& key) {
        return equality_.spell(key, spelling);
      });
    }
  }

  const Equality equality_ = std::get<0>(GetParam());
  const TestComparator comparator_{equality_};
  TestDb db_;
};

TEST_P(KeyTransformTest, EveryKeyInEverySpelling) {
  db_.Open(MakeOptions());
  for (const std::string& key : Keys(0, kKeys)) {
    db_.Put(equality_.spell(key, 3), Value(key));
  }
  db_.Flush();
  ExpectAllFiltered();
  db_.Reopen();
  ExpectAllFiltered();
  db_.Compact();
  ExpectAllFiltered();
}

// Versions of a key in several spellings, kept apart by snapshots, some of them
// more than one partition of a filter holds; then deleted under another
// spelling.
TEST_P(KeyTransformTest, VersionsAndDeletes) {
  db_.Open(MakeOptions());
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (unsigned version = 0; version < 40; ++version) {
    for (int i = 0; i < 50; ++i) {
      db_.Put(equality_.spell(Key(2 * i), version % 16),
              std::to_string(version));
    }
    snapshots.push_back(db_->GetSnapshot());
  }
  db_.Flush();
  for (int i = 0; i < 50; i += 2) {
    ASSERT_OK(db_->Delete({}, equality_.spell(Key(2 * i), 7)));
  }
  db_.Flush();
  for (int compacted = 0; compacted < 2; ++compacted) {
    for (unsigned spelling = 0; spelling < 16; ++spelling) {
      for (int i = 0; i < 50; ++i) {
        const std::string key = equality_.spell(Key(2 * i), spelling);
        ASSERT_EQ(Get(db_, key), i % 2 == 0 ? "NotFound: " : "39") << key;
        ASSERT_EQ(Get(db_, key, snapshots[spelling]), std::to_string(spelling));
      }
    }
    db_.Compact();
  }
  for (const auto* snapshot : snapshots) db_->ReleaseSnapshot(snapshot);
}

// Key transforms work with a prefix extractor, too, with and without whole
// keys.
TEST_P(KeyTransformTest, Prefixes) {
  for (const bool whole_keys : {true, false}) {
    TestDb db(MakeOptions([&](Options* options, BlockBasedTableOptions* table) {
      options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(8));
      table->whole_key_filtering = whole_keys;
    }));
    // "user0000" to "user0039", in groups of ten keys each.
    std::vector<std::string> keys;
    for (int i = 0; i < 400; ++i) {
      keys.push_back(Key(2000 * (i / 10) + 2 * (i % 10)));
      db.Put(equality_.spell(keys.back(), 6), keys.back());
    }
    db.Flush();
    int missed = 0;
    for (unsigned i = 0; i < 400; ++i) {
      const std::string spelt = equality_.spell(keys[i], i % 16);
      missed += Get(db, spelt) != keys[i];
      const auto it = db.NewIterator();
      it->Seek(spelt);
      missed += !it->Valid() || it->value() != keys[i];
    }
    EXPECT_EQ(missed, 0);
    // Prefixes between them.
    db.options().statistics->Reset();
    for (int i = 0; i < 400; ++i) {
      const std::string absent = equality_.spell(Key(1000000 + 10000 * i), 9);
      const auto it = db.NewIterator();
      it->Seek(absent);
      EXPECT_EQ(Get(db, absent), "NotFound: ");
    }
    // If whole keys are not filtered, newer releases count a Get as one of a
    // prefix.
    EXPECT_GT(db.Ticker(rocksdb::BLOOM_FILTER_USEFUL) +
                  db.Ticker(rocksdb::BLOOM_FILTER_PREFIX_USEFUL),
              380u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, KeyTransformTest,
    ::testing::Combine(::testing::Values(kIgnoreCase, kPadSpace, kCustom),
                       ::testing::Values(Variant{"local", false, false},
                                         Variant{"classic", true, false},
                                         Variant{"compact", true, true},
                                         Variant{"compact", false, true})),
    [](const auto& instance) {
      const Variant& variant = std::get<1>(instance.param);
      return std::string(std::get<0>(instance.param).name) + "_" +
             variant.layout + (variant.partitioned ? "_partitioned" : "_full") +
             (variant.seeded ? "_seeded" : "");
    });

constexpr char kPrefixes[] = ";prefix_extractor=rocksdb.FixedPrefix.4";

// Options, and what is refused.
const std::string kRefused[][2] = {
    {"memtable_whole_key_filtering=true;memtable_prefix_bloom_size_ratio=0.1",
     "memtable_whole_key_filtering"},
    {"memtable_prefix_bloom_size_ratio=0.1" + std::string(kPrefixes),
     "memtable_prefix_bloom_size_ratio with a prefix_extractor"},
    {"memtable_factory=prefix_hash:1000;allow_concurrent_memtable_write=false" +
         std::string(kPrefixes),
     "memtable_factory HashSkipListRepFactory"},
    {"memtable_factory=hash_linkedlist:1000;"
     "allow_concurrent_memtable_write=false" +
         std::string(kPrefixes),
     "memtable_factory HashLinkListRepFactory"},
    {"block_based_table_factory={index_type=kHashSearch}" +
         std::string(kPrefixes),
     "index_type kHashSearch"},
};

Options With(const std::string& text, const Options& base) {
  Options options;
  EXPECT_OK(
      rocksdb::GetOptionsFromString(ConfigOptions(), base, text, &options));
  return options;
}

TEST(TransformConflictsTest, WhereRocksDBHashesBytes) {
  for (const auto& [text, refused] : kRefused) {
    const Options with = With(text, IgnoringCase("ascii_lowercase"));
    const Status status = TestDb().TryOpen(with);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_CONTAINS(
        status.ToString(),
        "deltabloom: " + refused + " hashes the bytes of keys in RocksDB");
    EXPECT_LACKS(status.ToString(), "\n");
    // RocksDB validates when it opens a database only; a program can do so
    // before CreateColumnFamily.
    EXPECT_TRUE(
        with.table_factory->ValidateOptions(with, with).IsInvalidArgument());

    TestDb without(With(text, MakeOptions({PolicyWith("none")})));
    EXPECT_OK(without.options().table_factory->ValidateOptions(with, with));
    without.Load(0, kKeys);
    without.ExpectFiltered(0, kKeys);
  }
}

TEST(TransformConflictsTest, WhatLosesNoKey) {
  for (const std::string& accepted :
       {// The comparator does not deny that keys of different bytes may be
        // equal, so RocksDB makes no hash index.
        std::string("block_based_table_factory="
                    "{data_block_index_type=kDataBlockBinaryAndHash}"),
        std::string("memtable_insert_with_hint_prefix_extractor="
                    "rocksdb.FixedPrefix.4"),
        std::string("memtable_whole_key_filtering=true"),
        std::string("block_based_table_factory="
                    "{index_type=kBinarySearchWithFirstKey}") +
            kPrefixes}) {
    SCOPED_TRACE(accepted);
    Options options = With(accepted, IgnoringCase("ascii_lowercase"));
    // Spellings have rows of their own.
    options.row_cache = rocksdb::NewLRUCache(1 << 20);
    TestDb db(options);
    for (const auto& key : Keys(0, kKeys)) db.Put(key, Value(key));
    ExpectNoneMissed(GetAll(db, 0, kKeys, Upper));  // in the memtable
    db.Flush();
    ExpectNoneMissed(GetAll(db, 0, kKeys, Upper));
    ExpectNoneMissed(GetAll(db, 0, kKeys, Upper));  // from caches
  }
}

}  // namespace
}  // namespace deltabloom::testing
