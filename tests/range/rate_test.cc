// The share of empty ranges that range filters let through. For numbers it is
// compared with the theory of util/range/numbers.h, within five standard
// errors; for prefixes with a limit for each workload. The keys are the same at
// every run unless DELTABLOOM_SEED is set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "tests/range/workloads.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom::test {
namespace {

// Grafite's bound at B bits per key: l / 2^(B - 2); with a unit,
// (l / 2^unit + 1) / 2^(B - 2).
TEST(UniformKeys, NoMoreThanTheBound) {
  constexpr uint64_t kKeys = 50'000;
  constexpr int kLookups = 40'000;
  Random random(SeedOr(7));
  KeySet keys;
  while (keys.size() < kKeys) keys.insert(random.Key(8));
  for (const auto& [bits, range_length] :
       {std::pair{8.0, 1u}, {12.0, 1u}, {16.5, 1u}, {10.0, 1024u}}) {
    internal::range::FilterBuilder builder(bits, range_length);
    for (const std::string& key : keys) builder.AddKey(key);
    std::string bytes;
    ASSERT_TRUE(builder.Finish(&bytes));
    const auto unit = static_cast<unsigned char>(bytes[2 + 1 + 16 + 16]);
    EXPECT_EQ(unit > 0, range_length > 1);
    const internal::range::Filter filter(bytes);
    for (const unsigned length : {1u, 4u, 16u, 64u, 1024u, 4096u}) {
      int matches = 0;
      for (int asked = 0; asked < kLookups;) {
        const uint64_t first = random.Next() >> 1;
        const std::string lower = BigEndian(first);
        const std::string upper = BigEndian(first + length);
        if (AnyKeyIn(keys, lower, upper)) continue;
        ++asked;
        matches += filter.MayMatch(lower, upper) ? 1 : 0;
      }
      const double codes = unit == 0 ? length : std::ldexp(length, -unit) + 1;
      const double filter_bits = static_cast<double>(bytes.size()) * 8 / kKeys;
      const double bound = std::min(1.0, codes / std::exp2(filter_bits - 2));
      const double error = std::sqrt(bound * (1 - bound) / kLookups);
      // Directory and header take a part of the bits.
      EXPECT_LE(matches, kLookups * (1.2 * bound + 5 * error))
          << bits << " " << length;
    }
  }
}

// The limits are percentages of the empty scans of each kind that pass at 8
// bits per key, on average over the levels. They are what was measured with
// these keys, and some room for compilers that draw them in another order; so
// the seed is fixed, as tables of other keys differ by up to a third. There are
// three limits: by keys alone,
// with samples of the kind, and with samples of another kind of scans of the
// same keys.
class Scans : public testing::TestWithParam<Workload> {
 protected:
  static constexpr size_t kKeys = 10'000;
  static constexpr size_t kScans = 2000;
  static constexpr size_t kSamples = 256;
  static constexpr double kBits = 8;  // the default of RocksDBRangeOptions

  // The scans of one kind that pass, over all levels.
  struct Passed {
    size_t by_keys = 0, learned = 0, drifted = 0;
  };

  // Empty scans of one kind, and the filter that learned other ones.
  struct Kind {
    std::vector<Range> scans;
    std::string bytes;
  };

  static Kind MakeKind(const Table& table, const KeySet& keys,
                       const ScanKind& of, Random* random) {
    Kind kind;
    Samples samples;
    for (size_t n = 0; n < kScans + kSamples; ++n) {
      const Range scan = table.DrawEmpty(of, random);
      if (!(scan.lower < scan.upper)) {
        ADD_FAILURE() << "too few empty scans of kind " << of.name;
        break;
      }
      if (n < kSamples) {
        samples.push_back(scan);
      } else {
        kind.scans.push_back(scan);
      }
    }
    kind.bytes = FilterOf(keys, kBits, samples);
    return kind;
  }

  static size_t Passing(const std::string& bytes,
                        const std::vector<Range>& scans) {
    const internal::range::Filter filter(bytes);
    return static_cast<size_t>(
        std::count_if(scans.begin(), scans.end(), [&](const Range& scan) {
          return filter.MayMatch(scan.lower, scan.upper);
        }));
  }

  // Adds the scans of one level.
  void CountLevel(const Density& level) {
    Random random(9);
    const Table table = GetParam().Make(kKeys, level, &random);
    const KeySet keys(table.keys.begin(), table.keys.end());
    const std::string by_keys = FilterOf(keys, kBits);
    described_ += std::string("\n") + level.name +
                  ", by keys: " + internal::range::Filter(by_keys).Describe();
    std::vector<Kind> kinds;
    for (const ScanKind& of : table.kinds) {
      kinds.push_back(MakeKind(table, keys, of, &random));
      described_ += std::string("\n  ") + of.name + ": " +
                    internal::range::Filter(kinds.back().bytes).Describe();
    }
    passed_.resize(kinds.size());
    names_.clear();
    for (size_t i = 0; i < kinds.size(); ++i) {
      names_.push_back(table.kinds[i].name);
      passed_[i].by_keys += Passing(by_keys, kinds[i].scans);
      passed_[i].learned += Passing(kinds[i].bytes, kinds[i].scans);
      size_t most = 0;
      for (size_t j = 0; j < kinds.size(); ++j) {
        if (j != i)
          most = std::max(most, Passing(kinds[j].bytes, kinds[i].scans));
      }
      passed_[i].drifted += most;
    }
  }

  std::vector<Passed> passed_;  // by kind
  std::vector<const char*> names_;
  std::string described_;
};

TEST_P(Scans, FewPass) {
  for (const Density& level : kLevels) CountLevel(level);
  const auto percent = [](size_t passed) {
    return 100 * static_cast<double>(passed) /
           static_cast<double>(kScans * std::size(kLevels));
  };
  for (size_t i = 0; i < passed_.size(); ++i) {
    SCOPED_TRACE(names_[i] + described_);
    EXPECT_LE(percent(passed_[i].by_keys), GetParam().most.by_keys);
    EXPECT_LE(percent(passed_[i].learned), GetParam().most.learned);
    EXPECT_LE(percent(passed_[i].drifted), GetParam().most.drifted);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Scans, testing::ValuesIn(Workloads()),
                         [](const auto& workload) {
                           return std::string(workload.param.name);
                         });

}  // namespace
}  // namespace deltabloom::test
