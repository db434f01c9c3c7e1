// Out of memory: each allocation fails once in turn, in what RocksDB calls and
// in what programs call to make a policy. RocksDB sees no exception, no added
// key is lost, a policy is as requested or there is an error, and the next try,
// with memory, succeeds.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "engines/rocksdb/policy/register.h"
#include "table/framing.h"
#include "tests/rocksdb/filters.h"
#include "tests/util/replaced_new.h"
#include "util/range/range_part.h"

// RocksDB's cache leaks its tables when it gets no memory for the next one.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {
  return "leak:rocksdb::lru_cache::\n";
}

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;

// Runs `action` with its allocation `number` failing; false if it has fewer.
template <typename Action>
bool FailsAt(long number, const Action& action) {
  test::FailAllocation(number);
  action();
  const bool failed = test::AllocationFailed();
  test::FailAllocation(-1);
  return failed;
}

// Calls `try_it` with 0, 1, 2, ... until it returns false because allocation
// `number` does not exist. Returns how many there are.
template <typename TryIt>
long ForEachAllocation(const TryIt& try_it, long most = 5000) {
  for (long number = 0; number < most; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    if (!try_it(number) || ::testing::Test::HasFatalFailure()) return number;
  }
  ADD_FAILURE() << "no end";
  return most;
}

// The same with an action in which the allocation fails, and a check after it.
long ForEachFailure(const std::function<void()>& action,
                    const std::function<void()>& check) {
  return ForEachAllocation([&](long number) {
    const bool failed = FailsAt(number, action);
    check();
    return failed;
  });
}

// What RocksDB's own code does without memory.
Status WithoutException(const std::function<Status()>& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status::MemoryLimit();
  }
}

void ExpectOutOfMemory(const std::string& error) {
  EXPECT_CONTAINS(error, "out of memory");
}

// What is done once in a process: in a process of its own for each failure, so
// these tests come first.
enum Outcome { kNoFailure, kFailedWithError, kNoError, kNeverSucceeds, kThrew };

// `action` returns whether it succeeded, or an error.
using FirstUse = bool (*)(std::string* error);

Outcome TryTwice(long number, FirstUse action) {
  try {
    std::string error;
    bool well = false;
    const bool failed = FailsAt(number, [&] { well = action(&error); });
    if (!well && error.find("out of memory") == std::string::npos) {
      return kNoError;
    }
    if (!action(&error)) return kNeverSucceeds;
    return failed ? kFailedWithError : kNoFailure;
  } catch (...) {
    return kThrew;
  }
}

TEST(AFirstUseOutOfMemoryTest, FailsWithAnErrorAndSucceedsLater) {
  for (const FirstUse action :
       {FirstUse([](std::string* error) { return RegisterRocksDB(error); }),
        FirstUse([](std::string* error) {
          return NewRocksDBFilterPolicy({}, error) != nullptr;
        })}) {
    const long failures = ForEachAllocation([action](long number) {
      const pid_t child = fork();
      if (child == 0) _exit(TryTwice(number, action));
      int status = 0;
      EXPECT_GE(child, 0);
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status)) << status;
      EXPECT_LE(WEXITSTATUS(status), kFailedWithError);
      return WIFEXITED(status) && WEXITSTATUS(status) == kFailedWithError;
    });
    EXPECT_GT(failures, 20);
  }
}

// Builders and readers.

// Enough keys that their hashes lie in several blocks.
constexpr int kKeys = 5000;

BuilderSettings Settings(const std::string& layout) {
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName(layout);
  settings.millibits_per_key = 10000;
  return settings;
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
  const auto try_it = [&](long number) {
    BitsBuilder builder(settings);
    std::unique_ptr<const char[]> owner;
    Status status;
    Slice filter;
    const bool failed = FailsAt(number, [&] {
      for (const std::string& key : keys) builder.AddKey(key);
      filter = builder.Finish(&owner, &status);
    });
    EXPECT_OK(status);
    EXPECT_OK(builder.MaybePostVerify(filter));
    ExpectAllMatch(filter, keys);
    // The next one has the memory.
    for (const std::string& key : keys) builder.AddKey(key);
    EXPECT_GT(builder.Finish(&owner, &status).size(), size_t{kKeys});
    return failed;
  };
  EXPECT_GT(ForEachAllocation(try_it, 200), 2);
}

