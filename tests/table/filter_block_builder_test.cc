// The calls of a filter block's builder, right and wrong.
#include <gtest/gtest.h>

#include "deltabloom/filter_block.h"
#include "table/filter_block_assembly.h"
#include "tests/table/filter_block_util.h"

namespace deltabloom {

namespace {

using test::Block;
using test::ListPolicy;

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

TEST(FilterBlockBuilder, NoBlocks) {
  ListPolicy policy;
  FilterBlockBuilder builder(&policy);
  EXPECT_EQ(builder.Finish(), Block("", {}));
  EXPECT_EQ(builder.error(), "");
}

TEST(FilterBlockBuilder, BlocksOfOneWindowShareAFilter) {
  ListPolicy policy;
  FilterBlockBuilder builder(&policy);
  builder.StartBlock(0);
  builder.AddKey("a");
  builder.AddKey("b");
  builder.StartBlock(2047);
  builder.AddKey("c");
  builder.StartBlock(2048);
  builder.AddKey("d");
  EXPECT_EQ(builder.Finish(), Block("/a/b/c/d", {0, 6}));
}

TEST(FilterBlockBuilder, WindowsWithoutKeysAreEmpty) {
  ListPolicy policy;
  FilterBlockBuilder builder(&policy);
  builder.StartBlock(5000);
  builder.AddKey("a");
  builder.StartBlock(9000);  // behind the last block: closes windows 2 and 3
  EXPECT_EQ(builder.Finish(), Block("/a", {0, 0, 0, 2}));
}

TEST(FilterBlockBuilder, KeysMayHaveAnyBytes) {
  FixedPolicy policy("filter");
  FilterBlockBuilder builder(&policy);
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
    // Under the policies of Deltabloom and LevelDB as well.
    EXPECT_TRUE(NewBloomFilterPolicy(10)->KeyMayMatch("a", {block.data(), 2}));
  }
}

// The wrong calls, each with the words its error must have.
TEST(FilterBlockBuilder, Errors) {
  struct Case {
    const char* words;
    void (*calls)(FilterBlockBuilder*);
  };
  const Case kCases[] = {
      {"StartBlock(4095) after StartBlock(4096)",
       [](FilterBlockBuilder* b) {
         b->StartBlock(4096);
         b->StartBlock(4095);
       }},
      {"StartBlock(10) after StartBlock(11)",  // within one window
       [](FilterBlockBuilder* b) {
         b->StartBlock(11);
         b->StartBlock(10);
       }},
      {"AddKey before the first StartBlock",
       [](FilterBlockBuilder* b) { b->AddKey("early"); }},
      {"AddKey after Finish",
       [](FilterBlockBuilder* b) {
         b->StartBlock(0);
         b->Finish();
         b->AddKey("late");
       }},
      {"StartBlock after Finish",
       [](FilterBlockBuilder* b) {
         b->Finish();
         b->StartBlock(0);
       }},
      {"Finish after Finish", [](FilterBlockBuilder* b) { b->Finish(); }},
      {"larger than 4294967295 bytes",
       [](FilterBlockBuilder* b) { b->StartBlock(~uint64_t{0}); }},
      {"larger than 4294967295 bytes",  // 2^30 windows are 4 GiB of offsets
       [](FilterBlockBuilder* b) { b->StartBlock(uint64_t{1} << 41); }},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.words);
    ListPolicy policy;
    FilterBlockBuilder builder(&policy);
    if (std::string(c.words) == "Finish after Finish") builder.Finish();
    c.calls(&builder);
    const std::string error = builder.error();
    EXPECT_NE(error.find(c.words), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    // Later calls do nothing: the first error stays, and there is no block.
    builder.StartBlock(~uint64_t{0});
    builder.AddKey("key");
    EXPECT_TRUE(builder.Finish().empty());
    EXPECT_EQ(builder.error(), error);
  }
}

TEST(FilterBlockBuilder, BaseLgOutOfRange) {
  ListPolicy policy;
  for (unsigned base_lg : {64u, 255u, 256u, ~0u}) {
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
    internal::FilterBlockAssembly builder(&policy, 11, limit);
    builder.StartBlock(0);
    builder.AddKey("abcd");
    EXPECT_EQ(builder.Finish().size(), limit < 14 ? 0 : 14);
    EXPECT_EQ(builder.error().empty(), limit == 14) << builder.error();
  }
  // The limit is also seen while windows are closed, not only at the end.
  internal::FilterBlockAssembly builder(&policy, 11, 18);
  builder.StartBlock(0);
  builder.AddKey("abcd");
  builder.StartBlock(2048);
  EXPECT_EQ(builder.error(), "");
  builder.StartBlock(4096);
  EXPECT_EQ(builder.error(), "");
  builder.StartBlock(6144);
  EXPECT_NE(builder.error().find("larger than 18 bytes"), std::string::npos);
}

}  // namespace
}  // namespace deltabloom
