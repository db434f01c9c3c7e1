#include "db_bench_ext/torture/totals.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace deltabloom::torture {
namespace {

TEST(TortureTotalsTest, AddUp) {
  Totals first;
  first.cycles = 3;
  first.keys_checked = 1'000'000;
  Totals second;
  second.cycles = 4;
  second.AddJson(first.FormatJson());
  EXPECT_EQ(second.cycles, 7u);
  EXPECT_EQ(second.keys_checked, 1'000'000u);
  EXPECT_EQ(second.failures, 0u);
  EXPECT_NE(second.Format().find("1,000,000  keys checked"), std::string::npos);
}

TEST(TortureTotalsTest, RefuseWhatIsNoCount) {
  for (const char* const json :
       {"", "[]", "{", "{\"cycles\": -1}", "{\"cycles\": \"1\"}"}) {
    Totals totals;
    EXPECT_THROW(totals.AddJson(json), std::runtime_error) << json;
    EXPECT_EQ(totals.cycles, 0u);
  }
}

}  // namespace
}  // namespace deltabloom::torture
