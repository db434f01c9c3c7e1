// The options of a policy: as text, in code, and in OPTIONS files.
#include "engines/rocksdb/base/options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

std::string AllOptions(const FilterPolicy& policy) {
  std::string text;
  EXPECT_OK(policy.GetOptionString(ConfigOptions(), &text));
  return text;
}

// The options that differ from the defaults, in alphabetical order.
std::string Changed(const FilterPolicy& policy) {
  EXPECT_EQ(policy.GetId(), "deltabloom");
  const std::string defaults =
      ";" + AllOptions(*NewRocksDBFilterPolicy()) + ";";
  std::set<std::string> changed;
  std::istringstream text(AllOptions(policy));
  for (std::string option; std::getline(text, option, ';');) {
    if (defaults.find(";" + option + ";") == std::string::npos) {
      changed.insert(option);
    }
  }
  std::string joined;
  for (const std::string& option : changed) joined += ";" + option;
  return joined.empty() ? "" : joined.substr(1);
}

struct Good {
  std::string text;
  std::string changed;
};

const std::vector<Good> kGoodTexts = {
    {"deltabloom", ""},
    {"deltabloom:9.9", "bits_per_key=9.9"},
    {"deltabloom:9.9:classic", "bits_per_key=9.9;layout=classic"},
    {"deltabloom:0", "bits_per_key=0"},
    {"deltabloom:1000", "bits_per_key=1000"},
    {"deltabloom:0.0004", "bits_per_key=0"},
    {"deltabloom:0.4999", "bits_per_key=0.499"},
    {"deltabloom:0.5", "bits_per_key=0.5"},
    {"deltabloom:12.3456", "bits_per_key=12.346"},
    {"id=deltabloom;bits_per_key=9.99", "bits_per_key=9.99"},
    {"{id=deltabloom;bits_per_key=7;compatibility=own;}",
     "bits_per_key=7;compatibility=own"},
    {"id=deltabloom:12:classic;compatibility=own",
     "bits_per_key=12;compatibility=own;layout=classic"},
    {"id=deltabloom:12;bits_per_key=13", "bits_per_key=13"},
    {"deltabloom:9.9:auto", "bits_per_key=9.9"},
    {"id=deltabloom;upper_bits_per_key=unset", ""},
    {"id=deltabloom;upper_bits_per_key=10", "upper_bits_per_key=10"},
    {"id=deltabloom;upper_bits_per_key=14.0004;bits_per_key=12",
     "bits_per_key=12;upper_bits_per_key=14"},
    {"id=deltabloom:0;upper_bits_per_key=0.4",
     "bits_per_key=0;upper_bits_per_key=0.4"},
    {"id=deltabloom;max_filter_bytes=1", "max_filter_bytes=1"},
    // Letters mean what they mean in RocksDB's options.
    {"id=deltabloom;max_filter_bytes=1.5K", "max_filter_bytes=1536"},
    {"id=deltabloom;max_build_bytes=16M", "max_build_bytes=16777216"},
    {"id=deltabloom;max_build_bytes=16MB", "max_build_bytes=16000000"},
    {"id=deltabloom;max_filter_bytes=18446744073709551615", ""},
    {"id=deltabloom;max_filter_bytes=unlimited", ""},
    {"id=deltabloom;seeded=1", "seeded=on"},
    {"id=deltabloom;seeded=0;layout=compact;statistics=1", ""},
    {"id=deltabloom;statistics=false;statistics_log_seconds=4294967295",
     "statistics=off;statistics_log_seconds=4294967295"},
};

TEST(OptionsTest, GoodText) {
  std::vector<Good> texts = kGoodTexts;
  for (const std::string& layout : LayoutNames()) {
    const std::string changed = layout == "compact" ? "" : "layout=" + layout;
    texts.push_back({"id=deltabloom;layout=" + layout, changed});
    texts.push_back(
        {"deltabloom:9.9:" + layout,
         "bits_per_key=9.9" + (changed.empty() ? "" : ";" + changed)});
  }
  for (const Good& good : texts) {
    SCOPED_TRACE(good.text);
    const PolicyPtr policy = PolicyFromString(good.text);
    EXPECT_EQ(Changed(*policy), good.changed);
    EXPECT_EQ(
        Changed(*PolicyFromString("id=deltabloom;" + AllOptions(*policy))),
        good.changed);
  }
}

