// Our Guava filter against Guava's: sizes, bytes in both directions, answers
// key by key, text that is not well-formed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/guava_filter.h"
#include "deltabloom/guava_funnels.h"
#include "shared_filters/murmur3.h"
#include "tests/random.h"
#include "util/coding.h"

namespace deltabloom {
namespace test {
namespace {

// A folder that goes when the test ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "deltabloom_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(byte)));
    hex += digits;
  }
  return hex;
}

std::string HexOfUtf16(std::u16string_view text) {
  std::string bytes;
  for (const char16_t unit : text) {
    bytes.push_back(static_cast<char>(unit >> 8));
    bytes.push_back(static_cast<char>(unit & 0xFF));
  }
  return Hex(bytes);
}

// Lines to obey, and the answer to each.
class GuavaSide {
 public:
  // Why it cannot run; empty if it can.
  static std::string WhyNot() {
    if (std::string(DELTABLOOM_JAVAC).empty()) {
      return "no javac and java: script/bootstrap test installs "
             "default-jdk-headless and libguava-java; then configure again";
    }
    if (!std::filesystem::exists(DELTABLOOM_GUAVA_JAR)) {
      return "no " DELTABLOOM_GUAVA_JAR
             ": script/bootstrap test installs libguava-java";
    }
    return {};
  }

  // Compiles it, once.
  GuavaSide() {
    Run(std::string(DELTABLOOM_JAVAC) +
        " -encoding UTF-8 -cp " DELTABLOOM_GUAVA_JAR " -d " +
        folder_.File("classes") + " " + DELTABLOOM_GUAVA_SIDE);
  }

  std::vector<std::string> Obey(const std::vector<std::string>& lines) const {
    std::string input;
    for (const std::string& line : lines) input += line + "\n";
    WriteFile(folder_.File("lines"), input);
    Run(std::string(DELTABLOOM_JAVA) + " -XX:TieredStopAtLevel=1 -cp " +
        DELTABLOOM_GUAVA_JAR ":" + folder_.File("classes") +
        " com.google.common.hash.GuavaSide <" + folder_.File("lines") + " >" +
        folder_.File("answers"));
    std::ifstream file(folder_.File("answers"));
    std::vector<std::string> answers;
    for (std::string line; std::getline(file, line);) answers.push_back(line);
    if (answers.size() != lines.size()) {
      throw std::runtime_error("Java answered " +
                               std::to_string(answers.size()) + " lines of " +
                               std::to_string(lines.size()));
    }
    return answers;
  }

  const ScratchFolder& folder() const { return folder_; }

 private:
  static void Run(const std::string& command) {
    if (std::system(command.c_str()) != 0) {
      throw std::runtime_error("failed: " + command);
    }
  }

  ScratchFolder folder_;
};

// Generated keys, as GuavaSide.java makes them.
uint64_t SpreadNumber(uint64_t i) { return i * 0x9E3779B97F4A7C15u; }

std::string GeneratedKey(const std::string& funnel, uint64_t i) {
  const std::u16string text = [i] {
    std::u16string units = u"caf\u00e9:";
    for (const char digit : std::to_string(i)) {
      units.push_back(static_cast<char16_t>(digit));
    }
    return units;
  }();
  if (funnel == "STRING") return GuavaStringFunnel(text);
  if (funnel == "CHARS") return GuavaUnencodedCharsFunnel(text);
  if (funnel == "INT") {
    return GuavaIntegerFunnel(static_cast<int32_t>(SpreadNumber(i)));
  }
  if (funnel == "LONG") {
    return GuavaLongFunnel(static_cast<int64_t>(SpreadNumber(i)));
  }
  std::string bytes(8, '\0');
  internal::StoreFixed64(bytes.data(), SpreadNumber(i));
  return bytes;
}

}  // namespace
}  // namespace test

namespace {

class AgainstGuava : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::GuavaSide::WhyNot().empty()) {
      java_ = std::make_unique<test::GuavaSide>();
    }
  }
  static void TearDownTestSuite() { java_.reset(); }

  void SetUp() override {
    const std::string why_not = test::GuavaSide::WhyNot();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  static std::string File(const std::string& name) {
    return java_->folder().File(name);
  }

  static std::unique_ptr<test::GuavaSide> java_;
};

std::unique_ptr<test::GuavaSide> AgainstGuava::java_;

