// The filters in memory that other languages read: against Guava's and Go's own
// answers, malformed bytes, threads; and the parts that they are made of.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/go_murmur3_filter.h"
#include "deltabloom/guava_filter.h"
#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/memory/murmur3.h"
#include "shared_filters/tests/test_data.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

using internal::Murmur3;

// Where they are installed, Go, PHP and Guava write the same known answers
// again.
class OtherLanguages : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    All, OtherLanguages,
    testing::Values(
        "go version && test -d "
        "/usr/share/gocode/src/github.com/spaolacci/murmur3 || exit 9;"
        "GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$folder/cache "
        "go run go_murmur3.go >$folder/go_murmur3.csv",
        "php --version || exit 9; "
        "php -n ../redis/php_hashes.php >$folder/php_hashes.csv",
        "javac --version && test -f /usr/share/java/guava.jar || exit 9;"
        "java -XX:TieredStopAtLevel=1 -cp /usr/share/java/guava.jar "
        "GuavaSide.java $folder"));

TEST_P(OtherLanguages, WriteTheSameFiles) {
  const std::string command =
      std::string(
          "exec >&2; cd '" DELTABLOOM_SHARED_TESTS
          "/memory'; folder=$(mktemp -d); trap 'rm -r $folder' EXIT; ") +
      GetParam() +
      " || exit 1; for file in $folder/*.csv; do "
      "cmp $file '" DELTABLOOM_SHARED_TESTS
      "'/data/$(basename $file) || exit 1; done";
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == 9) GTEST_SKIP() << "not installed";
  EXPECT_EQ(status, 0) << command;
}

// --- Guava -------------------------------------------------------------------

GuavaFilterOptions GuavaOptions(uint64_t keys, double rate, int strategy = 1) {
  GuavaFilterOptions options;
  options.expected_insertions = keys;
  options.false_positive_rate = rate;
  options.strategy = static_cast<GuavaStrategy>(strategy);
  return options;
}

GoMurmur3FilterOptions GoOptions(uint64_t bits, uint32_t probes) {
  GoMurmur3FilterOptions options;
  options.bits = bits;
  options.probes = probes;
  return options;
}

std::string Bytes(const GuavaFilter& filter) {
  std::string bytes;
  filter.AppendTo(&bytes);
  return bytes;
}

std::string Bytes(const GoMurmur3Filter& filter) {
  std::string bitmap;
  filter.AppendBitmap(&bitmap);
  return bitmap;
}

// guava.csv: GuavaSide.java says what its columns are.

std::string Hash(std::string_view bytes) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(Murmur3(bytes).Finish().low));
  return text;
}

std::string GeneratedKey(const std::string& funnel, uint64_t i) {
  const uint64_t spread = i * 0x9E3779B97F4A7C15u;
  std::u16string text = u"caf\u00e9:";
  for (const char digit : std::to_string(i)) {
    text.push_back(static_cast<char16_t>(digit));
  }
  if (funnel == "STRING") return GuavaStringFunnel(text);
  if (funnel == "CHARS") return GuavaUnencodedCharsFunnel(text);
  if (funnel == "INT") return GuavaIntegerFunnel(static_cast<int32_t>(spread));
  return GuavaLongFunnel(static_cast<int64_t>(spread));
}

std::vector<std::vector<std::string>> GuavaRows(const std::string& kind) {
  std::vector<std::vector<std::string>> rows;
  for (auto& row : test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/guava.csv")) {
    if (row[0] == kind) rows.push_back(std::move(row));
  }
  return rows;
}

// Three cells: the logarithms of Java may differ in the last digit.
void ExpectDescribes(const std::string* cells, const GuavaFilter& filter) {
  EXPECT_EQ(filter.ApproximateElementCount(), std::stoull(cells[0]));
  const double rate = std::stod(cells[1]);
  EXPECT_NEAR(filter.ExpectedFpp(), rate, 1e-12 * rate);
  EXPECT_EQ(Hash(Bytes(filter)), cells[2]);
}

