// Known answers: the reference MurmurHash2 over keys and seeds.
#include "util/hash.h"

#include <gtest/gtest.h>

#include "tests/csv.h"

namespace deltabloom::internal {
namespace {

TEST(MurmurHash2, EqualsReference) {
  for (const auto& row : test::ReadCsv("murmurhash2.csv")) {
    const std::string key = test::FromHex(row.at(0));
    const auto seed = static_cast<uint32_t>(std::stoul(row.at(1), nullptr, 16));
    const auto expected =
        static_cast<uint32_t>(std::stoul(row.at(2), nullptr, 16));
    EXPECT_EQ(MurmurHash2(key.data(), key.size(), seed), expected)
        << "key " << row[0] << " seed " << row[1];
  }
}

}  // namespace
}  // namespace deltabloom::internal
