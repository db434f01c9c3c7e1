// RocksDBRanges: options, the collector beside others and by name, properties
// that readers let pass, limits, suggestions, statistics, and what a scan asks.
// ranges_scans_test.cc has what scans find.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/prefix_function.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/ranges/property.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/ranges_db.h"
#include "tests/rocksdb/test_db.h"
#include "util/version.h"

namespace deltabloom::testing {
namespace {

using std::nullopt;

using Collector = rocksdb::TablePropertiesCollector;
using Factory = rocksdb::TablePropertiesCollectorFactory;
using FactoryPtr = std::shared_ptr<Factory>;

// --- Options ----------------------------------------------------------------

TEST(RangesOptionsTest, ErrorsNameTheValueAndWhatIsLegal) {
  const struct {
    void (*set)(RocksDBRangeOptions* options);
    const char* error;
  } wrong[] = {
      {[](auto* options) { options->bits_per_key = 0; },
       "bits_per_key = 0 is out of range"},
      {[](auto* options) { options->bits_per_key = -1; },
       "bits_per_key = -1 is out of range"},
      {[](auto* options) { options->bits_per_key = 1000.5; },
       "bits_per_key = 1000.5 is out of range"},
      {[](auto* options) {
         options->bits_per_key = std::numeric_limits<double>::quiet_NaN();
       },
       "bits_per_key = nan is out of range"},
      {[](auto* options) { options->max_table_bytes = 0; },
       "max_table_bytes = 0 is out of range"},
      {[](auto* options) { options->bits_per_key = 1.9; },
       "bits_per_key = 1.9 is out of range"},
      {[](auto* options) { options->prefixes = "8,"; },
       "prefixes = 8, is not valid"},
      {[](auto* options) { options->prefixes = "1025"; },
       "prefixes = 1025 is not valid"},
      {[](auto* options) { options->key_order = "random"; },
       "key_order = random is unknown"},
      {[](auto* options) {
         options->key_order = "bytewise";
         options->key_transform = "ascii_lowercase";
       },
       "key_order = bytewise does not go with key_transform = "
       "ascii_lowercase@1"},
      {[](auto* options) { options->key_transform = "no_such"; },
       "key_transform = no_such is not registered"},
      {[](auto* options) { options->key_transform = ""; },
       "key_transform =  is not registered"},
  };
  for (const auto& [set, expected] : wrong) {
    RocksDBRangeOptions options;
    set(&options);
    EXPECT_EQ(options.Validate().find(expected), 0u) << options.Validate();
    EXPECT_CONTAINS(options.Validate(), ": use ");
    EXPECT_LACKS(options.Validate(), "\n");
    std::string error;
    EXPECT_EQ(RocksDBRanges::New(options, &error), nullptr);
    EXPECT_EQ(error, "deltabloom: " + options.Validate());
  }
}

TEST(RangesOptionsTest, DefaultsAndLimitsAreLegal) {
  EXPECT_EQ(RocksDBRangeOptions().Validate(), "");
  RocksDBRangeOptions options;
  options.bits_per_key = 1000;
  options.max_table_bytes = 1;
  options.max_build_bytes = 1;
  options.prefixes = "8,12b,'/','/'x3,4+groups_of_8";
  options.key_transform = "ascii_lowercase";
  EXPECT_EQ(options.Validate(), "");
  options.key_transform = "none";
  for (const char* const order :
       {"comparator", "bytewise", "reverse_bytewise"}) {
    options.key_order = order;
    EXPECT_EQ(options.Validate(), "");
  }
}

// --- AddTo ------------------------------------------------------------------

// A collector of the user's own. A RocksDB with assertions wants names to
// differ.
class CountingFactory : public Factory {
 public:
  explicit CountingFactory(const char* name) : name_(name) {}

  const char* Name() const override { return name_; }
  Collector* CreateTablePropertiesCollector(Context) override {
    class Counting : public Collector {
     public:
      explicit Counting(const char* name) : name_(name) {}

      const char* Name() const override { return name_; }
      Status AddUserKey(const Slice&, const Slice&, rocksdb::EntryType,
                        rocksdb::SequenceNumber, uint64_t) override {
        ++entries_;
        return Status::OK();
      }
      Status Finish(rocksdb::UserCollectedProperties* properties) override {
        properties->insert({name_, std::to_string(entries_)});
        return Status::OK();
      }
      rocksdb::UserCollectedProperties GetReadableProperties() const override {
        return {};
      }

     private:
      const char* const name_;
      int entries_ = 0;
    };
    return new Counting(name_);
  }

