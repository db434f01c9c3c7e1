// A read of one database that comes in the middle of a question of another, in
// one thread: a file system, a secondary cache or fibers can make one.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/rocksdb/range_db.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::FSRandomAccessFile;
using rocksdb::IODebugContext;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Called before each read of a table.
struct Hook {
  std::function<void()> call;
  bool running = false;

  void Run() {
    if (!call || running) return;
    running = true;
    call();
    running = false;
  }
};

class HookedFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  HookedFile(std::unique_ptr<FSRandomAccessFile>&& file, Hook* hook)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), hook_(hook) {}

  IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* debug) const override {
    hook_->Run();
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result,
                                                scratch, debug);
  }

 private:
  Hook* const hook_;
};

class HookedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit HookedFileSystem(Hook* hook)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), hook_(hook) {}

  const char* Name() const override { return "HookedFileSystem"; }

  IOStatus NewRandomAccessFile(const std::string& name,
                               const rocksdb::FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus status =
        FileSystemWrapper::NewRandomAccessFile(name, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<HookedFile>(std::move(*file), hook_);
    }
    return status;
  }

 private:
  Hook* const hook_;
};

class RangeNestedTest : public RangeTest {};

// The inner Get calls the extractor once, for the Bloom filter of a memtable:
// behind the call for the seek's prefix that looks like an upper bound.
TEST_P(RangeNestedTest, AGetWhileAFilterIsRead) {
  Hook hook;
  const std::unique_ptr<rocksdb::Env> env(
      rocksdb::NewCompositeEnv(std::make_shared<HookedFileSystem>(&hook)));
  rocksdb::Options options = MakeRangeOptions();
  options.env = env.get();
  auto* table =
      options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  table->cache_index_and_filter_blocks = true;
  table->block_cache = rocksdb::NewLRUCache(0);
  table->no_block_cache = false;
  const auto db = Open(options, Path());
  LoadNumbers(db.get());

  rocksdb::Options inner_options = options;
  inner_options.env = rocksdb::Env::Default();
  inner_options.memtable_prefix_bloom_size_ratio = 0.1;
  const auto inner = Open(inner_options, dir_.Path("inner"));
  ASSERT_ROCKSDB_OK(inner->Put({}, "key", "value"));

  std::string asked;
  int gets = 0;
  hook.call = [&] {
    std::string value;
    inner->Get({}, asked, &value);
    ++gets;
  };
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}));
  for (uint64_t i = 1; i < kKeys; ++i) {
    asked = Nth(i, 1000);
    at->Seek(Nth(i, 1));
    ASSERT_TRUE(at->Valid()) << i;
    ASSERT_EQ(at->key().ToString(), Nth(i + 1));
  }
  hook.call = nullptr;
  EXPECT_GT(gets, 0);
}

INSTANTIATE_TEST_SUITE_P(Filters, RangeNestedTest, ::testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "partitioned" : "full";
                         });

}  // namespace
}  // namespace deltabloom::testing