std::string Bytes(const GuavaFilter& filter) {
  std::string bytes;
  filter.AppendTo(&bytes);
  return bytes;
}

// "count fpp" as Guava says them; its logarithms may differ in the last digit.
void ExpectDescribes(const std::string& answer, const GuavaFilter& filter) {
  std::istringstream words(answer);
  uint64_t count = 0;
  std::string fpp;
  words >> count >> fpp;
  EXPECT_EQ(filter.ApproximateElementCount(), count);
  EXPECT_NEAR(filter.ExpectedFpp(), std::stod(fpp), 1e-12 * std::stod(fpp));
}

struct Case {
  std::string funnel;
  int strategy;
  uint64_t keys;
  double rate;
};

GuavaFilterOptions OptionsOf(const Case& at) {
  GuavaFilterOptions options;
  options.expected_insertions = at.keys;
  options.false_positive_rate = at.rate;
  options.strategy = static_cast<GuavaStrategy>(at.strategy);
  return options;
}

std::string Text(const Case& at) {
  std::ostringstream text;
  text.precision(17);
  text << at.funnel << " " << at.strategy << " " << at.keys << " " << at.rate;
  return text.str();
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const double rates[] = {0.03, 0.01, 1e-6, 0.3};
  size_t number = 0;
  for (const char* funnel : {"BYTES", "STRING", "CHARS", "INT", "LONG"}) {
    for (const int strategy : {0, 1}) {
      for (const uint64_t keys : {1u, 2u, 7u, 63u, 1000u, 30000u}) {
        cases.push_back({funnel, strategy, keys, rates[number++ % 4]});
      }
    }
  }
  cases.push_back({"LONG", 0, 1000000, 0.01});
  cases.push_back({"BYTES", 1, 1000000, 0.001});
#if !defined(__SANITIZE_ADDRESS__)  // it makes this one slow
  cases.push_back({"LONG", 1, 10000000, 0.03});
#endif
  return cases;
}

// Java writes the keys [0, n), we write them, each reads the other's bytes and
// is asked for the last keys and as many that were not put.
TEST_F(AgainstGuava, BytesAndAnswersAreEqual) {
  const std::vector<Case> cases = Cases();
  std::vector<std::string> lines;
  std::vector<std::unique_ptr<GuavaFilter>> ours;
  std::vector<uint64_t> changed;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& at = cases[i];
    ours.push_back(std::make_unique<GuavaFilter>(OptionsOf(at)));
    changed.push_back(0);
    for (uint64_t key = 0; key < at.keys; ++key) {
      changed[i] += ours[i]->Put(test::GeneratedKey(at.funnel, key));
    }
    const std::string id = std::to_string(i);
    test::WriteFile(File("ours" + id), Bytes(*ours[i]));
    lines.push_back("write " + Text(at) + " 0-" + std::to_string(at.keys) +
                    " " + File("theirs" + id));
    const uint64_t asked = std::min<uint64_t>(at.keys, 5000);
    lines.push_back("read " + at.funnel + " " + File("ours" + id) + " " +
                    std::to_string(at.keys - asked) + "-" +
                    std::to_string(at.keys + asked) + " " + File("copy" + id));
  }
  const std::vector<std::string> answers = java_->Obey(lines);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& at = cases[i];
    SCOPED_TRACE(Text(at));
    const std::string id = std::to_string(i);
    const std::string bytes = test::ReadFile(File("theirs" + id));
    // Not EXPECT_EQ, which would print megabytes.
    EXPECT_TRUE(Bytes(*ours[i]) == bytes);
    EXPECT_TRUE(bytes == test::ReadFile(File("copy" + id)));
    std::istringstream written(answers[2 * i]);
    uint64_t their_changed = 0;
    written >> their_changed;
    EXPECT_EQ(changed[i], their_changed);
    std::string rest;
    std::getline(written, rest);
    ExpectDescribes(rest, *ours[i]);

    std::string error;
    const auto theirs = GuavaFilter::FromBytes(bytes, &error);
    ASSERT_NE(theirs, nullptr) << error;
    ExpectDescribes(answers[2 * i + 1], *theirs);
    const std::string their_answers =
        answers[2 * i + 1].substr(answers[2 * i + 1].rfind(' ') + 1);
    const uint64_t asked = std::min<uint64_t>(at.keys, 5000);
    std::string our_answers;
    for (uint64_t key = at.keys - asked; key < at.keys + asked; ++key) {
      const bool may = theirs->MightContain(test::GeneratedKey(at.funnel, key));
      ASSERT_TRUE(may || key >= at.keys) << key;
      our_answers.push_back(may ? '1' : '0');
    }
    EXPECT_EQ(our_answers, their_answers);
  }
}

