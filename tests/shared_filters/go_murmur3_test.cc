// The in-memory filter of scheme go-murmur3 against offsets that Go computed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "deltabloom/go_murmur3_filter.h"
#include "shared_filters/murmur3.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

GoMurmur3FilterOptions Options(uint64_t bits, uint32_t probes) {
  GoMurmur3FilterOptions options;
  options.bits = bits;
  options.probes = probes;
  return options;
}

std::string Bitmap(const GoMurmur3Filter& filter) {
  std::string bitmap;
  filter.AppendBitmap(&bitmap);
  return bitmap;
}

// As Redis' GETBIT counts.
bool BitOf(const std::string& bitmap, uint64_t offset) {
  const auto byte = static_cast<unsigned char>(bitmap[offset / 8]);
  return (byte >> (7 - offset % 8) & 1) != 0;
}

TEST(GoMurmur3, OffsetsEqualGo) {
  const auto rows = test::ReadCsv("go_murmur3.csv");
  ASSERT_EQ(rows.size(), 31u);
  for (const auto& row : rows) {
    const std::string key = test::FromHex(row[0]);
    const uint64_t bits = std::stoull(row[1]);
    const auto probes = static_cast<uint32_t>(std::stoul(row[2]));
    std::istringstream offsets(row[3]);
    std::set<uint64_t> expected;
    const internal::Murmur3 hash(key);
    for (uint32_t probe = 0; probe < probes; ++probe) {
      uint64_t offset = 0;
      ASSERT_TRUE(offsets >> offset);
      expected.insert(offset);
      ASSERT_EQ(
          internal::GoMurmur3Offset(hash, static_cast<uint8_t>(probe), bits),
          offset)
          << row[0] << " " << probe;
    }
    if (bits > 20000000) continue;
    // The filter sets these and no other bits.
    GoMurmur3Filter filter(Options(bits, probes));
    EXPECT_FALSE(filter.MayMatch(key));
    EXPECT_TRUE(filter.Add(key));
    EXPECT_FALSE(filter.Add(key));
    EXPECT_TRUE(filter.MayMatch(key));
    EXPECT_EQ(filter.SetBits(), expected.size());
    const std::string bitmap = Bitmap(filter);
    ASSERT_EQ(bitmap.size(), (bits + 7) / 8);
    for (const uint64_t offset : expected) EXPECT_TRUE(BitOf(bitmap, offset));
  }
}

// Where Go and its library are installed, the file is what they write today.
TEST(GoMurmur3, GoWritesTheSameFile) {
  if (std::system(
          "go version >/dev/null 2>&1 && "
          "test -d /usr/share/gocode/src/github.com/spaolacci/murmur3") != 0) {
    GTEST_SKIP() << "no Go: install golang-go and "
                    "golang-github-spaolacci-murmur3-dev to run this";
  }
  const std::string command =
      "cache=$(mktemp -d) && GOPATH=/usr/share/gocode GO111MODULE=off "
      "GOCACHE=$cache go run " DELTABLOOM_GO_PROGRAM
      " | cmp - " DELTABLOOM_TEST_DATA
      "/go_murmur3.csv; same=$?; rm -rf \"$cache\"; exit $same";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(GoMurmur3, BitmapsThereAndBack) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  for (const uint64_t bits : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u, 1023u}) {
    SCOPED_TRACE(bits);
    GoMurmur3Filter filter(Options(bits, 3));
    const auto keys = random.MixedKeys(1 + random.Below(40));
    for (const std::string& key : keys) filter.Add(key);
    const std::string bitmap = Bitmap(filter);
    GoMurmur3Filter copy(Options(bits, 3));
    EXPECT_EQ(copy.MergeBitmap(bitmap), "");
    EXPECT_EQ(Bitmap(copy), bitmap);
    EXPECT_EQ(copy.SetBits(), filter.SetBits());
    for (const std::string& key : keys) EXPECT_TRUE(copy.MayMatch(key));
    // Redis strings end with the last byte that was written.
    EXPECT_EQ(copy.MergeBitmap(""), "");
    EXPECT_EQ(copy.MergeBitmap(bitmap.substr(0, bitmap.size() / 2)), "");
    EXPECT_EQ(Bitmap(copy), bitmap);

    // The marker bit is passed over, one further means another size.
    std::string marked = bitmap + std::string(2, '\0');
    marked[bits / 8] = static_cast<char>(marked[bits / 8] | 0x80 >> bits % 8);
    EXPECT_EQ(copy.MergeBitmap(marked), "");
    EXPECT_EQ(Bitmap(copy), bitmap);
    const uint64_t next = bits + 1;
    marked[next / 8] = static_cast<char>(marked[next / 8] | 0x80 >> next % 8);
    GoMurmur3Filter untouched(Options(bits, 3));
    EXPECT_NE(untouched.MergeBitmap(marked).find("bit " + std::to_string(next)),
              std::string::npos);
    EXPECT_EQ(untouched.SetBits(), 0u);
  }
}

