// The policy as text: URIs, named options, OPTIONS files, SetOptions, LOG.
#include "engines/rocksdb/policy/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Status;

Status Create(const std::string& text, PolicyPtr* policy) {
  EXPECT_TRUE(RegisterRocksDB());
  policy->reset();
  return FilterPolicy::CreateFromString(ConfigOptions(), text, policy);
}

void ExpectOptions(const FilterPolicy& policy, const std::string& bits_per_key,
                   const std::string& layout,
                   const std::string& compatibility) {
  EXPECT_EQ(policy.GetId(), "deltabloom");
  EXPECT_EQ(Option(policy, "bits_per_key"), bits_per_key);
  EXPECT_EQ(Option(policy, "layout"), layout);
  EXPECT_EQ(Option(policy, "compatibility"), compatibility);
}

TEST(OptionsTest, GoodText) {
  struct Case {
    const char* text;
    const char* bits_per_key;
    const char* layout;
    const char* compatibility;
  };
  for (const Case& good : std::initializer_list<Case>{
           {"deltabloom", "10", "auto", "builtin"},
           {"deltabloom:10", "10", "auto", "builtin"},
           {"deltabloom:9.9", "9.9", "auto", "builtin"},
           {"deltabloom:9.9:classic", "9.9", "classic", "builtin"},
           {"deltabloom:1e1", "10", "auto", "builtin"},
           {"deltabloom:0", "0", "auto", "builtin"},
           {"deltabloom:1000", "1000", "auto", "builtin"},
           {"deltabloom:0.0004", "0", "auto", "builtin"},
           {"deltabloom:0.4994", "0.499", "auto", "builtin"},
           {"deltabloom:0.4999", "0.499", "auto", "builtin"},
           {"deltabloom:0.5", "0.5", "auto", "builtin"},
           {"deltabloom:12.3456", "12.346", "auto", "builtin"},
           {"id=deltabloom;bits_per_key=9.99", "9.99", "auto", "builtin"},
           {"{id=deltabloom;bits_per_key=7;compatibility=own;}", "7", "auto",
            "own"},
           {"id=deltabloom:12:classic;compatibility=own", "12", "classic",
            "own"},
           {"id=deltabloom:12;bits_per_key=13", "13", "auto", "builtin"},
       }) {
    PolicyPtr policy;
    ASSERT_ROCKSDB_OK(Create(good.text, &policy));
    ASSERT_NE(policy, nullptr) << good.text;
    ExpectOptions(*policy, good.bits_per_key, good.layout, good.compatibility);
  }
}

TEST(OptionsTest, AllocationByName) {
  for (const std::string text :
       {"deltabloom:9.9:auto:levels",
        "id=deltabloom:9.9:auto;allocation=levels",
        "id=deltabloom;bits_per_key=9.9;layout=auto;allocation=levels"}) {
    const PolicyPtr policy = PolicyFromString(text);
    ExpectOptions(*policy, "9.9", "auto", "builtin");
    EXPECT_EQ(Option(*policy, "allocation"), "levels");
  }
  EXPECT_EQ(
      Option(*PolicyFromString("deltabloom:9.9:auto:uniform"), "allocation"),
      "uniform");
  EXPECT_EQ(Option(*Deltabloom(), "allocation"), "uniform");
}

TEST(OptionsTest, InStepsBeforeItIsPrepared) {
  EXPECT_TRUE(RegisterRocksDB());
  ConfigOptions config;
  config.invoke_prepare_options = false;
  PolicyPtr policy;
  ASSERT_ROCKSDB_OK(
      FilterPolicy::CreateFromString(config, "deltabloom:12", &policy));
  auto* const unprepared = const_cast<FilterPolicy*>(policy.get());
  ASSERT_ROCKSDB_OK(unprepared->ConfigureFromString(config, "layout=local"));
  ASSERT_ROCKSDB_OK(unprepared->PrepareOptions(config));
  ExpectOptions(*policy, "12", "local", "builtin");
}

TEST(OptionsTest, EveryLayoutByName) {
  std::vector<std::string> layouts = LayoutNames();
  layouts.push_back("auto");
  for (const std::string& layout : layouts) {
    ExpectOptions(*PolicyFromString("deltabloom:9.9:" + layout), "9.9", layout,
                  "builtin");
    ExpectOptions(*PolicyFromString("id=deltabloom;layout=" + layout), "10",
                  layout, "builtin");
  }
}

