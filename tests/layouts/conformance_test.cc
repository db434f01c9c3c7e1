// Every row of the table of layouts, at every level of this CPU, writes the
// bytes and gives the answers of the layout's reference.
//
// A new layout needs no code here, only a reference (tests/reference).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"  // IWYU pragma: keep (not with AVX-512 emulated)
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/cpu.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::LayoutRow;
using test::Random;
using test::Reader;

const uint64_t kSeed = test::SeedOr(20260101);

using Param = std::tuple<const LayoutRow*, Cpu>;

// The layouts and CPU levels that tests ran with. The last test checks that
// none is missing.
std::set<std::pair<std::string, Cpu>>& Reached() {
  static std::set<std::pair<std::string, Cpu>> reached;
  return reached;
}

class Conformance : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    ASSERT_NE(reference_, nullptr)
        << "layout " << row_.name << " has no reference in tests/reference";
  }

  // Builds from `keys` and compares bytes, then compares the answers for them
  // and for `absent`.
  void Check(const std::vector<std::string>& keys,
             const std::vector<std::string>& absent, uint32_t millibits,
             uint64_t extra_bytes = 0) {
    SCOPED_TRACE(testing::Message()
                 << keys.size() << " keys, millibits per key " << millibits
                 << ", " << extra_bytes << " extra bytes");
    const auto filter =
        test::BuildFilter(row_, level_, keys, millibits, extra_bytes);
    CheckBytes(keys, millibits, extra_bytes, filter);
    if (!filter) return;
    const Reader reader(row_, level_, *filter, keys.size() % 8);
    ASSERT_TRUE(reader.valid());
    for (const std::string& key : keys) {
      ASSERT_TRUE(reader.MayMatch(key)) << testing::PrintToString(key);
    }
    CheckAnswers(reader, *filter, keys);
    const Reader at_begin(row_, level_, *filter, Reader::kAtBegin);
    ASSERT_TRUE(at_begin.valid());
    CheckAnswers(at_begin, *filter, absent);
    Reached().insert({row_.name, level_});
  }

  void CheckBytes(const std::vector<std::string>& keys, uint32_t millibits,
                  uint64_t extra_bytes,
                  const std::optional<std::string>& filter) {
    if (reference_->build == nullptr) {
      const auto portable =
          test::BuildFilter(row_, Cpu::kPortable, keys, millibits, extra_bytes);
      ASSERT_EQ(filter.has_value(), portable.has_value());
      ASSERT_TRUE(filter == portable) << "bytes differ";
      return;
    }
    const uint64_t payload_size =
        filter ? filter->size() - 1
               : reference_->payload_size(keys.size(), millibits);
    const std::string expected =
        reference_->build(keys, millibits, payload_size);
    ASSERT_EQ(filter.has_value(), !expected.empty());
    if (filter) {
      ASSERT_TRUE(*filter == expected) << "bytes differ";
    } else {
      ASSERT_NE(row_.fallback, nullptr);
    }
  }

  void CheckAnswers(const Reader& reader, const std::string& filter,
                    const std::vector<std::string>& keys) {
    std::vector<int> single;
    for (const std::string& key : keys) {
      const bool expected = reference_->may_match(filter, key);
      ASSERT_EQ(reader.MayMatch(key), expected) << testing::PrintToString(key);
      ASSERT_EQ(reader.MayMatchHash(key), expected);
      single.push_back(expected);
    }
    // Batches of 0, 1, 2, ... 100 keys, beginning anywhere.
    size_t from = 0;
    for (size_t n = 0; n <= 100 && n <= keys.size(); ++n) {
      if (from + n > keys.size()) from = n % 7 % (keys.size() - n + 1);
      const std::vector<int> many = reader.MayMatchMany(keys, from, n);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(many[i], single[from + i]) << "key " << i << " of " << n;
      }
      ASSERT_EQ(many[n], 2) << "wrote after " << n << " answers";
      from += n;
    }
  }

  const LayoutRow& row_ = *std::get<0>(GetParam());
  const Cpu level_ = std::get<1>(GetParam());
  const reference::Reference* const reference_ =
      reference::FindReference(row_.name);
};

