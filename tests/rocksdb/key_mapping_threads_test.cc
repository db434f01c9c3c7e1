// Transformed and seeded keys from many threads at the same time: lookups in
// one reader, builders, registration, a changing option. A program of its own,
// small enough to run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/convenience.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

using internal::NewBitsBuilder;
using internal::NewBitsReader;

constexpr int kKeys = 300;
constexpr int kRounds = 30;

std::string Build(const rocksdb::FilterPolicy& policy) {
  const auto builder = NewBitsBuilder(policy);
  for (int i = 0; i < kKeys; ++i) builder->AddKey(Key(i));
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

void Ask(rocksdb::FilterBitsReader* reader, unsigned spelling) {
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(kIgnoreCase.spell(Key(i), spelling));
    EXPECT_TRUE(reader->MayMatch(keys.back()));
  }
  std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::Slice*> pointers;
  for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
  bool answers[kKeys] = {};
  reader->MayMatch(kKeys, pointers.data(), answers);
  for (const bool answer : answers) EXPECT_TRUE(answer);
}

void Together(const std::vector<std::function<void(unsigned)>>& jobs) {
  std::vector<std::thread> threads;
  for (const auto& job : jobs) {
    threads.emplace_back([&job] {
      for (unsigned round = 0; round < kRounds; ++round) job(round);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(KeyMappingThreadsTest, EverythingAtOnce) {
  const PolicyPtr policy = PolicyWith("ascii_lowercase", "local", true);
  const PolicyPtr other = PolicyWith("trim_trailing_spaces", "local");
  const std::string seeded = Build(*policy);
  const std::string foreign = Build(*other);
  const auto shared = NewBitsReader(*policy, seeded);
  Together({
      [&](unsigned round) { Ask(shared.get(), round); },
      [&](unsigned round) { Ask(shared.get(), round + 7); },
      [&](unsigned round) {
        const std::string filter = Build(*policy);
        Ask(NewBitsReader(*policy, filter).get(), round);
      },
      [&](unsigned) {
        EXPECT_TRUE(NewBitsReader(*policy, foreign)->MayMatch("absent"));
      },
      [&](unsigned round) {
        EXPECT_TRUE(RegisterForTest("test.threads", round + 1, Lower));
        EXPECT_NE(PolicyWith("test.threads"), nullptr);
      },
      [&](unsigned round) {
        // As SetOptions does it.
        auto* const changed = const_cast<rocksdb::FilterPolicy*>(policy.get());
        EXPECT_ROCKSDB_OK(
            changed->ConfigureOption(rocksdb::ConfigOptions(), "seeded",
                                     round % 2 == 0 ? "false" : "true"));
      },
  });
}

}  // namespace
}  // namespace deltabloom::testing
