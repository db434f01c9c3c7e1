// The parts of Redis filters that need no server: offsets and sizes against
// other languages' own answers, options, and what the client parses.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/tests/test_data.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

// --- Schemes -----------------------------------------------------------------

Scheme SchemeOf(const char* name, uint64_t bits, uint32_t probes) {
  Scheme scheme;
  scheme.row = FindScheme(name);
  scheme.bits = bits;
  scheme.probes = probes;
  return scheme;
}

std::vector<uint64_t> OffsetsOf(const Scheme& scheme, const std::string& key) {
  std::vector<uint64_t> offsets(scheme.probes);
  scheme.Offsets(key, offsets.data());
  return offsets;
}

std::string TextOf(const std::vector<uint64_t>& numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    text += (text.empty() ? "" : " ") + std::to_string(number);
  }
  return text;
}

TEST(Schemes, GoMurmur3EqualsGo) {
  size_t seen = 0;
  for (const auto& row :
       test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/go_murmur3.csv")) {
    Scheme scheme = SchemeOf("go-murmur3", std::stoull(row[1]),
                             static_cast<uint32_t>(std::stoul(row[2])));
    if (!scheme.Validate().empty()) continue;  // more than Redis has
    EXPECT_EQ(TextOf(OffsetsOf(scheme, test::FromHex(row[0]))), row[3]);
    ++seen;
  }
  EXPECT_GE(seen, 20u);
}

TEST(Schemes, GuavaHelperEqualsGuava) {
  size_t sizes = 0, keys = 0;
  for (const auto& row :
       test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/guava_helper.csv")) {
    SCOPED_TRACE(row[0] + " " + row[1] + " " + row[2]);
    Scheme scheme = SchemeOf("guava-helper", std::stoull(row[3]),
                             static_cast<uint32_t>(std::stoul(row[4])));
    if (row[0] == "size") {
      ++sizes;
      Scheme sized = SchemeOf("guava-helper", 0, 0);
      EXPECT_EQ(sized.SetSize(std::stoull(row[1]), std::stod(row[2])),
                scheme.bits > 0);
      EXPECT_EQ(sized.bits, scheme.bits);
      EXPECT_EQ(sized.probes, scheme.probes);
      continue;
    }
    ++keys;
    scheme.doubled_string = row[0] == "twice";
    EXPECT_EQ(TextOf(OffsetsOf(scheme, test::FromHex(row[1]))), row[5]);
  }
  EXPECT_EQ(sizes, 45u);
  EXPECT_EQ(keys, 120u);
}

TEST(PhpHashes, EqualPhp) {
  const auto rows =
      test::ReadCsv(DELTABLOOM_SHARED_TESTS "/data/php_hashes.csv");
  EXPECT_EQ(rows.size(), 640u);
  for (const auto& row : rows) {
    const PhpHash hash = FindPhpHash(row[0]);
    ASSERT_NE(hash, nullptr) << row[0];
    EXPECT_EQ(FindPhpHash(row[0] + "Hash"), hash);
    EXPECT_EQ(hash(test::FromHex(row[1])), std::stoull(row[2]))
        << row[0] << " " << row[1];
  }
  for (const char* name : {"MD5", "Hash", ""}) {
    EXPECT_EQ(FindPhpHash(name), nullptr);
  }
}

// The bits of scheme local are those of the layout local, and markers.
TEST(Schemes, LocalIsTheLayoutLocal) {
  const Scheme scheme = SchemeOf("local", 512 * 20, 6);
  FilterOptions options;
  options.layout = Layout::kLocal;
  options.bits_per_key = 10;
  FilterBuilder builder(options);
  std::string bits(20 * 64, '\0'), expected;
  for (const std::string& key : test::Random(test::SeedOr(1)).Keys(1024, 9)) {
    builder.AddKey(key);
    for (const uint64_t bit : OffsetsOf(scheme, key)) {
      bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << bit % 8);
    }
  }
  builder.Finish(&expected);
  EXPECT_EQ(bits, expected.substr(0, expected.size() - 1));
}