// Units of every kind, alone and before each other.
std::vector<std::u16string> OddTexts(uint64_t seed) {
  const char16_t units[] = {0,      'a',    0x7f,   0x80,   0x7ff,
                            0x800,  0xd7ff, 0xd800, 0xdbff, 0xdc00,
                            0xdfff, 0xe000, 0xfffd, 0xffff};
  std::vector<std::u16string> texts = {u""};
  for (const char16_t first : units) {
    texts.push_back({first});
    for (const char16_t second : units) {
      texts.push_back({first, second});
      for (const char16_t third : units) {
        texts.push_back({first, second, third});
      }
    }
  }
  test::Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::u16string text(1 + random.Below(40), u'x');
    for (char16_t& unit : text) {
      unit = random.Below(3) == 0
                 ? static_cast<char16_t>(random.Next())
                 : static_cast<char16_t>(0xD800 + random.Below(0x800));
    }
    texts.push_back(text);
  }
  return texts;
}

TEST_F(AgainstGuava, TextThatIsNotWellFormed) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<std::u16string> texts = OddTexts(seed);
  std::string hex_lines;
  std::vector<std::string> lines;
  for (const std::u16string& text : texts) {
    hex_lines += test::HexOfUtf16(text) + "\n";
    // An empty argument would be none.
    if (!text.empty()) lines.push_back("encode " + test::HexOfUtf16(text));
  }
  test::WriteFile(File("texts"), hex_lines);
  for (const char* funnel : {"STRING", "CHARS"}) {
    lines.push_back("write " + std::string(funnel) + " 1 10000 0.001 " +
                    File("texts") + " " + File(funnel));
  }
  const std::vector<std::string> answers = java_->Obey(lines);
  for (size_t i = 1; i < texts.size(); ++i) {
    ASSERT_EQ(answers[i - 1], "=" + test::Hex(GuavaStringFunnel(texts[i])))
        << test::HexOfUtf16(texts[i]);
  }
  for (const char* funnel : {"STRING", "CHARS"}) {
    GuavaFilter filter(OptionsOf({funnel, 1, 10000, 0.001}));
    for (const std::u16string& text : texts) {
      filter.Put(funnel == std::string("STRING")
                     ? GuavaStringFunnel(text)
                     : GuavaUnencodedCharsFunnel(text));
    }
    EXPECT_TRUE(Bytes(filter) == test::ReadFile(File(funnel))) << funnel;
  }
}

TEST_F(AgainstGuava, BytesThatAreNotUtf8) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  // Where the rules change, and some random ones.
  const unsigned char bytes[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef,
                                 0xf0, 0xf1, 0xf4, 0xf5, 0xf7, 0xf8, 0xff};
  std::vector<std::string> texts;
  for (const unsigned char first : bytes) {
    for (const unsigned char second : bytes) {
      for (const unsigned char third : bytes) {
        std::string text = {static_cast<char>(first), static_cast<char>(second),
                            static_cast<char>(third)};
        texts.push_back(text);
        texts.push_back(text + "\x80");
        texts.push_back("\xf0\x90" + text);
        texts.push_back(text.substr(0, 2));
      }
    }
  }
  test::Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string text(1 + random.Below(12), '\0');
    for (char& byte : text) {
      byte = static_cast<char>(bytes[random.Below(sizeof(bytes))]);
    }
    texts.push_back(text);
  }
  std::vector<std::string> lines;
  lines.reserve(texts.size());
  for (const std::string& text : texts) {
    lines.push_back("decode " + test::Hex(text));
  }
  const std::vector<std::string> answers = java_->Obey(lines);
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(answers[i], "=" + test::HexOfUtf16(JavaUtf16(texts[i])))
        << test::Hex(texts[i]);
  }
}

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Java's logarithm and ours may differ in the last digit. By how many bits of a
// filter that may make them differ: none, but where the size is a hair from a
// whole number, or has more digits than a double.
uint64_t SpareBits(const Case& at) {
  const long double log_2 = std::log(2.0L);
  const long double size = -std::max(static_cast<long double>(at.keys), 1.0L) *
                           std::log(static_cast<long double>(at.rate)) /
                           (log_2 * log_2);
  const long double hair = 1e-15L * size;
  if (std::floor(size - hair) == std::floor(size + hair)) return 0;
  return 1 + static_cast<uint64_t>(hair);
}

