// What a filter block's reader answers: to every malformed block, to random
// tables, and to blocks that LevelDB wrote.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "deltabloom/filter_block.h"
#include "tests/filter_block_golden.h"
#include "tests/random.h"
#include "tests/table/filter_block_util.h"

namespace deltabloom {
namespace {

using test::Block;
using test::ListPolicy;

bool MayMatch(const std::string& block, uint64_t offset,
              const std::string& key) {
  // In a buffer of its own, so that ASan sees a read past the end.
  const std::vector<char> bytes(block.begin(), block.end());
  ListPolicy policy;
  return FilterBlockReader(&policy, {bytes.data(), bytes.size()})
      .KeyMayMatch(offset, key);
}

TEST(FilterBlockReader, Malformed) {
  const std::string filters = "/aaa/bbb";
  const std::string good = Block(filters, {0, 4});
  ASSERT_FALSE(MayMatch(good, 0, "bbb"));
  ASSERT_FALSE(MayMatch(good, 2048, "aaa"));

  // The good block with more bytes between its offsets and array_offset.
  const auto with_extra = [&](size_t bytes) {
    std::string block = good;
    return block.insert(good.size() - 5, bytes, '\0');
  };

  struct Case {
    const char* what;
    std::string block;
    uint64_t offset;
    bool may_match;
  };
  const Case kCases[] = {
      {"nothing", "", 0, true},
      {"shorter than 5 bytes", std::string(4, '\0'), 0, true},
      {"base_lg 64", Block(filters, {0, 4}, 8, 64), 0, true},
      {"base_lg 128", Block(filters, {0, 4}, 8, 128), 0, true},
      {"base_lg 255", Block(filters, {0, 4}, 8, 255), 0, true},
      {"base_lg 63", Block(filters, {0, 4}, 8, 63), 0, false},
      {"base_lg 63, second window", Block(filters, {0, 4}, 8, 63), ~uint64_t{0},
       false},
      {"array_offset at its own place", Block(filters, {}, 8, 11), 0, true},
      {"array_offset past its own place", Block(filters, {0, 4}, 17, 11), 0,
       true},
      {"array_offset 2^32 - 1", Block(filters, {0, 4}, 0xffffffff, 11), 0,
       true},
      {"offsets and a quarter", with_extra(1), 0, true},
      {"offsets and a half", with_extra(2), 0, true},
      {"offsets and three quarters", with_extra(3), 0, true},
      {"window n", good, 4096, true},
      {"window 2^53 - 1", good, ~uint64_t{0}, true},
      {"offsets decrease", Block(filters, {5, 4}), 0, true},
      {"offsets decrease in front of a good window", Block(filters, {5, 4}),
       2048, false},
      {"last offset past array_offset", Block(filters, {0, 9}), 2048, true},
      {"filter ends past array_offset", Block(filters, {0, 9}), 0, true},
      {"equal offsets past array_offset", Block(filters, {9, 9}), 0, true},
      {"equal offsets of 2^32 - 1", Block(filters, {0xffffffff, 0xffffffff}), 0,
       true},
      {"equal offsets at array_offset", Block(filters, {8, 8}), 0, false},
      {"equal offsets inside", Block(filters, {3, 3}), 0, false},
      {"filter of one byte", Block(filters, {0, 1}), 0, true},
      {"no filter", Block(std::string(2, '\0'), {0}), 0, true},
      {"two bytes, one of them zero", Block(std::string("\0x", 2), {0}), 0,
       false},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(MayMatch(c.block, c.offset, "none such"), c.may_match) << c.what;
  }
}

TEST(FilterBlockReader, EveryPrefixAndEveryByteIsSafe) {
  const std::string good = Block("/aaa/bbb/ccc", {0, 4, 4, 8});
  const uint64_t kOffsets[] = {0, 2048, 4096, 6144, 8192, ~uint64_t{0}};
  for (size_t size = 0; size < good.size(); ++size) {
    for (uint64_t offset : kOffsets) {
      MayMatch(good.substr(0, size), offset, "aaa");
    }
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string block = good;
      block[i] = static_cast<char>(byte);
      for (uint64_t offset : kOffsets) MayMatch(block, offset, "aaa");
    }
  }
}

TEST(FilterBlockReader, Describe) {
  ListPolicy policy;
  const auto describe = [&](const std::string& block) {
    return FilterBlockReader(&policy, block).Describe();
  };
  const std::string good = Block("/aaa/bbb", {0, 4});
  EXPECT_EQ(describe(good),
            "filter block, 2 windows of 2^11 bytes, 8 bytes of filters");
  EXPECT_EQ(FilterBlockReader(&policy, good).NumWindows(), 2u);
  EXPECT_EQ(describe(""),
            "every key may match: the block is shorter than 5 bytes");
  EXPECT_EQ(describe(Block("", {}, 0, 64)),
            "every key may match: base_lg is above 63");
  EXPECT_EQ(describe(Block("", {}, 1, 11)),
            "every key may match: the offsets start behind the end of the "
            "block");
  EXPECT_EQ(describe(Block("x", {}, 0, 11)),
            "every key may match: the offsets do not fill their place");
  EXPECT_EQ(FilterBlockReader(&policy, "x").NumWindows(), 0u);
}

// Random tables against a plain map from window to keys.
TEST(FilterBlock, RandomTables) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  const auto below = [&](uint64_t n) { return random.Below(n); };
  ListPolicy policy;
  for (int table = 0; table < 100; ++table) {
    const unsigned base_lg = static_cast<unsigned>(below(16));
    FilterBlockBuilder builder(&policy, base_lg);
    std::map<uint64_t, std::set<std::string>> windows;
    uint64_t offset = below(2) * below(100);
    uint64_t last_window = 0;
    for (uint64_t blocks = below(30); blocks > 0; --blocks) {
      builder.StartBlock(offset);
      last_window = offset >> base_lg;
      for (uint64_t keys = below(6); keys > 0; --keys) {
        const std::string key = std::to_string(below(1000));
        builder.AddKey(key);
        windows[last_window].insert(key);
      }
      offset += below(4) * below(uint64_t{2} << base_lg);
    }
    const std::string block(builder.Finish());
    ASSERT_EQ(builder.error(), "");
    const FilterBlockReader reader(&policy, block);
    for (uint64_t window = 0; window < reader.NumWindows(); ++window) {
      const uint64_t at = (window << base_lg) + below(uint64_t{1} << base_lg);
      for (int key = 0; key < 1000; ++key) {
        const std::string text = std::to_string(key);
        ASSERT_EQ(reader.KeyMayMatch(at, text),
                  windows[window].count(text) == 1)
            << "window " << window << " key " << text;
      }
    }
    ASSERT_LE(reader.NumWindows(), last_window + 1);
    for (const auto& [window, keys] : windows) {
      ASSERT_TRUE(keys.empty() || window < reader.NumWindows());
    }
  }
}

TEST(FilterBlock, EqualsLevelDB) {
  const auto goldens = test::ReadGoldenFilterBlocks();
  ASSERT_GE(goldens.size(), 8u);
  for (const auto& golden : goldens) {
    FilterOptions options;
    options.bits_per_key = golden.bits_per_key;
    options.hash = Hash::kLevelDB;
    const auto policy = NewFilterPolicy(options);
    FilterBlockBuilder builder(policy.get());
    for (const auto& block : golden.blocks) {
      builder.StartBlock(block.offset);
      for (const auto& [key, value_size] : block.entries) builder.AddKey(key);
    }
    EXPECT_EQ(builder.Finish(), golden.bytes);

    const FilterBlockReader reader(policy.get(), golden.bytes);
    for (const auto& block : golden.blocks) {
      for (const auto& [key, value_size] : block.entries) {
        EXPECT_TRUE(reader.KeyMayMatch(block.offset, key)) << key;
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom
