// Every allocation fails once in turn, in all that makes a policy and in all
// that RocksDB calls of it: a policy as asked for, or an error; no exception
// where RocksDB would meet it; and the next try, with memory, goes well.
//
// Making a policy through RocksDB's text runs RocksDB's own code, which throws
// bad_alloc; there the policy must be as asked for or not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/register.h"
#include "tests/rocksdb/line_logger.h"
#include "tests/rocksdb/test_db.h"
#include "tests/util/replaced_new.h"

// RocksDB's cache leaks its tables when it gets no memory for the next one.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {
  return "leak:rocksdb::lru_cache::\n";
}

namespace deltabloom::testing {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;

constexpr long kMostAllocations = 5000;

// Calls `action`, then `check`, with each allocation of `action` failing in
// turn, until it has no more. Returns how many it had.
long ForEachFailure(const std::function<void()>& action,
                    const std::function<void()>& check) {
  for (long number = 0; number < kMostAllocations; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    test::FailAllocation(number);
    action();
    const bool failed = test::AllocationFailed();
    test::FailAllocation(-1);
    check();
    if (!failed || ::testing::Test::HasFatalFailure()) return number;
  }
  ADD_FAILURE() << "no end";
  return kMostAllocations;
}

std::string Serialized(const FilterPolicy& policy) {
  return policy.ToString(ConfigOptions());
}

RocksDBFilterOptions AskedFor() {
  RocksDBFilterOptions options;
  options.bits_per_key = 12.5;
  options.layout = Layout::kLocal;
  options.compatibility = RocksDBCompatibility::kOwn;
  options.payload_check = true;
  return options;
}

constexpr char kAskedFor[] =
    "id=deltabloom;bits_per_key=12.5;layout=local;compatibility=own;"
    "payload_check=true";

void ExpectOutOfMemory(const std::string& error) {
  EXPECT_NE(error.find("out of memory"), std::string::npos) << error;
}

TEST(PolicyOutOfMemoryTest, ByCall) {
  const PolicyPtr whole = NewRocksDBFilterPolicy(AskedFor());
  PolicyPtr policy;
  std::string error;
  const auto make = [&] {
    error.clear();
    policy = NewRocksDBFilterPolicy(AskedFor(), &error);
  };
  EXPECT_GT(ForEachFailure(make,
                           [&] {
                             if (policy == nullptr) {
                               ExpectOutOfMemory(error);
                             } else {
                               EXPECT_EQ(error, "");
                               EXPECT_EQ(Serialized(*policy),
                                         Serialized(*whole));
                             }
                           }),
            5);
  EXPECT_NE(policy, nullptr);
}

// Policy, listener and extractor at once: all of them or none.
TEST(PolicyOutOfMemoryTest, AllByOneCall) {
  RocksDBFilterOptions filters;
  filters.range = true;
  rocksdb::Options options;
  ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options));
  bool added = false;
  std::string error;
  const auto add = [&] {
    error.clear();
    added = AddRocksDBFilters(filters, &options, &options, &error);
  };
  const auto reset = [&] {
    options = rocksdb::Options();
    added = false;
  };
  reset();
  EXPECT_GT(ForEachFailure(add,
                           [&] {
                             EXPECT_EQ(added, error.empty());
                             EXPECT_EQ(options.prefix_extractor != nullptr,
                                       added);
                             EXPECT_EQ(options.listeners.size(), added ? 1 : 0);
                             if (!added) ExpectOutOfMemory(error);
                             reset();
                           }),
            5);
}

TEST(PolicyOutOfMemoryTest, ListenerExtractorAndCheck) {
  rocksdb::Options options;
  RocksDBFilterOptions filters;
  filters.range = true;
  ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options));
  bool done = false;
  std::string error;
  const auto expect_error_or_done = [&] {
    EXPECT_EQ(done, error.empty());
    // Status::MemoryLimit, as RocksDB prints it.
    if (error.find("Memory limit reached") != std::string::npos) return;
    if (!done) ExpectOutOfMemory(error);
  };
  for (const std::function<bool()>& call : std::vector<std::function<bool()>>{
           [&] { return NewRocksDBFilterListener(&error) != nullptr; },
           [&] { return NewRocksDBRangeExtractor(&error) != nullptr; },
           [&] { return CheckRocksDBFilters(options, &error); }}) {
    const auto try_it = [&] {
      error.clear();
      done = call();
    };
    EXPECT_GT(ForEachFailure(try_it, expect_error_or_done), 0);
    EXPECT_TRUE(done);
  }
}

// The error that the options deserve may give way to that of no memory.
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
  EXPECT_NE(error.find("out of range"), std::string::npos) << error;
}

// RocksDB's calls into the factory.
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
  for (const std::string text : {"deltabloom:12.5:local", kAskedFor}) {
    SCOPED_TRACE(text);
    const std::string whole = Serialized(*PolicyFromString(text));
    PolicyPtr policy;
    Status status;
    ForEachFailure(
        [&] {
          policy.reset();
          try {
            status =
                FilterPolicy::CreateFromString(ConfigOptions(), text, &policy);
          } catch (const std::bad_alloc&) {
            status = Status::MemoryLimit();
          }
        },
        [&] {
          if (!status.ok()) return;
          ASSERT_NE(policy, nullptr);
          EXPECT_EQ(Serialized(*policy), whole);
        });
    EXPECT_ROCKSDB_OK(status);
  }
}