 private:
  const char* const name_;
};

Strings NamesIn(const ColumnFamilyOptions& family) {
  Strings names;
  for (const auto& factory : family.table_properties_collector_factories) {
    names.push_back(factory->Name());
  }
  return names;
}

TEST(RangesAddToTest, TwiceIsOnceBesideOthers) {
  const RangesPtr ranges = NewRanges(OfKeys());
  Options options = MakeOptions({nullptr});
  options.table_properties_collector_factories.push_back(
      std::make_shared<CountingFactory>("test.count"));
  AddTo(ranges.get(), &options);
  EXPECT_EQ(NamesIn(options), (Strings{"test.count", "deltabloom.range"}));
  options.table_properties_collector_factories.push_back(
      std::make_shared<CountingFactory>("test.again"));
  AddTo(ranges.get(), &options);
  EXPECT_EQ(NamesIn(options),
            (Strings{"test.count", "test.again", "deltabloom.range"}));
  TestDb db(options);
  db.Put("key");
  db.Flush();
  for (const auto& [path, table] : db.Tables()) {
    EXPECT_EQ(table->user_collected_properties.at("test.count"), "1");
    EXPECT_EQ(table->user_collected_properties.count("deltabloom.range"), 1u);
  }
  EXPECT_EQ(ranges->Statistics().filters_built, 1u);
}

TEST(RangesAddToTest, TheLastObjectCounts) {
  const RangesPtr first = NewRanges(OfKeys());
  const RangesPtr second = NewRanges(OfKeys());
  Options options = OptionsWith(first.get());
  AddTo(second.get(), &options);
  TestDb db(options);
  db.Put("key");
  db.Flush();
  EXPECT_EQ(first->Statistics().filters_built, 0u);
  EXPECT_EQ(second->Statistics().filters_built, 1u);
}

TEST(RangesAddToTest, RefusesOtherOrders) {
  const TestComparator ignores_case(kIgnoreCase);
  const RangesPtr ranges = NewRanges();
  for (const Comparator* const comparator :
       {static_cast<const Comparator*>(&ignores_case),
        static_cast<const Comparator*>(nullptr)}) {
    ColumnFamilyOptions family;
    family.comparator = comparator;
    std::string error;
    EXPECT_FALSE(ranges->AddTo(&family, &error));
    EXPECT_EQ(error,
              std::string("deltabloom: range filters need keys in the order of "
                          "their bytes or its reverse, and the order of "
                          "comparator ") +
                  (comparator == nullptr ? "null" : comparator->Name()) +
                  " is not known: set key_order if it is one of them, name a "
                  "key_transform that maps its order to that of bytes, or do "
                  "without range filters");
    EXPECT_EQ(NamesIn(family), Strings{});
  }
}

TEST(RangesAddToTest, AcceptsAKeyTransformAndTimestamps) {
  const TestComparator ignores_case(kIgnoreCase);
  RocksDBRangeOptions options;
  options.key_transform = "ascii_lowercase";
  ColumnFamilyOptions family;
  family.comparator = &ignores_case;
  AddTo(NewRanges(options).get(), &family);
  EXPECT_EQ(NamesIn(family), Strings{"deltabloom.range"});
  ColumnFamilyOptions reverse;
  reverse.comparator = rocksdb::ReverseBytewiseComparator();
  AddTo(NewRanges().get(), &reverse);
  EXPECT_EQ(NamesIn(reverse), Strings{"deltabloom.range"});
  ColumnFamilyOptions timed;
  timed.comparator = TimestampComparator();
  AddTo(NewRanges().get(), &timed);
  EXPECT_EQ(NamesIn(timed), Strings{"deltabloom.range"});
}

// --- By name ----------------------------------------------------------------

ConfigOptions Strict() {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

Status FamilyFromString(const std::string& collectors,
                        ColumnFamilyOptions* family,
                        const ConfigOptions& config = Strict()) {
  std::string error;
  EXPECT_TRUE(RegisterRocksDB(&error)) << error;
  return rocksdb::GetColumnFamilyOptionsFromString(
      config, {}, "table_properties_collectors={" + collectors + "}", family);
}

FactoryPtr FactoryByName(const std::string& options) {
  ColumnFamilyOptions family;
  EXPECT_OK(FamilyFromString("{id=deltabloom.range;" + options + "}", &family));
  EXPECT_EQ(NamesIn(family), Strings{"deltabloom.range"});
  return family.table_properties_collector_factories.at(0);
}

std::string OptionOf(const FactoryPtr& factory, const std::string& name) {
  std::string value;
  EXPECT_OK(factory->GetOption(Strict(), name, &value));
  return value;
}

const std::pair<std::string, std::string> kAllOptions[] = {
    {"bits_per_key", "7.5"},       {"prefixes", "8,12b,'/'x3,0x3b,kvrocks@1"},
    {"max_table_bytes", "100000"}, {"key_order", "comparator"},
    {"timestamp_size", "8"},       {"max_build_bytes", "300000"},
    {"comparator", "some.name"},   {"key_transform", "ascii_lowercase@1"}};

std::string AllOptionsText() {
  std::string text;
  for (const auto& [name, value] : kAllOptions) {
    text += name + "=" + value + ";";
  }
  return text;
}

void ExpectAllOptions(const FactoryPtr& factory) {
  for (const auto& [name, value] : kAllOptions) {
    EXPECT_EQ(OptionOf(factory, name), value) << name;
  }
}

TEST(RangesByNameTest, EveryOptionIsReadAndPrinted) {
  const FactoryPtr factory = FactoryByName(AllOptionsText());
  ExpectAllOptions(factory);
  const std::string printed = factory->Customizable::ToString(Strict());
  FactoryPtr again;
  ASSERT_OK(Factory::CreateFromString(Strict(), printed, &again));
  ExpectAllOptions(again);
  std::string mismatch;
  EXPECT_TRUE(factory->AreEquivalent(Strict(), again.get(), &mismatch))
      << mismatch;
  // Defaults.
  const FactoryPtr plain = FactoryByName("");
  EXPECT_EQ(OptionOf(plain, "bits_per_key"), "8");
  EXPECT_EQ(OptionOf(plain, "prefixes"), "auto");
  EXPECT_EQ(OptionOf(plain, "key_order"), "comparator");
  EXPECT_EQ(OptionOf(plain, "comparator"), "leveldb.BytewiseComparator");
  EXPECT_EQ(OptionOf(plain, "max_table_bytes"), "16777216");
  EXPECT_EQ(OptionOf(plain, "max_build_bytes"), "0");
  EXPECT_EQ(OptionOf(plain, "key_transform"), "none");
  EXPECT_EQ(OptionOf(plain, "timestamp_size"), "0");
}

TEST(RangesByNameTest, PrintsWhatOptionsFilesCanRead) {
  EXPECT_EQ(
      OptionOf(FactoryByName("key_transform=ascii_lowercase"), "key_transform"),
      "ascii_lowercase@1");
  RocksDBRangeOptions options;
  options.prefixes = "';','}'x2,' ','#','='x3,',','\\'";
  const RangesPtr ranges = NewRanges(options);
  Options db_options = OptionsWith(ranges.get());
  EXPECT_EQ(OptionOf(db_options.table_properties_collector_factories.at(0),
                     "prefixes"),
            "0x3b,0x7dx2,0x20,0x23,0x3dx3,',',0x5c");
}

// What a user declares must come back from an OPTIONS file, whatever byte it
// is: 16 at a time.
TEST(RangesByNameTest, EveryDelimiterSurvivesAnOptionsFile) {
  for (int first = 0; first < 256; first += 16) {
    RocksDBRangeOptions options;
    options.prefixes.clear();
    for (int byte = first; byte < first + 16; ++byte) {
      char text[16];
      std::snprintf(text, sizeof(text), ",0x%02x", byte);
      options.prefixes += options.prefixes.empty() ? text + 1 : text;
    }
    RangesDb db(options);
    const std::string before = OptionOf(
        db.options().table_properties_collector_factories.at(0), "prefixes");
    db.Close();
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ASSERT_OK(rocksdb::LoadLatestOptions(Strict(), db.path(), &db_options,
                                         &families));
    const auto& loaded =
        families.at(0).options.table_properties_collector_factories;
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(OptionOf(loaded[0], "prefixes"), before);
  }
}

// A number must not be cut at its point where the locale writes a comma.
TEST(RangesByNameTest, NumbersSurviveALocaleWithCommas) {
  const char* const comma = std::setlocale(LC_ALL, "de_DE.UTF-8");
  RocksDBRangeOptions options;
  options.bits_per_key = 12.75;
  RangesDb db(options);
  const FactoryPtr own = db.options().table_properties_collector_factories[0];
  EXPECT_EQ(OptionOf(own, "bits_per_key"), "12.75");
  FactoryPtr again;
  EXPECT_OK(Factory::CreateFromString(
      Strict(), own->Customizable::ToString(Strict()), &again));
  EXPECT_EQ(OptionOf(again, "bits_per_key"), "12.75");
  std::setlocale(LC_ALL, "C");
  if (comma == nullptr) GTEST_SKIP() << "there is no locale with commas";
}

TEST(RangesByNameTest, BadValuesAreRefused) {
  for (const auto& [text, answer] :
       std::initializer_list<std::pair<std::string, std::string>>{
           {"bits_per_key=0", "bits_per_key = 0 is out of range"},
           {"bits_per_key=nan", "bits_per_key = nan is"},
           {"bits_per_key=many", "bits_per_key"},
           {"max_table_bytes=0", "max_table_bytes = 0 is out of range"},
           {"prefixes=x", "prefixes = x is not valid"},
           {"key_transform=no_such", "key_transform = no_such is not"},
           {"no_such_option=1", "table_properties_collectors"}}) {
    ColumnFamilyOptions family;
    const Status status =
        FamilyFromString("{id=deltabloom.range;" + text + "}", &family);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_CONTAINS(status.ToString(), answer) << text;
    EXPECT_LACKS(status.ToString(), "\n");
    EXPECT_EQ(NamesIn(family), Strings{}) << text;
  }
}

TEST(RangesByNameTest, IllegalOptionsChangeNothing) {
  const FactoryPtr by_name = FactoryByName("bits_per_key=12");
  EXPECT_TRUE(by_name->ConfigureFromString(Strict(), "bits_per_key=-1")
                  .IsInvalidArgument());
  EXPECT_EQ(OptionOf(by_name, "bits_per_key"), "12");
  EXPECT_OK(by_name->ConfigureFromString(Strict(), "bits_per_key=13"));
  EXPECT_EQ(OptionOf(by_name, "bits_per_key"), "13");
}

// Tables get the filters that the options say.
TEST(RangesByNameTest, OptionsTakeEffect) {
  const auto property_with = [](const std::string& options) {
    Options with = MakeOptions({nullptr});
    with.table_properties_collector_factories = {FactoryByName(options)};
    TestDb db(with);
    db.Load(0, 1000);
    const Strings properties = PropertiesIn(db.Tables());
    return properties.size() == 1 ? properties[0] : "";
  };
  const std::string plain = property_with("prefixes=12");
  EXPECT_GT(plain.size(), 900u);
  EXPECT_LT(property_with("prefixes=6").size(), 250u);
  EXPECT_EQ(property_with(""), "") << "keys without a delimiter";
  EXPECT_EQ(property_with("prefixes=12;max_table_bytes=100"), "");
  EXPECT_EQ(property_with("prefixes=12;max_build_bytes=1000"), "");
  EXPECT_EQ(
      property_with("prefixes=12;key_transform=ascii_lowercase").substr(0, 20),
      std::string("\x02\0\x11", 3) + "ascii_lowercase@1");
  EXPECT_EQ(property_with("prefixes=10;timestamp_size=2")[1], 2);
  // Keys that do not descend are not in the reverse order.
  EXPECT_EQ(property_with("prefixes=12;key_order=reverse_bytewise"), "");
  EXPECT_EQ(property_with("prefixes=12;comparator=unknown"), "");
}

TEST(RangesByNameTest, WithoutOptionsDelimitersAreFound) {
  Options options = MakeOptions({nullptr});
  options.table_properties_collector_factories = {FactoryByName("")};
  TestDb db(options);
  for (int i = 0; i < 100; ++i) EXPECT_OK(db->Put({}, "a/" + Key(i), ""));
  EXPECT_OK(db->Flush({}));
  const Strings properties = PropertiesIn(db.Tables());
  ASSERT_EQ(properties.size(), 1u);
  EXPECT_CONTAINS(properties[0], "'/'");
}

TEST(RangesByNameTest, WritesTheProperty) {
  const FactoryPtr factory = FactoryByName("bits_per_key=12;prefixes=12");
  const std::unique_ptr<Collector> collector(
      factory->CreateTablePropertiesCollector({}));
  EXPECT_STREQ(collector->Name(), "deltabloom.range");
  Options options = MakeOptions({nullptr});
  options.table_properties_collector_factories = {factory};
  TestDb db(options);
  db.Load(0, 1000);
  ASSERT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  // An object asks them that did not build them.
  const RangesPtr ranges = NewRanges();
  EXPECT_EQ(AllKeys(ranges
                        ->NewIterator(db, {}, db->DefaultColumnFamily(), Key(7),
                                      std::string_view(Key(8)))
                        .get()),
            Strings{});
  EXPECT_EQ(ranges->Statistics().tables_rejected, 1u);
}

TEST(RangesByNameTest, OptionsFilesRoundTrip) {
  RocksDBRangeOptions range_options;
  range_options.bits_per_key = 6;
  range_options.prefixes = "12,'/'x3";
  RangesDb db(range_options);
  db.Table({Key(0), Key(2)});
  db.Close();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  ASSERT_OK(
      rocksdb::LoadLatestOptions(Strict(), db.path(), &db_options, &families));
  EXPECT_OK(rocksdb::CheckOptionsCompatibility(Strict(), db.path(), db_options,
                                               families));
  const Options loaded(db_options, families.at(0).options);
  ASSERT_EQ(NamesIn(loaded), Strings{"deltabloom.range"});
  const FactoryPtr factory = loaded.table_properties_collector_factories[0];
  EXPECT_EQ(OptionOf(factory, "bits_per_key"), "6");
  EXPECT_EQ(OptionOf(factory, "prefixes"), "12,'/'x3");
  // A program that knows nothing of it but the name writes the property.
  TestDb other;
  ASSERT_OK(other.TryOpen(loaded));
  other.Load(0, 100);
  EXPECT_EQ(PropertiesIn(other.Tables()).size(), 1u);
  other.Close();
  // AddTo replaces it, also where there are two.
  Options mine = loaded;
  mine.table_properties_collector_factories.push_back(factory);
  AddTo(db.ranges.get(), &mine);
  EXPECT_EQ(NamesIn(mine), Strings{"deltabloom.range"});
  EXPECT_NE(mine.table_properties_collector_factories[0], factory);
  db.counted.Since();
  db.Open(mine);
  db.Table({Key(4), Key(6)});
  EXPECT_EQ(db.counted.Since().filters_built, 1u);
}

// It is left out, or no process could read the options again.
TEST(RangesByNameTest, AComparatorsNameThatOptionsFilesCannotHold) {
  const TestComparator comparator(
      "mine; v=2", [](std::string_view key) { return std::string(key); });
  RocksDBRangeOptions options;
  options.key_order = "bytewise";
  ColumnFamilyOptions family;
  family.comparator = &comparator;
  AddTo(NewRanges(options).get(), &family);
  const FactoryPtr factory = family.table_properties_collector_factories.at(0);
  FactoryPtr again;
  ASSERT_OK(Factory::CreateFromString(
      Strict(), factory->Customizable::ToString(Strict()), &again));
  EXPECT_EQ(OptionOf(again, "key_order"), "bytewise");
}

// RocksDB fails to read the options, or with ignore_unsupported_options, as
// ldb and others set it, drops the collector without a word.
TEST(RangesByNameTest, ProcessesThatDoNotKnowTheName) {
  ConfigOptions config = Strict();
  config.registry = std::make_shared<rocksdb::ObjectRegistry>(
      std::make_shared<rocksdb::ObjectLibrary>("empty"));
  ColumnFamilyOptions family;
  const std::string collectors = "{id=deltabloom.range;bits_per_key=8}";
  const Status status = FamilyFromString(collectors, &family, config);
  EXPECT_TRUE(status.IsNotSupported() || status.IsInvalidArgument())
      << status.ToString();
  EXPECT_CONTAINS(status.ToString(), "deltabloom.range");
  EXPECT_EQ(NamesIn(family), Strings{});
  config.ignore_unsupported_options = true;
  EXPECT_OK(FamilyFromString(collectors, &family, config));
  EXPECT_EQ(family.table_properties_collector_factories,
            std::vector<FactoryPtr>{});
}

TEST(RangesByNameTest, SstFileWriters) {
  RangesDb db;
  Options by_name = MakeOptions({nullptr});
  by_name.table_properties_collector_factories = {FactoryByName("prefixes=12")};
  const std::string path = db.Path("written.sst");
  WriteSst(by_name, path, Keys(0, 1000));
  ASSERT_OK(db->IngestExternalFile({path}, {}));
  ASSERT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  const RocksDBRangeStatistics counted = db.counted.Since();
  EXPECT_GE(counted.tables_rejected, 1u);
  EXPECT_EQ(counted.filters_built, 0u);
}

// --- Properties that readers let pass ---------------------------------------

// Changes what another factory's collectors write.
class ChangingFactory : public Factory {
 public:
  using Property = std::optional<std::string>;
  using Edit = std::function<void(Property* property)>;

  ChangingFactory(FactoryPtr factory, Edit edit)
      : factory_(std::move(factory)), edit_(std::move(edit)) {}

  const char* Name() const override { return "test.changing"; }
  Collector* CreateTablePropertiesCollector(Context context) override {
    return new Changing(factory_->CreateTablePropertiesCollector(context),
                        edit_);
  }

 private:
  class Changing : public Collector {
   public:
    Changing(Collector* collector, const Edit& edit)
        : collector_(collector), edit_(edit) {}
    const char* Name() const override { return "test.changing"; }
    Status AddUserKey(const Slice& key, const Slice& value,
                      rocksdb::EntryType type, rocksdb::SequenceNumber seq,
                      uint64_t file_size) override {
      return collector_->AddUserKey(key, value, type, seq, file_size);
    }
    Status Finish(rocksdb::UserCollectedProperties* properties) override {
      EXPECT_OK(collector_->Finish(properties));
      Property property = properties->at(internal::kRangePropertyName);
      edit_(&property);
      properties->erase(internal::kRangePropertyName);
      if (property.has_value()) {
        properties->insert({internal::kRangePropertyName, *property});
      }
      return Status::OK();
    }
    rocksdb::UserCollectedProperties GetReadableProperties() const override {
      return {};
    }

   private:
    const std::unique_ptr<Collector> collector_;
    const Edit edit_;
  };

  const FactoryPtr factory_;
  const Edit edit_;
};

// A table with an edited property; what a scan that finds no key and one that
// finds a key count.
void ExpectAnswer(const ChangingFactory::Edit& edit, bool rejects) {
  RangesDb db(OfKeys(), [&](Options* options, BlockBasedTableOptions*) {
    options->table_properties_collector_factories = {
        std::make_shared<ChangingFactory>(FactoryByName("prefixes=12"), edit)};
  });
  // The tables are written without the object's own collector.
  Options options = db.options();
  options.table_properties_collector_factories.resize(1);
  db.Open(options);
  db.Load(0, 1000);
  db.counted.Since();
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  RocksDBRangeStatistics counted = db.counted.Since();
  EXPECT_EQ(counted.tables, 1u);
  EXPECT_EQ(counted.tables_rejected, rejects ? 1u : 0u);
  EXPECT_EQ(counted.tables_without_filter, rejects ? 0u : 1u);
  EXPECT_EQ(counted.tables_passed_for_nothing, rejects ? 0u : 1u);
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  counted = db.counted.Since();
  EXPECT_EQ(counted.tables, 1u);
  EXPECT_EQ(counted.tables_rejected, 0u);
  EXPECT_EQ(counted.tables_without_filter, rejects ? 0u : 1u);
}

// docs/format.md: version, size of timestamps, the transform and the comparator
// behind their sizes, entries, the filter.
constexpr char kBytewise[] = "leveldb.BytewiseComparator";
constexpr size_t kComparatorAt = 4;
constexpr size_t kEntriesAt = kComparatorAt + sizeof(kBytewise) - 1;
constexpr size_t kHeader = kEntriesAt + 8;

TEST(RangesPropertyTest, UnchangedItRejects) {
  ExpectAnswer([](auto*) {}, true);
}

TEST(RangesPropertyTest, AnyDamageLetsPass) {
  const std::pair<const char*, ChangingFactory::Edit> edits[] = {
      {"none", [](auto* property) { property->reset(); }},
      {"empty", [](auto* property) { (*property)->clear(); }},
      {"version 1", [](auto* property) { (**property)[0] = 1; }},
      {"version 3", [](auto* property) { (**property)[0] = 3; }},
      {"timestamps", [](auto* property) { (**property)[1] = 8; }},
      {"a transform",
       [](auto* property) {
         const std::string name = "ascii_lowercase@1";
         (**property)[2] = static_cast<char>(name.size());
         (*property)->insert(3, name);
       }},
      {"a transform beyond the end",
       [](auto* property) { (**property)[2] = '\xff'; }},
      {"a comparator", [](auto* property) { ++(**property)[kComparatorAt]; }},
      {"a comparator beyond the end",
       [](auto* property) {
         (*property)->resize(100);
         (**property)[kComparatorAt - 1] = '\xff';
       }},
      {"one entry more", [](auto* property) { ++(**property)[kEntriesAt]; }},
      {"one entry less", [](auto* property) { --(**property)[kEntriesAt]; }},
      {"many entries more",
       [](auto* property) { ++(**property)[kEntriesAt + 7]; }},
      {"no filter", [](auto* property) { (*property)->resize(kHeader); }},
      {"a filter without its last byte",
       [](auto* property) { (*property)->pop_back(); }},
      {"a longer filter", [](auto* property) { (*property)->push_back('x'); }},
      {"a filter of another version",
       [](auto* property) { ++(**property)[kHeader]; }},
      {"a filter of the other order",
       [](auto* property) { (**property)[kHeader + 9] = 1; }},
  };
  for (const auto& [what, edit] : edits) {
    SCOPED_TRACE(what);
    ExpectAnswer(edit, false);
  }
  for (size_t size = 1; size < kHeader; ++size) {
    SCOPED_TRACE(size);
    ExpectAnswer([size](auto* property) { (*property)->resize(size); }, false);
  }
}

// A table that was ingested from a program with another comparator.
TEST(RangesPropertyTest, AnotherComparatorsTables) {
  const TestComparator same_order(
      "bytes", [](std::string_view key) { return std::string(key); });
  RangesDb db;
  RocksDBRangeOptions named = OfKeys();
  named.key_order = "bytewise";
  const RangesPtr of_other = NewRanges(named);
  Options other = db.options();
  other.comparator = &same_order;
  AddTo(of_other.get(), &other);
  const std::string path = db.Path("other.sst");
  WriteSst(other, path, Keys(0, 1000));
  const Status ingested = db->IngestExternalFile({path}, {});
  if (ingested.IsInvalidArgument()) {
    GTEST_SKIP() << "this RocksDB takes no such table: " << ingested.ToString();
  }
  ASSERT_OK(ingested);
  ASSERT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  const RocksDBRangeStatistics counted = db.counted.Since();
  EXPECT_EQ(counted.tables_rejected, 0u);
  EXPECT_EQ(counted.tables_without_filter, 1u);
}

TEST(RangesPropertyTest, AnotherTransformsTables) {
  RangesDb db;
  db.Load(0, 1000);
  RocksDBRangeOptions options;
  options.key_transform = "ascii_lowercase";
  const RangesPtr other = NewRanges(options);
  EXPECT_EQ(AllKeys(other
                        ->NewIterator(db, {}, db->DefaultColumnFamily(), Key(7),
                                      std::string_view(Key(8)))
                        .get()),
            Strings{});
  EXPECT_EQ(other->Statistics().tables_rejected, 0u);
  EXPECT_EQ(other->Statistics().tables_without_filter, 1u);
}

// Tables of an OPTIONS file without timestamp_size, in a family with
// timestamps: keys with their timestamps are not what scans ask for.
TEST(RangesPropertyTest, TablesWithoutTimestampSize) {
  for (const bool knows : {false, true}) {
    RangesDb db(OfKeys(), [](Options* options, BlockBasedTableOptions*) {
      options->comparator = TimestampComparator();
    });
    Options options = db.options();
    options.table_properties_collector_factories = {FactoryByName(
        std::string("prefixes=12") + (knows ? ";timestamp_size=8;comparator="
                                              "leveldb.BytewiseComparator.u64ts"
                                            : ""))};
    db.Open(options);
    for (const std::string& key : Keys(0, 1000)) {
      ASSERT_OK(db->Put({}, key, Timestamp(1), "value"));
    }
    db.Flush();
    ASSERT_EQ(PropertiesIn(db.Tables()).size(), 1u);
    const std::string time = Timestamp(1);
    const Slice time_slice = time;
    ReadOptions read;
    read.timestamp = &time_slice;
    EXPECT_EQ(db.KeysOf(Key(7), Key(8), read), Strings{});
    const RocksDBRangeStatistics counted = db.counted.Since();
    EXPECT_EQ(counted.tables_rejected, knows ? 1u : 0u);
    EXPECT_EQ(counted.tables_without_filter, knows ? 0u : 1u);
    EXPECT_EQ(db.KeysOf(Key(8), Key(9), read), Strings{Key(8)});
  }
}

// AddTo is called before the family gets a comparator with timestamps: filters
// hold keys with their timestamps, and scans of other iterators, which take the
// comparator of AddTo, would lose the keys to which their bounds are close.
TEST(RangesPropertyTest, TablesOfAComparatorThatWasSetAfterAddTo) {
  const RangesPtr ranges = NewRanges(OfKeys());
  Options options = OptionsWith(ranges.get());
  options.comparator = TimestampComparator();
  TestDb db;
  db.Open(options);
  ASSERT_OK(db->Put({}, Key(7), Timestamp(1), "value"));
  db.Flush();
  ASSERT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  const std::string time = Timestamp(1);
  const Slice time_slice = time;
  ReadOptions read;
  read.timestamp = &time_slice;
  const auto scan = ranges->NewIterator(
      [&db](const ReadOptions& with) { return db->NewIterator(with); }, read,
      Key(7), Key(7) + '\0');
  EXPECT_EQ(AllKeys(scan.get()), Strings{Key(7)});
  EXPECT_EQ(ranges->Statistics().tables_without_filter, 1u);
}

// A transform that does not keep the comparator's order, against its contract:
// the builder notices, and a table without a filter loses no key.
TEST(RangesPropertyTest, KeysOutOfOrderHaveNoFilter) {
  const TestComparator ignores_case(kIgnoreCase);
  RocksDBRangeOptions options;
  options.prefixes = "1";
  options.key_transform = "trim_trailing_spaces";
  RangesDb db(options, [&](Options* to, BlockBasedTableOptions*) {
    to->comparator = &ignores_case;
  });
  // The keys are in the order of the comparator, but not in that of their
  // bytes.
  const Strings keys = {"a", "B", "c", "D", "e", "F", "g"};
  db.Table(keys);
  EXPECT_EQ(PropertiesIn(db.Tables()).size(), 0u);
  EXPECT_EQ(db.counted.Since().tables_built_without, 1u);
  EXPECT_EQ(db.KeysOf("", nullopt), keys);
  for (const std::string& key : keys) {
    EXPECT_EQ(db.KeysOf(key, key + '\0'), Strings{key});
  }
}

// --- Limits -----------------------------------------------------------------

size_t SizeOfProperty(const TestDb& db) {
  size_t size = 0;
  for (const std::string& property : PropertiesIn(db.Tables())) {
    size = std::max(size, property.size());
  }
  return size;
}

TEST(RangesLimitsTest, MaxTableBytes) {
  RocksDBRangeOptions options;
  options.prefixes = "12";
  size_t unlimited = 0;
  {
    RangesDb db(options);
    db.Load(0, 10'000);
    unlimited = SizeOfProperty(db);
    EXPECT_GT(unlimited, 9500u);
    EXPECT_LE(unlimited, 10'000u + 4096 + 200);
  }
  for (const uint64_t most : {unlimited - 1, size_t{3000}}) {
    options.max_table_bytes = most;
    RangesDb db(options);
    db.Load(0, 10'000);
    EXPECT_LE(SizeOfProperty(db), most);
    EXPECT_GT(SizeOfProperty(db), most / 2);
    EXPECT_EQ(db.counted.Since().bytes_built, SizeOfProperty(db));
    EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  }
  for (const uint64_t most : {1u, 100u, 2000u}) {
    options.max_table_bytes = most;
    RangesDb db(options);
    db.Load(0, 10'000);
    EXPECT_EQ(SizeOfProperty(db), 0u);
    const RocksDBRangeStatistics counted = db.counted.Since();
    EXPECT_EQ(counted.filters_built, 0u);
    EXPECT_EQ(counted.tables_built_without, 1u);
    EXPECT_EQ(counted.bytes_built, 0u);
    EXPECT_EQ(db.KeysOf(Key(7), Key(9)), Strings{Key(8)});
    // The LOG says why, with the table.
    EXPECT_EQ(CountIn(db.Log(), "no range filter: there are "), 1) << db.Log();
  }
}

TEST(RangesLimitsTest, MaxBuildBytes) {
  RocksDBRangeOptions options = OfKeys();
  options.max_build_bytes = 60'000;
  RangesDb db(options);
  db.Load(0, 1000);
  EXPECT_EQ(db.counted.Since().filters_built, 1u);
  db.Load(1000, 21'000);
  const RocksDBRangeStatistics counted = db.counted.Since();
  EXPECT_EQ(counted.filters_built, 0u);
  EXPECT_EQ(counted.tables_built_without, 1u);
  EXPECT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  EXPECT_EQ(db.KeysOf(Key(9000), Key(9001)), Strings{Key(9000)});
  EXPECT_EQ(CountIn(db.Log(), "building it takes more than max_build_bytes"),
            1);
}

// --- Suggestions ------------------------------------------------------------

TEST(RangesSuggestionTest, SaysWhatToDeclare) {
  RangesDb db(RocksDBRangeOptions{});
  db.Load(0, 1000);
  EXPECT_EQ(db.ranges->Statistics().suggestion, "");
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(db.KeysOf(Key(10 * i + 1), Key(10 * i + 2)), Strings{});
  }
  constexpr char kText[] =
      "100 % of 30 empty scans agree in 12 bytes: prefixes=12";
  EXPECT_EQ(db.ranges->Statistics().suggestion, kText);
  EXPECT_CONTAINS(db.ranges->Statistics().ToText(),
                  std::string("To declare: ") + kText + "\n");
  // Never by a scan, and with each table.
  EXPECT_EQ(CountIn(db.Log(), kText), 0);
  db.Load(1000, 2000);
  EXPECT_EQ(CountIn(db.Log(), kText), 1) << db.Log();
}

TEST(RangesSuggestionTest, DelimitersAreTakenByThemselves) {
  RangesDb db(RocksDBRangeOptions{});
  db.Table({"a:1", "c:1", "d:1"});
  EXPECT_EQ(db.KeysOf("b:", "b;"), Strings{});
  EXPECT_EQ(db.counted.Since().tables_rejected, 1u);
  EXPECT_EQ(db.KeysOf("c:", "c;"), Strings{"c:1"});
}

// --- Prefix functions -------------------------------------------------------

TEST(RangesFunctionsTest, AreFoundByTheirName) {
  PrefixFunction halves;
  halves.name = "test_halves";
  halves.version = 3;
  halves.function = [](std::string_view key, std::vector<size_t>* ends) {
    if (key.size() >= 6) ends->push_back(6);
    if (key.size() >= 12) ends->push_back(12);
  };
  std::string error;
  ASSERT_TRUE(RegisterPrefixFunction(halves, &error)) << error;
  EXPECT_FALSE(RegisterPrefixFunction(halves, &error));
  EXPECT_EQ(error,
            "deltabloom: prefix function test_halves@3 is registered already: "
            "a function with other results needs another version");
  RocksDBRangeOptions options;
  options.prefixes = "test_halves";
  RangesDb db(options);
  EXPECT_EQ(OptionOf(db.options().table_properties_collector_factories[0],
                     "prefixes"),
            "test_halves@3");
  db.Load(0, 1000);
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  EXPECT_EQ(db.counted.Since().tables_rejected, 1u);
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
}

TEST(RangesFunctionsTest, ThatThrowLoseNoKey) {
  static std::atomic<bool> throws{true};
  PrefixFunction sometimes;
  sometimes.name = "test_sometimes";
  sometimes.function = [](std::string_view key, std::vector<size_t>* ends) {
    if (throws) throw std::runtime_error("of a test");
    if (key.size() >= 12) ends->push_back(12);
  };
  ASSERT_TRUE(RegisterPrefixFunction(sometimes));
  RocksDBRangeOptions options;
  options.prefixes = "test_sometimes";
  RangesDb db(options);
  db.Load(0, 1000);
  EXPECT_EQ(db.counted.Since().tables_built_without, 1u);
  EXPECT_EQ(CountIn(db.Log(), "no range filter: a prefix function failed"), 1);
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  throws = false;
  db.Rewrite();
  EXPECT_EQ(db.counted.Since().filters_built, 1u);
  throws = true;
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  EXPECT_EQ(db.counted.Since().tables_rejected, 0u);
  throws = false;
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  EXPECT_GE(db.counted.Since().tables_rejected, 1u);
}

// --- Statistics -------------------------------------------------------------

TEST(RangesStatisticsTest, CountsOfAKnownScenario) {
  RangesDb db;
  EXPECT_EQ(CountIn(db.ranges->Statistics().ToText(), ": 0\n"), 11);
  db.Load(0, 1000);
  db.Load(1000, 2000);
  // A table of range tombstones alone.
  EXPECT_OK(db->DeleteRange({}, db->DefaultColumnFamily(), "x", "y"));
  db.Flush();
  const uint64_t bytes = db.counted.Since().bytes_built;
  uint64_t written = 0;
  for (const std::string& property : PropertiesIn(db.Tables())) {
    written += property.size();
  }
  EXPECT_EQ(bytes, written);
  EXPECT_EQ(db.KeysOf(Key(8), Key(9)), Strings{Key(8)});
  EXPECT_EQ(db.KeysOf(Key(7), Key(8)), Strings{});
  EXPECT_EQ(db.KeysOf("a", "b"), Strings{});
  // Its keys do not share 12 bytes. One of the tables has none of them.
  EXPECT_EQ(db.KeysOf(Key(100), Key(200)).size(), 50u);
  // An iterator that was not positioned is not counted.
  db.Scan(Key(7), Key(8)).reset();
  const RocksDBRangeStatistics counted = db.ranges->Statistics();
  EXPECT_EQ(counted.scans, 4u);
  EXPECT_EQ(counted.empty_scans, 2u);
  EXPECT_EQ(counted.tables, 12u);
  EXPECT_EQ(counted.tables_rejected, 6u);
  // That of range tombstones.
  EXPECT_EQ(counted.tables_passed_for_nothing, 2u);
  EXPECT_EQ(counted.tables_without_place, 1u);
  EXPECT_EQ(counted.tables_without_filter, 4u);
  EXPECT_EQ(counted.refused, 0u);
  EXPECT_EQ(counted.filters_built, 2u);
  EXPECT_EQ(counted.tables_built_without, 1u);
  EXPECT_EQ(counted.bytes_built, bytes);
}

// Refresh asks the tables of level 0 anew. One before the range may be let
// through only while the scan moves backward.
TEST(RangesStatisticsTest, ScansThatTurnForwardSkipTablesBeforeTheirRange) {
  RangesDb db;
  db.Load(0, 100);
  db.Load(200, 300);
  auto scan = db.Scan(Key(300), Key(500));
  scan->SeekToLast();
  EXPECT_TRUE(scan->Valid());
  scan->Seek(Key(300));
  db.Load(400, 500);
  EXPECT_OK(scan->Refresh());
  scan.reset();
  // The first table twice, and the one behind the range.
  EXPECT_EQ(db.counted.Since().tables_rejected, 3u);
}

// A move from the end first seeks from the front, as long as no key was found.
TEST(RangesStatisticsTest, MovesFromTheEndLookFromTheFrontOnce) {
  const auto statistics = rocksdb::CreateDBStatistics();
  RangesDb db(OfKeys(), [&](Options* options, BlockBasedTableOptions*) {
    options->statistics = statistics;
  });
  db.Load(0, 100);
  auto scan = db.Scan(Key(10), Key(11));
  const auto seeks_of_a_move = [&] {
    const uint64_t before = statistics->getTickerCount(rocksdb::NUMBER_DB_SEEK);
    scan->SeekToLast();
    EXPECT_TRUE(scan->Valid());
    return statistics->getTickerCount(rocksdb::NUMBER_DB_SEEK) - before;
  };
  EXPECT_EQ(seeks_of_a_move(), 2u);
  EXPECT_EQ(seeks_of_a_move(), 1u);
  EXPECT_OK(scan->Refresh());
  EXPECT_EQ(seeks_of_a_move(), 1u);
  // Its keys share no declared prefix, so a look would reject no table. This is
  // known before the first move up to RocksDB 11.8.
  scan = db.Scan(Key(0), Key(100));
  const bool known =
      DELTABLOOM_ROCKSDB_HEADERS < DELTABLOOM_ROCKSDB_VERSION(11, 9, 0);
  EXPECT_EQ(seeks_of_a_move(), known ? 1u : 2u);
}

// An operator looks at them while long scans are under way.
TEST(RangesStatisticsTest, CountWhileAnIteratorLives) {
  RangesDb db;
  db.Load(0, 100);
  const auto scan = db.Scan(Key(11), Key(12));
  db.counted.Since();
  scan->SeekToFirst();
  RocksDBRangeStatistics counted = db.counted.Since();
  EXPECT_EQ(counted.scans, 1u);
  EXPECT_EQ(counted.empty_scans, 1u);
  EXPECT_EQ(counted.tables, 1u);
  EXPECT_EQ(counted.tables_rejected, 1u);
  scan->SeekToFirst();
  counted = db.counted.Since();
  EXPECT_EQ(counted.scans, 0u);
  EXPECT_EQ(counted.empty_scans, 0u);
}

// A seek to the lower bound tells as much as one to the front.
TEST(RangesStatisticsTest, SeeksToTheLowerBoundTellEmptyScans) {
  RangesDb db;
  db.Load(0, 100);
  db.Scan(Key(11), Key(12))->Seek(Key(11));
  db.Scan(Key(11), Key(13))->Seek(Key(12) + '\x01');
  EXPECT_EQ(db.counted.Since().empty_scans, 1u);
}

RocksDBRangeStatistics Numbered() {
  RocksDBRangeStatistics numbers;
  numbers.scans = 100;
  numbers.empty_scans = 20;
  numbers.tables = 300;
  numbers.tables_rejected = 40;
  numbers.tables_passed_for_nothing = 5;
  numbers.tables_without_place = 6;
  numbers.tables_without_filter = 7;
  numbers.refused = 8;
  numbers.filters_built = 9;
  numbers.tables_built_without = 10;
  numbers.bytes_built = 11;
  numbers.suggestion = "prefixes='/'";
  return numbers;
}

TEST(RangesStatisticsTest, Json) {
  EXPECT_EQ(Numbered().ToJson(),
            std::string("{\"version\":\"") + internal::kVersion +
                "\",\"scans\":100,\"empty_scans\":20,\"tables\":300,"
                "\"tables_rejected\":40,\"tables_passed_for_nothing\":5,"
                "\"tables_without_place\":6,\"tables_without_filter\":7,"
                "\"refused\":8,\"filters_built\":9,\"tables_built_without\":10,"
                "\"bytes_built\":11,\"suggestion\":\"prefixes='/'\"}");
}

TEST(RangesStatisticsTest, Prometheus) {
  const std::string text = Numbered().ToPrometheus("a\"b\\c\nd");
  EXPECT_EQ(text.find("# HELP deltabloom_range_scans_total Scans with range "
                      "filters.\n# TYPE deltabloom_range_scans_total counter\n"
                      "deltabloom_range_scans_total{family=\"a\\\"b\\\\c\\nd\"}"
                      " 100\n# HELP "),
            0u)
      << text;
  for (const char* const line :
       {"\ndeltabloom_range_empty_scans_total{family=\"default\"} 20\n",
        "\ndeltabloom_range_tables_total{family=\"default\"} 300\n",
        "\ndeltabloom_range_tables_rejected_total{family=\"default\"} 40\n",
        "\ndeltabloom_range_tables_passed_for_nothing_total{family=\"default\"}"
        " 5\n",
        "\ndeltabloom_range_tables_without_place_total{family=\"default\"} 6\n",
        "\ndeltabloom_range_tables_without_filter_total{family=\"default\"} "
        "7\n",
        "\ndeltabloom_range_refused_total{family=\"default\"} 8\n",
        "\ndeltabloom_range_filters_built_total{family=\"default\"} 9\n",
        "\ndeltabloom_range_tables_built_without_total{family=\"default\"} "
        "10\n",
        "\ndeltabloom_range_bytes_built_total{family=\"default\"} 11\n"}) {
    EXPECT_CONTAINS(Numbered().ToPrometheus(), line);
  }
  EXPECT_EQ(CountIn(text, "\n"), 33);
}

TEST(RangesStatisticsTest, Text) {
  EXPECT_EQ(Numbered().ToText(),
            "Scans with range filters: 100\n"
            "Scans that are known to have found no key: 20\n"
            "Tables that scans asked for: 300\n"
            "Tables that were skipped: 40\n"
            "Tables that were let through in scans that found no key: 5\n"
            "Tables whose scan shares no declared prefix: 6\n"
            "Tables without a range filter that can be used: 7\n"
            "Scans that RocksDB allowed only without a table filter: 8\n"
            "Tables that were built with a range filter: 9\n"
            "Tables that were built without a range filter: 10\n"
            "Bytes of the range filters that were built: 11\n"
            "To declare: prefixes='/'\n");
}

// The property of a table is what its listeners get, however often RocksDB
// asks.
TEST(RangesStatisticsTest, ListenersGetTheProperty) {
  class Listener : public rocksdb::EventListener {
   public:
    void OnFlushCompleted(rocksdb::DB*,
                          const rocksdb::FlushJobInfo& info) override {
      property = info.table_properties.user_collected_properties.at(
          internal::kRangePropertyName);
    }
    std::string property;
  };
  const auto listener = std::make_shared<Listener>();
  {
    RangesDb db(OfKeys(), [&](Options* options, BlockBasedTableOptions*) {
      options->listeners.push_back(listener);
    });
    db.Load(0, 100);
    FinishJobs(db);
    EXPECT_EQ(Strings{listener->property}, PropertiesIn(db.Tables()));
  }
}

// --- What a scan asks and opens ---------------------------------------------

// Hundreds of small tables in a level, and three in level 0. RocksDB keeps ten
// tables open, so a scan opens the file of nearly each table that it uses.
class RangesCostTest : public ::testing::Test {
 protected:
  static constexpr int kAll = 20'000;
  static constexpr uint64_t kLevel0 = 3;

  // The most tables that one of some scans asks for, and opens.
  struct Most {
    uint64_t asked = 0;
    uint64_t opened = 0;
  };

  RangesCostTest()
      : db_(OfKeys(), [this](Options* options, BlockBasedTableOptions* table) {
          options->statistics = statistics_;
          // The smallest number; RocksDB takes ten of it for other files.
          options->max_open_files = 20;
          options->table_cache_numshardbits = 0;
          options->target_file_size_base = 2 << 10;
          options->max_bytes_for_level_base = 1 << 30;
          // Level 1 is the first one below level 0.
          options->level_compaction_dynamic_level_bytes = false;
          table->block_size = 512;
        }) {
    db_.Load(0, kAll);
    db_.Compact();
    for (uint64_t i = 0; i < kLevel0; ++i) {
      db_.Table({Key(0), Key(2 * kAll - 2)});
    }
    std::string tables;
    EXPECT_TRUE(db_->GetProperty("rocksdb.num-files-at-level1", &tables));
    EXPECT_GT(std::stoi(tables), 250) << tables;
    EXPECT_TRUE(db_->GetProperty("rocksdb.num-files-at-level0", &tables));
    EXPECT_EQ(tables, std::to_string(kLevel0));
    db_.counted.Since();
  }

  uint64_t Opened() const {
    return statistics_->getTickerCount(rocksdb::NO_FILE_OPENS);
  }

  void Scan(std::string_view lower, std::string_view upper,
            const std::function<void(Iterator*)>& move, Most* most) {
    const uint64_t opened = Opened();
    move(db_.Scan(lower, upper).get());
    const RocksDBRangeStatistics counted = db_.counted.Since();
    EXPECT_EQ(counted.scans, 1u);
    most->asked = std::max(most->asked, counted.tables);
    most->opened = std::max(most->opened, Opened() - opened);
  }

  // Makes 500 scans, far from one another.
  Most MostTables(int first, int length,
                  const std::function<void(Iterator*)>& move) {
    Most most;
    for (int i = 0; i < 500; ++i) {
      const int key = first + 2 * (i * 39 + 1);
      Scan(Key(key), Key(key + length), move, &most);
    }
    return most;
  }

  const std::shared_ptr<rocksdb::Statistics> statistics_ =
      rocksdb::CreateDBStatistics();
  RangesDb db_;
};

TEST_F(RangesCostTest, AFewTablesInEachDirection) {
  // Beside level 0 a scan uses the table in which its first key would be and
  // the one after it. From the end it asks for the first of these once more,
  // which is still open.
  constexpr uint64_t kOfLevel = 2;
  const struct {
    const char* name;
    uint64_t most;
    std::function<void(Iterator*)> move;
  } moves[] = {
      {"SeekToFirst", 2, [](Iterator* at) { at->SeekToFirst(); }},
      {"Seek", 2, [](Iterator* at) { at->Seek(Key(0)); }},
      {"all forward", 2,
       [](Iterator* at) {
         for (at->SeekToFirst(); at->Valid(); at->Next()) {
         }
       }},
      {"SeekToLast", 3, [](Iterator* at) { at->SeekToLast(); }},
      {"SeekForPrev", 3, [](Iterator* at) { at->SeekForPrev(Key(2 * kAll)); }},
      {"all backward", 3,
       [](Iterator* at) {
         for (at->SeekToLast(); at->Valid(); at->Prev()) {
         }
       }},
      {"there and back", 5,
       [](Iterator* at) {
         at->SeekToFirst();
         if (at->Valid()) at->Prev();
         at->SeekToLast();
         if (at->Valid()) at->Next();
       }},
  };
  for (const auto& [name, most, move] : moves) {
    SCOPED_TRACE(name);
    const Most none = MostTables(1, 1, move);
    EXPECT_LE(none.asked, kLevel0 + kOfLevel);
    EXPECT_LE(none.opened, kLevel0 + kOfLevel);
    EXPECT_GE(none.opened, 1u) << "opens are counted";
    for (const int length : {1, 20}) {  // one key, ten
      const Most some = MostTables(0, length, move);
      EXPECT_LE(some.asked, kLevel0 + most) << length;
      EXPECT_LE(some.opened, kLevel0 + kOfLevel) << length;
    }
    // The ranges are before the first key and after the last one.
    for (const auto& [lower, upper] : {std::pair("a", "b"), {"x", "y"}}) {
      Most outside;
      Scan(lower, upper, move, &outside);
      EXPECT_LE(outside.asked, kLevel0 + kOfLevel);
      EXPECT_LE(outside.opened, kLevel0 + kOfLevel);
    }
  }
}

}  // namespace
}  // namespace deltabloom::testing