TEST(OptionsTest, InStepsBeforeItIsPrepared) {
  EXPECT_TRUE(RegisterRocksDB());
  ConfigOptions config;
  config.invoke_prepare_options = false;
  PolicyPtr policy;
  ASSERT_OK(FilterPolicy::CreateFromString(config, "deltabloom:12", &policy));
  auto* const unprepared = const_cast<FilterPolicy*>(policy.get());
  ASSERT_OK(unprepared->ConfigureFromString(config, "layout=local"));
  ASSERT_OK(unprepared->PrepareOptions(config));
  EXPECT_EQ(Changed(*policy), "bits_per_key=12;layout=local");
}

struct BadValues {
  std::string option;
  std::vector<std::string> values;
  std::string legal;  // what is to be used instead
};

const std::vector<BadValues> kBadValues = {
    {"bits_per_key",
     {"nan", "-nan", "inf", "-inf", "-1", "1000.1", "1e300", "", "1e999", "ten",
      "10x", "0x10", "10,5", "classic"},
     "0 to 1000; 10 gives about 0.1 %"},
    {"upper_bits_per_key",
     {"nan", "-1", "1000.1", "", "ten"},
     "bits_per_key to 1000, or unset"},
    // LevelDB's hash is for LevelDB.
    {"layout", {"", "cuckoo", "Classic", "classic-leveldb"}, "classic, local"},
    {"compatibility", {"both"}, "builtin or own"},
    {"max_build_bytes",
     {"-1", "1MM", "M", "1e30T", "0.5"},
     "an amount as in 16M, 16MiB or 16777216, or 0 for no limit"},
    {"payload_check", {"maybe"}, "on or off"},
    {"seeded", {"yes"}, "on or off"},
    {"max_filter_bytes",
     {"0", "-1", "0K", "", "nan", "0.5", "none", "18446744073709551616"},
     "an amount above 0 as in 1M, 1MiB or 1048576, or unlimited"},
    {"statistics", {"maybe", "", "On", "2", "no"}, "on or off"},
    {"statistics_log_seconds",
     {"nan", "-1", "1.5", "10s", "", "4294967296"},
     "0 to 4294967295; 0 writes nothing"},
};

// Each is an error whose text says what to do, and the option stays as it was.
TEST(OptionsTest, BadValuesByName) {
  const std::string defaults = internal::PrintPolicyOptions({});
  for (const BadValues& bad : kBadValues) {
    for (const std::string& value : bad.values) {
      const std::string text = "id=deltabloom;" + bad.option + "=" + value;
      ExpectRefused(
          text, bad.option + " '" + value + "' is not valid: use " + bad.legal);
      internal::PolicyOptions parsed;
      internal::ParsePolicyOptions(text, &parsed);
      EXPECT_EQ(internal::PrintPolicyOptions(parsed), defaults) << text;
    }
  }
}

TEST(OptionsTest, BadText) {
  const std::string number = " is not valid: use 0 to 1000";
  const char* const uri = "use deltabloom:BITS_PER_KEY:LAYOUT";
  const std::string cases[][2] = {
      {"deltabloom:", "bits_per_key ''" + number},
      {"deltabloom:nan", "bits_per_key 'nan'" + number},
      {"deltabloom: 10", "bits_per_key ' 10'" + number},
      {"deltabloom:10:", "layout '' is not valid: use classic"},
      {"deltabloom:10:classic:", std::string("cannot read ':': ") + uri},
      {"deltabloom:10:classic:own", std::string("cannot read ':own': ") + uri},
      {"deltabloom:10:classic:levels:own",
       std::string("cannot read ':levels:own': ") + uri},
      {"id=deltabloom;bits=10",
       "option 'bits' is unknown: use id, bits_per_key"},
      // Foreign bytes are quoted.
      {"deltabloom:10:a\nb", "layout 'a\\nb' is not valid: use classic"},
      {"deltabloom:1'\\\xc3\t:local",
       "bits_per_key '1\\'\\\\\\xc3\\t'" + number},
      {"id=deltabloom;key_transform=a\nb",
       "key_transform 'a\\nb' is not valid: use none, or what"},
      // The order does not matter, nor which of them RocksDB passes first.
      {"id=deltabloom;upper_bits_per_key=9;bits_per_key=10",
       "upper_bits_per_key=9 is less than bits_per_key=10"},
      {"id=deltabloom:10;upper_bits_per_key=9.99",
       "upper_bits_per_key=9.99 is less than bits_per_key=10"},
  };
  for (const auto& [text, answer] : cases) ExpectRefused(text, answer);
}

