// Options of RocksDB beside a key transform: those that hash the bytes of keys
// are refused, others lose no key.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/slice_transform.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Options;
using rocksdb::Status;

constexpr int kKeys = 1000;

using Change = std::function<void(Options*, BlockBasedTableOptions*)>;

// What opening a database says; one that opens has to find every key.
Status OpenWith(const std::string& transform, const Change& change) {
  const EqualityComparator comparator(kIgnoreCase);
  const DbConfig config = {
      PolicyWith(transform), false,
      [&](Options* options, BlockBasedTableOptions* table) {
        options->comparator = &comparator;
        change(options, table);
      }};
  TempDir dir;
  std::unique_ptr<rocksdb::DB> db;
  const Status status =
      rocksdb::DB::Open(MakeOptions(config), dir.Path("db"), OpensInto(&db));
  if (status.ok()) {
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_ROCKSDB_OK(db->Put({}, Key(2 * i), "value"));
    }
    ExpectNoneMissed(GetUpper(db.get(), kKeys));  // in the memtable
    EXPECT_ROCKSDB_OK(db->Flush({}));
    ExpectNoneMissed(GetUpper(db.get(), kKeys));
    ExpectNoneMissed(GetUpper(db.get(), kKeys));  // from caches
  }
  return status;
}

std::shared_ptr<const rocksdb::SliceTransform> Prefixes() {
  return std::shared_ptr<const rocksdb::SliceTransform>(
      rocksdb::NewFixedPrefixTransform(4));
}

void WholeKeysInTheMemtable(Options* options, BlockBasedTableOptions*) {
  options->memtable_whole_key_filtering = true;
  options->memtable_prefix_bloom_size_ratio = 0.1;
}

void PrefixesInTheMemtable(Options* options, BlockBasedTableOptions*) {
  options->prefix_extractor = Prefixes();
  options->memtable_prefix_bloom_size_ratio = 0.1;
}

void SkipLists(Options* options, BlockBasedTableOptions*) {
  options->prefix_extractor = Prefixes();
  options->allow_concurrent_memtable_write = false;
  options->memtable_factory.reset(rocksdb::NewHashSkipListRepFactory(1000));
}

void LinkLists(Options* options, BlockBasedTableOptions*) {
  options->prefix_extractor = Prefixes();
  options->allow_concurrent_memtable_write = false;
  options->memtable_factory.reset(rocksdb::NewHashLinkListRepFactory(1000));
}

void HashIndex(Options* options, BlockBasedTableOptions* table) {
  options->prefix_extractor = Prefixes();
  table->index_type = BlockBasedTableOptions::kHashSearch;
}

struct Refused {
  const char* option;
  void (*change)(Options*, BlockBasedTableOptions*);
};

constexpr Refused kRefused[] = {
    {"memtable_whole_key_filtering", WholeKeysInTheMemtable},
    {"memtable_prefix_bloom_size_ratio with a prefix_extractor",
     PrefixesInTheMemtable},
    {"memtable_factory HashSkipListRepFactory", SkipLists},
    {"memtable_factory HashLinkListRepFactory", LinkLists},
    {"index_type kHashSearch", HashIndex}};

TEST(TransformConflictsTest, WhereRocksDBHashesBytes) {
  for (const Refused& refused : kRefused) {
    const Status status = OpenWith("ascii_lowercase", refused.change);
    EXPECT_TRUE(status.IsInvalidArgument())
        << refused.option << " " << status.ToString();
    EXPECT_NE(
        status.ToString().find(std::string("deltabloom: ") + refused.option +
                               " hashes the bytes of keys in RocksDB"),
        std::string::npos)
        << status.ToString();
    EXPECT_EQ(status.ToString().find('\n'), std::string::npos);
  }
}

// RocksDB asks when it opens a database only: what a program calls before
// CreateColumnFamily.
TEST(TransformConflictsTest, AskedByTheProgram) {
  for (const Refused& refused : kRefused) {
    const Options options =
        MakeOptions({PolicyWith("ascii_lowercase"), false, refused.change});
    EXPECT_TRUE(options.table_factory->ValidateOptions(options, options)
                    .IsInvalidArgument())
        << refused.option;
    EXPECT_ROCKSDB_OK(MakeOptions({PolicyWith("none"), false, refused.change})
                          .table_factory->ValidateOptions(options, options));
  }
}

TEST(TransformConflictsTest, WithoutATransformNothingIsRefused) {
  for (const Refused& refused : kRefused) {
    TempDir dir;
    const DbConfig config{PolicyWith("none"), false, refused.change};
    const auto db = Open(MakeOptions(config), dir.Path("db"));
    Load(db.get(), 0, kKeys);
    ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  }
}

// The comparator does not deny that keys of different bytes may be equal, so
// RocksDB makes no hash index.
void HashedDataBlocks(Options*, BlockBasedTableOptions* table) {
  table->data_block_index_type =
      BlockBasedTableOptions::kDataBlockBinaryAndHash;
}

// Spellings have rows of their own.
void RowCache(Options* options, BlockBasedTableOptions*) {
  options->row_cache = rocksdb::NewLRUCache(1 << 20);
}

void Hints(Options* options, BlockBasedTableOptions*) {
  options->memtable_insert_with_hint_prefix_extractor = Prefixes();
}

void WholeKeysWithoutASize(Options* options, BlockBasedTableOptions*) {
  options->memtable_whole_key_filtering = true;
}

void FirstKeys(Options* options, BlockBasedTableOptions* table) {
  options->prefix_extractor = Prefixes();
  table->index_type = BlockBasedTableOptions::kBinarySearchWithFirstKey;
}

TEST(TransformConflictsTest, WhatLosesNoKey) {
  for (const auto change :
       {HashedDataBlocks, RowCache, Hints, WholeKeysWithoutASize, FirstKeys}) {
    EXPECT_ROCKSDB_OK(OpenWith("ascii_lowercase", change));
  }
}

}  // namespace
}  // namespace deltabloom::testing
