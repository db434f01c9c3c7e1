// The share of empty ranges that range filters let through. For numbers it is
// compared with the theory of util/range/numbers.h, within five standard
// errors; for prefixes with a limit for each workload. The keys are the same at
// every run unless DELTABLOOM_SEED is set.

#include <algorithm>
#include <cmath>

#include "tests/range/subject.h"
#include "tests/range/workloads.h"

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
    internal::RangePartBuilder builder(bits, range_length);
    for (const std::string& key : keys) builder.AddKey(key);
    std::string part;
    ASSERT_TRUE(builder.Finish(&part));
    const auto unit = static_cast<unsigned char>(part[2 + 1 + 16 + 16]);
    EXPECT_EQ(unit > 0, range_length > 1);
    const internal::RangePart range(part);
    for (const unsigned length : {1u, 4u, 16u, 64u, 1024u, 4096u}) {
      int matches = 0;
      for (int asked = 0; asked < kLookups;) {
        const uint64_t first = random.Next() >> 1;
        const std::string lower = BigEndian(first);
        const std::string upper = BigEndian(first + length);
        if (AnyKeyIn(keys, lower, upper)) continue;
        ++asked;
        matches += range.MayMatch(lower, upper) ? 1 : 0;
      }
      const double codes = unit == 0 ? length : std::ldexp(length, -unit) + 1;
      const double part_bits = static_cast<double>(part.size()) * 8 / kKeys;
      const double bound = std::min(1.0, codes / std::exp2(part_bits - 2));
      const double error = std::sqrt(bound * (1 - bound) / kLookups);
      // Directory and header take a part of the bits.
      EXPECT_LE(matches, kLookups * (1.2 * bound + 5 * error))
          << bits << " " << length;
    }
  }
}

// The limits are percentages of the empty scans of each kind that pass at 8
// bits per key, on average over the levels. There are three: by keys alone,
// with a sample of the kind, and with a sample of another kind of scans of the
// same keys.
class Scans : public testing::TestWithParam<Workload> {};

TEST_P(Scans, FewPass) {
  constexpr size_t kKeys = 10'000;
  constexpr int kScans = 2000;
  constexpr int kSamples = 256;
  constexpr double kBits = 8;  // per key: the default of RocksDBRangeOptions
  const size_t levels = std::size(kLevels);
  std::vector<int> alone, learned, drifted;
  std::vector<const char*> names;
  std::string described;
  for (const Density& level : kLevels) {
    Random random(SeedOr(9));
    const Table table = GetParam().Make(kKeys, level, &random);
    const KeySet keys(table.keys.begin(), table.keys.end());
    const size_t kinds = table.kinds.size();
    alone.resize(kinds);
    learned.resize(kinds);
    drifted.resize(kinds);
    std::vector<std::vector<Bounds>> scans(kinds);
    std::vector<std::string> parts;
    const std::string by_keys = PartOf(keys, kBits);
    described += std::string("\n") + level.name +
                 ", by keys: " + internal::RangePart(by_keys).Describe();
    for (size_t i = 0; i < kinds; ++i) {
      Samples samples;
      for (int n = 0; n < kScans + kSamples; ++n) {
        const Bounds scan = table.DrawEmpty(table.kinds[i], &random);
        ASSERT_LT(scan.first, scan.second) << table.kinds[i].name;
        if (n < kSamples) {
          samples.push_back(scan);
        } else {
          scans[i].push_back(scan);
        }
      }
      parts.push_back(PartOf(keys, kBits, samples));
      described += std::string("\n  ") + table.kinds[i].name + ": " +
                   internal::RangePart(parts.back()).Describe();
    }
    const auto passing = [&](const std::string& part, size_t kind) {
      const internal::RangePart range(part);
      return static_cast<int>(std::count_if(
          scans[kind].begin(), scans[kind].end(), [&](const Bounds& scan) {
            return range.MayMatch(scan.first, scan.second);
          }));
    };
    for (size_t i = 0; i < kinds; ++i) {
      alone[i] += passing(by_keys, i);
      learned[i] += passing(parts[i], i);
      int most = 0;
      for (size_t j = 0; j < kinds; ++j) {
        if (j != i) most = std::max(most, passing(parts[j], i));
      }
      drifted[i] += most;
      names.push_back(table.kinds[i].name);
    }
  }
  const auto percent = [&](int passed) {
    return 100.0 * passed / kScans / static_cast<double>(levels);
  };
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_LE(percent(alone[i]), GetParam().most.by_keys)
        << names[i] << described;
    EXPECT_LE(percent(learned[i]), GetParam().most.learned)
        << names[i] << described;
    EXPECT_LE(percent(drifted[i]), GetParam().most.drifted)
        << names[i] << described;
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Scans, testing::ValuesIn(Workloads()),
                         [](const auto& workload) {
                           return std::string(workload.param.name);
                         });

}  // namespace
}  // namespace deltabloom::test
