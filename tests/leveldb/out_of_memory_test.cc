// Out of memory while a filter is built: LevelDB sees no exception, and the
// filter matches every key.
#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <string>
#include <vector>

#include "deltabloom/leveldb.h"
#include "tests/util/replaced_new.h"

namespace deltabloom {
namespace {

// Compact fails when its payload is there already.
TEST(LevelDBPolicy, OutOfMemory) {
  constexpr int kKeys = 3000;  // enough that building allocates
  std::vector<std::string> texts;
  for (int i = 0; i < kKeys; ++i) texts.push_back("key" + std::to_string(i));
  const std::vector<leveldb::Slice> keys(texts.begin(), texts.end());
  FilterOptions compact;
  compact.layout = Layout::kCompact;
  for (const bool bloom : {true, false}) {
    const auto policy = bloom ? NewLevelDBBloomFilterPolicy(10)
                              : NewLevelDBFilterPolicy(compact);
    std::string complete = "before";
    policy->CreateFilter(keys.data(), kKeys, &complete);
    std::string dst;
    dst.reserve(2 * complete.size());  // LevelDB's string does not fail here
    long failures = 0;
    for (; failures < 100; ++failures) {
      dst = "before";
      test::FailAllocation(failures);
      policy->CreateFilter(keys.data(), kKeys, &dst);
      const bool failed = test::AllocationFailed();
      test::FailAllocation(-1);
      if (!failed) break;
      ASSERT_EQ(dst, std::string("before\0\0", 8)) << failures;
    }
    EXPECT_EQ(dst, complete);
    EXPECT_GT(failures, 0);
  }
}

}  // namespace
}  // namespace deltabloom
