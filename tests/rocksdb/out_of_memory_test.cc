// Out of memory: each allocation fails once in turn, in what RocksDB calls and
// in what programs call to make a policy. RocksDB sees no exception, no added
// key is lost, a policy is as requested or there is an error, and the next try,
// with memory, succeeds.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/prefix_functions.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/policy/builder_warnings.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/ranges/collector.h"
#include "engines/rocksdb/ranges/iterator.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/state.h"
#include "tests/rocksdb/ranges_db.h"
#include "tests/rocksdb/test_db.h"
#include "tests/util/replaced_new.h"
#include "util/layouts/layout.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"

// RocksDB's cache leaks its tables when it gets no memory for the next one.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {
  return "leak:rocksdb::lru_cache::\n";
}

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;

using Action = std::function<void()>;
// Runs an action with one of its allocations failing.
using Fail = std::function<void(const Action&)>;

// Runs `action` with its allocation `number` failing; false if it has fewer.
bool FailsAt(long number, const Action& action) {
  test::FailAllocation(number);
  action();
  const bool failed = test::AllocationFailed();
  test::FailAllocation(-1);
  return failed;
}

// Calls `test` for allocation 0, 1, 2, ... of the action that it passes to its
// argument, until there are no more. Returns how many there are.
long ForEachFailure(const std::function<void(const Fail&)>& test,
                    long most = 5000) {
  for (long number = 0; number < most; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    bool failed = false;
    test([&](const Action& action) { failed = FailsAt(number, action); });
    if (!failed || ::testing::Test::HasFatalFailure()) return number;
  }
  ADD_FAILURE() << "no end";
  return most;
}

// RocksDB's own code throws without memory.
template <typename Call>
Status WithoutException(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status::MemoryLimit();
  }
}

// Status::MemoryLimit says that a memory limit is reached.
bool SaysOutOfMemory(const std::string& error) {
  return error.find("out of memory") != std::string::npos ||
         error.find("Memory limit reached") != std::string::npos;
}

// An action that initialises something once in a process. So each failure needs
// a process of its own, and this test comes first. Returns whether the action
// succeeded; if not, with an error.
using FirstUse = bool (*)(std::string* error);

enum Outcome { kNoFailure, kFailedWithError, kNoError, kNeverSucceeds, kThrew };

Outcome TryTwice(long number, FirstUse use) {
  try {
    std::string error;
    bool well = false;
    const bool failed = FailsAt(number, [&] { well = use(&error); });
    if (!well && !SaysOutOfMemory(error)) return kNoError;
    if (!use(&error)) return kNeverSucceeds;
    return failed ? kFailedWithError : kNoFailure;
  } catch (...) {
    return kThrew;
  }
}

TEST(AFirstUseOutOfMemoryTest, FailsWithAnErrorAndSucceedsLater) {
  for (const FirstUse use :
       {FirstUse([](std::string* error) { return RegisterRocksDB(error); }),
        FirstUse([](std::string* error) {
          return NewRocksDBFilterPolicy({}, error) != nullptr;
        })}) {
    long number = 0;
    int status = kFailedWithError;
    for (; status == kFailedWithError && number < 5000; ++number) {
      const pid_t child = fork();
      if (child == 0) _exit(TryTwice(number, use));
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << status;
      status = WEXITSTATUS(status);
    }
    EXPECT_EQ(status, kNoFailure) << "allocation " << number - 1;
    EXPECT_GT(number, 20);
  }
}

// There are enough keys that their hashes lie in several blocks.
constexpr int kKeys = 5000;

BuilderSettings Settings(const std::string& layout) {
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName(layout);
  settings.millibits_per_key = 10000;
  return settings;
}

void AddAll(const std::vector<std::string>& keys, BitsBuilder* builder) {
  for (const std::string& key : keys) builder->AddKey(key);
}

void ExpectAllMatch(const Slice& filter, const std::vector<std::string>& keys) {
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(
      internal::NewSealedBitsReader(filter, {}));
  ASSERT_EQ(Matches(reader.get(), keys), static_cast<int>(keys.size()));
}

// Parameters: layout, detect_corruption, optimize_for_memory.
class BuilderOutOfMemoryTest
    : public ::testing::TestWithParam<std::tuple<std::string, bool, bool>> {};

