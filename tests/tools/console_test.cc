// What deltabloom prints: escaped bytes, JSON, progress.
#include "tools/deltabloom/console.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/random.h"

namespace deltabloom::tools {
namespace {

TEST(Escaped, KnownAnswers) {
  const struct {
    std::string bytes;
    const char* text;
  } cases[] = {
      {"", ""},
      {"plain /path/000012.sst \"x\" 'y'", "plain /path/000012.sst \"x\" 'y'"},
      {std::string("\0", 1), "\\x00"},
      {"\t\r\n\x1b\x7f", "\\x09\\x0d\\x0a\\x1b\\x7f"},
      {"\\", "\\\\"},
      {"\\x1b", "\\\\x1b"},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\xb3", "ä€🌳"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // CSI, the 8-bit escape sequence
      {"\xc2\x80", "\\xc2\\x80"},
      {"\xc2\xa0", "\xc2\xa0"},
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},  // right-to-left override
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},  // line separator
      {"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},
      {"\xe2\x80\x8b", "\\xe2\\x80\\x8b"},  // zero-width space
      {"\xd8\x9c", "\\xd8\\x9c"},           // Arabic letter mark
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
      {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"},  // around them
      {"\x80", "\\x80"},
      {"\xff", "\\xff"},
      {"a\xc3", "a\\xc3"},
      {"\xc3(", "\\xc3("},
      {"\xc0\xaf", "\\xc0\\xaf"},  // '/' in two bytes
      {"\xc1\x9c", "\\xc1\\x9c"},  // a backslash in two bytes
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
      {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
      {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
      {"\xe2\x82", "\\xe2\\x82"},
  };
  for (const auto& c : cases) EXPECT_EQ(Escaped(c.bytes), c.text);
}

// The inverse, by the words of the header.
std::string Unescaped(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (text.at(++i) == '\\') {
      bytes += '\\';
    } else {
      EXPECT_EQ(text[i], 'x');
      bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return bytes;
}

TEST(Escaped, RandomBytesCanBeToldAgain) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = random.Key(random.Below(12));
    for (char& byte : bytes) {
      // More of what sequences are made of, and of what is escaped.
      if (random.Below(3) == 0)
        byte = "\\x\xe2\x80\xc2\x9b\xf0\xed"[random.Below(8)];
    }
    const std::string text = Escaped(bytes);
    EXPECT_EQ(Unescaped(text), bytes);
    for (const char c : text) {
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
    }
    // Throws on what is not UTF-8.
    EXPECT_NO_THROW(nlohmann::json(text).dump());
  }
}

TEST(JsonOutput, MembersAndElements) {
  std::ostringstream out;
  JsonOutput json(&out);
  json.Text("name", "a\"b");
  json.StartArray("none");
  json.StartArray("list");
  json.AddElement({{"key", "\x1b"}, {"inner", Json::array({1, "\xff"})}});
  json.AddElement(Json::object());
  json.AddElement(nullptr);
  json.Number("big", UINT64_MAX);
  json.Number("half", 0.5);
  json.Number("not a number", std::nan(""));
  json.StartArray("last");
  json.AddElement(Json::array());
  json.Finish();
  EXPECT_EQ(out.str(),
            "{\n"
            "  \"name\": \"a\\\"b\",\n"
            "  \"none\": [],\n"
            "  \"list\": [\n"
            "    {\n"
            "      \"key\": \"\\\\x1b\",\n"
            "      \"inner\": [\n"
            "        1,\n"
            "        \"\\\\xff\"\n"
            "      ]\n"
            "    },\n"
            "    {},\n"
            "    null\n"
            "  ],\n"
            "  \"big\": 18446744073709551615,\n"
            "  \"half\": 0.5,\n"
            "  \"not a number\": null,\n"
            "  \"last\": [\n"
            "    []\n"
            "  ]\n"
            "}\n");
  EXPECT_TRUE(nlohmann::json::accept(out.str()));
}

constexpr std::chrono::milliseconds kAtOnce(0);

TEST(Progress, DrawsOverItselfAndClears) {
  std::ostringstream out;
  {
    Progress progress(&out, 80, kAtOnce);
    progress.Show(1, 4, "files", "a\x1b");
    EXPECT_EQ(out.str(), "\r[#####               ] 1 of 4 files: a\\x1b\x1b[K");
    out.str("");
    progress.Clear();
    progress.Clear();
    EXPECT_EQ(out.str(), "\r\x1b[K");
    out.str("");
    progress.Show(0, 0, "files", "");
    EXPECT_EQ(out.str(), "\r[####################] 0 of 0 files: \x1b[K");
    out.str("");
  }
  EXPECT_EQ(out.str(), "\r\x1b[K");
}

TEST(Progress, StaysWithinTheTerminal) {
  const std::string name = "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac";
  for (size_t columns = 1; columns < 60; ++columns) {
    std::ostringstream out;
    Progress progress(&out, columns, kAtOnce);
    progress.Show(1, 1, "files", name);
    const std::string drawn = out.str();
    const std::string line = drawn.substr(1, drawn.size() - 4);
    EXPECT_LE(line.size(), columns);
    EXPECT_EQ(Escaped(line), line);  // no character was cut
  }
}

TEST(Progress, NotTooOften) {
  std::ostringstream out;
  Progress progress(&out, 80, std::chrono::hours(1));
  progress.Show(1, 4, "files", "a");
  progress.Clear();
  EXPECT_EQ(out.str(), "");
  Progress none(nullptr, 80, kAtOnce);
  none.Show(1, 4, "files", "a");
}

TEST(Console, ResultsAndErrorsGoTheirWays) {
  std::ostringstream out;
  std::ostringstream err;
  Console console({&out, &err, false, 0});
  console.Line("result\n");
  console.Error("error\x1b");
  console.ShowProgress(1, 2, "files", "a");
  EXPECT_TRUE(console.Finish());
  EXPECT_EQ(out.str(), "result\\x0a\n");
  EXPECT_EQ(err.str(), "error\\x1b\n");
}

}  // namespace
}  // namespace deltabloom::tools
