// Offsets and sizes against other languages' own answers, and the numbers that
// schemes accept.
#include "shared_filters/redis/scheme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "deltabloom/filter.h"
#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/descriptor.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom::internal {
namespace {

std::vector<uint64_t> Numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<uint64_t> numbers;
  for (uint64_t number; stream >> number;) numbers.push_back(number);
  return numbers;
}

std::vector<uint64_t> OffsetsOf(const Scheme& scheme, const std::string& key) {
  std::vector<uint64_t> offsets(scheme.probes);
  scheme.Offsets(key, offsets.data());
  return offsets;
}

TEST(Schemes, GoMurmur3EqualsGo) {
  size_t seen = 0;
  for (const auto& row : test::ReadCsv("go_murmur3.csv")) {
    Scheme scheme;
    scheme.kind = SchemeKind::kGoMurmur3;
    scheme.bits = std::stoull(row[1]);
    scheme.probes = static_cast<uint32_t>(std::stoul(row[2]));
    if (!scheme.Validate().empty()) continue;  // more than Redis has
    EXPECT_EQ(OffsetsOf(scheme, test::FromHex(row[0])), Numbers(row[3]));
    ++seen;
  }
  EXPECT_GE(seen, 20u);
}

TEST(Schemes, GuavaHelperEqualsGuava) {
  size_t sizes = 0, keys = 0;
  for (const auto& row : test::ReadCsv("guava_helper.csv")) {
    Scheme scheme;
    scheme.kind = SchemeKind::kGuavaHelper;
    const uint64_t bits = std::stoull(row[3]);
    const auto probes = static_cast<uint32_t>(std::stoul(row[4]));
    if (row[0] == "size") {
      ++sizes;
      EXPECT_EQ(SizeScheme(std::stoull(row[1]), std::stod(row[2]), 0, &scheme),
                bits > 0);
      EXPECT_EQ(scheme.bits, bits) << row[1] << " " << row[2];
      EXPECT_EQ(scheme.probes, probes) << row[1] << " " << row[2];
      continue;
    }
    ++keys;
    scheme.bits = bits;
    scheme.probes = probes;
    scheme.doubled_string = row[0] == "twice";
    EXPECT_EQ(OffsetsOf(scheme, test::FromHex(row[1])), Numbers(row[5]))
        << row[0] << " " << row[1];
  }
  EXPECT_EQ(sizes, 45u);
  EXPECT_EQ(keys, 120u);
}

TEST(PhpHashes, EqualPhp) {
  const auto rows = test::ReadCsv("php_hashes.csv");
  EXPECT_EQ(rows.size(), 640u);
  for (const auto& row : rows) {
    const PhpHash hash = FindPhpHash(row[0]);
    ASSERT_NE(hash, nullptr) << row[0];
    EXPECT_EQ(FindPhpHash(row[0] + "Hash"), hash);
    EXPECT_EQ(hash(test::FromHex(row[1])), std::stoull(row[2]))
        << row[0] << " " << row[1];
  }
  EXPECT_EQ(FindPhpHash("MD5"), nullptr);
  EXPECT_EQ(FindPhpHash("Hash"), nullptr);
  EXPECT_EQ(FindPhpHash(""), nullptr);
}

// The interpreter itself, with keys that are new in every run.
TEST(PhpHashes, EqualPhpForFreshKeys) {
  const std::string php = DELTABLOOM_PHP;
  if (php.empty()) GTEST_SKIP() << "php is not installed";
  const uint64_t seed = test::SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  test::Random random(seed);
  std::string command = php + " -n " + DELTABLOOM_PHP_SCRIPT;
  for (int i = 0; i < 500; ++i) {
    command += ' ';
    for (const char c : random.Key(1 + random.Below(60))) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      command += digits;
    }
  }
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[400];
  size_t lines = 0;
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    if (lines++ == 0) continue;  // the header
    std::string text(line);
    const size_t first = text.find(','), second = text.find(',', first + 1);
    ASSERT_NE(second, text.npos) << text;
    const std::string key =
        test::FromHex(text.substr(first + 1, second - first - 1));
    ASSERT_EQ(FindPhpHash(text.substr(0, first))(key),
              std::stoull(text.substr(second + 1)))
        << text;
  }
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(lines, 1 + 8u * 500);
}