// Each is an error whose text says what to do; none is a silent null policy.
TEST(OptionsTest, BadText) {
  const std::string range = "use 0 to 1000; 10 gives about 1 %";
  struct Case {
    std::string text;
    std::string answer;
  };
  for (const Case& bad : std::vector<Case>{
           {"deltabloom:", "bits_per_key '' is not a number: " + range},
           {"deltabloom:nan", "bits_per_key 'nan' is out of range: " + range},
           {"deltabloom:-nan", "bits_per_key '-nan' is out of range: " + range},
           {"deltabloom:inf", "bits_per_key 'inf' is out of range: " + range},
           {"deltabloom:-inf", "bits_per_key '-inf' is out of range: " + range},
           {"deltabloom:-1", "bits_per_key '-1' is out of range: " + range},
           {"deltabloom:1000.1",
            "bits_per_key '1000.1' is out of range: " + range},
           {"deltabloom:1e300",
            "bits_per_key '1e300' is out of range: " + range},
           {"deltabloom:1e999",
            "bits_per_key '1e999' is not a number: " + range},
           {"deltabloom:ten", "bits_per_key 'ten' is not a number: " + range},
           {"deltabloom:10x", "bits_per_key '10x' is not a number: " + range},
           {"deltabloom: 10", "bits_per_key ' 10' is not a number: " + range},
           {"deltabloom:0x10", "bits_per_key '0x10' is not a number: " + range},
           {"deltabloom:10,5", "bits_per_key '10,5' is not a number: " + range},
           {"deltabloom:classic",
            "bits_per_key 'classic' is not a number: " + range},
           {"deltabloom::classic", "bits_per_key '' is not a number: " + range},
           {"deltabloom:10:", "layout '' is unknown: use classic"},
           {"deltabloom:10:cuckoo", "layout 'cuckoo' is unknown: use classic"},
           {"deltabloom:10:Classic",
            "layout 'Classic' is unknown: use classic"},
           // LevelDB's hash is for LevelDB.
           {"deltabloom:10:classic-leveldb", "is unknown: use classic"},
           {"deltabloom:10:classic:own",
            "allocation 'own' is unknown: use uniform or levels"},
           {"deltabloom:10:classic:",
            "allocation '' is unknown: use uniform or levels"},
           {"deltabloom:10:classic:levels:own",
            "cannot read ':own': use "
            "deltabloom:BITS_PER_KEY:LAYOUT:ALLOCATION"},
           {"deltabloom:10:classic:uniform:",
            "cannot read ':': use deltabloom"},
           {"id=deltabloom;allocation=Levels",
            "allocation 'Levels' is unknown: use uniform or levels"},
           {"id=deltabloom;bits_per_key=nan",
            "bits_per_key 'nan' is out of range: " + range},
           {"id=deltabloom;bits_per_key=",
            "bits_per_key '' is not a number: " + range},
           {"id=deltabloom;layout=cuckoo",
            "layout 'cuckoo' is unknown: use classic"},
           {"id=deltabloom;compatibility=both",
            "compatibility 'both' is unknown: use builtin or own"},
           {"id=deltabloom;max_build_bytes=-1",
            "max_build_bytes '-1' is not a number of bytes: use 0 for no"},
           {"id=deltabloom;max_build_bytes=1M",
            "max_build_bytes '1M' is not a number of bytes: use 0 for no"},
           {"id=deltabloom;payload_check=maybe",
            "payload_check 'maybe' is unknown: use on or off"},
           {"id=deltabloom;bits=10", ": bits"},
           {"deltabloom:10:a\nb", "layout 'a\\nb' is unknown: use classic"},
           {"deltabloom:10:\x1b[31m",
            "layout '\\x1b[31m' is unknown: use classic"},
           {"deltabloom:1'\\\xc3\t:local",
            "bits_per_key '1\\'\\\\\\xc3\\t' is not a number: " + range},
           {"deltabloom:10:auto:levels:\r",
            "cannot read ':\\r': use deltabloom"},
           {"id=deltabloom;bi\nts=10", "bi\\nts"},
           {"id=deltabloom;key_transform=a\nb",
            "key_transform 'a\\nb' is not registered"},
       }) {
    PolicyPtr policy;
    const Status status = Create(bad.text, &policy);
    EXPECT_FALSE(status.ok()) << bad.text;
    EXPECT_NE(status.ToString().find(bad.answer), std::string::npos)
        << bad.text << "\n  " << status.ToString();
    EXPECT_EQ(status.ToString().find('\n'), std::string::npos);
  }
}