constexpr uint32_t kMillibits[] = {0,     500,   1000,  1450,  2900,  3300,
                                   5000,  7000,  8000,  9900,  10000, 12345,
                                   14500, 16000, 20000, 24000, 44000, 100000};

constexpr size_t kKeys[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,   31,
                            32, 33, 63, 64, 65, 100, 127, 128, 129, 1000, 2999};

TEST_P(Conformance, AnyNumberOfKeysAtAnyBitsPerKey) {
  Random random(kSeed);
  size_t key_size = 0;
  for (uint32_t millibits : kMillibits) {
    for (size_t n : kKeys) {
      const auto absent = random.Keys(150, key_size);
      Check(random.Keys(n, key_size), absent, millibits);
      if (HasFatalFailure()) return;
      key_size = (key_size + 1) % 41;
    }
  }
}

TEST_P(Conformance, KeysOfAnySize) {
  Random random(kSeed);
  for (size_t key_size = 0; key_size <= 100;
       key_size += key_size < 40 ? 1 : 60) {
    SCOPED_TRACE(testing::Message() << "key size " << key_size);
    Check(random.Keys(333, key_size), random.Keys(333, key_size), 10000);
    Check(random.MixedKeys(100 + key_size), random.MixedKeys(500), 9900);
    if (HasFatalFailure()) return;
  }
}

// Batches that mix lengths in every way kernels may group them.
TEST_P(Conformance, BatchesOfMixedSizes) {
  Random random(kSeed);
  for (int round = 0; round < 30; ++round) {
    const size_t usual = random.Below(41);
    auto absent = random.Keys(600, usual);
    for (std::string& key : absent) {
      if (random.Below(20) == 0) key = random.Key(random.Below(41));
    }
    Check(random.Keys(200, usual), absent, 6000);
    if (HasFatalFailure()) return;
  }
}