TEST(AgainstGuava, BytesAndAnswersAreEqual) {
  const auto rows = GuavaRows("filter");
  EXPECT_EQ(rows.size(), 50u);
  for (const auto& row : rows) {
    SCOPED_TRACE(row[1] + " " + row[2] + " " + row[3] + " " + row[4]);
    const uint64_t keys = std::stoull(row[3]);
    GuavaFilter filter(
        GuavaOptions(keys, std::stod(row[4]), std::stoi(row[2])));
    uint64_t changed = 0;
    for (uint64_t key = 0; key < keys; ++key) {
      changed += filter.Put(GeneratedKey(row[1], key));
    }
    EXPECT_EQ(changed, std::stoull(row[5]));
    ExpectDescribes(&row[6], filter);
    std::string error;
    const auto read = GuavaFilter::FromBytes(Bytes(filter), &error);
    ASSERT_NE(read, nullptr) << error;
    ExpectDescribes(&row[6], *read);
    const uint64_t most = std::min<uint64_t>(keys, 5000);
    std::string answers;
    for (uint64_t key = keys - most; key < keys + most; ++key) {
      answers.push_back(read->MightContain(GeneratedKey(row[1], key)) ? '1'
                                                                      : '0');
    }
    EXPECT_EQ(answers.substr(0, most), std::string(most, '1'));
    EXPECT_EQ(Hash(answers), row[9]);
  }
}

TEST(AgainstGuava, PutAllMakesTheSameBytes) {
  for (const auto& row : GuavaRows("merge")) {
    const GuavaFilterOptions options =
        GuavaOptions(5000, 0.01, std::stoi(row[1]));
    GuavaFilter first(options), second(options);
    for (uint64_t i = 0; i < 2000; ++i) {
      first.Put(GeneratedKey("INT", i));
      second.Put(GeneratedKey("INT", 1500 + i));
    }
    first.PutAll(second);
    ExpectDescribes(&row[2], first);
  }
}

TEST(AgainstGuava, SizesFollowItsFormulas) {
  const auto rows = GuavaRows("sizes");
  EXPECT_GT(rows.size(), 500u);
  for (const auto& row : rows) {
    const GuavaFilterOptions options =
        GuavaOptions(std::stoull(row[1]), std::stod(row[2]));
    const uint64_t bits = internal::GuavaBits(options.expected_insertions,
                                              options.false_positive_rate);
    EXPECT_EQ(std::to_string(bits), row[3]) << row[1] << " " << row[2];
    EXPECT_EQ(std::to_string(internal::GuavaHashFunctions(options, bits)),
              row[4])
        << row[1] << " " << row[2];
  }
}

// Guava ignores bytes after the filter, which are an error here.
TEST(AgainstGuava, RejectsTheSameBytes) {
  size_t filters = 0;
  for (const auto& row : GuavaRows("parse")) {
    std::string error;
    const bool ours =
        GuavaFilter::FromBytes(test::FromHex(row[1]), &error) != nullptr;
    const bool longer = error.find("bytes after") != std::string::npos;
    EXPECT_EQ(row[2] == "filter", ours || longer) << row[1] << error;
    filters += ours;
  }
  EXPECT_GT(filters, 25u);
}

// Every text of a number of units, in order.
template <typename Text>
std::vector<Text> AllTexts(const Text& units, size_t size) {
  std::vector<Text> texts = {Text()};
  for (; size > 0; --size) {
    std::vector<Text> longer;
    for (const Text& text : texts) {
      for (const auto unit : units) longer.push_back(text + unit);
    }
    texts = std::move(longer);
  }
  return texts;
}

TEST(AgainstGuava, TextThatIsNotWellFormed) {
  const std::u16string units = {0,      'a',    0x7f,   0x80,   0x7ff,
                                0x800,  0xd7ff, 0xd800, 0xdbff, 0xdc00,
                                0xdfff, 0xe000, 0xfffd, 0xffff};
  for (const auto& row : GuavaRows("encode")) {
    std::string all;
    for (const auto& text : AllTexts(units, std::stoul(row[1]))) {
      all += GuavaStringFunnel(text) + "\n";
    }
    EXPECT_EQ(Hash(all), row[2]) << row[1];
  }
  const std::string bytes =
      test::FromHex("007f808f909fa0bfc0c1c2dfe0e1edeff0f1f4f5f7f8ff");
  for (const auto& row : GuavaRows("decode")) {
    std::string all;
    for (const std::string& text : AllTexts(bytes, std::stoul(row[1]))) {
      all += GuavaUnencodedCharsFunnel(JavaUtf16(text) + u"\n");
    }
    EXPECT_EQ(Hash(all), row[2]) << row[1];
  }
}