// The parser that programs use without a database.
TEST(OptionsTest, ParsedWithoutRocksDB) {
  const auto parse = [](const std::string& text) {
    internal::PolicyOptions options;
    const std::string error = internal::ParsePolicyOptions(text, &options);
    return error.empty() ? internal::PrintPolicyOptions(options) : error;
  };
  const std::string rest =
      " allocation=levels compatibility=builtin max_build_bytes=0 "
      "payload_check=off seeded=on key_transform=none statistics=on "
      "statistics_log_seconds=600 false_positive_rate=0 "
      "max_filter_bytes=unlimited range=off";
  for (const std::string text :
       {"id=deltabloom:9.9:local:levels;seeded=1",
        "id=deltabloom:9.9:local;allocation=levels;seeded=on",
        " { id = deltabloom ; bits_per_key = 9.9 ; layout = local ; "
        "allocation = levels ; seeded = true ; } ",
        "bits_per_key=9.9;layout=local;allocation=levels;seeded=on;"}) {
    EXPECT_EQ(parse(text), "bits_per_key=9.9 layout=local" + rest) << text;
  }
  EXPECT_EQ(parse(""), parse("deltabloom"));
  EXPECT_EQ(parse("{}"), parse("deltabloom:10:auto:uniform"));
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"deltabloomm:10:auto", "cannot read 'deltabloomm:10:auto': use "},
           {"bloomfilter:10", "cannot read 'bloomfilter:10': use "},
           {"id=deltabloom;seeded", "cannot read 'id=deltabloom;seeded': use "},
           {"id=deltabloom;a\nb=1", "option 'a\\nb' is unknown: use id, bits_"},
           {"id=deltabloom;range=on;false_positive_rate=0.1",
            "range=on and false_positive_rate are both given"}}) {
    EXPECT_EQ(parse(bad.text).find(bad.error), 0u) << parse(bad.text);
  }
}

// What a later version wrote is refused, with its name; or taken without what
// nobody knows where RocksDB is told to, and the LOG says so.
TEST(OptionsTest, OptionsOfALaterVersion) {
  EXPECT_TRUE(RegisterRocksDB());
  const std::string text = "{id=deltabloom;bits_per_key=9;swiftness=3;}";
  PolicyPtr policy;
  const Status refused = Create(text, &policy);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.ToString().find("swiftness"), std::string::npos);

  ConfigOptions lenient;
  lenient.ignore_unknown_options = true;
  rocksdb::BlockBasedTableOptions table;
  ASSERT_ROCKSDB_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      lenient, {}, "filter_policy=" + text, &table));
  ASSERT_NE(table.filter_policy, nullptr);
  EXPECT_EQ(Option(*table.filter_policy, "bits_per_key"), "9");
  TempDir dir;
  const auto db =
      Open(MakeOptions({table.filter_policy, false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, 100);
  EXPECT_NE(ReadFile(dir.Path("db/LOG"))
                .find("ignored, as this version does not know them: "
                      "'swiftness'"),
            std::string::npos);
}

// RocksDB drops errors of the policy where it parses table options, and values
// with errors where unknown options are ignored.
TEST(OptionsTest, BadTextOpensNoDatabase) {
  EXPECT_TRUE(RegisterRocksDB());
  for (const bool ignore_unknown : {false, true}) {
    for (const std::string text :
         {"deltabloom:nan", "deltabloom:10:cuckoo",
          "{id=deltabloom;layout=cuckoo;compatibility=own;}",
          "{id=deltabloom;bits_per_key=nan;}"}) {
      for (const bool prepare : {true, false}) {
        ConfigOptions config;
        config.ignore_unknown_options = ignore_unknown;
        config.invoke_prepare_options = prepare;
        rocksdb::BlockBasedTableOptions table;
        Status status = rocksdb::GetBlockBasedTableOptionsFromString(
            config, {}, "filter_policy=" + text, &table);
        EXPECT_EQ(status.ok(), !prepare) << text;
        if (status.ok()) {
          ASSERT_NE(table.filter_policy, nullptr) << text;
          rocksdb::Options options;
          options.create_if_missing = true;
          options.table_factory.reset(
              rocksdb::NewBlockBasedTableFactory(table));
          TempDir dir;
          std::unique_ptr<rocksdb::DB> db;
          status = rocksdb::DB::Open(options, dir.Path("db"), OpensInto(&db));
        }
        EXPECT_FALSE(status.ok()) << text;
        EXPECT_NE(status.ToString().find("deltabloom: "), std::string::npos)
            << text << "\n  " << status.ToString();
        EXPECT_NE(status.ToString().find(": use "), std::string::npos)
            << text << "\n  " << status.ToString();
      }
    }
  }
}

TEST(OptionsTest, BadOptionsInCode) {
  for (const double bits_per_key :
       {std::nan(""), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), -0.001, 1000.001, 1e300}) {
    RocksDBFilterOptions options;
    options.bits_per_key = bits_per_key;
    EXPECT_NE(options.Validate(), "");
    std::string error;
    EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
    EXPECT_NE(error.find("out of range: use 0 to 1000"), std::string::npos)
        << error;
    EXPECT_LT(error.size(), 140u) << error;
    EXPECT_EQ(NewRocksDBFilterPolicy(options, nullptr), nullptr);
  }
  RocksDBFilterOptions options;
  options.layout = static_cast<Layout>(200);
  EXPECT_EQ(NewRocksDBFilterPolicy(options), nullptr);
  options = RocksDBFilterOptions();
  options.allocation = static_cast<RocksDBAllocation>(2);
  std::string error;
  EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
  EXPECT_EQ(error,
            "deltabloom: allocation '2' is unknown: use uniform or levels");
}

