// RocksDB's Bloom filter as a RocksDB compiled for this CPU would read it.
// Distributions compile RocksDB for the oldest CPU, without AVX2, so a
// comparison with that library alone would prove little. The bytes, the builder
// and the hash are the library's own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "db_bench_ext/filter_bench/competitors.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/filter_policy.h"
#include "util/cpu.h"
#include "util/rates/rates.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ROCKSDB_NAMESPACE {
// Exported by the library, declared in none of its public headers.
uint64_t Hash64(const char* data, size_t n);
}  // namespace ROCKSDB_NAMESPACE

namespace deltabloom::bench {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kTrailerBytes = 5;

// The positions of a key in its line are the top nine bits of its hash
// multiplied by powers of this.
constexpr uint32_t kStep = 0x9e3779b9;

constexpr int Power(int n) {
  uint32_t power = 1;
  for (int i = 0; i < n; ++i) power *= kStep;
  return static_cast<int>(power);
}

// Returns whether the bits of the first `probes` positions are all set.
__attribute__((target("avx2"))) inline bool LineMatches(const char* line,
                                                        uint32_t hash,
                                                        int probes) {
  const __m256i powers =
      _mm256_setr_epi32(Power(0), Power(1), Power(2), Power(3), Power(4),
                        Power(5), Power(6), Power(7));
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i low_words =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line));
  const __m256i high_words =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 32));
  for (;; probes -= 8, hash *= static_cast<uint32_t>(Power(8))) {
    const __m256i spread =
        _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(hash)), powers);
    // Four bits choose one of sixteen words, the first of them its half; the
    // next five choose the bit.
    const __m256i word = _mm256_srli_epi32(spread, 28);
    const __m256i bit = _mm256_srli_epi32(_mm256_slli_epi32(spread, 4), 27);
    const __m256i chosen = _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low_words, word)),
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high_words, word)),
        _mm256_castsi256_ps(spread)));
    const __m256i wanted = _mm256_sllv_epi32(
        _mm256_srli_epi32(_mm256_cmpgt_epi32(_mm256_set1_epi32(probes), lane),
                          31),
        bit);
    const bool all_set = _mm256_testc_si256(chosen, wanted) != 0;
    if (probes <= 8 || !all_set) return all_set;
  }
}

class NativeReader : public FilterBitsReader {
 public:
  explicit NativeReader(const Slice& filter)
      : data_(filter.data()),
        lines_(static_cast<uint32_t>((filter.size() - kTrailerBytes) /
                                     kLineBytes)),
        probes_(filter[filter.size() - 3] & 31) {}

  __attribute__((target("avx2"))) bool MayMatch(const Slice& key) override {
    const uint64_t hash = rocksdb::Hash64(key.data(), key.size());
    return LineMatches(LineOf(hash), static_cast<uint32_t>(hash >> 32),
                       probes_);
  }

  __attribute__((target("avx2"))) void MayMatch(int n, Slice** keys,
                                                bool* may_match) override {
    constexpr int kMost = 32;
    const char* lines[kMost];
    uint32_t hashes[kMost];
    for (int done = 0; done < n; done += kMost) {
      const int count = std::min(n - done, kMost);
      for (int i = 0; i < count; ++i) {
        const Slice& key = *keys[done + i];
        const uint64_t hash = rocksdb::Hash64(key.data(), key.size());
        lines[i] = LineOf(hash);
        hashes[i] = static_cast<uint32_t>(hash >> 32);
        __builtin_prefetch(lines[i]);
        __builtin_prefetch(lines[i] + kLineBytes - 1);
      }
      for (int i = 0; i < count; ++i) {
        may_match[done + i] = LineMatches(lines[i], hashes[i], probes_);
      }
    }
  }

 private:
  const char* LineOf(uint64_t hash) const {
    const uint64_t low = hash & 0xffffffff;
    return data_ + (low * lines_ >> 32) * kLineBytes;
  }

  const char* data_;
  uint32_t lines_;
  int probes_;
};

}  // namespace

std::vector<CompetitorEntry> NativeRocksDBCompetitors() {
  if (internal::DetectedCpu() < internal::Cpu::kAvx2) return {};
  const auto make = [](double bits_per_key) {
    const std::shared_ptr<const rocksdb::FilterPolicy> policy(
        rocksdb::NewBloomFilterPolicy(bits_per_key));
    return Competitor{[policy] { return internal::NewBitsBuilder(*policy); },
                      [](const Slice& filter) {
                        return std::make_unique<NativeReader>(filter);
                      },
                      [](const Slice& filter, uint64_t keys) {
                        return internal::RocksDBFilterRate(
                            filter.ToStringView(), keys);
                      }};
  };
  return {{"rocksdb-bloom-native", make}};
}

}  // namespace deltabloom::bench

#else

namespace deltabloom::bench {

std::vector<CompetitorEntry> NativeRocksDBCompetitors() { return {}; }

}  // namespace deltabloom::bench

#endif