// --- Guava's bytes and options, without its answers --------------------------

// Guava wrote these bytes for create(funnel, 10, 0.03), with both strategies.
TEST(GuavaFilter, KnownAnswers) {
  const struct {
    std::vector<std::string> keys;
    const char* hex[2];  // MITZ_32, MITZ_64
  } answers[] = {
      {{"hello", "caf\u00e9", "\U0001F600", "?"},
       {"0005000000020823801000800102070000180100c000",
        "0105000000020050000008500405000010403041a512"}},
      {{GuavaLongFunnel(0), GuavaLongFunnel(42), GuavaLongFunnel(-1)},
       {"00050000000212000092400600002021008010200000",
        "01050000000200008004200800010108800000020802"}},
  };
  for (const auto& [keys, hex] : answers) {
    for (const int strategy : {0, 1}) {
      GuavaFilter filter(GuavaOptions(10, 0.03, strategy));
      for (const std::string& key : keys) EXPECT_TRUE(filter.Put(key));
      for (const std::string& key : keys) EXPECT_FALSE(filter.Put(key));
      EXPECT_EQ(Bytes(filter), test::FromHex(hex[strategy]));
      EXPECT_FALSE(filter.MightContain("never put"));
    }
  }
}

TEST(GuavaFilter, SaysWhatIsWrongWithBytes) {
  const std::string good =
      test::FromHex("01050000000200002080020200200802002000008002");
  const auto with = [&good](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {"", "truncated: 0 bytes"},
      {good.substr(0, 5), "truncated: 5 bytes"},
      {good.substr(0, 6), "truncated: 6 bytes of 22"},
      {good.substr(0, 21), "truncated: 21 bytes of 22"},
      {good + "x", "1 bytes after"},
      {with(0, 2), "strategy 2"},
      {with(0, '\xff'), "strategy 255"},
      {with(1, 0), "0 hash functions"},
      {with(5, 0), "0 words"},
      {with(5, 1), "8 bytes after"},
      {with(5, 3), "truncated: 22 bytes of 30"},
      {with(2, '\x80'), "negative count of words, -2147483646"},
      {with(2, '\x7f'), "truncated: 22 bytes of 17045651478"},
      {with(2, '\xff'), "negative"},
  };
  for (const auto& [bytes, says] : cases) {
    std::string error;
    EXPECT_EQ(GuavaFilter::FromBytes(bytes, &error), nullptr) << says;
    EXPECT_NE(error.find(says), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(GuavaFilter::FromBytes(bytes), nullptr);
  }
  std::string error = "as it was";
  EXPECT_NE(GuavaFilter::FromBytes(good, &error), nullptr);
  EXPECT_EQ(error, "as it was");
  EXPECT_NE(GuavaFilter::FromBytes(with(1, '\xff'), &error), nullptr);
}

TEST(GuavaFilter, RejectsWhatGuavaRejects) {
  const struct {
    GuavaFilterOptions options;
    const char* says;
  } cases[] = {
      {GuavaOptions(10, 0), "false_positive_rate = 0 "},
      {GuavaOptions(10, 1), "false_positive_rate = 1 "},
      {GuavaOptions(10, -1), "false_positive_rate = -1 "},
      {GuavaOptions(10, std::nan("")), "false_positive_rate = nan"},
      {GuavaOptions(1, 0.9), "0 bits"},
      {GuavaOptions(uint64_t{1} << 63, 0.5), "expected_insertions"},
      {GuavaOptions(uint64_t{1} << 62, 0.01), "2^31 - 1 words"},
      {GuavaOptions(14400000000, 0.01), "2^31 - 1 words"},
      {GuavaOptions(10, 1e-77), "256 hash functions"},
      {GuavaOptions(10, 0.01, 2), "strategy = 2 "},
  };
  for (const auto& [options, says] : cases) {
    EXPECT_NE(options.Validate().find(says), std::string::npos)
        << options.Validate() << ": " << says;
    EXPECT_THROW(GuavaFilter{options}, std::invalid_argument);
  }
  EXPECT_EQ(GuavaOptions(14300000000, 0.01).Validate(), "");
  EXPECT_EQ(GuavaOptions(10, 2e-77).Validate(), "");  // 255 hash functions
  EXPECT_STREQ(GuavaStrategyName(GuavaStrategy::kMurmur128Mitz32),
               "MURMUR128_MITZ_32");
  EXPECT_EQ(GuavaStrategyName(static_cast<GuavaStrategy>(2)), nullptr);
}

// One key at 30 %: 2.5 bits are 2, and 2 ln 2 rounds to 1; the rate alone makes
// it 1.74.
TEST(GuavaFilter, CurrentGuavaTakesHashFunctionsFromTheRate) {
  GuavaFilterOptions options = GuavaOptions(1, 0.3);
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 1u);
  options.probe_rule = GuavaProbeRule::kFromRate;
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 2u);
  // No insertions count as one, also there.
  options.expected_insertions = 0;
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 2u);
  EXPECT_EQ(GuavaFilter(options).Bits(), 64u);
}