INSTANTIATE_TEST_SUITE_P(Builders, BuilderOutOfMemoryTest,
                         ::testing::Combine(::testing::ValuesIn(LayoutNames()),
                                            ::testing::Bool(),
                                            ::testing::Bool()));

TEST_P(BuilderOutOfMemoryTest, LosesNoKey) {
  const std::vector<std::string> keys = Keys(0, kKeys);
  BuilderSettings settings = Settings(std::get<0>(GetParam()));
  settings.detect_corruption = std::get<1>(GetParam());
  settings.optimize_for_memory = std::get<2>(GetParam());
  const auto test = [&](const Fail& fail) {
    BitsBuilder builder(settings);
    std::unique_ptr<const char[]> owner;
    Status status;
    Slice filter;
    fail([&] {
      AddAll(keys, &builder);
      filter = builder.Finish(&owner, &status);
    });
    EXPECT_OK(status);
    EXPECT_OK(builder.MaybePostVerify(filter));
    ExpectAllMatch(filter, keys);
    // The next one has the memory.
    AddAll(keys, &builder);
    EXPECT_GT(builder.Finish(&owner, &status).size(), size_t{kKeys});
  };
  EXPECT_GT(ForEachFailure(test, 200), 2);
}

// The error that a builder returns, without memory for its text.
TEST(CorruptionOutOfMemoryTest, ErrorsAreReturned) {
  class Damaged : public BitsBuilder {
   public:
    using BitsBuilder::BitsBuilder;
    void Damage() { hashes_.Add(42); }
  };
  BuilderSettings settings = Settings("local");
  settings.detect_corruption = true;
  const std::vector<std::string> keys = Keys(0, 100);
  for (const bool changed_later : {false, true}) {
    ForEachFailure([&](const Fail& fail) {
      Damaged builder(settings);
      AddAll(keys, &builder);
      std::unique_ptr<const char[]> owner;
      Status status;
      Slice filter;
      if (changed_later) {
        filter = builder.Finish(&owner, &status);
        const_cast<char*>(filter.data())[filter.size() - 9] ^= 1;
        fail([&] { status = builder.MaybePostVerify(filter); });
      } else {
        builder.Damage();
        fail([&] { filter = builder.Finish(&owner, &status); });
      }
      EXPECT_TRUE(status.IsCorruption()) << status.ToString();
      ExpectAllMatch(filter, keys);
    });
  }
}

TEST(WarningOutOfMemoryTest, ComesWithTheNextFilter) {
  internal::LayoutRow few_keys = *internal::FindLayoutOfName("classic");
  few_keys.many_keys = 50;
  std::vector<BuilderSettings> all(3, Settings("local"));
  all[0].layout = &few_keys;
  all[1].max_filter_bytes = 100;  // lowers the bits per key
  all[2].max_filter_bytes = 30;   // leaves too few for a filter
  for (BuilderSettings& settings : all) {
    SCOPED_TRACE(&settings - all.data());
    size_t sound_size = 0;
    // Two filters; an allocation of Finish may fail in the first.
    const auto test = [&](const Fail& fail) {
      LineLogger log;  // allocates, as a user's logger may
      settings.log = &log;
      settings.warnings = std::make_shared<internal::BuilderWarnings>();
      BitsBuilder builder(settings);
      std::unique_ptr<const char[]> owner;
      AddAll(Keys(0, 100), &builder);
      size_t size = 0;
      fail([&] { size = builder.Finish(&owner).size(); });
      // A line that the LOG lacks costs no filter.
      if (sound_size == 0) {
        EXPECT_EQ(log.lines.size(), 1u);
        sound_size = size;
      } else if (log.lines.empty()) {
        EXPECT_EQ(size, sound_size);
      }
      AddAll(Keys(0, 100), &builder);
      builder.Finish(&owner);
      EXPECT_EQ(log.lines.size(), 1u);
    };
    test([](const Action& action) { action(); });
    EXPECT_GT(ForEachFailure(test, 200), 1);
  }
}