// A range part without memory is left out, and no range with a key is denied.
// Lookups in it allocate nothing.
TEST(RangeOutOfMemoryTest, RangesLoseNoKey) {
  std::vector<std::string> keys = {""};  // the extractor's prefix
  for (const std::string& key : Keys(0, 2000)) keys.push_back(key);
  BuilderSettings settings = Settings("local");
  settings.millibits_per_key = 16000;
  settings.range = true;
  int with_ranges = 0;
  int without = 0;
  ForEachAllocation(
      [&](long number) {
        BitsBuilder builder(settings);
        std::unique_ptr<const char[]> owner;
        Slice filter;
        const bool failed = FailsAt(number, [&] {
          for (const std::string& key : keys) builder.AddKey(key);
          filter = builder.Finish(&owner);
        });
        ExpectAllMatch(filter, keys);
        internal::ParsedFilter parsed;
        std::string_view range_part;
        if (internal::ParseSealed(filter.ToStringView(), internal::ActiveCpu(),
                                  &parsed,
                                  nullptr) == internal::FilterKind::kFilter) {
          range_part = internal::RangePartOf(filter.ToStringView());
        }
        ++(range_part.empty() ? without : with_ranges);
        if (range_part.empty()) return failed;
        const std::string absent = Key(7);
        const std::string after_absent = Key(8);
        std::vector<std::string> ends;
        for (const std::string& key : keys) ends.push_back(key + '\0');
        bool all = true;
        EXPECT_FALSE(FailsAt(0, [&] {
          const internal::RangePart part(range_part);
          for (size_t i = 1; i < keys.size(); ++i) {
            all = all && part.MayMatch(keys[i], ends[i]) &&
                  part.HasKeyFrom(keys[0]);
          }
          static_cast<void>(part.MayMatch(absent, after_absent));
        }));
        EXPECT_TRUE(all);
        return failed;
      },
      1000);
  EXPECT_GT(with_ranges, 0);
  EXPECT_GT(without, 0);
}

TEST(PolicyOutOfMemoryTest, PolicyMakesNoBuilderOrASoundOne) {
  const PolicyPtr policy = Deltabloom();
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder;
  const auto check = [&] {
    if (builder == nullptr) return;
    builder->AddKey("key");
    EXPECT_EQ(builder->EstimateEntriesAdded(), 1u);
  };
  EXPECT_GT(ForEachFailure([&] { builder = NewBitsBuilder(*policy); }, check),
            0);
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
    ForEachAllocation([&](long number) {
      Damaged builder(settings);
      for (const std::string& key : keys) builder.AddKey(key);
      if (!changed_later) builder.Damage();
      std::unique_ptr<const char[]> owner;
      Status status;
      Slice filter;
      if (changed_later) {
        filter = builder.Finish(&owner, &status);
        const_cast<char*>(filter.data())[filter.size() - 9] ^= 1;
      }
      const bool failed = FailsAt(number, [&] {
        if (changed_later) {
          status = builder.MaybePostVerify(filter);
        } else {
          filter = builder.Finish(&owner, &status);
        }
      });
      EXPECT_TRUE(status.IsCorruption()) << status.ToString();
      ExpectAllMatch(filter, keys);
      return failed;
    });
  }
}

// Builds a filter, with allocation `number` of Finish failing, and another one.
struct WarnedFilter {
  WarnedFilter(BuilderSettings settings, long number) {
    settings.log = &log;
    settings.tally = std::make_shared<internal::SharedTally>();
    BitsBuilder builder(settings);
    std::unique_ptr<const char[]> owner;
    for (int i = 0; i < 100; ++i) builder.AddKey(Key(i));
    failed = FailsAt(number, [&] { size = builder.Finish(&owner).size(); });
    warned = !log.lines.empty();
    for (int i = 0; i < 100; ++i) builder.AddKey(Key(i));
    builder.Finish(&owner);
  }

  LineLogger log;  // allocates, as a user's logger may
  bool failed;     // there was such an allocation
  bool warned;     // with the first filter
  size_t size;     // of the first
};