TEST(GuavaFilter, PutAllNeedsEqualShapes) {
  GuavaFilter filter(GuavaOptions(1000, 0.01));
  const GuavaFilter same(GuavaOptions(1000, 0.01));
  EXPECT_TRUE(filter.IsCompatible(same));
  filter.PutAll(same);
  const GuavaFilter larger(GuavaOptions(2000, 0.01));
  const GuavaFilter other_strategy(GuavaOptions(1000, 0.01, 0));
  for (const GuavaFilter* other :
       {&std::as_const(filter), &larger, &other_strategy}) {
    EXPECT_FALSE(filter.IsCompatible(*other));
    EXPECT_THROW(filter.PutAll(*other), std::invalid_argument);
  }
}

TEST(GuavaFilter, FullOfOnes) {
  const auto filter =
      GuavaFilter::FromBytes(test::FromHex("010500000001ffffffffffffffff"));
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(filter->ApproximateElementCount(), UINT64_MAX);
  EXPECT_EQ(filter->ExpectedFpp(), 1);
  EXPECT_FALSE(filter->Put("anything"));
  EXPECT_TRUE(filter->MightContain("anything else"));
}

// --- Murmur3 in Guava and Go -------------------------------------------------

// Guava's Hashing.murmur3_128() of keys of 0 to 70 bytes.
TEST(Murmur3, EqualsGuava) {
  const auto rows = test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/murmur3.csv");
  ASSERT_EQ(rows.size(), 71u);
  for (const auto& row : rows) {
    const internal::Murmur3Hash hash = Murmur3(test::FromHex(row[0])).Finish();
    EXPECT_EQ(hash.low, std::stoull(row[1], nullptr, 16)) << row[0];
    EXPECT_EQ(hash.high, std::stoull(row[2], nullptr, 16)) << row[0];
  }
}

TEST(GoMurmur3, OffsetsEqualGo) {
  const auto rows =
      test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/go_murmur3.csv");
  ASSERT_EQ(rows.size(), 31u);
  for (const auto& row : rows) {
    const std::string key = test::FromHex(row[0]);
    const uint64_t bits = std::stoull(row[1]);
    const auto probes = static_cast<uint32_t>(std::stoul(row[2]));
    std::set<uint64_t> expected;
    std::istringstream offsets(row[3]);
    for (uint32_t probe = 0; probe < probes; ++probe) {
      const uint64_t offset = internal::GoMurmur3Offset(
          Murmur3(key), static_cast<uint8_t>(probe), bits);
      uint64_t wanted = 0;
      offsets >> wanted;
      EXPECT_EQ(offset, wanted) << row[0];
      expected.insert(offset);
    }
    if (bits > 20000000) continue;
    // The filter sets these and no other bits.
    GoMurmur3Filter filter(GoOptions(bits, probes));
    EXPECT_FALSE(filter.MayMatch(key));
    EXPECT_TRUE(filter.Add(key));
    EXPECT_FALSE(filter.Add(key));
    EXPECT_TRUE(filter.MayMatch(key));
    EXPECT_EQ(filter.SetBits(), expected.size());
    const std::string bitmap = Bytes(filter);
    ASSERT_EQ(bitmap.size(), (bits + 7) / 8);
    for (const uint64_t offset : expected) {
      EXPECT_EQ(bitmap[offset / 8] >> (7 - offset % 8) & 1, 1);  // as GETBIT
    }
  }
}

