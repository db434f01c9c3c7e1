// The key sets, formulas and hashes behind the published figures of the study.
#include "db_bench_ext/study/studies.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/csv.h"
#include "tests/random.h"
#include "util/hash.h"
#include "util/hash64.h"

namespace deltabloom::study {
namespace {

// All keys of a set, which are distinct.
std::set<std::string> AllOf(const KeySet& set) {
  std::set<std::string> all(set.keys.begin(), set.keys.end());
  all.insert(set.absent.begin(), set.absent.end());
  EXPECT_EQ(all.size(), set.keys.size() + set.absent.size());
  return all;
}

TEST(KeySets, PublishedShapes) {
  const test::FreshRandom random;
  const uint64_t seed = random.seed;
  const KeySet videos = VideoIds(80000, 1000, seed);
  EXPECT_EQ(videos.keys.size(), 80000u);
  EXPECT_EQ(videos.absent.size(), 1000u);
  AllOf(videos);
  // 710,519 and 363,646 bytes are published; generated keys come near.
  EXPECT_NEAR(static_cast<double>(videos.KeyBytes()), 710519, 710519 * 0.03);
  const KeySet accounts = AppAccounts(45402, 1000, seed);
  EXPECT_NEAR(static_cast<double>(accounts.KeyBytes()), 363646, 363646 * 0.03);
  for (const std::string& key : accounts.keys) {
    ASSERT_GE(key.size(), 2u);
    ASSERT_LE(key.size(), 28u);
  }
  AllOf(RandomStrings(2000, 3000, seed));
}

TEST(RateError, KnownValuesAndNoHit) {
  // Wilson's interval for 50 of 100 at 95 %: 0.404 to 0.596.
  EXPECT_NEAR(RateError(50, 100), 0.0962, 0.0005);
  EXPECT_GT(RateError(0, 1000), 0.001);
}

// The measured rates against the formula: the ideal filter must agree with it,
// or the study measures something else.
TEST(StudyRates, IdealFilterFollowsTheFormula) {
  const test::FreshRandom random;
  const Json rows = StudyRates(4000, 20000, random.seed);
  ASSERT_EQ(rows.size(), 31u * 8u);
  int outside = 0;
  for (const auto& row : rows) {
    const double theory = row["theory_finite"];
    const double ideal = row["ideal"];
    // Twice the 95 % interval, and 2 % for the spread of the set bits.
    const double error = row["ideal_error"];
    outside += std::abs(ideal - theory) > 2 * error + 0.02 * theory;
    EXPECT_LT(std::abs(ideal - theory), 4 * error + 0.05 * theory)
        << row.dump();
    EXPECT_GT(double(row["classic"]) + 4 * double(row["classic_error"]),
              theory * 0.9)
        << row.dump();
  }
  EXPECT_LE(outside, 3);
}

std::map<std::string, uint32_t (*)(std::string_view)> ByName() {
  std::map<std::string, uint32_t (*)(std::string_view)> functions;
  for (const StringHash& hash : StringHashes())
    functions[hash.name] = hash.hash;
  return functions;
}

// Values of an implementation in Python's unbounded integers, reduced at the
// end of every step, written from the public definitions alone.
TEST(StringHashes, EqualTheSecondImplementation) {
  const auto functions = ByName();
  std::map<std::string, int> seen;
  for (const auto& row : test::ReadCsv("string_hashes.csv")) {
    const auto function = functions.find(row.at(0));
    ASSERT_NE(function, functions.end()) << row[0];
    EXPECT_EQ(function->second(test::FromHex(row.at(1))),
              std::stoul(row.at(2), nullptr, 16))
        << row[0] << " of " << row[1];
    ++seen[row[0]];
  }
  EXPECT_EQ(seen.size(), 13u);
  // The others of the published study are the library's own.
  EXPECT_EQ(functions.at("MurMurHash2")("abc"),
            internal::MurmurHash2("abc", 3, internal::kBloomHashSeed));
  EXPECT_EQ(functions.at("SimMurMurHash")("abc"),
            internal::LevelDBHash("abc", 3, internal::kBloomHashSeed));
}

TEST(StringHashes, PublishedVectors) {
  auto functions = ByName();
  // SipHash: the reference vector of the bytes 0 to 14, low half.
  std::string counting;
  for (int i = 0; i < 15; ++i) counting.push_back(static_cast<char>(i));
  EXPECT_EQ(functions["SipHash"](counting), 0x49be45e5u);
  // FNV-1a: the vectors of its authors.
  EXPECT_EQ(functions["FNVHash"](""), 0x811c9dc5u);
  EXPECT_EQ(functions["FNVHash"]("a"), 0xe40c292cu);
  EXPECT_EQ(functions["FNVHash"]("foobar"), 0xbf9cf968u);
  // XXH3: the 64-bit value of no bytes, low half.
  EXPECT_EQ(functions["XXH3"](""), 0x38d394c2u);
  EXPECT_EQ(functions["Deltabloom64"]("abc"),
            static_cast<uint32_t>(internal::Hash64("abc", 3)));
  // Only ASCII is folded.
  const auto hash = functions["SipHashNoCase"];
  EXPECT_EQ(hash("AbZ@[`{"), hash("aBz@[`{"));
  EXPECT_NE(hash("@"), hash("`"));
  EXPECT_NE(hash("["), hash("{"));
}

}  // namespace
}  // namespace deltabloom::study
