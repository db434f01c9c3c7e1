// Out of memory while a filter is built: LevelDB sees no exception, and the
// filter matches every key.
#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "deltabloom/leveldb.h"

namespace {

// Allocations that still succeed; negative: all of them.
int allocations_left = -1;

}  // namespace

void* operator new(size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t size) { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace deltabloom {
namespace {

void CheckOutOfMemory(const leveldb::FilterPolicy& policy) {
  // So many that building allocates.
  constexpr int kKeys = 3000;
  std::vector<std::string> texts;
  for (int i = 0; i < kKeys; ++i) texts.push_back("key" + std::to_string(i));
  const std::vector<leveldb::Slice> keys(texts.begin(), texts.end());
  std::string complete = "before";
  policy.CreateFilter(keys.data(), kKeys, &complete);

  std::string dst;
  dst.reserve(
      2 * complete.size());  // LevelDB's own string, which may not fail here
  int failures = 0;
  for (int allowed = 0; allowed < 100; ++allowed) {
    dst = "before";
    allocations_left = allowed;
    policy.CreateFilter(keys.data(), kKeys, &dst);
    allocations_left = -1;
    if (dst == complete) break;
    ++failures;
    ASSERT_EQ(dst, std::string("before\0\0", 8)) << allowed;
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 100);
}

TEST(LevelDBPolicy, OutOfMemory) {
  CheckOutOfMemory(*NewLevelDBBloomFilterPolicy(10));
}

// Fails when its payload is there already.
TEST(LevelDBPolicy, OutOfMemoryCompact) {
  FilterOptions options;
  options.layout = Layout::kCompact;
  CheckOutOfMemory(*NewLevelDBFilterPolicy(options));
}

}  // namespace
}  // namespace deltabloom
