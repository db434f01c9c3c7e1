// Does the work whose instructions instructions.sh counts: builds a filter of
// KEYS keys of 16 bytes at 10 bits per key, and looks up LOOKUPS keys.
//
//   instructions LAYOUT KEYS LOOKUPS absent|present|batch
//
// "batch" looks up absent keys 32 at a time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace {

constexpr uint64_t kMostKeys = 4096;
constexpr size_t kBatchKeys = 32;

std::string Key(uint64_t number) {
  char bytes[16];
  deltabloom::internal::StoreFixed64(bytes,
                                     deltabloom::internal::Remix64(number, 1));
  deltabloom::internal::StoreFixed64(bytes + 8, number);
  return {bytes, sizeof(bytes)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  deltabloom::FilterOptions options;
  if (!deltabloom::ParseLayout(argv[1], &options.layout)) return 2;
  const uint64_t keys =
      std::min<uint64_t>(std::strtoull(argv[2], nullptr, 10), kMostKeys);
  const uint64_t lookups = std::strtoull(argv[3], nullptr, 10);
  const std::string_view kind = argv[4];

  std::vector<std::string> stored;
  for (uint64_t i = 0; i < kMostKeys; ++i) stored.push_back(Key(i));
  deltabloom::FilterBuilder builder(options);
  for (uint64_t i = 0; i < keys; ++i) builder.AddKey(stored[i]);
  std::string bytes;
  builder.Finish(&bytes);

  // All keys are made in every run, so that runs differ in adds and lookups
  // only.
  std::vector<std::string> asked;
  for (uint64_t i = 0; i < 1024; ++i) {
    asked.push_back(kind == "present" ? stored[i] : Key(kMostKeys + i));
  }
  std::vector<std::string_view> views(asked.begin(), asked.end());
  const deltabloom::Filter filter(bytes);
  uint64_t matches = 0;
  if (kind == "batch") {
    bool may_match[kBatchKeys];
    for (uint64_t done = 0; done < lookups; done += kBatchKeys) {
      filter.MayMatch(&views[done % views.size()], kBatchKeys, may_match);
      matches += static_cast<uint64_t>(
          std::count(may_match, may_match + kBatchKeys, true));
    }
  } else {
    for (uint64_t i = 0; i < lookups; ++i) {
      matches += filter.MayMatch(views[i % views.size()]);
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(matches));
  return 0;
}