// Where RocksDB drops the errors of a policy's text.
TEST(PolicyOutOfMemoryTest, WithinTableOptions) {
  const std::string whole = Serialized(*PolicyFromString(kAskedFor));
  rocksdb::BlockBasedTableOptions table;
  Status status;
  ForEachFailure(
      [&] {
        try {
          status = rocksdb::GetBlockBasedTableOptionsFromString(
              ConfigOptions(), {},
              "filter_policy={" + std::string(kAskedFor) + "}", &table);
        } catch (const std::bad_alloc&) {
          status = Status::MemoryLimit();
        }
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
  ASSERT_ROCKSDB_OK(status);
}

// A change that fails leaves each option as it was or as it is to be.
TEST(PolicyOutOfMemoryTest, Changes) {
  Status status;
  for (long number = 0; number < kMostAllocations; ++number) {
    const PolicyPtr policy = Deltabloom(10);
    test::FailAllocation(number);
    try {
      status = const_cast<FilterPolicy*>(policy.get())
                   ->ConfigureFromString(ConfigOptions(),
                                         "bits_per_key=7;layout=compact");
    } catch (const std::bad_alloc&) {
      status = Status::MemoryLimit();
    }
    const bool failed = test::AllocationFailed();
    test::FailAllocation(-1);
    EXPECT_ROCKSDB_OK(policy->ValidateOptions({}, {}));
    const std::string text = Serialized(*policy);
    if (status.ok()) {
      EXPECT_NE(text.find("bits_per_key=7;"), std::string::npos) << text;
      EXPECT_NE(text.find("layout=compact;"), std::string::npos) << text;
    }
    EXPECT_NE(internal::NewBitsBuilder(*policy), nullptr);
    if (!failed) break;
  }
  EXPECT_ROCKSDB_OK(status);
}

// A logger that allocates for each line, as one of a user's may.
class Lines final : public LineLogger {
 public:
  size_t GetLogFileSize() const override { return 100 * lines.size(); }
};

// No memory for the line costs no filter, and the line comes with the next.
TEST(PolicyOutOfMemoryTest, LinesInTheLog) {
  long builders = 0;
  for (long number = 0; number < kMostAllocations; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    const PolicyPtr policy = Deltabloom();
    Lines log;
    const rocksdb::BlockBasedTableOptions table;
    rocksdb::FilterBuildingContext context(table);
    context.info_log = &log;
    test::FailAllocation(number);
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy->GetBuilderWithContext(context));
    const bool failed = test::AllocationFailed();
    test::FailAllocation(-1);
    if (log.lines.empty()) {
      EXPECT_NE(builder, nullptr);
    }
    builders += builder != nullptr;
    for (int i = 0; i < 2; ++i) {
      builder.reset(policy->GetBuilderWithContext(context));
      EXPECT_NE(builder, nullptr);
      ASSERT_EQ(log.lines.size(), 1u);
      EXPECT_NE(log.lines[0].find("[deltabloom] version"), std::string::npos);
    }
    if (!failed) break;
  }
  EXPECT_GT(builders, 3);
}

// Allocations of a builder without which there is none, if the n-th fails with
// the n-th of these logs, each of which is due for a table of statistics.
long BuildersLost(uint32_t log_seconds, std::vector<Lines>* logs) {
  RocksDBFilterOptions options;
  options.statistics_log_seconds = log_seconds;
  const PolicyPtr policy = NewRocksDBFilterPolicy(options);
  const rocksdb::BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  using BuilderPtr = std::unique_ptr<rocksdb::FilterBitsBuilder>;
  for (Lines& log : *logs) {
    context.info_log = &log;
    BuilderPtr(policy->GetBuilderWithContext(context));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  long lost = 0;
  for (size_t number = 0; number < logs->size(); ++number) {
    context.info_log = &(*logs)[number];
    test::FailAllocation(static_cast<long>(number));
    const BuilderPtr builder(policy->GetBuilderWithContext(context));
    const bool failed = test::AllocationFailed();
    test::FailAllocation(-1);
    lost += builder == nullptr;
    if (!failed) return lost;
  }
  ADD_FAILURE() << "no end";
  return lost;
}

// Nor does no memory for the table of statistics.
TEST(PolicyOutOfMemoryTest, StatisticsInTheLog) {
  std::vector<Lines> silent(1000);
  std::vector<Lines> told(1000);
  EXPECT_EQ(BuildersLost(1, &told), BuildersLost(0, &silent));
  const auto has_table = [](const Lines& log) { return log.lines.size() > 1; };
  EXPECT_GT(std::count_if(told.begin(), told.end(), has_table), 0);
  EXPECT_EQ(std::count_if(silent.begin(), silent.end(), has_table), 0);
}

// An error that is told where the policy is prepared or validated.
TEST(PolicyOutOfMemoryTest, Validation) {
  rocksdb::BlockBasedTableOptions table;
  ConfigOptions config;
  config.invoke_prepare_options = false;
  ASSERT_ROCKSDB_OK(rocksdb::GetBlockBasedTableOptionsFromString(
      config, {}, "filter_policy=deltabloom:nan", &table));
  ASSERT_NE(table.filter_policy, nullptr);
  const rocksdb::DBOptions db;
  const rocksdb::ColumnFamilyOptions family;
  Status status;
  EXPECT_GT(
      ForEachFailure(
          [&] { status = table.filter_policy->ValidateOptions(db, family); },
          [&] {
            EXPECT_TRUE(status.IsInvalidArgument() || status.IsMemoryLimit())
                << status.ToString();
          }),
      0);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
}

}  // namespace
}  // namespace deltabloom::testing