// Every number of bytes, odd ones too: writers may use slack.
TEST_P(Conformance, AnySize) {
  Random random(kSeed);
  const auto keys = random.Keys(200, 16);
  const auto absent = random.Keys(200, 16);
  for (uint64_t extra = 1; extra < 200; ++extra) {
    Check(keys, absent, 10000, extra);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Conformance, KeysOfEqualBytesAndDuplicates) {
  for (int byte : {0x00, 0x7f, 0x80, 0xff}) {
    std::vector<std::string> keys;
    for (size_t size = 0; size < 70; ++size) {
      keys.push_back(std::string(size, static_cast<char>(byte)));
      keys.push_back(keys.back());
    }
    Check(keys, Random(kSeed).MixedKeys(200), 10000);
  }
}

// Large enough for the kernels' paths beyond the cache, with the false
// positives that the reference gives on the same keys.
TEST_P(Conformance, ManyKeysAndTheirFalsePositives) {
  Random random(kSeed);
  Check(random.Keys(30000, 16), random.Keys(20000, 16), 9900);
  Check(random.Keys(165000, 11), random.Keys(5000, 11), 20000);
}

// Present and absent keys of mixed sizes in one batch, in a filter so large
// that its lines are fetched ahead.
TEST_P(Conformance, LargeBatchesOfPresentAndAbsentKeys) {
  Random random(kSeed);
  std::vector<std::string> keys = random.MixedKeys(3000);
  std::vector<std::string> queries;
  for (const std::string& key : keys) {
    queries.push_back(key);
    queries.push_back(random.MixedKeys(1)[0]);
  }
  while (keys.size() < 500000) keys.push_back(random.Key(9));
  const auto filter = test::BuildFilter(row_, level_, keys, 20000);
  ASSERT_TRUE(filter);
  for (const uint64_t threshold : {internal::classic::kPrefetchLookupsAbove,
                                   internal::classic::kPrefetchBuildAbove,
                                   internal::local::kPrefetchBuildAbove}) {
    ASSERT_GT(filter->size(), threshold);
  }
  const Reader reader(row_, level_, *filter);
  ASSERT_TRUE(reader.valid());
  for (size_t i = 0; i < queries.size(); i += 2) {
    ASSERT_TRUE(reader.MayMatch(queries[i]));
  }
  CheckAnswers(reader, *filter, queries);
}

// The front or the end of a filter is missing, its marker is another one of
// the layout's: the answers are those of the reference, and nothing outside is
// read.
TEST_P(Conformance, PartsOfFilters) {
  Random random(kSeed);
  const auto queries = random.MixedKeys(30);
  for (const size_t n : {1u, 300u, 2000u}) {
    const auto filter =
        test::BuildFilter(row_, level_, random.MixedKeys(n), 8000);
    if (!filter) continue;
    const std::string payload = filter->substr(0, filter->size() - 1);
    for (size_t size = 1; size <= std::min<size_t>(payload.size(), 130);
         ++size) {
      const auto marker = static_cast<char>(
          row_.first_marker +
          random.Below(uint64_t{row_.last_marker} - row_.first_marker + 1u));
      for (const std::string& part :
           {payload.substr(0, size) + marker,
            payload.substr(payload.size() - size) + marker}) {
        for (const size_t after : {size_t{0}, Reader::kAtBegin}) {
          const Reader reader(row_, level_, part, after);
          if (reader.valid()) CheckAnswers(reader, part, queries);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(Conformance, AnythingAtRandom) {
  test::FreshRandom random;
  for (int round = 0; round < 25; ++round) {
    const size_t n = random.Below(uint64_t{1} << random.Below(14));
    std::vector<std::string> keys = random.MixedKeys(n);
    const uint64_t kind = random.Below(3);
    if (kind == 1) keys = random.Keys(n, random.Below(64));
    // Counters, as many users have them.
    const uint64_t first = random.Next();
    for (size_t i = 0; kind == 2 && i < n; ++i) {
      keys[i] = "prefix" + std::to_string(first + i);
    }
    Check(keys, random.MixedKeys(100),
          static_cast<uint32_t>(random.Below(30000)),
          random.Below(2) * random.Below(5000));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Conformance, HashEqualsReference) {
  Random random(kSeed);
  const uint64_t kept =
      row_.hash_size == 4 ? uint64_t{0xffffffff} : ~uint64_t{0};
  for (size_t size = 0; size < 300; ++size) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = random.Key(size);
      ASSERT_EQ(row_.hash(key) & kept, reference_->hash(key) & kept)
          << testing::PrintToString(key);
    }
  }
}

#if !defined(DELTABLOOM_EMULATED_AVX512)

// Equal answers do not show whether a level's own kernels gave them. All
// layouts have kernels for AVX2 and for NEON, only compact has some for
// AVX-512.
TEST_P(Conformance, KernelsAreThoseOfTheLevel) {
  if (level_ == Cpu::kPortable) return;
  Random random(kSeed);
  const auto filter =
      test::BuildFilter(row_, level_, random.Keys(3000, 16), 10000);
  ASSERT_TRUE(filter);
  const bool own = level_ == Cpu::kAvx2 ||
                   (level_ == Cpu::kNeon && row_.layout != Layout::kClassic) ||
                   (level_ == Cpu::kAvx512 && row_.layout == Layout::kCompact);
  const Cpu below = level_ == Cpu::kAvx512 ? Cpu::kAvx2 : Cpu::kPortable;
  const Reader here(row_, level_, *filter);
  const Reader lower(row_, below, *filter);
  EXPECT_EQ(here.parsed().may_match != lower.parsed().may_match, own);
  EXPECT_EQ(here.parsed().may_match_many != lower.parsed().may_match_many, own);
}

#endif  // !defined(DELTABLOOM_EMULATED_AVX512)

INSTANTIATE_TEST_SUITE_P(Rows, Conformance,
                         testing::Combine(testing::ValuesIn(test::AllRows()),
                                          testing::ValuesIn(test::AllLevels())),
                         [](const auto& row) {
                           return test::NameOf(*std::get<0>(row.param)) + "_" +
                                  CpuName(std::get<1>(row.param));
                         });

// Runs after all tests: no row and no level may have been left out.
class EverythingRan : public testing::Environment {
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const LayoutRow* row : test::AllRows()) {
      for (Cpu level : test::AllLevels()) {
        EXPECT_EQ(Reached().count({row->name, level}), 1u)
            << row->name << " was not tested at level "
            << internal::CpuName(level);
      }
    }
  }
};

const testing::Environment* const kEverythingRan =
    testing::AddGlobalTestEnvironment(new EverythingRan);

}  // namespace
}  // namespace deltabloom