TEST(OptionsTest, OptionsInCode) {
  RocksDBFilterOptions options;
  options.bits_per_key = 7.125;
  options.compatibility = RocksDBCompatibility::kOwn;
  std::string error = "untouched";
  const PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(error, "untouched");
  ExpectOptions(*policy, "7.125", "auto", "own");
}

TEST(OptionsTest, CompatibilityNames) {
  EXPECT_STREQ(Deltabloom()->CompatibilityName(),
               RocksDBBloom()->CompatibilityName());
  EXPECT_STREQ(Deltabloom(10, RocksDBCompatibility::kOwn)->CompatibilityName(),
               "deltabloom.SealedFilter");
}

TEST(OptionsTest, FewBitsMeanNoFilter) {
  for (const double bits_per_key :
       {0.0, 0.3, 0.499, 0.4999, std::nextafter(0.5, 0.0)}) {
    EXPECT_EQ(internal::NewBitsBuilder(*Deltabloom(bits_per_key)), nullptr);
  }
  for (const double bits_per_key : {0.5, 1.0, 1000.0}) {
    EXPECT_NE(internal::NewBitsBuilder(*Deltabloom(bits_per_key)), nullptr);
  }
  TempDir dir;
  const auto db =
      Open(MakeOptions({Deltabloom(0.4), false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, 100);
  const Lookups lookups = GetAll(db.get(), 0, 100);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
}

TEST(OptionsTest, OptionsFileRoundTrip) {
  std::vector<std::string> layouts = LayoutNames();
  layouts.push_back("auto");
  for (const std::string& layout : layouts) {
    TempDir dir;
    const PolicyPtr policy =
        PolicyFromString("id=deltabloom:9.9:" + layout + ";compatibility=own");
    auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
    Load(db.get(), 0, 1000);
    db.reset();

    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ConfigOptions strict;
    strict.ignore_unknown_options = false;
    strict.ignore_unsupported_options = false;
    ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(strict, dir.Path("db"),
                                                 &db_options, &families));
    rocksdb::Options loaded(db_options, families[0].options);
    ASSERT_NE(PolicyIn(loaded), nullptr);
    ExpectOptions(*PolicyIn(loaded), "9.9", layout, "own");

    loaded.statistics = rocksdb::CreateDBStatistics();
    db = Open(loaded, dir.Path("db"));
    ExpectFiltered(GetAll(db.get(), 0, 1000), 1000);
    Load(db.get(), 1000, 2000);
    ExpectFiltered(GetAll(db.get(), 1000, 2000), 1000);

    // And once more, from what was written by what was read.
    db.reset();
    ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(strict, dir.Path("db"),
                                                 &db_options, &families));
    ExpectOptions(*PolicyIn(rocksdb::Options(db_options, families[0].options)),
                  "9.9", layout, "own");
    EXPECT_ROCKSDB_OK(rocksdb::CheckOptionsCompatibility(strict, dir.Path("db"),
                                                         db_options, families));
  }
}

TEST(OptionsTest, RegisteringAgainDoesNoHarm) {
  std::string error;
  EXPECT_TRUE(RegisterRocksDB(&error)) << error;
  EXPECT_TRUE(RegisterRocksDB());
  PolicyPtr policy;
  EXPECT_ROCKSDB_OK(Create("deltabloom:5", &policy));
}

}  // namespace
}  // namespace deltabloom::testing
