// Who does not ask why there is no policy hears it all the same.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace deltabloom::testing {
namespace {

RocksDBFilterOptions Bits(double bits_per_key) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits_per_key;
  return options;
}

// Standard error of fn.
template <typename Fn>
std::string Heard(Fn fn) {
  ::testing::internal::CaptureStderr();
  fn();
  return ::testing::internal::GetCapturedStderr();
}

TEST(NullPolicyTest, IsToldOnceOnStandardError) {
  const auto make = [](double bits) {
    EXPECT_EQ(NewRocksDBFilterPolicy(Bits(bits)), nullptr);
  };
  EXPECT_EQ(Heard([&] { make(1001); }),
            "deltabloom: " + Bits(1001).Validate() +
                "; without it RocksDB runs with no filters of Deltabloom\n");
  EXPECT_EQ(Heard([&] { make(1001); }), "");
  EXPECT_NE(Heard([&] { make(1002); }), "");
}

TEST(NullPolicyTest, NothingIsToldWhereAllIsWellOrTheCallerIsTold) {
  EXPECT_EQ(Heard([] {
              EXPECT_NE(NewRocksDBFilterPolicy(), nullptr);
              EXPECT_NE(NewRocksDBFilterListener(), nullptr);
              EXPECT_TRUE(RegisterRocksDB());
              EXPECT_NE(NewRocksDBFilterPolicyOrThrow(), nullptr);
              std::string error;
              EXPECT_EQ(NewRocksDBFilterPolicy(Bits(-1), &error), nullptr);
              EXPECT_NE(error, "");
            }),
            "");
}

TEST(NullPolicyTest, AddIsTold) {
  rocksdb::Options options;
  const std::string heard = Heard([&] {
    EXPECT_FALSE(AddRocksDBFilters(Bits(-2), &options, &options));
    options.table_factory.reset(rocksdb::NewPlainTableFactory());
    EXPECT_FALSE(AddRocksDBFilters({}, &options, &options));
  });
  EXPECT_NE(heard.find(Bits(-2).Validate()), std::string::npos) << heard;
  EXPECT_NE(heard.find("use NewBlockBasedTableFactory"), std::string::npos)
      << heard;
}

TEST(NullPolicyTest, CIsTold) {
  EXPECT_NE(Heard([] {
              EXPECT_EQ(
                  deltabloom_rocksdb_filterpolicy("deltabloom:x", nullptr),
                  nullptr);
            }).find("bits_per_key 'x' is not a number"),
            std::string::npos);
  char* error = nullptr;
  EXPECT_EQ(Heard([&] {
              EXPECT_EQ(deltabloom_rocksdb_filterpolicy("deltabloom:y", &error),
                        nullptr);
            }),
            "");
  ASSERT_NE(error, nullptr);
  std::free(error);
}

std::string Thrown(double bits, bool add) {
  rocksdb::Options options;
  const auto factory = options.table_factory;
  try {
    if (add) {
      AddRocksDBFiltersOrThrow(Bits(bits), &options, &options);
    } else {
      NewRocksDBFilterPolicyOrThrow(Bits(bits));
    }
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(options.table_factory, factory);
    EXPECT_TRUE(options.listeners.empty());
    return error.what();
  }
  return "";
}

TEST(NullPolicyTest, OrIsThrown) {
  for (const bool add : {false, true}) {
    std::string thrown;
    EXPECT_EQ(Heard([&] { thrown = Thrown(-3, add); }), "");
    EXPECT_EQ(thrown, "deltabloom: " + Bits(-3).Validate());
    EXPECT_EQ(Thrown(10, add), "");
  }
}

// The last, for nothing is told after it.
TEST(NullPolicyTest, ManyErrorsDoNotFloodATerminal) {
  const std::string heard = Heard([] {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(NewRocksDBFilterPolicy(Bits(2000 + i)), nullptr);
    }
  });
  EXPECT_LE(heard.size(), 20 * 300u);
}

}  // namespace
}  // namespace deltabloom::testing
