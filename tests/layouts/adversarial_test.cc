// Adversarial input: every layout builds it, loses no key, and takes no more
// temporary memory than planned. Hashes are added directly where no key with
// them is known.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/filters.h"
#include "tests/layouts/subject.h"
#include "tests/util/replaced_new.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom {
namespace {

using internal::LayoutRow;

constexpr uint64_t kKeys = 300000;

// Builds from kKeys hashes as a builder does, down the fallbacks.
void Check(const LayoutRow* row,
           const std::function<uint64_t(uint64_t)>& hash) {
  SCOPED_TRACE(row->name);
  internal::HashList hashes(row->hash_size);
  for (uint64_t i = 0; i < kKeys; ++i) hashes.Add(hash(i));
  while (row != nullptr) {
    const internal::Plan plan = PlanFilter(row, kKeys, 10000);
    row = plan.layout;
    const std::unique_ptr<unsigned char[]> payload(
        new unsigned char[plan.payload_size]());
    const uint64_t hashes_size = hashes.MemorySize();
    test::ResetPeak();
    const size_t before = test::LiveBytes();
    const bool built = row->build(&hashes, /*keep_hashes=*/false, plan,
                                  internal::ActiveCpu(), payload.get());
    const uint64_t peak = internal::PeakBuildBytes(plan, hashes_size, false);
    EXPECT_LE(test::PeakBytes() - before + hashes_size,
              peak + peak / 50 + (64 << 10));
    if (!built) {
      ASSERT_EQ(hashes.size(), kKeys) << "gave up without the hashes";
      row = row->fallback;
      continue;
    }
    internal::ParsedFilter parsed{};
    parsed.payload = payload.get();
    parsed.payload_size = plan.payload_size;
    ASSERT_TRUE(row->parse(plan.last_byte, internal::ActiveCpu(), &parsed));
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(row->may_match_hash(parsed, hash(i))) << i;
    }
    return;
  }
  FAIL() << "no layout built it";
}

void CheckAllRows(const std::function<uint64_t(uint64_t)>& hash) {
  for (const LayoutRow* row : test::AllRows()) Check(row, hash);
}

TEST(LayoutAdversarial, EqualHashes) {
  CheckAllRows([](uint64_t) { return 0; });
  CheckAllRows([](uint64_t) { return ~uint64_t{0}; });
  CheckAllRows([](uint64_t) { return internal::Remix64(1, 1); });
}

TEST(LayoutAdversarial, EveryHashManyTimes) {
  CheckAllRows([](uint64_t i) { return internal::Remix64(i / 2, 0); });
  CheckAllRows([](uint64_t i) { return internal::Remix64(i / 1000, 0); });
  CheckAllRows([](uint64_t i) { return internal::Remix64(i % 1000, 0); });
}

TEST(LayoutAdversarial, HashesInOnePlace) {
  CheckAllRows([](uint64_t i) { return i; });
  CheckAllRows([](uint64_t i) { return i << 20; });
  CheckAllRows([](uint64_t i) { return internal::Remix64(i, 0) >> 10; });
  CheckAllRows([](uint64_t i) { return internal::Remix64(i, 0) >> 32 << 32; });
  CheckAllRows([](uint64_t i) {
    return internal::Remix64(i, 0) >> (i % 2 == 0 ? 0 : 12);
  });
}

TEST(LayoutAdversarial, EvenlySpacedHashes) {
  CheckAllRows([](uint64_t i) { return i * (~uint64_t{0} / kKeys); });
  CheckAllRows([](uint64_t i) { return i << 45; });
}

std::string Word(uint64_t value) {
  std::string bytes(8, '\0');
  internal::StoreFixed64(&bytes[0], value);
  return bytes;
}

// Keys: sorted integers, and prefixes that cancel the constants of the
// 64-bit hash. The rate of false positives stays near what it is for others.
TEST(LayoutAdversarial, KeysAgainstTheHash) {
  std::vector<std::string> prefixes = {"", Word(0)};
  for (uint64_t rest : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    prefixes.push_back(Word(internal::kHash64Lanes[0] ^ rest));
    prefixes.push_back(Word(1) + Word(2) +
                       Word(internal::kHash64Lanes[2] ^ rest));
  }
  for (Layout layout : {Layout::kLocal, Layout::kCompact}) {
    for (const std::string& prefix : prefixes) {
      FilterBuilder builder(test::OptionsOf(layout));
      const auto key = [&prefix](uint64_t i) { return prefix + Word(i); };
      for (uint64_t i = 0; i < kKeys; ++i) builder.AddKey(key(i));
      std::string bytes;
      builder.Finish(&bytes);
      const Filter filter(bytes);
      uint64_t positive = 0;
      for (uint64_t i = 0; i < kKeys; ++i) {
        ASSERT_TRUE(filter.MayMatch(key(i)));
        positive += filter.MayMatch(key(kKeys + i));
      }
      // 0.97 % is usual for local.
      EXPECT_LT(positive, kKeys / 50) << DescribeFilter(bytes) << ", prefix "
                                      << testing::PrintToString(prefix);
    }
  }
}

}  // namespace
}  // namespace deltabloom
