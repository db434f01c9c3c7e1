// Filter blocks: the builder's calls, right and wrong; what the reader answers
// to malformed blocks, to random tables and to blocks that LevelDB wrote.
#include "deltabloom/filter_block.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_policy.h"
#include "tests/filter_block_golden.h"
#include "tests/filters.h"
#include "tests/random.h"
#include "util/coding.h"

namespace deltabloom {
namespace {

// A filter is its keys, each after a '/'.
class ListPolicy : public FilterPolicy {
 public:
  const char* Name() const override { return "test.List"; }

  void CreateFilter(const std::string_view* keys, size_t n,
                    std::string* dst) const override {
    for (size_t i = 0; i < n; ++i) {
      dst->append("/").append(keys[i].data(), keys[i].size());
    }
  }

  bool KeyMayMatch(std::string_view key,
                   std::string_view filter) const override {
    return (std::string(filter) + "/").find("/" + std::string(key) + "/") !=
           std::string::npos;
  }
};

// A block by hand: filters, offsets, array_offset, base_lg.
std::string Block(const std::string& filters, std::vector<uint32_t> offsets,
                  uint32_t array_offset, unsigned char base_lg) {
  std::string block = filters;
  offsets.push_back(array_offset);
  for (const uint32_t offset : offsets) {
    block.append(4, '\0');
    internal::StoreFixed32(&block[block.size() - 4], offset);
  }
  return block + static_cast<char>(base_lg);
}

std::string Block(const std::string& filters,
                  const std::vector<uint32_t>& offsets) {
  return Block(filters, offsets, static_cast<uint32_t>(filters.size()), 11);
}

// Gives back fixed bytes and takes every filter for one that holds nothing.
class FixedPolicy : public FilterPolicy {
 public:
  explicit FixedPolicy(std::string filter) : filter_(std::move(filter)) {}
  const char* Name() const override { return "test.Fixed"; }
  void CreateFilter(const std::string_view*, size_t,
                    std::string* dst) const override {
    dst->append(filter_);
  }
  bool KeyMayMatch(std::string_view, std::string_view) const override {
    return false;
  }

