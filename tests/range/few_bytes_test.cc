// Range parts of texts that may take few bytes: fewer cells, or none at all.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/random.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {
namespace {

TEST(FewBytesTest, NeverMoreThanThereAre) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE(seed);
  test::Random random(seed);
  std::set<std::string> texts;
  while (texts.size() < 3000) {
    std::string text(1 + random.Below(20), ' ');
    for (char& c : text) c = static_cast<char>('a' + random.Below(26));
    texts.insert(text);
  }
  KeyStore keys;
  for (const std::string& text : texts) keys.Add(text);
  keys.Close();
  uint64_t fewest = 0;
  for (uint64_t bytes = 0; bytes < 10'000; bytes += 1 + bytes / 50) {
    std::string body = "before";
    if (!AppendTexts(keys, bytes, &body)) {
      EXPECT_EQ(body, "before");
      EXPECT_EQ(fewest, 0u) << "fewer bytes were enough";
      continue;
    }
    if (fewest == 0) fewest = bytes;
    EXPECT_LE(body.size() - 6, bytes);
    Texts part;
    ASSERT_TRUE(part.Parse(std::string_view(body).substr(6)));
    EXPECT_TRUE(part.MayMatch(*texts.begin(), *texts.rbegin()));
  }
  EXPECT_GT(fewest, 20u);
  EXPECT_LT(fewest, 200u);
}

// What some texts have in common, and all have not, may be as long as cells can
// tell; beyond that there is no part.
TEST(FewBytesTest, TextsWithMuchInCommon) {
  bool done = true;
  for (size_t common = 1; common < 100'000; common += 1 + common / 3) {
    const std::string part(common, 'x');
    KeyStore keys;
    for (const std::string& text : {std::string("a"), "b" + part + "1",
                                    "b" + part + "2", std::string("c")}) {
      keys.Add(text);
    }
    keys.Close();
    std::string body;
    const bool made = AppendTexts(keys, 1'000'000, &body);
    EXPECT_TRUE(done || !made) << "longer ones fit";
    done = made;
    if (!made) continue;
    Texts texts;
    ASSERT_TRUE(texts.Parse(body));
    for (const char* end : {"1", "2"}) {
      const std::string key = "b" + part + end;
      EXPECT_TRUE(texts.MayMatch(key, key + "0")) << common;
    }
  }
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace deltabloom::internal::range