TEST(GoMurmur3, BitmapsThereAndBack) {
  test::FreshRandom random;
  for (const uint64_t bits : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u, 1023u}) {
    SCOPED_TRACE(bits);
    GoMurmur3Filter filter(GoOptions(bits, 3)), copy(GoOptions(bits, 3));
    const auto keys = random.MixedKeys(1 + random.Below(40));
    for (const std::string& key : keys) filter.Add(key);
    const std::string bitmap = Bytes(filter);
    std::string marked = bitmap + std::string(2, '\0');
    marked[bits / 8] = static_cast<char>(marked[bits / 8] | 0x80 >> bits % 8);
    // Redis strings end with the last byte that was written; the marker bit is
    // ignored.
    for (const std::string& merged :
         {bitmap, std::string(), bitmap.substr(0, bitmap.size() / 2), marked}) {
      EXPECT_EQ(copy.MergeBitmap(merged), "");
      EXPECT_EQ(Bytes(copy), bitmap);
    }
    EXPECT_EQ(copy.SetBits(), filter.SetBits());
    for (const std::string& key : keys) EXPECT_TRUE(copy.MayMatch(key));
    // One bit further means another size.
    const uint64_t next = bits + 1;
    marked[next / 8] = static_cast<char>(marked[next / 8] | 0x80 >> next % 8);
    GoMurmur3Filter untouched(GoOptions(bits, 3));
    EXPECT_NE(untouched.MergeBitmap(marked).find("bit " + std::to_string(next)),
              std::string::npos);
    EXPECT_EQ(untouched.SetBits(), 0u);
  }
}

TEST(GoMurmur3, RejectsInvalidOptions) {
  const struct {
    uint64_t bits;
    uint32_t probes;
    const char* says;
  } cases[] = {{0, 14, "bits = 0"}, {64, 0, "probes = 0"}, {64, 257, "= 257"}};
  for (const auto& [bits, probes, says] : cases) {
    const std::string error = GoOptions(bits, probes).Validate();
    EXPECT_NE(error.find(says), error.npos) << error;
    EXPECT_THROW(GoMurmur3Filter{GoOptions(bits, probes)},
                 std::invalid_argument);
  }
  EXPECT_EQ(GoOptions(1, 256).Validate(), "");
}

// go-zero's own figure: 20 bits per key and 14 probes.
TEST(GoMurmur3, RateOfGoZero) {
  GoMurmur3Filter filter(GoOptions(20 * 20000, kGoZeroProbes));
  for (int i = 0; i < 20000; ++i) filter.Add("in" + std::to_string(i));
  EXPECT_NEAR(filter.FalsePositiveRate(), 6.7e-5, 0.4e-5);
  int found = 0;
  for (int i = 0; i < 2000000; ++i) {
    found += filter.MayMatch("out" + std::to_string(i));
  }
  EXPECT_NEAR(found, 134, 5 * std::sqrt(134));
}

// --- Arithmetic and atomic bits ----------------------------------------------

TEST(Divisor, EqualsDivision) {
  test::FreshRandom random;
  for (unsigned i = 0; i < 64 * 8; ++i) {
    const uint64_t power = uint64_t{1} << i % 64;
    for (const uint64_t value : {power, power - 1, power + 1, UINT64_MAX - i,
                                 random.Next() >> i % 64 | 1}) {
      if (value == 0) continue;
      const internal::Divisor divisor(value);
      const uint64_t multiple = random.Next() / value * value;
      for (const uint64_t number :
           {uint64_t{0}, UINT64_MAX, value - 1, value, multiple - 1, multiple,
            multiple + value - 1, random.Next(), random.Next() >> i % 64}) {
        ASSERT_EQ(number % divisor, number % value) << number << " " << value;
      }
    }
  }
}

// Two threads set every second bit each. Several rounds, since not in each of
// them both get to run.
TEST(AtomicBits, ConcurrentSettersLoseNoBit) {
  for (int round = 0; round < 12; ++round) {
    internal::AtomicBits bits(20000);
    std::atomic<int> started{0};
    const auto run = [&bits, &started](uint64_t first) {
      ++started;
      while (started < 2) std::this_thread::yield();
      for (uint64_t bit = first; bit < bits.bits(); bit += 2) bits.Set(bit);
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    ASSERT_EQ(bits.SetBits(), bits.bits());
  }
}

}  // namespace
}  // namespace deltabloom