// Sealed filters of ours, sound and with each byte damaged, filters of
// RocksDB's own, and other bytes.
TEST(ReaderOutOfMemoryTest, IsNoneOrASoundOne) {
  RocksDBFilterOptions options;
  options.payload_check = true;
  const PolicyPtr policy = NewRocksDBFilterPolicy(options);
  const std::string ours = Build(*policy, {"key"});
  std::vector<std::string> filters = {"",
                                      "abc",
                                      std::string(100, 'x'),
                                      ours,
                                      Build(*RocksDBBloom(), {"key"}),
                                      Build(*RocksDBRibbon(), {"key"})};
  for (size_t i = 0; i < ours.size(); ++i) {
    filters.push_back(ours);
    filters.back()[i] = static_cast<char>(filters.back()[i] ^ 0x55);
  }
  for (const std::string& filter : filters) {
    SCOPED_TRACE(::testing::PrintToString(filter));
    const bool sound = NewBitsReader(*policy, filter)->MayMatch("key");
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
    bool first = true;
    const auto test = [&](const Fail& fail) {
      fail([&] { reader = NewBitsReader(*policy, filter); });
      EXPECT_TRUE(!first || reader == nullptr);
      EXPECT_TRUE(reader == nullptr || reader->MayMatch("key") == sound);
      first = false;
    };
    ForEachFailure(test, 20);
    EXPECT_NE(reader, nullptr);
  }
}

TEST(ReaderOutOfMemoryTest, LookupsAllocateNothing) {
  for (const std::string& layout : LayoutNames()) {
    const PolicyPtr policy = PolicyFromString("deltabloom:10:" + layout);
    const std::string filter = Build(*policy, Keys(0, 2000));
    const auto reader = NewBitsReader(*policy, filter);
    const std::vector<std::string> keys = Keys(0, 32);
    std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) pointers.push_back(&slice);
    bool answers[32] = {};
    bool single = false;
    EXPECT_FALSE(FailsAt(0, [&] {
      single = reader->MayMatch(slices[0]);
      reader->MayMatch(32, pointers.data(), answers);
    }));
    EXPECT_TRUE(single);
    for (const bool answer : answers) EXPECT_TRUE(answer);
  }
}

// Memory runs out at the first filter of a policy, which allocates the
// counters, and in lookups that allocate more.
TEST(PolicyOutOfMemoryTest, CountingReaderIsNoneOrASoundOne) {
  const std::string filter = Build(*Deltabloom(), {"key"});
  const auto test = [&](const Fail& fail) {
    const PolicyPtr policy = Deltabloom();
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
    bool found = true;
    fail([&] {
      reader = NewBitsReader(*policy, filter);
      // A thread gets its counters in its first lookup.
      if (reader != nullptr) found = reader->MayMatch("key");
    });
    EXPECT_TRUE(found);
    if (reader == nullptr) return;
    EXPECT_TRUE(reader->MayMatch("key"));
    RocksDBFilterStatistics statistics;
    EXPECT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
    EXPECT_EQ(statistics.Total().lookups, 2u);
  };
  EXPECT_GT(ForEachFailure(test, 200), 1);
}

std::string Serialized(const FilterPolicy& policy) {
  return policy.ToString(ConfigOptions());
}

constexpr char kRequested[] =
    "id=deltabloom;bits_per_key=12.5;layout=local;compatibility=own;"
    "payload_check=true";

// Through RocksDB, which drops the errors of a policy within table options.
TEST(PolicyOutOfMemoryTest, ByText) {
  const std::string whole = Serialized(*PolicyFromString(kRequested));
  for (const bool in_table : {false, true}) {
    Status status;
    const auto test = [&](const Fail& fail) {
      PolicyPtr policy;
      BlockBasedTableOptions table;
      fail([&] {
        status = WithoutException([&] {
          return in_table
                     ? rocksdb::GetBlockBasedTableOptionsFromString(
                           ConfigOptions(), {},
                           std::string("filter_policy={") + kRequested + "}",
                           &table)
                     : FilterPolicy::CreateFromString(ConfigOptions(),
                                                      kRequested, &policy);
        });
      });
      if (in_table) policy = table.filter_policy;
      ASSERT_TRUE(!status.ok() || in_table || policy != nullptr);
      if (!status.ok() || policy == nullptr) return;
      const Status valid = policy->ValidateOptions({}, {});
      if (valid.ok()) {
        EXPECT_EQ(Serialized(*policy), whole);
      } else {
        EXPECT_TRUE(in_table && SaysOutOfMemory(valid.ToString()))
            << valid.ToString();
      }
    };
    ForEachFailure(test);
    ASSERT_OK(status);
  }
}