TEST(Schemes, AllOffsetsAreInRange) {
  const uint64_t seed = test::SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  test::Random random(seed);
  for (const char* name : {"local", "go-murmur3", "guava-helper"}) {
    for (const uint64_t bits : {uint64_t{512}, uint64_t{512} * 4194303}) {
      Scheme scheme;
      uint32_t fixed = 0;
      ASSERT_TRUE(FindScheme(name, &scheme.kind, &fixed));
      scheme.bits = bits;
      scheme.probes = 8;
      ASSERT_EQ(scheme.Validate(), "");
      for (int i = 0; i < 1000; ++i) {
        const auto offsets = OffsetsOf(scheme, random.Key(random.Below(40)));
        for (const uint64_t offset : offsets) {
          ASSERT_LT(offset, bits);
          if (scheme.is_local()) {
            ASSERT_EQ(offset / 512, offsets[0] / 512);
          }
        }
      }
    }
  }
}

// RedisLocalRate against blocks that are filled for it.
TEST(Schemes, LocalRateIsMeasured) {
  for (const uint32_t probes : {1u, 4u, 6u, 8u}) {
    Scheme scheme;
    scheme.bits = 512 * 2000;
    scheme.probes = probes;
    constexpr size_t kKeys = 100000;
    std::vector<bool> bits(scheme.bits);
    for (size_t block = 0; block < 2000; ++block) bits[512 * block] = true;
    test::Random random(test::SeedOr(3));
    uint64_t offsets[kMaxProbes];
    for (size_t i = 0; i < kKeys; ++i) {
      scheme.Offsets(random.Key(10), offsets);
      for (uint32_t p = 0; p < probes; ++p) bits[offsets[p]] = true;
    }
    size_t found = 0;
    constexpr size_t kOthers = 300000;
    for (size_t i = 0; i < kOthers; ++i) {
      scheme.Offsets(random.Key(11), offsets);
      bool all = true;
      for (uint32_t p = 0; p < probes; ++p) all = all && bits[offsets[p]];
      found += all ? 1 : 0;
    }
    const double rate = RedisLocalRate(kKeys, 2000, probes);
    EXPECT_NEAR(static_cast<double>(found) / kOthers, rate,
                5 * std::sqrt(rate / kOthers) + 0.02 * rate)
        << probes;
  }
}

struct BadOptions {
  RedisFilterOptions options;
  const char* names;  // what the message must name
};

RedisFilterOptions With(void (*change)(RedisFilterOptions*)) {
  RedisFilterOptions options;
  options.name = "n";
  options.expected_keys = 1000;
  change(&options);
  return options;
}

TEST(Options, BadOnesAreNamed) {
  const BadOptions cases[] = {
      {With([](auto* o) { o->name = ""; }), "name"},
      {With([](auto* o) { o->name = std::string(1025, 'x'); }), "name"},
      {With([](auto* o) { o->name = "a}b"; }), "name"},
      {With([](auto* o) { o->name = "{}b"; }), "name"},
      {With([](auto* o) { o->name = "{tag}"; }), "hash tag"},
      {With([](auto* o) { o->scheme = "bloom"; }), "go-murmur3-14"},
      {With([](auto* o) { o->scheme = ""; }), "scheme"},
      {With([](auto* o) { o->expected_keys = 0; }), "probes"},
      {With([](auto* o) { o->bits = 512; }), "expected_keys"},
      {With([](auto* o) { o->probes = 4; }), "expected_keys"},
      {With([](auto* o) { o->false_positive_rate = 0; }), "false_positive"},
      {With([](auto* o) { o->false_positive_rate = 1; }), "false_positive"},
      {With([](auto* o) { o->false_positive_rate = NAN; }), "false_positive"},
      {With([](auto* o) { o->false_positive_rate = 1e-12; }), "cannot hold"},
      {With([](auto* o) { o->expected_keys = UINT64_MAX; }), "cannot hold"},
      {With([](auto* o) { o->doubled_string = true; }), "doubled_string"},
      {With([](auto* o) { o->hashes = {"JS"}; }), "hashes"},
      {With([](auto* o) { o->expire_after = std::chrono::milliseconds(-5); }),
       "expire_after"},
      {With([](auto* o) { o->shard_bytes = 0; }), "shard_bytes"},
      {With([](auto* o) { o->shard_bytes = 100; }), "shard_bytes"},
      {With([](auto* o) { o->shard_bytes = uint64_t{1} << 30; }),
       "shard_bytes"},
      {With([](auto* o) {
         o->expected_keys = 100000000;
         o->shard_bytes = 64;
       }),
       "65536 shards"},
  };
  for (const BadOptions& one : cases) {
    const std::string error = one.options.Validate();
    EXPECT_NE(error.find(one.names), error.npos)
        << "'" << error << "' does not name " << one.names;
  }
  EXPECT_EQ(With([](auto*) {}).Validate(), "");
}