// No larger and no smaller than the rate requires, markers counted.
TEST(Schemes, SizesHaveTheRequestedRate) {
  constexpr size_t kKeys = 20000, kOthers = 100000;
  for (const char* name : {"local", "go-murmur3", "go-murmur3-14"}) {
    for (const double rate : {0.3, 0.03, 0.003}) {
      SCOPED_TRACE(name + std::to_string(rate));
      Scheme scheme = SchemeOf(name, 0, 0);
      ASSERT_TRUE(scheme.SetSize(kKeys, rate));
      test::Random random(test::SeedOr(3));
      std::vector<bool> bits(scheme.bits);
      for (size_t i = 0; i < kKeys; ++i) {
        for (const uint64_t at : OffsetsOf(scheme, random.Key(10))) {
          bits[at] = true;
        }
      }
      for (size_t at = 0; scheme.is_local() && at < scheme.bits; at += 512) {
        bits[at] = true;
      }
      int found = 0;
      for (size_t i = 0; i < kOthers; ++i) {
        const auto offsets = OffsetsOf(scheme, random.Key(11));
        found += std::all_of(offsets.begin(), offsets.end(),
                             [&bits](uint64_t at) { return bits[at]; });
      }
      EXPECT_NEAR(found / double{kOthers}, rate,
                  5 * std::sqrt(rate / kOthers) + 0.05 * rate);
    }
  }
}

// --- Options -----------------------------------------------------------------

// Changes of valid options, and what the message must name; "": still valid.
template <typename Options>
struct Change {
  void (*change)(Options*);
  const char* names;
};

template <typename Options, size_t n>
void ExpectMessages(const Options& valid, const Change<Options> (&cases)[n]) {
  EXPECT_EQ(valid.Validate(), "");
  for (const auto& [change, names] : cases) {
    Options options = valid;
    change(&options);
    const std::string error = options.Validate();
    EXPECT_NE(error.find(names), error.npos)
        << "'" << error << "' does not name " << names;
    EXPECT_EQ(error.empty(), *names == '\0');
  }
}

TEST(Options, BadOnesAreNamed) {
  using Changed = RedisFilterOptions*;
  RedisFilterOptions options;
  options.name = "n";
  options.expected_keys = 1000;
  const Change<RedisFilterOptions> cases[] = {
      {[](Changed o) { o->name = ""; }, "name"},
      {[](Changed o) { o->name = std::string(1025, 'x'); }, "name"},
      {[](Changed o) { o->name = "a}b"; }, "name"},
      {[](Changed o) { o->name = "{}b"; }, "name"},
      {[](Changed o) { o->name = "{tag}"; }, "hash tag"},
      {[](Changed o) { o->scheme = "bloom"; }, "go-murmur3-14"},
      {[](Changed o) { o->scheme = ""; }, "scheme"},
      {[](Changed o) { o->expected_keys = 0; }, "probes"},
      {[](Changed o) { o->bits = 512; }, "expected_keys"},
      {[](Changed o) { o->probes = 4; }, "expected_keys"},
      {[](Changed o) { o->false_positive_rate = 0; }, "false_positive"},
      {[](Changed o) { o->false_positive_rate = 1; }, "false_positive"},
      {[](Changed o) { o->false_positive_rate = NAN; }, "false_positive"},
      {[](Changed o) { o->false_positive_rate = 1e-12; }, "cannot hold"},
      {[](Changed o) { o->expected_keys = UINT64_MAX; }, "cannot hold"},
      {[](Changed o) { o->doubled_string = true; }, "doubled_string"},
      {[](Changed o) { o->hashes = {"JS"}; }, "hashes"},
      {[](Changed o) { o->expire_after = milliseconds(-5); }, "expire_after"},
      {[](Changed o) { o->shard_bytes = 0; }, "shard_bytes"},
      {[](Changed o) { o->shard_bytes = 100; }, "shard_bytes"},
      {[](Changed o) { o->shard_bytes = uint64_t{1} << 30; }, "shard_bytes"},
      {[](Changed o) {
         o->expected_keys = 100000000;
         o->shard_bytes = 64;
       },
       "65536 shards"},
      {[](Changed o) {
         o->scheme = "php-named-hashes";
         o->expected_keys = 0;
         o->hashes = {"JS", "Nonsense"};
       },
       "Nonsense"},
  };
  ExpectMessages(options, cases);
}

TEST(Options, BitsAndProbesHaveLimits) {
  constexpr uint64_t k2To32 = uint64_t{1} << 32, k2To48 = uint64_t{1} << 48;
  const struct {
    const char* scheme;
    std::vector<std::pair<uint64_t, uint32_t>> good, bad;
  } cases[] = {
      {"local",
       {{512, 8}, {uint64_t{1} << 40, 1}},
       {{0, 6}, {511, 6}, {512, 0}, {512, 9}, {k2To48, 1}, {k2To48 + 512, 1}}},
      {"go-murmur3",
       {{1, 255}, {UINT32_MAX, 5}},
       {{0, 5}, {1, 0}, {1, 256}, {k2To32, 5}}},
      {"go-murmur3-14", {{1000, 0}, {1000, 14}}, {{1000, 13}}},
      {"guava-helper", {{INT32_MAX, 5}}, {{0, 5}, {k2To32 / 2, 5}}},
      {"php-named-hashes", {{0, 0}, {k2To32, 3}}, {{UINT32_MAX, 0}, {0, 4}}},
  };
  for (const auto& [scheme, good, bad] : cases) {
    const auto error = [name = scheme](const auto& size) {
      RedisFilterOptions options;
      options.name = "n";
      options.scheme = name;
      std::tie(options.bits, options.probes) = size;
      if (options.bits == k2To48) options.shard_bytes = 64;  // too many
      return options.Validate();
    };
    for (const auto& size : good) EXPECT_EQ(error(size), "") << scheme;
    for (const auto& size : bad) {
      EXPECT_NE(error(size), "") << scheme << " " << size.first;
    }
  }
}

TEST(Options, ConnectionsAreChecked) {
  using Changed = RedisOptions*;
  const Change<RedisOptions> cases[] = {
      {[](Changed o) { o->host = ""; }, "host"},
      {[](Changed o) { o->port = 0; }, "port"},
      {[](Changed o) { o->username = "u"; }, "password"},
      {[](Changed o) { o->more_nodes = {"here"}; }, "here"},
      {[](Changed o) { o->more_nodes = {"here:99999"}; }, "here"},
      {[](Changed o) {
         o->more_nodes = Words{"[::1]:7", "h:1"};
       },
       ""},
      {[](Changed o) { o->command_timeout = milliseconds(0); }, "timeout"},
      {[](Changed o) {
         o->cluster = true;
         o->database = 1;
       },
       "database"},
      {[](Changed o) {
         o->cluster = true;
         o->unix_socket = "/s";
       },
       "cluster"},
  };
  ExpectMessages(RedisOptions(), cases);
}

// --- Servers and their errors ------------------------------------------------

TEST(Circuit, OpensAfterFailuresInARow) {
  Circuit circuit(3, milliseconds(100)), never(0, milliseconds(100));
  Circuit::Clock::time_point now{};
  for (int i = 0; i < 3; ++i) {
    if (i == 2) circuit.Succeeded();
    EXPECT_FALSE(circuit.Failed(now));
  }
  EXPECT_FALSE(circuit.Failed(now));
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_TRUE(circuit.Failed(now));
  EXPECT_FALSE(circuit.Allow(now));
  EXPECT_FALSE(circuit.Allow(now + milliseconds(99)));
  now += milliseconds(100);
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_FALSE(circuit.Allow(now));  // one at a time
  EXPECT_FALSE(circuit.Failed(now)) << "it was open already";
  EXPECT_FALSE(circuit.Allow(now + milliseconds(99)));
  // One that tried and never reported back must not keep it open for ever.
  EXPECT_TRUE(circuit.Allow(now + milliseconds(100)));
  EXPECT_TRUE(circuit.Allow(now + milliseconds(200)));
  circuit.Succeeded();
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_TRUE(circuit.Allow(now));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(never.Failed(now));
  EXPECT_TRUE(never.Allow(now));
}