// A policy is whole or none.
TEST(PolicyOutOfMemoryTest, ByCall) {
  const std::string whole = Serialized(*PolicyFromString(kRequested));
  RocksDBFilterOptions requested;
  requested.bits_per_key = 12.5;
  requested.layout = Layout::kLocal;
  requested.compatibility = RocksDBCompatibility::kOwn;
  requested.payload_check = true;
  RocksDBFilterOptions wrong = requested;
  wrong.bits_per_key = -1;
  const Options added = MakeOptions({Deltabloom(10)});
  PolicyPtr policy;
  std::string error;
  const std::string uris[] = {"deltabloom:12.5:compact",
                              "deltabloom:12.5:no_such_layout"};
  rocksdb::ObjectLibrary library("test");
  ASSERT_GE(internal::AddFactories(library), 1);
  const auto factory = library.FindFactory<const FilterPolicy>(uris[0]);
  ASSERT_TRUE(factory);
  const auto by_factory = [&](const std::string& uri) {
    std::unique_ptr<const FilterPolicy> guard;
    return factory(uri, &guard, &error) != nullptr;
  };
  const std::function<bool()> calls[] = {
      [&] {
        policy = NewRocksDBFilterPolicy(requested, &error);
        return policy != nullptr;
      },
      [&] { return NewRocksDBFilterPolicy(wrong, &error) != nullptr; },
      [&] { return CheckRocksDBFilters(added, &error); },
      [&] { return by_factory(uris[0]); }, [&] { return by_factory(uris[1]); }};
  for (const auto& call : calls) {
    const auto number = &call - calls;
    SCOPED_TRACE(number);
    bool done = false;
    const auto test = [&](const Fail& fail) {
      policy.reset();
      error.clear();
      fail([&] { done = call(); });
      EXPECT_EQ(done, error.empty());
      EXPECT_TRUE(policy == nullptr || Serialized(*policy) == whole);
      EXPECT_TRUE(done || SaysOutOfMemory(error) ||
                  (number == 1 && error.find("is not valid") != error.npos))
          << error;
    };
    EXPECT_GT(ForEachFailure(test), 0);
    EXPECT_EQ(done, number != 1);
  }
}

// A change that fails leaves each option as it was or as it is to be.
TEST(PolicyOutOfMemoryTest, Changes) {
  Status status;
  ForEachFailure([&](const Fail& fail) {
    const PolicyPtr policy = Deltabloom(10);
    fail([&] {
      status = WithoutException([&] {
        return const_cast<FilterPolicy*>(policy.get())
            ->ConfigureFromString(ConfigOptions(),
                                  "bits_per_key=7;layout=compact");
      });
    });
    EXPECT_OK(policy->ValidateOptions({}, {}));
    const std::string text = Serialized(*policy);
    if (status.ok()) {
      EXPECT_CONTAINS(text, "bits_per_key=7;");
      EXPECT_CONTAINS(text, "layout=compact;");
    }
    EXPECT_NE(NewBitsBuilder(*policy), nullptr);
  });
  EXPECT_OK(status);
}

// An error that is returned where the policy is prepared or validated.
TEST(PolicyOutOfMemoryTest, Validation) {
  ConfigOptions config;
  config.invoke_prepare_options = false;
  PolicyPtr policy;
  ASSERT_OK(FilterPolicy::CreateFromString(config, "deltabloom:nan", &policy));
  const Options options;
  Status status;
  const auto test = [&](const Fail& fail) {
    fail([&] { status = policy->ValidateOptions(options, options); });
    EXPECT_TRUE(status.IsInvalidArgument() || status.IsMemoryLimit())
        << status.ToString();
  };
  EXPECT_GT(ForEachFailure(test), 0);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
}

// --- Range filters ----------------------------------------------------------

using Collector = rocksdb::TablePropertiesCollector;
using Factory = rocksdb::TablePropertiesCollectorFactory;

std::shared_ptr<internal::RangesState> NewRangesState(
    const std::string& transform = "none") {
  RocksDBRangeOptions options;
  options.prefixes = "12,'x',90b";
  options.key_transform = transform;
  internal::ParsedRangeOptions parsed;
  EXPECT_EQ(parsed.Set(options), "");
  return std::make_shared<internal::RangesState>(parsed);
}

std::shared_ptr<Factory> NewRangesFactory(
    std::shared_ptr<internal::RangesState> state) {
  rocksdb::ColumnFamilyOptions family;
  internal::AddRangeCollector(std::move(state), &family);
  return family.table_properties_collector_factories.front();
}

// Keys that are longer than what a transform needs no memory for.
std::vector<std::string> LongKeys() {
  std::vector<std::string> keys = Keys(0, 500);
  for (std::string& key : keys) key += std::string(300, 'x');
  return keys;
}

void AddAll(const std::vector<std::string>& keys, Collector* collector) {
  for (const std::string& key : keys) {
    static_cast<void>(
        collector->AddUserKey(key, "value", rocksdb::kEntryPut, 1, 0));
  }
}

// Expects all keys in the property, if there is one. Returns whether there is.
bool HoldsAll(const rocksdb::UserCollectedProperties& properties,
              const std::vector<std::string>& keys) {
  const auto found = properties.find(internal::kRangePropertyName);
  if (found == properties.end()) return false;
  internal::RangeProperty property;
  EXPECT_TRUE(internal::ParseRangeProperty(found->second, &property));
  EXPECT_EQ(property.entries, keys.size());
  const internal::range::Filter filter(property.filter);
  EXPECT_TRUE(filter.known());
  for (const std::string& key : keys) {
    const std::string after = key + '\0';
    internal::range::AskedFilters asked(internal::FindPrefixFunction);
    EXPECT_EQ(asked.Ask(filter, internal::range::RangeOfBounds(
                                    internal::range::Order::kBytewise, key,
                                    std::string_view(after))),
              internal::range::Answer::kMayMatch);
  }
  return true;
}