TEST(GoMurmur3, RefusesWhatCannotBe) {
  EXPECT_NE(Options(0, 14).Validate().find("bits = 0"), std::string::npos);
  EXPECT_NE(Options(64, 0).Validate().find("probes = 0"), std::string::npos);
  EXPECT_NE(Options(64, 257).Validate().find("probes = 257"),
            std::string::npos);
  EXPECT_EQ(Options(1, 256).Validate(), "");
  EXPECT_THROW(GoMurmur3Filter{Options(0, 14)}, std::invalid_argument);
  EXPECT_THROW(GoMurmur3Filter{Options(64, 0)}, std::invalid_argument);
}

TEST(GoMurmur3, KeysOfAnySize) {
  test::Random random(test::SeedOr(7));
  GoMurmur3Filter filter(Options(8000, kGoZeroProbes));
  std::vector<std::string> keys = {"", std::string(1, '\0'),
                                   std::string(1 << 20, 'x')};
  for (size_t size = 1; size < 100; ++size) keys.push_back(random.Key(size));
  for (const std::string& key : keys) filter.Add(key);
  for (const std::string& key : keys) EXPECT_TRUE(filter.MayMatch(key));
  EXPECT_FALSE(filter.MayMatch(std::string((1 << 20) - 1, 'x')));
}

// go-zero's own figure: 20 bits per key and 14 probes.
TEST(GoMurmur3, RateOfGoZero) {
  constexpr uint64_t kKeys = 20000, kAsked = 2000000;
  GoMurmur3Filter filter(Options(20 * kKeys, kGoZeroProbes));
  for (uint64_t i = 0; i < kKeys; ++i) filter.Add("in" + std::to_string(i));
  const double rate = filter.FalsePositiveRate();
  EXPECT_NEAR(rate, 6.7e-5, 0.4e-5);
  uint64_t found = 0;
  for (uint64_t i = 0; i < kAsked; ++i) {
    found += filter.MayMatch("out" + std::to_string(i));
  }
  EXPECT_NEAR(static_cast<double>(found), rate * kAsked,
              5 * std::sqrt(rate * kAsked));
}

TEST(GoMurmur3, ManyThreads) {
  constexpr int kKeys = 5000;
  GoMurmur3Filter alone(Options(20 * kKeys, 14));
  GoMurmur3Filter filter(Options(20 * kKeys, 14));
  for (int i = 0; i < kKeys; ++i) alone.Add(std::to_string(i));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&filter, thread] {
      for (int i = 0; i < kKeys; ++i) {
        const std::string key =
            std::to_string((i + thread * kKeys / 4) % kKeys);
        filter.Add(key);
        ASSERT_TRUE(filter.MayMatch(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Bitmap(filter), Bitmap(alone));
  EXPECT_EQ(filter.SetBits(), alone.SetBits());
}

}  // namespace
}  // namespace deltabloom