// The examples of the Redis Cluster specification.
TEST(Slots, Crc16AndHashTags) {
  EXPECT_EQ(Crc16("123456789"), 0x31c3);
  EXPECT_EQ(Crc16(""), 0);
  EXPECT_EQ(HashTag("{user1000}.following"), "user1000");
  EXPECT_EQ(HashTag("foo{}{bar}"), "foo{}{bar}");
  EXPECT_EQ(HashTag("foo{{bar}}zap"), "{bar");
  EXPECT_EQ(HashTag("foo{bar}{zap}"), "bar");
  EXPECT_EQ(HashTag("}foo{"), "}foo{");
  EXPECT_EQ(HashTag(""), "");
}

TEST(Keys, CompanionsAreOnTheSameSlot) {
  test::FreshRandom random;
  size_t legal = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string name;
    for (uint64_t n = random.Below(8); n > 0; --n) {
      name += "ab{}:"[random.Below(5)];
    }
    if (!CheckName(name).empty()) continue;
    ++legal;
    Descriptor descriptor;
    descriptor.name = name;
    descriptor.scheme = SchemeOf("local", 5120, 1);
    descriptor.shards = 5;
    descriptor.shard_blocks = 2;
    const Shard shard = descriptor.ShardAt(3);
    for (const std::string& key :
         {DescriptorOf(name), shard.live, shard.descriptor, shard.rebuild,
          shard.Upload("t")}) {
      EXPECT_EQ(SlotOf(key), SlotOf(name)) << name << " " << key;
    }
  }
  EXPECT_GT(legal, 5000u);
}

TEST(Redirections, AreParsed) {
  // "" if it is none.
  const auto parsed = [](const char* error) -> std::string {
    bool ask = false;
    Endpoint to;
    if (!ParseRedirection(error, {"here", 1}, &ask, &to)) return "";
    return (ask ? "ask " : "") + to.Text();
  };
  EXPECT_EQ(parsed("MOVED 3999 127.0.0.1:6381"), "127.0.0.1:6381");
  EXPECT_EQ(parsed("ASK 16383 ::1:7"), "ask [::1]:7");
  EXPECT_EQ(parsed("MOVED 0 :6381"), "here:6381");
  for (const char* bad :
       {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 16384 a:1", "MOVED x a:1",
        "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED -1 a:1",
        "MOVED 1 a:1x", "OTHER 1 a:1", "moved 1 a:1"}) {
    EXPECT_EQ(parsed(bad), "") << bad;
  }
}

// Others come from Redis itself in failure_test.
TEST(Errors, AreClassified) {
  const struct {
    const char* reply;
    RedisError error;
  } cases[] = {
      {"ERR invalid password", RedisError::kAuthentication},
      {"ERR Protocol error: unauthenticated multibulk length",
       RedisError::kAuthentication},
      {"LOADING Redis is loading the dataset", RedisError::kUnavailable},
      {"CLUSTERDOWN Hash slot not served", RedisError::kClusterDown},
      {"ERR Error running script (call to f_1): @user_script:1: -OOM command "
       "not allowed",
       RedisError::kOutOfMemory},
      {"ERR syntax error", RedisError::kServer},
      {"ERR the BOOM word", RedisError::kServer},
      {"", RedisError::kServer},
  };
  for (const auto& [reply, error] : cases) {
    EXPECT_EQ(ClassifyError(reply), error) << reply;
  }
}

TEST(Errors, HaveTheirPlaceInOneLine) {
  const RedisStatus status =
      MakeStatus(RedisError::kTimeout, {"h", 7}, "a\nb", "no answer");
  EXPECT_EQ(status.message, "redis h:7, key 'a\\nb': no answer");
}

}  // namespace
}  // namespace deltabloom::internal