TEST(WarningOutOfMemoryTest, ComesWithTheNextFilter) {
  internal::LayoutRow few_keys = *internal::FindLayoutOfName("classic");
  few_keys.many_keys = 50;
  std::vector<BuilderSettings> all(4, Settings("local"));
  all[0].layout = &few_keys;
  all[1].max_filter_bytes = 100;  // lowers the bits per key
  all[2].max_filter_bytes = 30;   // leaves too few for a filter
  all[3].false_positive_rate = 1e-12;
  for (const BuilderSettings& settings : all) {
    SCOPED_TRACE(&settings - all.data());
    const WarnedFilter sound(settings, -1);
    EXPECT_TRUE(sound.warned);
    EXPECT_EQ(sound.log.lines.size(), 1u);
    const auto try_it = [&](long number) {
      const WarnedFilter filter(settings, number);
      EXPECT_EQ(filter.log.lines.size(), 1u);
      // A line that the LOG lacks costs no filter.
      if (!filter.warned) {
        EXPECT_EQ(filter.size, sound.size);
      }
      return filter.failed;
    };
    EXPECT_GT(ForEachAllocation(try_it, 200), 1);
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
    ForEachAllocation(
        [&](long number) {
          const bool failed =
              FailsAt(number, [&] { reader = NewBitsReader(*policy, filter); });
          EXPECT_TRUE(number > 0 || reader == nullptr);
          EXPECT_TRUE(reader == nullptr || reader->MayMatch("key") == sound);
          return failed;
        },
        20);
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

// At the first filter of a policy, which allocates the counters, and in lookups
// that allocate more.
TEST(PolicyOutOfMemoryTest, CountingReaderIsNoneOrASoundOne) {
  const std::string filter = Build(*Deltabloom(), {"key"});
  const auto try_it = [&](long number) {
    const PolicyPtr policy = Deltabloom();
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
    bool found = true;
    const bool failed = FailsAt(number, [&] {
      reader = NewBitsReader(*policy, filter);
      // In a thread's first lookup it gets its counters.
      if (reader != nullptr) found = reader->MayMatch("key");
    });
    EXPECT_TRUE(found);
    if (reader == nullptr) return failed;
    EXPECT_TRUE(reader->MayMatch("key"));
    RocksDBFilterStatistics statistics;
    EXPECT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
    EXPECT_EQ(statistics.Total().lookups, 2u);
    return failed;
  };
  EXPECT_GT(ForEachAllocation(try_it, 200), 1);
}

// Making a policy.

std::string Serialized(const FilterPolicy& policy) {
  return policy.ToString(ConfigOptions());
}

RocksDBFilterOptions Requested() {
  RocksDBFilterOptions options;
  options.bits_per_key = 12.5;
  options.layout = Layout::kLocal;
  options.compatibility = RocksDBCompatibility::kOwn;
  options.payload_check = true;
  return options;
}

constexpr char kRequested[] =
    "id=deltabloom;bits_per_key=12.5;layout=local;compatibility=own;"
    "payload_check=true";

TEST(PolicyOutOfMemoryTest, ByCall) {
  const std::string whole = Serialized(*NewRocksDBFilterPolicy(Requested()));
  PolicyPtr policy;
  std::string error;
  const auto make = [&] {
    error.clear();
    policy = NewRocksDBFilterPolicy(Requested(), &error);
  };
  const auto check = [&] {
    if (policy == nullptr) {
      ExpectOutOfMemory(error);
    } else {
      EXPECT_EQ(error, "");
      EXPECT_EQ(Serialized(*policy), whole);
    }
  };
  EXPECT_GT(ForEachFailure(make, check), 5);
  EXPECT_NE(policy, nullptr);
}

// Policy, listener and extractor at once: all of them or none.
TEST(PolicyOutOfMemoryTest, AllByOneCallAndEachByItself) {
  RocksDBFilterOptions filters;
  filters.range = true;
  Options whole;
  ASSERT_TRUE(AddRocksDBFilters(filters, &whole, &whole));
  Options options;
  bool done = false;
  std::string error;
  const auto add = [&] {
    error.clear();
    done = AddRocksDBFilters(filters, &options, &options, &error);
  };
  const auto check = [&] {
    EXPECT_EQ(done, error.empty());
    EXPECT_EQ(options.prefix_extractor != nullptr, done);
    EXPECT_EQ(options.listeners.size(), done ? 1 : 0);
    if (!done) ExpectOutOfMemory(error);
    options = Options();
    done = false;
  };
  EXPECT_GT(ForEachFailure(add, check), 5);
  for (const std::function<bool()>& call : std::vector<std::function<bool()>>{
           [&] { return NewRocksDBFilterListener(&error) != nullptr; },
           [&] { return NewRocksDBRangeExtractor(&error) != nullptr; },
           [&] { return CheckRocksDBFilters(whole, &error); }}) {
    const auto try_it = [&] {
      error.clear();
      done = call();
    };
    const auto check_one = [&] {
      EXPECT_EQ(done, error.empty());
      // Status::MemoryLimit, as RocksDB prints it.
      if (error.find("Memory limit reached") != std::string::npos) return;
      if (!done) ExpectOutOfMemory(error);
    };
    EXPECT_GT(ForEachFailure(try_it, check_one), 0);
    EXPECT_TRUE(done);
  }
}

// The error about the options may be replaced by that about memory.
TEST(PolicyOutOfMemoryTest, ByCallWithWrongOptions) {
  RocksDBFilterOptions wrong;
  wrong.bits_per_key = -1;
  PolicyPtr policy;
  std::string error;
  ForEachFailure(
      [&] {
        error.clear();
        policy = NewRocksDBFilterPolicy(wrong, &error);
      },
      [&] {
        EXPECT_EQ(policy, nullptr);
        if (error.find("out of range") == std::string::npos) {
          ExpectOutOfMemory(error);
        }
      });
  EXPECT_CONTAINS(error, "out of range");
}

// RocksDB's calls of the factory.
TEST(PolicyOutOfMemoryTest, Factory) {
  rocksdb::ObjectLibrary library("test");
  ASSERT_GE(internal::AddFactories(library), 1);
  for (const std::string uri :
       {"deltabloom:12.5:compact", "deltabloom:12.5:no_such_layout"}) {
    const auto factory = library.FindFactory<const FilterPolicy>(uri);
    ASSERT_TRUE(factory);
    std::unique_ptr<const FilterPolicy> guard;
    const FilterPolicy* policy = nullptr;
    std::string error;
    ForEachFailure(
        [&] {
          guard.reset();
          error.clear();
          policy = factory(uri, &guard, &error);
        },
        [&] {
          EXPECT_EQ(policy, guard.get());
          if (policy == nullptr) ExpectOutOfMemory(error);
        });
    ASSERT_NE(policy, nullptr);
  }
}

// Through RocksDB, by URI and by names.
TEST(PolicyOutOfMemoryTest, ByText) {
  for (const std::string text : {"deltabloom:12.5:local", kRequested}) {
    SCOPED_TRACE(text);
    const std::string whole = Serialized(*PolicyFromString(text));
    PolicyPtr policy;
    Status status;
    ForEachFailure(
        [&] {
          policy.reset();
          status = WithoutException([&] {
            return FilterPolicy::CreateFromString(ConfigOptions(), text,
                                                  &policy);
          });
        },
        [&] {
          if (!status.ok()) return;
          ASSERT_NE(policy, nullptr);
          EXPECT_EQ(Serialized(*policy), whole);
        });
    EXPECT_OK(status);
  }
}

// Where RocksDB drops the errors of a policy's text.
TEST(PolicyOutOfMemoryTest, WithinTableOptions) {
  const std::string whole = Serialized(*PolicyFromString(kRequested));
  BlockBasedTableOptions table;
  Status status;
  ForEachFailure(
      [&] {
        status = WithoutException([&] {
          return rocksdb::GetBlockBasedTableOptionsFromString(
              ConfigOptions(), {},
              "filter_policy={" + std::string(kRequested) + "}", &table);
        });
      },
      [&] {
        if (!status.ok() || table.filter_policy == nullptr) return;
        const Status valid = table.filter_policy->ValidateOptions({}, {});
        if (valid.ok()) {
          EXPECT_EQ(Serialized(*table.filter_policy), whole);
        } else {
          ExpectOutOfMemory(valid.ToString());
        }
      });
  ASSERT_OK(status);
}

// A change that fails leaves each option as it was or as it is to be.
TEST(PolicyOutOfMemoryTest, Changes) {
  Status status;
  ForEachAllocation([&](long number) {
    const PolicyPtr policy = Deltabloom(10);
    const bool failed = FailsAt(number, [&] {
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
    return failed;
  });
  EXPECT_OK(status);
}

// An error that is returned where the policy is prepared or validated.
TEST(PolicyOutOfMemoryTest, Validation) {
  rocksdb::BlockBasedTableOptions table;
  ConfigOptions config;
  config.invoke_prepare_options = false;
  ASSERT_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      config, {}, "filter_policy=deltabloom:nan", &table));
  ASSERT_NE(table.filter_policy, nullptr);
  const rocksdb::DBOptions db;
  const ColumnFamilyOptions family;
  Status status;
  const auto validate = [&] {
    status = table.filter_policy->ValidateOptions(db, family);
  };
  const auto check = [&] {
    EXPECT_TRUE(status.IsInvalidArgument() || status.IsMemoryLimit())
        << status.ToString();
  };
  EXPECT_GT(ForEachFailure(validate, check), 0);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
}

// The LOG.

class SizedLogger final : public LineLogger {
 public:
  size_t GetLogFileSize() const override { return 100 * lines.size(); }
};

using BuilderPtr = std::unique_ptr<rocksdb::FilterBitsBuilder>;

BuilderPtr NewBuilderWithLog(const FilterPolicy& policy, SizedLogger* log) {
  static const BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.info_log = log;
  return BuilderPtr(policy.GetBuilderWithContext(context));
}

// No memory for the line costs no filter, and the line comes with the next.
TEST(LogOutOfMemoryTest, Configuration) {
  long builders = 0;
  ForEachAllocation([&](long number) {
    const PolicyPtr policy = Deltabloom();
    SizedLogger log;
    BuilderPtr builder;
    const bool failed =
        FailsAt(number, [&] { builder = NewBuilderWithLog(*policy, &log); });
    if (log.lines.empty()) {
      EXPECT_NE(builder, nullptr);
    }
    builders += builder != nullptr;
    for (int i = 0; i < 2; ++i) {
      EXPECT_NE(NewBuilderWithLog(*policy, &log), nullptr);
      EXPECT_EQ(log.lines.size(), 1u);
      EXPECT_CONTAINS(log.lines.at(0), "[deltabloom] version");
    }
    return failed;
  });
  EXPECT_GT(builders, 3);
}

// Allocations of a builder without which there is none, if the n-th fails with
// the n-th of these logs, each of which is due for a table of statistics.
long BuildersLost(uint32_t log_seconds, std::vector<SizedLogger>* logs) {
  RocksDBFilterOptions options;
  options.statistics_log_seconds = log_seconds;
  const PolicyPtr policy = NewRocksDBFilterPolicy(options);
  for (SizedLogger& log : *logs) NewBuilderWithLog(*policy, &log);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  long lost = 0;
  ForEachAllocation(
      [&](long number) {
        BuilderPtr builder;
        const bool failed = FailsAt(number, [&] {
          builder =
              NewBuilderWithLog(*policy, &(*logs)[static_cast<size_t>(number)]);
        });
        lost += builder == nullptr;
        return failed;
      },
      static_cast<long>(logs->size()));
  return lost;
}

// Nor does no memory for the table of statistics.
TEST(LogOutOfMemoryTest, Statistics) {
  std::vector<SizedLogger> silent(1000);
  std::vector<SizedLogger> due(1000);
  EXPECT_EQ(BuildersLost(1, &due), BuildersLost(0, &silent));
  const auto has_table = [](const auto& log) { return log.lines.size() > 1; };
  EXPECT_GT(std::count_if(due.begin(), due.end(), has_table), 0);
  EXPECT_EQ(std::count_if(silent.begin(), silent.end(), has_table), 0);
}

}  // namespace
}  // namespace deltabloom::testing