TEST(OptionsTest, ParsedWithoutRocksDB) {
  const auto parse = [](const std::string& text) {
    internal::PolicyOptions options;
    const std::string error = internal::ParsePolicyOptions(text, &options);
    return error.empty() ? internal::PrintPolicyOptions(options) : error;
  };
  const std::string rest =
      " upper_bits_per_key=12 compatibility=builtin max_build_bytes=0 "
      "payload_check=off seeded=on key_transform=none statistics=on "
      "statistics_log_seconds=600 max_filter_bytes=unlimited";
  for (const std::string text :
       {"id=deltabloom:9.9:local;upper_bits_per_key=12;seeded=1",
        " { id = deltabloom ; bits_per_key = 9.9 ; layout = local ; "
        "upper_bits_per_key = 12 ; seeded = true ; } ",
        "upper_bits_per_key=12;bits_per_key=9.9;layout=local;seeded=on;"}) {
    EXPECT_EQ(parse(text), "bits_per_key=9.9 layout=local" + rest) << text;
  }
  EXPECT_EQ(parse(""), parse("deltabloom"));
  EXPECT_EQ(parse("{}"), parse("deltabloom:10:compact"));
  const char* const bad[][2] = {
      {"deltabloomm:10:local", "cannot read 'deltabloomm:10:local': use "},
      {"bloomfilter:10", "cannot read 'bloomfilter:10': use "},
      {"id=deltabloom;seeded", "cannot read 'id=deltabloom;seeded': use "}};
  for (const auto& [text, error] : bad) {
    EXPECT_EQ(parse(text).find(error), 0u) << parse(text);
  }
}

// An unknown option, which a later version wrote, is refused by its name; or,
// where RocksDB ignores unknown options, it is ignored, and the LOG says so.
TEST(OptionsTest, OptionsOfALaterVersion) {
  const std::string text = "{id=deltabloom;bits_per_key=9;swiftness=3;}";
  ExpectRefused(text, "swiftness");
  ConfigOptions lenient;
  lenient.ignore_unknown_options = true;
  BlockBasedTableOptions table;
  ASSERT_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      lenient, {}, "filter_policy=" + text, &table));
  ASSERT_NE(table.filter_policy, nullptr);
  EXPECT_EQ(Changed(*table.filter_policy), "bits_per_key=9");
  TestDb db(table.filter_policy);
  db.Load(0, 100);
  EXPECT_CONTAINS(db.Log(),
                  "ignored, as version 0.1.0 does not know them: 'swiftness'");
}

// RocksDB drops errors of the policy where it parses table options, and values
// with errors where unknown options are ignored.
TEST(OptionsTest, BadTextOpensNoDatabase) {
  EXPECT_TRUE(RegisterRocksDB());
  ConfigOptions config;
  for (const std::string text :
       {"deltabloom:nan", "deltabloom:10:cuckoo",
        "{id=deltabloom;layout=cuckoo;compatibility=own;}",
        "{id=deltabloom;bits_per_key=nan;}",
        "{id=deltabloom;statistics_log_seconds=10s;}"}) {
    for (const bool ignore_unknown : {false, true}) {
      for (const bool prepare : {true, false}) {
        config.ignore_unknown_options = ignore_unknown;
        config.invoke_prepare_options = prepare;
        BlockBasedTableOptions table;
        Status status = rocksdb::GetBlockBasedTableOptionsFromString(
            config, {}, "filter_policy=" + text, &table);
        EXPECT_EQ(status.ok(), !prepare) << text;
        if (status.ok()) {
          ASSERT_NE(table.filter_policy, nullptr) << text;
          status = TestDb().TryOpen(MakeOptions({table.filter_policy}));
        }
        EXPECT_CONTAINS(status.ToString(), "deltabloom: ") << text;
        EXPECT_CONTAINS(status.ToString(), ": use ") << text;
      }
    }
  }
}