 private:
  const std::string filter_;
};

TEST(FilterBlockBuilder, Windows) {
  const struct {
    const char* what;
    std::vector<std::pair<uint64_t, std::string>>
        data_blocks;  // a key a letter
    std::string block;
  } kCases[] = {
      {"no blocks", {}, Block("", {})},
      {"blocks of one window share a filter",
       {{0, "ab"}, {2047, "c"}, {2048, "d"}},
       Block("/a/b/c/d", {0, 6})},
      {"windows without keys are empty; the end closes windows 2 and 3",
       {{5000, "a"}, {9000, ""}},
       Block("/a", {0, 0, 0, 2})},
  };
  ListPolicy policy;
  for (const auto& c : kCases) {
    FilterBlockBuilder builder(&policy);
    for (const auto& [offset, keys] : c.data_blocks) {
      builder.StartBlock(offset);
      for (const char key : keys) builder.AddKey({&key, 1});
    }
    EXPECT_EQ(builder.Finish(), c.block) << c.what;
    EXPECT_EQ(builder.error(), "") << c.what;
  }
  // The empty key is one.
  const FixedPolicy fixed("filter");
  FilterBlockBuilder builder(&fixed);
  builder.StartBlock(0);
  builder.AddKey("");
  EXPECT_EQ(builder.Finish(), Block("filter", {0}));
}

TEST(FilterBlockBuilder, BaseLg) {
  ListPolicy policy;
  for (unsigned base_lg = 0; base_lg <= 63; ++base_lg) {
    FilterBlockBuilder builder(&policy, base_lg);
    const uint64_t window = uint64_t{1} << base_lg;
    builder.StartBlock(0);
    builder.AddKey("a");
    builder.StartBlock(window - 1);
    if (base_lg > 0) builder.AddKey("b");
    builder.StartBlock(window);
    builder.AddKey("c");
    const std::string block(builder.Finish());
    const bool both = base_lg > 0;
    EXPECT_EQ(block, Block(both ? "/a/b/c" : "/a/c", {0, both ? 4u : 2u},
                           both ? 6 : 4, static_cast<unsigned char>(base_lg)));
    FilterBlockReader reader(&policy, block);
    EXPECT_TRUE(reader.KeyMayMatch(window - 1, "a"));
    EXPECT_FALSE(reader.KeyMayMatch(window - 1, "c"));
    EXPECT_TRUE(reader.KeyMayMatch(window, "c"));
    EXPECT_FALSE(reader.KeyMayMatch(window, "a"));
  }
}

TEST(FilterBlockBuilder, NoFilterMatchesEverything) {
  for (const char* filter : {"", "x"}) {
    FixedPolicy policy(filter);
    FilterBlockBuilder builder(&policy);
    builder.StartBlock(0);
    builder.AddKey("a");
    builder.StartBlock(2048);
    builder.AddKey("b");
    builder.StartBlock(6000);
    const std::string block(builder.Finish());
    EXPECT_EQ(block, Block(std::string(4, '\0'), {0, 2}));
    FilterBlockReader reader(&policy, block);
    EXPECT_TRUE(reader.KeyMayMatch(0, "a"));
    EXPECT_TRUE(reader.KeyMayMatch(2048, "b"));
    // The policies of Deltabloom and LevelDB answer the same.
    EXPECT_TRUE(NewBloomFilterPolicy(10)->KeyMayMatch("a", {block.data(), 2}));
  }
}

// The wrong calls, each with the words its error must have.
TEST(FilterBlockBuilder, Errors) {
  using Call = std::function<void(FilterBlockBuilder*)>;
  const auto start = [](uint64_t offset) {
    return [offset](FilterBlockBuilder* b) { b->StartBlock(offset); };
  };
  const Call add = [](FilterBlockBuilder* b) { b->AddKey("a"); };
  const Call finish = [](FilterBlockBuilder* b) { b->Finish(); };
  const std::pair<const char*, std::vector<Call>> kCases[] = {
      {"StartBlock(4095) after StartBlock(4096)", {start(4096), start(4095)}},
      // Within one window.
      {"StartBlock(10) after StartBlock(11)", {start(11), start(10)}},
      {"AddKey before the first StartBlock", {add}},
      {"AddKey after Finish", {start(0), finish, add}},
      {"StartBlock after Finish", {finish, start(0)}},
      {"Finish after Finish", {finish, finish}},
      {"larger than 4294967295 bytes", {start(~uint64_t{0})}},
      // 2^30 windows are 4 GiB of offsets.
      {"larger than 4294967295 bytes", {start(uint64_t{1} << 41)}},
  };
  for (const auto& [words, calls] : kCases) {
    SCOPED_TRACE(words);
    ListPolicy policy;
    FilterBlockBuilder builder(&policy);
    for (const Call& call : calls) call(&builder);
    const std::string error = builder.error();
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    // Later calls do nothing: the first error stays, and there is no block.
    builder.StartBlock(~uint64_t{0});
    builder.AddKey("key");
    EXPECT_TRUE(builder.Finish().empty());
    EXPECT_EQ(builder.error(), error);
  }
  for (unsigned base_lg : {64u, 255u, 256u, ~0u}) {
    ListPolicy policy;
    FilterBlockBuilder builder(&policy, base_lg);
    EXPECT_NE(builder.error().find("base_lg = " + std::to_string(base_lg)),
              std::string::npos);
    builder.StartBlock(0);
    builder.AddKey("a");
    EXPECT_TRUE(builder.Finish().empty());
  }
}

TEST(FilterBlockBuilder, SizeLimit) {
  ListPolicy policy;
  // One window of "/abcd" takes 5 + 4 + 5 bytes.
  for (uint64_t limit : {uint64_t{13}, uint64_t{14}}) {
    FilterBlockBuilder builder(&policy, 11, limit);
    builder.StartBlock(0);
    builder.AddKey("abcd");
    EXPECT_EQ(builder.Finish().size(), limit < 14 ? 0 : 14);
    EXPECT_EQ(builder.error().empty(), limit == 14) << builder.error();
  }
  // The limit is also seen while windows are closed, not only at the end.
  FilterBlockBuilder builder(&policy, 11, 18);
  builder.StartBlock(0);
  builder.AddKey("abcd");
  builder.StartBlock(2048);
  EXPECT_EQ(builder.error(), "");
  builder.StartBlock(4096);
  EXPECT_EQ(builder.error(), "");
  builder.StartBlock(6144);
  EXPECT_NE(builder.error().find("larger than 18 bytes"), std::string::npos);
}

bool MayMatch(const std::string& block, uint64_t offset,
              const std::string& key) {
  // The block is in a buffer of its own, so that ASan sees a read past the end.
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
  const std::string good = Block("/aaa/bbb", {0, 4});
  EXPECT_EQ(FilterBlockReader(&policy, good).Describe(),
            "filter block, 2 windows of 2^11 bytes, 8 bytes of filters");
  EXPECT_EQ(FilterBlockReader(&policy, good).NumWindows(), 2u);
  const std::pair<std::string, const char*> kErrors[] = {
      {"", "the block is shorter than 5 bytes"},
      {"x", "the block is shorter than 5 bytes"},
      {Block("", {}, 0, 64), "base_lg is above 63"},
      {Block("", {}, 1, 11), "the offsets start after the end of the block"},
      {Block("x", {}, 0, 11), "the offsets do not fill their place"},
  };
  for (const auto& [block, error] : kErrors) {
    const FilterBlockReader reader(&policy, block);
    EXPECT_EQ(reader.Describe(), std::string("every key may match: ") + error);
    EXPECT_EQ(reader.NumWindows(), 0u);
  }
}

// Random tables against a plain map from window to keys.
TEST(FilterBlock, RandomTables) {
  test::FreshRandom random;
  ListPolicy policy;
  for (int table = 0; table < 100; ++table) {
    const unsigned base_lg = static_cast<unsigned>(random.Below(16));
    FilterBlockBuilder builder(&policy, base_lg);
    std::map<uint64_t, std::set<std::string>> windows;
    uint64_t offset = random.Below(2) * random.Below(100);
    uint64_t last_window = 0;
    for (uint64_t blocks = random.Below(30); blocks > 0; --blocks) {
      builder.StartBlock(offset);
      last_window = offset >> base_lg;
      for (uint64_t keys = random.Below(6); keys > 0; --keys) {
        const std::string key = std::to_string(random.Below(1000));
        builder.AddKey(key);
        windows[last_window].insert(key);
      }
      offset += random.Below(4) * random.Below(uint64_t{2} << base_lg);
    }
    const std::string block(builder.Finish());
    ASSERT_EQ(builder.error(), "");
    const FilterBlockReader reader(&policy, block);
    for (uint64_t window = 0; window < reader.NumWindows(); ++window) {
      const uint64_t at =
          (window << base_lg) + random.Below(uint64_t{1} << base_lg);
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
    const auto policy = NewFilterPolicy(
        test::OptionsOf(Layout::kClassic, golden.bits_per_key, Hash::kLevelDB));
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