// A collector that misses a key writes no property, and never throws.
TEST(RangesOutOfMemoryTest, CollectorsLoseNoKey) {
  std::vector<std::string> keys = LongKeys();
  keys.resize(40);
  for (const char* const transform : {"none", "ascii_lowercase"}) {
    SCOPED_TRACE(transform);
    const auto state = NewRangesState(transform);
    const auto factory = NewRangesFactory(state);
    int with_filter = 0;
    int without = 0;
    const auto test = [&](const Fail& fail) {
      const std::unique_ptr<Collector> collector(
          factory->CreateTablePropertiesCollector({}));
      rocksdb::UserCollectedProperties properties;
      rocksdb::UserCollectedProperties again;
      fail([&] {
        AddAll(keys, collector.get());
        EXPECT_OK(collector->Finish(&properties));
        static_cast<void>(collector->GetReadableProperties());
      });
      EXPECT_OK(collector->Finish(&again));
      const bool has_filter = HoldsAll(properties, keys);
      EXPECT_EQ(again, properties);
      ++(has_filter ? with_filter : without);
    };
    ForEachFailure(test, 50'000);
    EXPECT_GT(with_filter, 0);
    EXPECT_GT(without, 10);
    EXPECT_EQ(state->Statistics().filters_built,
              static_cast<size_t>(with_filter));
    EXPECT_EQ(state->Statistics().tables_built_without,
              static_cast<size_t>(without));
  }
}

TEST(RangesOutOfMemoryTest, CollectorsAreMadeOrNot) {
  const std::vector<std::string> keys = LongKeys();
  const auto factory = NewRangesFactory(NewRangesState());
  int made = 0;
  const auto test = [&](const Fail& fail) {
    std::unique_ptr<Collector> collector;
    fail([&] {
      static_cast<void>(WithoutException([&] {
        collector.reset(factory->CreateTablePropertiesCollector({}));
        return Status::OK();
      }));
    });
    if (collector == nullptr) return;
    ++made;
    AddAll(keys, collector.get());
    rocksdb::UserCollectedProperties properties;
    EXPECT_OK(collector->Finish(&properties));
    HoldsAll(properties, keys);
  };
  EXPECT_GT(ForEachFailure(test), 2);
  EXPECT_EQ(made, 1) << "each of the failures throws";
}

// The table filter of a scan: it throws nothing into RocksDB, and skips only
// tables without a key in the range.
TEST(RangesOutOfMemoryTest, ScansAskWithoutMemory) {
  rocksdb::TableProperties table;
  table.comparator_name = rocksdb::BytewiseComparator()->Name();
  const std::vector<std::string> keys = LongKeys();
  table.num_entries = keys.size();
  {
    const std::unique_ptr<Collector> collector(
        NewRangesFactory(NewRangesState())->CreateTablePropertiesCollector({}));
    AddAll(keys, collector.get());
    ASSERT_OK(collector->Finish(&table.user_collected_properties));
  }
  int made = 0;
  int asked = 0;
  const auto test = [&](const Fail& fail) {
    const auto state = NewRangesState();
    std::unique_ptr<Iterator> inner(rocksdb::NewEmptyIterator());
    bool has_key = true;
    bool refused = false;
    fail([&] {
      std::unique_ptr<Iterator> scan;
      static_cast<void>(WithoutException([&] {
        scan = internal::NewScanIterator(
            state,
            [&](const ReadOptions& read) {
              ++asked;
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(11, 9, 0)
              has_key = (*read.table_filter)(table);
#else
              has_key = read.table_filter(table);
#endif
              return inner.release();
            },
            {}, {keys[7], keys[8], rocksdb::BytewiseComparator()}, &refused);
        return Status::OK();
      }));
      if (scan == nullptr) return;
      ++made;
      scan->SeekToLast();
      EXPECT_FALSE(scan->Valid());
    });
    EXPECT_TRUE(has_key);
    EXPECT_FALSE(refused);
  };
  EXPECT_GT(ForEachFailure(test, 200), 2);
  EXPECT_GT(made, 0);
  EXPECT_GE(asked, made);
}

TEST(RangesOutOfMemoryTest, ByCall) {
  RocksDBRangeOptions options;
  options.prefixes = "8,'/'x3";
  RangesPtr ranges;
  std::string error;
  EXPECT_GT(ForEachFailure([&](const Fail& fail) {
              ranges.reset();
              error.clear();
              fail([&] { ranges = RocksDBRanges::New(options, &error); });
              EXPECT_EQ(ranges == nullptr, SaysOutOfMemory(error)) << error;
            }),
            2);
  ASSERT_NE(ranges, nullptr);
  bool added = false;
  EXPECT_GT(ForEachFailure([&](const Fail& fail) {
              ColumnFamilyOptions family;
              error.clear();
              fail([&] { added = ranges->AddTo(&family, &error); });
              EXPECT_EQ(added, !SaysOutOfMemory(error)) << error;
              EXPECT_EQ(family.table_properties_collector_factories.size(),
                        added ? 1u : 0u);
            }),
            2);
  EXPECT_TRUE(added);
}

// --- Logs -------------------------------------------------------------------

// No memory for the line costs no filter, and the line comes with the next.
TEST(LogOutOfMemoryTest, Configuration) {
  long builders = 0;
  ForEachFailure([&](const Fail& fail) {
    const PolicyPtr policy = Deltabloom();
    LineLogger log;
    fail([&] { builders += NewBuilder(*policy, &log) != nullptr; });
    for (int i = 0; i < 2; ++i) {
      EXPECT_NE(NewBuilder(*policy, &log), nullptr);
      EXPECT_EQ(log.lines.size(), 1u);
      EXPECT_CONTAINS(log.lines.at(0), "[deltabloom] version");
    }
  });
  EXPECT_GT(builders, 3);
}

// Nor does no memory for the table of statistics: as many allocations of a
// builder leave none, whether each of the logs is due for a table or not.
TEST(LogOutOfMemoryTest, Statistics) {
  long lost[2] = {0, 0};
  long tables[2] = {0, 0};
  for (const uint32_t log_seconds : {0u, 1u}) {
    RocksDBFilterOptions options;
    options.statistics_log_seconds = log_seconds;
    const PolicyPtr policy = NewRocksDBFilterPolicy(options);
    std::vector<LineLogger> logs(1000);
    for (LineLogger& log : logs) NewBuilder(*policy, &log);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    auto log = logs.begin();
    const auto test = [&](const Fail& fail) {
      bool built = false;
      fail([&] { built = NewBuilder(*policy, &*log) != nullptr; });
      ++log;
      lost[log_seconds] += !built;
    };
    ForEachFailure(test, 1000);
    tables[log_seconds] =
        std::count_if(logs.begin(), logs.end(),
                      [](const auto& one) { return one.lines.size() > 1; });
  }
  EXPECT_EQ(lost[0], lost[1]);
  EXPECT_EQ(tables[0], 0);
  EXPECT_GT(tables[1], 0);
}

}  // namespace
}  // namespace deltabloom::testing