TEST(Options, BitsAndProbesHaveLimits) {
  const struct {
    const char* scheme;
    uint64_t bits;
    uint32_t probes;
    bool good;
  } cases[] = {
      {"local", 0, 6, false},
      {"local", 511, 6, false},
      {"local", 512, 0, false},
      {"local", 512, 9, false},
      {"local", 512, 8, true},
      {"local", uint64_t{1} << 48, 1, false},  // too many shards
      {"local", uint64_t{1} << 40, 1, true},
      {"local", (uint64_t{1} << 48) + 512, 1, false},
      {"go-murmur3", 0, 5, false},
      {"go-murmur3", 1, 0, false},
      {"go-murmur3", 1, 255, true},
      {"go-murmur3", 1, 256, false},
      {"go-murmur3", UINT32_MAX, 5, true},
      {"go-murmur3", uint64_t{1} << 32, 5, false},
      {"go-murmur3-14", 1000, 0, true},
      {"go-murmur3-14", 1000, 14, true},
      {"go-murmur3-14", 1000, 13, false},
      {"guava-helper", 0, 5, false},
      {"guava-helper", INT32_MAX, 5, true},
      {"guava-helper", uint64_t{1} << 31, 5, false},
      {"php-named-hashes", 0, 0, true},
      {"php-named-hashes", uint64_t{1} << 32, 3, true},
      {"php-named-hashes", UINT32_MAX, 0, false},
      {"php-named-hashes", 0, 4, false},
  };
  for (const auto& one : cases) {
    RedisFilterOptions options;
    options.name = "n";
    options.scheme = one.scheme;
    options.bits = one.bits;
    options.probes = one.probes;
    if (one.bits == uint64_t{1} << 48) options.shard_bytes = 64;
    EXPECT_EQ(options.Validate().empty(), one.good)
        << one.scheme << " " << one.bits << " " << one.probes << ": "
        << options.Validate();
  }
  RedisFilterOptions php;
  php.name = "n";
  php.scheme = "php-named-hashes";
  php.hashes = {"JS", "Nonsense"};
  EXPECT_NE(php.Validate().find("Nonsense"), std::string::npos);
}

TEST(Options, ConnectionsAreChecked) {
  const auto error = [](void (*change)(RedisOptions*)) {
    RedisOptions options;
    change(&options);
    return options.Validate();
  };
  EXPECT_EQ(error([](auto*) {}), "");
  EXPECT_NE(error([](auto* o) { o->host = ""; }), "");
  EXPECT_NE(error([](auto* o) { o->port = 0; }), "");
  EXPECT_NE(error([](auto* o) { o->username = "u"; }), "");
  EXPECT_NE(error([](auto* o) { o->more_nodes = {"here"}; }), "");
  EXPECT_NE(error([](auto* o) { o->more_nodes = {"here:99999"}; }), "");
  EXPECT_EQ(error([](auto* o) { o->more_nodes = {"[::1]:7000", "h:1"}; }), "");
  EXPECT_NE(
      error([](auto* o) { o->command_timeout = std::chrono::milliseconds(0); }),
      "");
  EXPECT_NE(error([](auto* o) {
              o->cluster = true;
              o->database = 1;
            }),
            "");
  EXPECT_NE(error([](auto* o) {
              o->cluster = true;
              o->unix_socket = "/s";
            }),
            "");
  EXPECT_NE(error([](auto* o) {
              o->circuit_open_for = std::chrono::milliseconds(-1);
            }),
            "");
}

}  // namespace
}  // namespace deltabloom::internal
