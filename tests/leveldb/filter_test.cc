// The LevelDB policy and filter blocks compared with LevelDB's own: the same
// bytes, the same answers; and the policy without memory.
#include "deltabloom/filter.h"

#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/table_builder.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "deltabloom/leveldb.h"
#include "tests/filter_block_golden.h"
#include "tests/filters.h"
#include "tests/random.h"
#include "tests/util/replaced_new.h"

namespace deltabloom {
namespace {

using PolicyPointer = std::unique_ptr<const leveldb::FilterPolicy>;

PolicyPointer LevelDBs(int bits_per_key) {
  return PolicyPointer(leveldb::NewBloomFilterPolicy(bits_per_key));
}

std::string Create(const leveldb::FilterPolicy& policy,
                   const std::vector<std::string>& keys) {
  const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
  std::string dst = "what was there";
  const std::string before = dst;
  policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &dst);
  EXPECT_EQ(dst.substr(0, before.size()), before);
  return dst.substr(before.size());
}

void ExpectAllMatch(const leveldb::FilterPolicy& policy,
                    const std::string& filter,
                    const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(policy.KeyMayMatch(key, filter));
  }
}

TEST(LevelDBPolicy, Names) {
  EXPECT_STREQ(NewLevelDBBloomFilterPolicy(10)->Name(), LevelDBs(10)->Name());
  FilterOptions options;
  const std::string own = NewLevelDBFilterPolicy(options)->Name();
  EXPECT_EQ(own, NewFilterPolicy(options)->Name());
  EXPECT_NE(own, LevelDBs(10)->Name());
  options.hash = Hash::kLevelDB;
  EXPECT_STREQ(NewLevelDBFilterPolicy(options)->Name(), LevelDBs(10)->Name());
}

TEST(LevelDBPolicy, BitsPerKeyOutOfRange) {
  EXPECT_EQ(NewLevelDBBloomFilterPolicy(-1e-9), nullptr);
  EXPECT_EQ(NewLevelDBBloomFilterPolicy(1000.001), nullptr);
  EXPECT_EQ(NewLevelDBBloomFilterPolicy(std::nan("")), nullptr);
  // LevelDB would run without a filter and say nothing. The text says that it
  // is a number per key: of all keys it is easily thought to be.
  std::string error;
  EXPECT_EQ(NewLevelDBBloomFilterPolicy(1 << 30, &error), nullptr);
  EXPECT_EQ(
      error,
      "bits_per_key = 1073741824 is out of range: use 0 to 1000, 10 gives "
      "about 1 % false positives");
  FilterOptions options;
  options.layout = Layout::kCompact;
  options.hash = Hash::kLevelDB;
  EXPECT_EQ(NewLevelDBFilterPolicy(options, &error), nullptr);
  EXPECT_EQ(error, options.Validate());
  EXPECT_NE(NewLevelDBBloomFilterPolicy(0), nullptr);
  EXPECT_NE(NewLevelDBBloomFilterPolicy(1000), nullptr);
}

TEST(LevelDBPolicy, SameBytesAndAnswersAsLevelDB) {
  test::FreshRandom random;
  std::vector<size_t> sizes;
  for (size_t n = 0; n <= 100; ++n) sizes.push_back(n);
  sizes.insert(sizes.end(), {127, 128, 1000, 1023, 4096, 10007});
  const auto absent = random.MixedKeys(200);
  for (int bits_per_key :
       {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,  14,  15,  16,
        20, 24, 29, 30, 31, 40, 42, 43, 44, 45, 50, 64, 99, 100, 255, 1000}) {
    const PolicyPointer theirs = LevelDBs(bits_per_key);
    const PolicyPointer ours = NewLevelDBBloomFilterPolicy(bits_per_key);
    for (size_t n : sizes) {
      if (n > 100 && bits_per_key > 50) continue;
      SCOPED_TRACE("bits_per_key " + std::to_string(bits_per_key) + " keys " +
                   std::to_string(n));
      auto keys = random.MixedKeys(n);
      if (n > 2) keys[1] = keys[0];  // duplicates count
      const std::string filter = Create(*ours, keys);
      ASSERT_EQ(filter, Create(*theirs, keys));
      ExpectAllMatch(*ours, filter, keys);
      for (const std::string& key : absent) {
        ASSERT_EQ(ours->KeyMayMatch(key, filter),
                  theirs->KeyMayMatch(key, filter));
      }
    }
  }
}