TEST(OptionsTest, BadOptionsInCode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<std::pair<std::string, RocksDBFilterOptions>> cases;
  const auto add = [&cases](const std::string& answer) {
    cases.emplace_back(answer, RocksDBFilterOptions());
    return &cases.back().second;
  };
  for (const double bits :
       {std::nan(""), kInfinity, -kInfinity, -0.001, 1000.001, 1e300}) {
    add("is not valid: use 0 to 1000")->bits_per_key = bits;
  }
  RocksDBFilterOptions* bad =
      add("upper_bits_per_key=8 is less than bits_per_key=9: set both at once");
  bad->bits_per_key = 9;
  bad->upper_bits_per_key = 8;
  add("max_filter_bytes '0' is not valid: use an amount above 0")
      ->max_filter_bytes = 0;
  add("layout '200' is not valid")->layout = static_cast<Layout>(200);
  for (const auto& [answer, options] : cases) {
    std::string error;
    EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
    EXPECT_CONTAINS(error, answer);
    EXPECT_LT(error.size(), 200u) << error;
    EXPECT_EQ("deltabloom: " + options.Validate(), error);
  }
}

TEST(OptionsTest, OptionsInCode) {
  RocksDBFilterOptions options;
  options.bits_per_key = 7.125;
  options.compatibility = RocksDBCompatibility::kOwn;
  options.seeded = true;
  options.statistics = false;
  options.statistics_log_seconds = 4294967295;
  EXPECT_EQ(options.Validate(), "");
  std::string error = "untouched";
  const PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(error, "untouched");
  EXPECT_EQ(Changed(*policy),
            "bits_per_key=7.125;compatibility=own;seeded=on;statistics=off;"
            "statistics_log_seconds=4294967295");
}

TEST(OptionsTest, FewBitsMeanNoFilter) {
  for (const double bits_per_key :
       {0.0, 0.3, 0.499, 0.4999, std::nextafter(0.5, 0.0)}) {
    EXPECT_EQ(NewBitsBuilder(*Deltabloom(bits_per_key)), nullptr);
  }
  for (const double bits_per_key : {0.5, 1.0, 1000.0}) {
    EXPECT_NE(NewBitsBuilder(*Deltabloom(bits_per_key)), nullptr);
  }
  TestDb db(Deltabloom(0.4));
  db.Load(0, 100);
  db.ExpectUnfiltered(0, 100);
}

TEST(OptionsTest, OptionsFileRoundTrip) {
  std::vector<std::string> texts = {
      "bits_per_key=0",
      "bits_per_key=12;max_filter_bytes=70",
      "bits_per_key=12;upper_bits_per_key=14.5",
      "bits_per_key=16;max_filter_bytes=5000;layout=compact",
      "statistics=false;statistics_log_seconds=4294967295",
      "key_transform=trim_trailing_spaces@1",
      "bits_per_key=9.9;compatibility=own;upper_bits_per_key=9.9",
  };
  const size_t unfiltered = 2;
  for (const std::string& layout : LayoutNames()) {
    texts.push_back("bits_per_key=9.9;compatibility=own;layout=" + layout);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(texts[i]);
    const PolicyPtr policy = PolicyFromString("id=deltabloom;" + texts[i]);
    TestDb db(policy);
    for (int end = 1000;; end += 1000) {
      db.Load(end - 1000, end);
      if (i >= unfiltered) db.ExpectFiltered(0, end);
      if (end == 3000) break;
      db.Open(db.Loaded());
      EXPECT_EQ(Changed(*PolicyIn(db.options())), Changed(*policy));
    }
  }
}

// A LOG gets its first table of statistics with the first filter that is built
// after the interval; on a slow machine that may be the first of all.
TEST(OptionsTest, StatisticsInTheLogAtAnInterval) {
  const char* const all[] = {"statistics_log_seconds=1",
                             "statistics_log_seconds=0",
                             "statistics_log_seconds=600",
                             "statistics=false;statistics_log_seconds=1"};
  TestDb databases[4];
  for (int i = 0; i < 4; ++i) {
    databases[i].Open(PolicyFromString(std::string("id=deltabloom;") + all[i]));
    databases[i].Load(0, 100);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (int i = 0; i < 4; ++i) {
    databases[i].Load(100, 200);
    for (const char* const line :
         {"[deltabloom] Filters, by the level their tables",
          "[deltabloom] level  layout  ", "[deltabloom] all "}) {
      EXPECT_EQ(CountIn(databases[i].Log(), line) > 0, i == 0) << all[i];
    }
  }
}

}  // namespace
}  // namespace deltabloom::testing
