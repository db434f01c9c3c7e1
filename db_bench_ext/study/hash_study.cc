#include <time.h>

#include <algorithm>
#include <cmath>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/study/studies.h"
#include "util/layouts/classic/classic.h"

namespace deltabloom::study {
namespace {

constexpr uint32_t kBitsPerKey = 10;
constexpr uint32_t kProbes = 6;

// The classic filter (docs/format.md) with any hash.
class HashedFilter {
 public:
  HashedFilter(const StringHash& hash, const std::vector<std::string>& keys)
      : hash_(hash.hash),
        bits_(8 * internal::classic::GoodSizeFrom(std::max<uint64_t>(
                      8, (keys.size() * kBitsPerKey + 7) / 8))),
        set_(bits_) {
    for (const std::string& key : keys) {
      ForEachProbe(key, [&](uint64_t bit) { return set_[bit] = true; });
    }
  }

  bool MayMatch(const std::string& key) const {
    return ForEachProbe(key, [&](uint64_t bit) { return set_[bit]; });
  }

 private:
  // False as soon as fn(bit) is.
  template <typename Fn>
  bool ForEachProbe(const std::string& key, const Fn& fn) const {
    uint32_t h = hash_(key);
    const uint32_t delta = h >> 17 | h << 15;
    for (uint32_t i = 0; i < kProbes; ++i, h += delta) {
      if (!fn(h % bits_)) return false;
    }
    return true;
  }

  uint32_t (*hash_)(std::string_view);
  uint64_t bits_;
  std::vector<bool> set_;
};

uint64_t Collisions(const StringHash& hash,
                    const std::vector<std::string>& keys) {
  std::vector<uint32_t> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) values.push_back(hash.hash(key));
  std::sort(values.begin(), values.end());
  const auto distinct = std::unique(values.begin(), values.end());
  return static_cast<uint64_t>(values.end() - distinct);
}

// n keys less the expected number of distinct values of an ideal 32-bit hash.
double ExpectedCollisions(size_t keys) {
  const double n = static_cast<double>(keys);
  constexpr double kValues = 4294967296.0;
  return n + kValues * std::expm1(n * std::log1p(-1 / kValues));
}

struct Avalanche {
  double mean_flips = 0;  // share of output bits that a flipped input bit flips
  double worst_bias = 0;  // largest |share - 1/2| over single output bits
};

Avalanche MeasureAvalanche(const StringHash& hash,
                           const std::vector<std::string>& keys,
                           size_t sample) {
  const size_t stride = std::max<size_t>(1, keys.size() / sample);
  uint64_t flips[32] = {};
  uint64_t trials = 0;
  for (size_t i = 0; i < keys.size(); i += stride) {
    std::string key = keys[i];
    const uint32_t before = hash.hash(key);
    for (size_t bit = 0; bit < key.size() * 8; ++bit) {
      const auto mask = static_cast<char>(1u << (bit % 8));
      key[bit / 8] ^= mask;
      const uint32_t changed = before ^ hash.hash(key);
      key[bit / 8] ^= mask;
      for (int out = 0; out < 32; ++out) flips[out] += changed >> out & 1;
      ++trials;
    }
  }
  Avalanche result;
  if (trials == 0) return result;
  for (uint64_t count : flips) {
    const double share =
        static_cast<double>(count) / static_cast<double>(trials);
    result.mean_flips += share / 32;
    result.worst_bias = std::max(result.worst_bias, std::abs(share - 0.5));
  }
  return result;
}

// CPU time of this thread, which other programs do not disturb.
double CpuNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

double NanosecondsPerKey(const StringHash& hash,
                         const std::vector<std::string>& keys) {
  // Small sets are hashed several times, so that reading the clock does not
  // count.
  const size_t rounds = std::max<size_t>(1, 200000 / keys.size());
  uint32_t sum = 0;
  const double start = CpuNanoseconds();
  for (size_t round = 0; round < rounds; ++round) {
    for (const std::string& key : keys) sum += hash.hash(key);
  }
  const double took = CpuNanoseconds() - start;
  volatile uint32_t keep = sum;
  static_cast<void>(keep);
  return took / static_cast<double>(rounds * keys.size());
}

}  // namespace

Json StudyHashes(const std::vector<KeySet>& sets, int repetitions,
                 size_t flipped_keys) {
  Json rows = Json::array();
  const std::vector<StringHash>& hashes = StringHashes();
  for (const KeySet& set : sets) {
    if (set.keys.empty()) continue;
    // Every repetition times every hash, so that a slow moment of the machine
    // affects all of them.
    std::vector<std::vector<double>> times(hashes.size());
    for (int i = 0; i < repetitions; ++i) {
      bench::ShowProgress("hashes on " + set.name + ", timing " +
                          std::to_string(i + 1) + " of " +
                          std::to_string(repetitions));
      for (size_t h = 0; h < hashes.size(); ++h) {
        times[h].push_back(NanosecondsPerKey(hashes[h], set.keys));
      }
    }
    for (size_t h = 0; h < hashes.size(); ++h) {
      bench::ShowProgress("hashes on " + set.name + ", " + hashes[h].name);
      const HashedFilter filter(hashes[h], set.keys);
      const auto hits = static_cast<uint64_t>(std::count_if(
          set.absent.begin(), set.absent.end(),
          [&](const std::string& key) { return filter.MayMatch(key); }));
      const Avalanche avalanche =
          MeasureAvalanche(hashes[h], set.keys, flipped_keys);
      rows.push_back({
          {"dataset", set.name},
          {"hash", hashes[h].name},
          {"keys", set.keys.size()},
          {"ns_per_key", bench::Median(times[h])},
          {"collisions", Collisions(hashes[h], set.keys)},
          {"expected_collisions", ExpectedCollisions(set.keys.size())},
          {"mean_flips", avalanche.mean_flips},
          {"worst_bias", avalanche.worst_bias},
          {"false_positive_rate",
           static_cast<double>(hits) / static_cast<double>(set.absent.size())},
          {"error", RateError(hits, set.absent.size())},
      });
    }
  }
  return rows;
}

}  // namespace deltabloom::study
