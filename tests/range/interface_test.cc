// The public interface of range filters as plain bytes.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "deltabloom/range_filter.h"

namespace deltabloom::test {
namespace {

std::string Build(RangeFilterBuilder* builder) {
  for (const char* const key : {"a/1", "a/2", "c/1", "d/1"})
    builder->AddKey(key);
  std::string bytes = "in front";
  EXPECT_TRUE(builder->Finish(&bytes));
  return bytes.substr(8);
}

TEST(RangeFilter, BuildsAndAsks) {
  RangeFilterOptions options;
  options.bits_per_key = 20;
  RangeFilterBuilder builder(options);
  const std::string bytes = Build(&builder);
  const RangeFilter filter(bytes);
  EXPECT_TRUE(filter.MayMatch("a/", "a0"));
  EXPECT_FALSE(filter.MayMatch("b/", "b0"));
  EXPECT_TRUE(filter.MayMatch("c/", std::nullopt));
  EXPECT_FALSE(filter.MayMatch("e", std::nullopt));
  EXPECT_TRUE(filter.MayMatch("b0", "b/"));
  EXPECT_EQ(filter.Describe().rfind("prefixes='/', 3 of them at ", 0), 0u)
      << filter.Describe();
  // The builder is empty again, and builds the same.
  EXPECT_EQ(Build(&builder), bytes);
}

TEST(RangeFilter, CanBeMoved) {
  RangeFilterBuilder builder;
  RangeFilterBuilder other(std::move(builder));
  const std::string bytes = Build(&other);
  RangeFilter filter(bytes);
  RangeFilter moved(std::move(filter));
  EXPECT_FALSE(moved.MayMatch("b/", "b0"));
  filter = std::move(moved);
  EXPECT_FALSE(filter.MayMatch("b/", "b0"));
}

TEST(RangeFilter, Declared) {
  RangeFilterOptions options;
  options.prefixes = "1,kvrocks";
  options.bits_per_key = 100;
  RangeFilterBuilder builder(options);
  const std::string bytes = Build(&builder);
  EXPECT_FALSE(RangeFilter(bytes).MayMatch("b", "c"));
  EXPECT_TRUE(RangeFilter(bytes).MayMatch("c", "d"));
  EXPECT_GT(builder.BuildBytes(), 0u);
}

TEST(RangeFilter, RefusesWhatMakesNoSense) {
  RangeFilterOptions options;
  EXPECT_EQ(options.Validate(), "");
  for (const double bits : {0.0, -1.0, 1000.5}) {
    options.bits_per_key = bits;
    EXPECT_EQ(options.Validate().rfind("bits_per_key = ", 0), 0u);
    EXPECT_THROW(RangeFilterBuilder builder(options), std::invalid_argument);
  }
  options = {};
  options.prefixes = "/";
  EXPECT_EQ(options.Validate().rfind("prefixes = / is not valid", 0), 0u);
  EXPECT_THROW(RangeFilterBuilder builder(options), std::invalid_argument);
}

TEST(RangeFilter, NoFilter) {
  RangeFilterBuilder builder;
  std::string bytes = "in front";
  EXPECT_FALSE(builder.Finish(&bytes));
  builder.AddKey("b/");
  builder.AddKey("a/");
  EXPECT_FALSE(builder.Finish(&bytes));
  builder.AddKey("ab");  // no delimiter
  EXPECT_FALSE(builder.Finish(&bytes));
  EXPECT_EQ(bytes, "in front");
  EXPECT_TRUE(RangeFilter("no filter").MayMatch("a", "b"));
}

}  // namespace
}  // namespace deltabloom::test