TEST_F(AgainstGuava, SizesFollowItsFormulas) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  std::vector<Case> cases;
  for (int i = 0; i < 20000; ++i) {
    const double exponent = -static_cast<double>(random.Below(1000000)) / 1e6 *
                            (i % 5 == 0 ? 300 : 8);
    const uint64_t keys = random.Next() >> random.Below(64) >> 1;
    const double rate = std::pow(10, exponent);
    if (rate < 1) cases.push_back({"LONG", 1, keys, rate});
  }
  std::vector<std::string> lines;
  for (const Case& at : cases) {
    std::ostringstream line;
    line.precision(17);
    line << "sizes " << at.keys << " " << at.rate;
    lines.push_back(line.str());
  }
  const std::vector<std::string> answers = java_->Obey(lines);
  size_t inexact = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const GuavaFilterOptions options = OptionsOf(cases[i]);
    const uint64_t bits = internal::GuavaBits(options.expected_insertions,
                                              options.false_positive_rate);
    const uint64_t their_bits = std::stoull(answers[i]);
    if (their_bits != bits) {
      // Only for the last digit of a logarithm.
      ASSERT_LE(Distance(their_bits, bits), SpareBits(cases[i])) << lines[i];
      ++inexact;
      continue;
    }
    ASSERT_EQ(answers[i],
              std::to_string(bits) + " " +
                  std::to_string(internal::GuavaHashFunctions(options, bits)))
        << lines[i];
  }
  EXPECT_LT(inexact, cases.size() / 50);
}

TEST_F(AgainstGuava, PutAllMakesTheSameBytes) {
  std::vector<std::string> lines;
  for (const int strategy : {0, 1}) {
    GuavaFilter first(OptionsOf({"INT", strategy, 5000, 0.01}));
    GuavaFilter second(OptionsOf({"INT", strategy, 5000, 0.01}));
    for (uint64_t i = 0; i < 2000; ++i) {
      first.Put(test::GeneratedKey("INT", i));
      second.Put(test::GeneratedKey("INT", 1500 + i));
    }
    test::WriteFile(File("first"), Bytes(first));
    test::WriteFile(File("second"), Bytes(second));
    const auto answers = java_->Obey({"merge INT " + File("first") + " " +
                                      File("second") + " " + File("merged")});
    first.PutAll(second);
    EXPECT_TRUE(Bytes(first) == test::ReadFile(File("merged")));
    ExpectDescribes(answers[0], first);
  }
}

// What we refuse, Guava refuses, and the reverse; but for bytes behind the
// filter, which Guava leaves in its stream.
TEST_F(AgainstGuava, RefusesTheSameBytes) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  std::vector<std::string> inputs;
  for (int i = 0; i < 2000; ++i) {
    // Counts stay small: Java allocates before it reads.
    std::string bytes = {
        static_cast<char>(random.Below(3) + 255 * (i % 7 == 0)),
        static_cast<char>(random.Below(3)),
        0,
        0,
        0,
        static_cast<char>(random.Below(3))};
    if (i % 11 == 0) bytes[2] = static_cast<char>(0xff);
    bytes += random.Key(8 * (random.Below(2) + static_cast<size_t>(bytes[5])));
    if (random.Below(4) == 0) bytes.resize(1 + random.Below(bytes.size()));
    inputs.push_back(bytes);
  }
  std::vector<std::string> lines;
  lines.reserve(inputs.size());
  for (const std::string& bytes : inputs) {
    lines.push_back("parse " + test::Hex(bytes));
  }
  const std::vector<std::string> answers = java_->Obey(lines);
  int filters = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string error;
    const bool ours = GuavaFilter::FromBytes(inputs[i], &error) != nullptr;
    const bool behind = error.find("bytes behind") != std::string::npos;
    EXPECT_EQ(answers[i] == "filter", ours || behind) << lines[i] << error;
    filters += ours;
  }
  EXPECT_GT(filters, 100);
}

}  // namespace
}  // namespace deltabloom
