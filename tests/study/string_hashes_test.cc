#include <gtest/gtest.h>

#include <map>
#include <string>

#include "db_bench_ext/study/studies.h"
#include "tests/csv.h"
#include "util/hash.h"
#include "util/hash64.h"

namespace deltabloom::study {
namespace {

std::map<std::string, uint32_t (*)(std::string_view)> ByName() {
  std::map<std::string, uint32_t (*)(std::string_view)> functions;
  for (const StringHash& hash : StringHashes())
    functions[hash.name] = hash.hash;
  return functions;
}

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
  EXPECT_EQ(functions.at("SipHash")("abc"),
            static_cast<uint32_t>(SipHash24("abc")));
}

TEST(StringHashes, PublishedVectors) {
  auto functions = ByName();
  // SipHash: the reference vectors, keys of 0, 1, 2 and 15 bytes counting up.
  std::string counting;
  for (int i = 0; i < 15; ++i) counting.push_back(static_cast<char>(i));
  EXPECT_EQ(SipHash24(counting.substr(0, 0)), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(SipHash24(counting.substr(0, 1)), 0x74f839c593dc67fdu);
  EXPECT_EQ(SipHash24(counting.substr(0, 2)), 0x0d6c8009d9a94f5au);
  EXPECT_EQ(SipHash24(counting), 0xa129ca6149be45e5u);
  // FNV-1a: the vectors of its authors.
  EXPECT_EQ(functions["FNVHash"](""), 0x811c9dc5u);
  EXPECT_EQ(functions["FNVHash"]("a"), 0xe40c292cu);
  EXPECT_EQ(functions["FNVHash"]("foobar"), 0xbf9cf968u);
  // XXH3: the 64-bit value of no bytes, low half.
  EXPECT_EQ(functions["XXH3"](""), 0x38d394c2u);
  EXPECT_EQ(functions["Deltabloom64"]("abc"),
            static_cast<uint32_t>(internal::Hash64("abc", 3)));
}

TEST(StringHashes, NoCaseFoldsAsciiOnly) {
  auto hash = ByName()["SipHashNoCase"];
  EXPECT_EQ(hash("AbZ@[`{"), hash("aBz@[`{"));
  EXPECT_NE(hash("@"), hash("`"));
  EXPECT_NE(hash("["), hash("{"));
}

}  // namespace
}  // namespace deltabloom::study
