// LevelDB's own Bloom policy and Deltabloom's two, called as LevelDB calls
// them: a filter of a few keys, seen for the first time. The table of
// docs/embedding.md.
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "deltabloom/leveldb.h"

namespace {

constexpr size_t kKeySize = 16;
constexpr size_t kBuiltKeys = 20000;  // per pass, at least
constexpr size_t kLookups = size_t{1} << 15;
constexpr int kPasses = 25;

struct Times {
  double build = 1e9;
  double absent = 1e9;
  double present = 1e9;
};

// Of the processor, so that other programs on the machine disturb less.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void Record(double start, size_t keys, double* best) {
  const double ns = (Seconds() - start) * 1e9 / static_cast<double>(keys);
  *best = std::min(*best, ns);
}

std::vector<std::string> RandomKeys(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys(n, std::string(kKeySize, '\0'));
  for (std::string& key : keys) {
    for (char& byte : key) byte = static_cast<char>(random());
  }
  return keys;
}

// False if a key is lost.
bool Pass(const leveldb::FilterPolicy& policy,
          const std::vector<leveldb::Slice>& keys, size_t keys_per_filter,
          const std::vector<std::string>& absent, Times* times) {
  std::vector<std::string> filters(keys.size() / keys_per_filter);
  double start = Seconds();
  for (size_t i = 0; i < filters.size(); ++i) {
    policy.CreateFilter(&keys[i * keys_per_filter],
                        static_cast<int>(keys_per_filter), &filters[i]);
  }
  Record(start, keys.size(), &times->build);

  size_t positives = 0;
  start = Seconds();
  for (size_t i = 0; i < absent.size(); ++i) {
    positives += policy.KeyMayMatch(absent[i], filters[i % filters.size()]);
  }
  Record(start, absent.size(), &times->absent);

  const size_t present = std::min(kLookups, keys.size());
  start = Seconds();
  size_t found = 0;
  for (size_t i = 0; i < present; ++i) {
    found += policy.KeyMayMatch(keys[i], filters[i / keys_per_filter]);
  }
  Record(start, present, &times->present);
  return found == present && positives < absent.size();
}

bool Run(size_t keys_per_filter) {
  deltabloom::FilterOptions own_hash;
  const std::unique_ptr<const leveldb::FilterPolicy> policies[] = {
      std::unique_ptr<const leveldb::FilterPolicy>(
          leveldb::NewBloomFilterPolicy(10)),
      deltabloom::NewLevelDBBloomFilterPolicy(10),
      deltabloom::NewLevelDBFilterPolicy(own_hash)};
  const size_t filters = std::max<size_t>(1, kBuiltKeys / keys_per_filter);
  const auto keys = RandomKeys(filters * keys_per_filter, 1);
  const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
  const auto absent = RandomKeys(kLookups, 2);
  Times times[3];
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int i = 0; i < 3; ++i) {
      if (!Pass(*policies[i], slices, keys_per_filter, absent, &times[i])) {
        std::fprintf(stderr, "leveldb_policy_bench: a filter of %s is wrong\n",
                     policies[i]->Name());
        return false;
      }
    }
  }
  const auto print = [&](const char* what, double Times::*time) {
    std::printf("| %zu | %s | %.1f | %.1f | %.1f |\n", keys_per_filter, what,
                times[0].*time, times[1].*time, times[2].*time);
  };
  print("build", &Times::build);
  print("absent", &Times::absent);
  print("present", &Times::present);
  return true;
}

}  // namespace

int main() {
  std::printf(
      "| keys per filter | | LevelDB | Deltabloom, LevelDB's hash | "
      "Deltabloom, MurmurHash2 |\n|---|---|---|---|---|\n");
  for (size_t keys_per_filter : {5u, 20u, 60u, 1000u, 100000u}) {
    if (!Run(keys_per_filter)) return 1;
  }
}