TEST(LevelDBPolicy, LevelDBReadsFractionalBitsPerKey) {
  const auto keys = test::Random(test::SeedOr(1)).MixedKeys(999);
  const std::string filter = Create(*NewLevelDBBloomFilterPolicy(9.7), keys);
  EXPECT_EQ(filter.size(), (999 * 9700 / 1000 + 7) / 8 + 1);
  ExpectAllMatch(*LevelDBs(10), filter, keys);
}

TEST(LevelDBPolicy, SameAnswersAsLevelDBForAnyBytes) {
  test::FreshRandom random;
  const PolicyPointer theirs = LevelDBs(10);
  const PolicyPointer ours = NewLevelDBBloomFilterPolicy(10);
  const auto keys = random.MixedKeys(8);
  int absent = 0;
  int may_match = 0;
  for (size_t size = 0; size <= 64; ++size) {
    for (int last_byte = 0; last_byte < 256; ++last_byte) {
      std::string filter = random.Key(size);
      if (size > 0) filter.back() = static_cast<char>(last_byte);
      for (const std::string& key : keys) {
        const bool expected = theirs->KeyMayMatch(key, filter);
        ASSERT_EQ(ours->KeyMayMatch(key, filter), expected)
            << "size " << size << " last byte " << last_byte;
        ++(expected ? may_match : absent);
      }
    }
  }
  EXPECT_GT(absent, 1000);
  EXPECT_GT(may_match, 1000);
}

// A policy with Deltabloom's own name writes any layout, and such policies read
// each other's filters. Under its own name LevelDB could not read another
// layout.
TEST(LevelDBPolicy, OwnName) {
  test::Random random(test::SeedOr(2));
  const auto keys = random.MixedKeys(5000);
  for (const Layout layout :
       {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    const FilterOptions options = test::OptionsOf(layout, 12);
    const PolicyPointer policy = NewLevelDBFilterPolicy(options);
    const std::string filter = Create(*policy, keys);
    EXPECT_EQ(filter, test::RawFilter(keys, options));
    ExpectAllMatch(*policy, filter, keys);
    ExpectAllMatch(*NewLevelDBFilterPolicy({}), filter, keys);
    int positives = 0;
    for (const std::string& key : random.Keys(1000, 20)) {
      positives += policy->KeyMayMatch(key, filter);
    }
    EXPECT_LT(positives, 100);
    if (layout == Layout::kClassic) continue;
    ExpectAllMatch(*LevelDBs(10), filter, keys);
    EXPECT_EQ(
        NewLevelDBFilterPolicy(test::OptionsOf(layout, 12, Hash::kLevelDB)),
        nullptr);
  }
}

// If memory runs out once or for good, LevelDB sees no exception, and the
// filter matches every key. Compact fails when its payload is already
// allocated.
TEST(LevelDBPolicy, OutOfMemory) {
  constexpr int kKeys = 3000;  // enough that building allocates
  const std::vector<std::string> texts = test::Random(1).Keys(kKeys, 10);
  const std::vector<leveldb::Slice> keys(texts.begin(), texts.end());
  for (const bool bloom : {true, false}) {
    const auto policy =
        bloom ? NewLevelDBBloomFilterPolicy(10)
              : NewLevelDBFilterPolicy(test::OptionsOf(Layout::kCompact));
    std::string complete(100, 'x');  // more than a string has in itself
    const std::string before = complete;
    policy->CreateFilter(keys.data(), kKeys, &complete);
    // The first allocation is for the two bytes. LevelDB cannot go on without
    // them, as no filter of fewer bytes matches every key.
    std::string full(before);
    full.shrink_to_fit();
    EXPECT_DEATH(
        {
          test::FailAllocation(0);
          policy->CreateFilter(keys.data(), kKeys, &full);
        },
        "bad_alloc");
    for (const bool and_later_ones : {false, true}) {
      std::string dst;
      long failures = 1;
      for (; failures < 100; ++failures) {
        dst = std::string(before);
        dst.shrink_to_fit();
        test::FailAllocation(failures, and_later_ones);
        policy->CreateFilter(keys.data(), kKeys, &dst);
        const bool failed = test::AllocationFailed();
        test::FailAllocation(-1);
        if (!failed) break;
        ASSERT_EQ(dst, before + std::string(2, '\0')) << failures;
      }
      EXPECT_EQ(dst, complete);
      EXPECT_GT(failures, 1);
    }
  }
}

class StringFile : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    contents.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string contents;
};

// The filter block of a table of `blocks`, whose entries are in order, written
// by LevelDB. Sets the offsets; the last block must be empty and gets the end
// of the data.
std::string WriteTable(const leveldb::FilterPolicy* policy,
                       std::vector<test::GoldenDataBlock>* blocks) {
  leveldb::Options options;
  options.filter_policy = policy;
  options.compression = leveldb::kNoCompression;
  options.block_size = size_t{1} << 30;  // only Flush ends a block
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (test::GoldenDataBlock& block : *blocks) {
    block.offset = file.contents.size();
    for (const auto& [key, value_size] : block.entries) {
      builder.Add(key, std::string(value_size, 'v'));
    }
    builder.Flush();
  }
  EXPECT_TRUE(builder.Finish().ok());
  // It begins where the data ends. The metaindex, after the 5 bytes of the
  // block's trailer, begins with 3 bytes and the filter's name.
  const uint64_t start = blocks->back().offset;
  const size_t name = file.contents.rfind("filter.leveldb.BuiltinBloomFilter2");
  EXPECT_NE(name, std::string::npos);
  return file.contents.substr(start, name - 3 - 5 - start);
}

// The golden file is what the installed LevelDB writes.
TEST(FilterBlock, GoldensAreLevelDBs) {
  for (const auto& golden : test::ReadGoldenFilterBlocks()) {
    const PolicyPointer policy = LevelDBs(golden.bits_per_key);
    auto blocks = golden.blocks;
    EXPECT_EQ(WriteTable(policy.get(), &blocks), golden.bytes);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].offset, golden.blocks[i].offset);
    }
  }
}

TEST(FilterBlock, RandomTablesEqualLevelDBs) {
  test::FreshRandom random;
  for (int table = 0; table < 200; ++table) {
    const auto all = random.MixedKeys(random.Below(400));
    const std::set<std::string> keys(all.begin(), all.end());
    const uint64_t max_value_size = uint64_t{1} << random.Below(14);
    std::vector<test::GoldenDataBlock> blocks(1);
    for (const std::string& key : keys) {
      if (random.Below(10) == 0) blocks.emplace_back();
      blocks.back().entries.emplace_back(key, random.Below(max_value_size));
    }
    if (!blocks.back().entries.empty()) blocks.emplace_back();

    const int bits_per_key = static_cast<int>(random.Below(33));
    const PolicyPointer theirs = LevelDBs(bits_per_key);
    const auto ours = NewLevelDBBloomFilterPolicy(bits_per_key);
    const std::string block = WriteTable(theirs.get(), &blocks);
    ASSERT_EQ(WriteTable(ours.get(), &blocks), block);
    const auto building = NewFilterPolicy(
        test::OptionsOf(Layout::kClassic, bits_per_key, Hash::kLevelDB));
    FilterBlockBuilder builder(building.get());
    for (const auto& data_block : blocks) {
      builder.StartBlock(data_block.offset);
      for (const auto& entry : data_block.entries) builder.AddKey(entry.first);
    }
    ASSERT_EQ(builder.Finish(), block);

    const auto policy =
        NewFilterPolicy(test::OptionsOf(Layout::kClassic, 10, Hash::kLevelDB));
    const FilterBlockReader reader(policy.get(), block);
    for (const auto& data_block : blocks) {
      for (const auto& entry : data_block.entries) {
        ASSERT_TRUE(reader.KeyMayMatch(data_block.offset, entry.first));
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom
