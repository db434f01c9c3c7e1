// Filter blocks next to those that LevelDB writes into real tables.
#include "deltabloom/filter_block.h"

#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/table_builder.h>

#include <memory>
#include <set>

#include "deltabloom/leveldb.h"
#include "tests/filter_block_golden.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

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

uint64_t ReadVarint(const char** from) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*(*from)++);
    value |= uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
}

// The filter block of a table whose metaindex holds nothing else: the footer's
// last 48 bytes start with the place of the metaindex, whose only entry tells
// the filter block's.
std::string FilterBlockOf(const std::string& table) {
  const char* footer = table.data() + table.size() - 48;
  const char* entry = table.data() + ReadVarint(&footer);
  ReadVarint(&entry);  // shared bytes of the key: 0
  const uint64_t key_size = ReadVarint(&entry);
  ReadVarint(&entry);  // size of the value
  EXPECT_EQ(std::string(entry, key_size), "filter.leveldb.BuiltinBloomFilter2");
  entry += key_size;
  const uint64_t offset = ReadVarint(&entry);
  return table.substr(offset, ReadVarint(&entry));
}

// A table of `blocks`, whose entries are in order, written by LevelDB. Sets
// the offsets; the last block must be empty and gets the end of the data.
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
  return FilterBlockOf(file.contents);
}

std::string BuildOurs(double bits_per_key,
                      const std::vector<test::GoldenDataBlock>& blocks) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  options.hash = Hash::kLevelDB;
  const auto policy = NewFilterPolicy(options);
  FilterBlockBuilder builder(policy.get());
  for (const test::GoldenDataBlock& block : blocks) {
    builder.StartBlock(block.offset);
    for (const auto& entry : block.entries) builder.AddKey(entry.first);
  }
  return std::string(builder.Finish());
}

// The golden file is what the installed LevelDB writes.
TEST(FilterBlock, GoldensAreLevelDBs) {
  for (const auto& golden : test::ReadGoldenFilterBlocks()) {
    const std::unique_ptr<const leveldb::FilterPolicy> policy(
        leveldb::NewBloomFilterPolicy(golden.bits_per_key));
    auto blocks = golden.blocks;
    EXPECT_EQ(WriteTable(policy.get(), &blocks), golden.bytes);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].offset, golden.blocks[i].offset);
    }
  }
}

TEST(FilterBlock, RandomTablesEqualLevelDBs) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
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
    const std::unique_ptr<const leveldb::FilterPolicy> theirs(
        leveldb::NewBloomFilterPolicy(bits_per_key));
    const auto ours = NewLevelDBBloomFilterPolicy(bits_per_key);
    const std::string block = WriteTable(theirs.get(), &blocks);
    ASSERT_EQ(BuildOurs(bits_per_key, blocks), block);
    ASSERT_EQ(WriteTable(ours.get(), &blocks), block);

    FilterOptions options;
    options.hash = Hash::kLevelDB;
    const auto policy = NewFilterPolicy(options);
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
