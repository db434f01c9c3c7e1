// The short ways to build and ask a filter give the bytes and answers of the
// long ones.
#include "table/small_filter.h"

#include <memory>

#include "tests/filters.h"
#include "tests/random.h"
#include "tests/reference/reference.h"

namespace deltabloom::internal {
namespace {

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
        ASSERT_EQ(MayMatchUnparsed(view, hash, key), expected)
            << "size " << view.size() << " last byte " << last;
        absent += expected ? 0 : 1;
      }
    }
    EXPECT_GT(absent, 5000);
    EXPECT_LT(absent, 75000);
  }
}

// Only up to 2^28 bytes are the positions in reach of 32 bits.
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
      EXPECT_FALSE(MayMatchUnparsed(view, Hash::kMurmurHash2, key));
      byte = static_cast<char>(1 << position % 8);
      EXPECT_TRUE(MayMatchUnparsed(view, Hash::kMurmurHash2, key));
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
        AppendFilter(
            options, n, [&](size_t i) -> std::string_view { return keys[i]; },
            &filter);
        ASSERT_EQ(filter, expected) << n << " keys of " << bits_per_key;
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
