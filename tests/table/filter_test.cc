// The contract of filter.h and filter_policy.h; and that the short ways to
// build and ask a filter give the bytes and answers of the long ones.
#include "deltabloom/filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/filter_policy.h"
#include "table/small_filter.h"
#include "tests/filters.h"
#include "tests/random.h"
#include "tests/reference/reference.h"

namespace deltabloom {
namespace {

std::string Build(const std::vector<std::string_view>& keys,
                  const FilterOptions& options = {}) {
  FilterBuilder builder(options);
  for (std::string_view key : keys) builder.AddKey(key);
  EXPECT_EQ(builder.KeysAdded(), keys.size());
  const uint64_t promised = builder.FilterSize();
  std::string filter;
  builder.Finish(&filter);
  EXPECT_EQ(filter.size(), promised);
  return filter;
}

// --- Options and building ----------------------------------------------------

TEST(FilterOptions, BadBitsPerKeyIsNamed) {
  for (double bad : {-1.0, -1e-9, 1000.001, 1e300, std::nan(""),
                     std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()}) {
    const auto options = test::OptionsOf(Layout::kClassic, bad);
    EXPECT_NE(options.Validate().find("bits_per_key = "), std::string::npos);
    EXPECT_EQ(options.Validate().find('\n'), std::string::npos);
    EXPECT_THROW(FilterBuilder{options}, std::invalid_argument);
    EXPECT_EQ(NewBloomFilterPolicy(bad), nullptr);
  }
  for (double good : {0.0, 0.001, 9.9, 10.0, 1000.0}) {
    EXPECT_EQ(test::OptionsOf(Layout::kClassic, good).Validate(), "");
    EXPECT_NE(NewBloomFilterPolicy(good), nullptr);
  }
}

TEST(FilterBuilder, AppendsAndStartsAnew) {
  FilterBuilder builder;
  builder.AddKey("first");
  std::string out = "front";
  builder.Finish(&out);
  EXPECT_EQ(out.substr(0, 5), "front");
  EXPECT_EQ(out.substr(5), Build({"first"}));
  EXPECT_EQ(builder.KeysAdded(), 0u);
  builder.AddKey("second");
  std::string second;
  builder.Finish(&second);
  EXPECT_EQ(second, Build({"second"}));

  FilterBuilder moved = std::move(builder);
  moved.AddKey("third");
  FilterBuilder assigned;
  assigned.AddKey("lost");
  assigned = std::move(moved);
  EXPECT_EQ(assigned.KeysAdded(), 1u);
  std::string third;
  assigned.Finish(&third);
  EXPECT_EQ(third, Build({"third"}));
}

// --- Lookups -----------------------------------------------------------------

TEST(Filter, KeysOfAnyBytesAndLength) {
  test::FreshRandom random;
  std::vector<std::string> keys;
  for (size_t size = 0; size < 300; ++size) {
    keys.push_back(random.Key(size));
  }
  keys.push_back(std::string(1 << 20, '\0'));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    const std::string bytes =
        Build(views, test::OptionsOf(Layout::kClassic, 10, hash));
    const Filter filter(bytes, hash);
    std::unique_ptr<bool[]> many(new bool[views.size()]());
    filter.MayMatch(views.data(), views.size(), many.get());
    for (size_t i = 0; i < views.size(); ++i) {
      EXPECT_TRUE(filter.MayMatch(views[i])) << i;
      EXPECT_TRUE(many[i]) << i;
    }
  }
}

TEST(FilterPolicy, AppendsAndMatches) {
  const auto policy = NewBloomFilterPolicy(10);
  ASSERT_NE(policy, nullptr);
  EXPECT_STREQ(policy->Name(), "deltabloom.Filter.MurmurHash2");
  const std::vector<std::string_view> keys = {"one", "two", "two", ""};
  std::string dst = "front";
  policy->CreateFilter(keys.data(), keys.size(), &dst);
  EXPECT_EQ(dst.substr(0, 5), "front");
  const std::string filter = dst.substr(5);
  EXPECT_EQ(filter, Build(keys));
  for (std::string_view key : keys)
    EXPECT_TRUE(policy->KeyMayMatch(key, filter));
  EXPECT_FALSE(policy->KeyMayMatch("three", filter));
  EXPECT_FALSE(policy->KeyMayMatch("one", ""));
  EXPECT_FALSE(policy->KeyMayMatch("one", "\x06"));
  EXPECT_TRUE(policy->KeyMayMatch("one", std::string("\0\0", 2)));

  std::string empty;
  policy->CreateFilter(nullptr, 0, &empty);
  EXPECT_EQ(empty, std::string(8, '\0') + '\x06');
  EXPECT_FALSE(Filter(empty).MayMatch("a"));
  EXPECT_STREQ(
      NewFilterPolicy(test::OptionsOf(Layout::kClassic, 10, Hash::kLevelDB))
          ->Name(),
      "leveldb.BuiltinBloomFilter2");
}

// --- Description -------------------------------------------------------------

// The sizes agree: bits / 8, blocks * 64, and for compact columns * rows / 8
// with the bytes of its thresholds and sizes; each with the byte of the
// framing.
TEST(DescribeFilter, InFull) {
  const struct {
    Layout layout;
    double bits_per_key;
    size_t keys;
    const char* text;
    size_t size;
  } cases[] = {
      {Layout::kClassic, 1, 1, "classic, 1 probes, 64 bits", 9},
      {Layout::kClassic, 10.5, 1000, "classic, 7 probes, 10504 bits", 1314},
      {Layout::kClassic, 25, 1000, "classic, 17 probes, 25000 bits", 3126},
      {Layout::kLocal, 1, 1, "local, 1 probes, 1 blocks of 64 bytes", 65},
      {Layout::kLocal, 10, 5000, "local, 6 probes, 98 blocks of 64 bytes",
       6273},
      {Layout::kLocal, 16, 1000, "local, 6 + 5 probes, 32 blocks of 64 bytes",
       2049},
      {Layout::kCompact, 8, 1000, "compact, 7.69 columns, 1024 rows, 2 layers",
       995},
      {Layout::kCompact, 10.5, 5000,
       "compact, 10.22 columns, 5120 rows, 3 layers", 6563},
      {Layout::kCompact, 16, 100000,
       "compact, 15.82 columns, 101056 rows, 3 layers", 199999},
  };
  for (const auto& c : cases) {
    const std::string filter = test::RawFilter(
        test::DecimalKeys(c.keys), test::OptionsOf(c.layout, c.bits_per_key));
    EXPECT_EQ(DescribeFilter(filter), c.text);
    EXPECT_EQ(filter.size(), c.size) << c.text;
  }
}

// --- Short ways for classic --------------------------------------------------

TEST(ClassicSmallFilter, AnswersAsFilter) {
  test::FreshRandom random;
  for (const Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    int absent = 0;
    for (int round = 0; round < 20000; ++round) {
      // Dense bits, so that many probes are reached.
      std::string filter(random.Below(round % 2 == 0 ? 20 : 200), '\xff');
      for (uint64_t holes = random.Below(8); holes > 0; --holes) {
        if (!filter.empty()) filter[random.Below(filter.size())] = '\x5a';
      }
      const uint64_t last = random.Below(round % 4 == 0 ? 256 : 31);
      if (!filter.empty()) filter.back() = static_cast<char>(last);
      const std::vector<char> bytes(filter.begin(), filter.end());
      const std::string_view view(bytes.data(), bytes.size());
      for (const std::string& key : random.MixedKeys(4)) {
        const bool expected = Filter(view, hash).MayMatch(key);
        ASSERT_EQ(internal::MayMatchUnparsed(view, hash, key), expected)
            << "size " << view.size() << " last byte " << last;
        absent += expected ? 0 : 1;
      }
    }
    EXPECT_GT(absent, 5000);
    EXPECT_LT(absent, 75000);
  }
}

// Positions have 32 bits, which reach payloads of up to 2^28 bytes.
TEST(ClassicSmallFilter, LargestPayloadAsked) {
  for (const uint64_t size : {uint64_t{1} << 28, (uint64_t{1} << 29) + 9}) {
    const std::unique_ptr<char, decltype(&std::free)> bytes(
        static_cast<char*>(std::calloc(size + 1, 1)), std::free);
    ASSERT_NE(bytes, nullptr);
    const std::string_view view(bytes.get(), size + 1);
    bytes.get()[size] = 1;
    for (int i = 0; i < 1000; ++i) {
      const std::string key = std::to_string(i);
      const uint64_t position =
          reference::kClassicMurmurHash2.hash(key) % (size * 8);
      char& byte = bytes.get()[position / 8];
      EXPECT_FALSE(internal::MayMatchUnparsed(view, Hash::kMurmurHash2, key));
      byte = static_cast<char>(1 << position % 8);
      EXPECT_TRUE(internal::MayMatchUnparsed(view, Hash::kMurmurHash2, key));
      byte = 0;
    }
  }
}

TEST(ClassicSmallFilter, BuildsAsFilterBuilder) {
  test::FreshRandom random;
  for (const Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    for (const size_t n : {0u, 1u, 2u, 7u, 100u, 1638u, 1639u, 1640u, 3000u}) {
      // 1638 keys of 10 bits are the last that are built directly.
      for (const double bits_per_key : {0.0, 0.5, 1.0, 7.77, 10.0, 43.0}) {
        const FilterOptions options =
            test::OptionsOf(Layout::kClassic, bits_per_key, hash);
        const auto keys = random.Keys(n, 1 + random.Below(30));
        const std::string expected = "before" + test::RawFilter(keys, options);
        std::string filter = "before";
        internal::AppendFilter(
            options, n, [&](size_t i) -> std::string_view { return keys[i]; },
            &filter);
        ASSERT_EQ(filter, expected) << n << " keys of " << bits_per_key;
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom
