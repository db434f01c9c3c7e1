// Does the work whose instructions instructions.sh counts, between Begin() and
// End(): adds 1,024 keys of 16 bytes to a filter of 10 bits per key and
// finishes it, or looks up 256 keys in it.
//
//   instructions FILTER build|absent|present|batch
//
// FILTER is rocksdb-bloom or a layout. All are called through RocksDB's virtual
// builder and reader. "batch" looks up absent keys 32 at a time.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "util/coding.h"
#include "util/hash64.h"

extern "C" {
// Not inlined, so that a trace has them.
__attribute__((noinline)) void Begin() { asm volatile("" ::: "memory"); }
__attribute__((noinline)) void End() { asm volatile("" ::: "memory"); }
}

namespace {

using deltabloom::internal::Remix64;
using deltabloom::internal::StoreFixed64;
using rocksdb::Slice;

constexpr uint64_t kKeys = 1024;
constexpr uint64_t kLookups = 256;
constexpr int kBatchKeys = 32;

std::string Key(uint64_t number) {
  char bytes[16];
  StoreFixed64(bytes, Remix64(number, 1));
  StoreFixed64(bytes + 8, number);
  return {bytes, sizeof(bytes)};
}

std::shared_ptr<const rocksdb::FilterPolicy> PolicyOf(const char* name) {
  constexpr double kBitsPerKey = 10;
  if (std::string_view(name) == "rocksdb-bloom") {
    return std::shared_ptr<const rocksdb::FilterPolicy>(
        rocksdb::NewBloomFilterPolicy(kBitsPerKey));
  }
  deltabloom::RocksDBFilterOptions options;
  options.bits_per_key = kBitsPerKey;
  // RocksDB's filter counts nothing either.
  options.statistics = false;
  if (!deltabloom::ParseLayout(name, &options.layout)) return nullptr;
  return deltabloom::NewRocksDBFilterPolicy(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto policy = PolicyOf(argv[1]);
  const std::string_view work = argv[2];
  if (policy == nullptr) return 2;

  std::vector<std::string> stored;
  for (uint64_t i = 0; i < kKeys; ++i) stored.push_back(Key(i));
  std::unique_ptr<const char[]> owner;
  rocksdb::Status status;
  const auto builder = deltabloom::internal::NewBitsBuilder(*policy);
  if (work == "build") Begin();
  for (const std::string& key : stored) builder->AddKey(key);
  const Slice bytes = builder->Finish(&owner, &status);
  if (work == "build") End();
  if (!status.ok()) return 1;

  std::vector<std::string> asked;
  for (uint64_t i = 0; i < kLookups; ++i) {
    asked.push_back(work == "present" ? stored[i] : Key(kKeys + i));
  }
  std::vector<Slice> slices(asked.begin(), asked.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const auto reader = deltabloom::internal::NewBitsReader(*policy, bytes);
  int64_t matches = 0;
  if (work == "batch") {
    bool may_match[kBatchKeys];
    Begin();
    for (uint64_t done = 0; done < kLookups; done += kBatchKeys) {
      reader->MayMatch(kBatchKeys, &pointers[done], may_match);
      matches += std::count(may_match, may_match + kBatchKeys, true);
    }
    End();
  } else if (work != "build") {
    Begin();
    for (const Slice& key : slices) matches += reader->MayMatch(key);
    End();
  }
  std::printf("%lld\n", static_cast<long long>(matches));
  return 0;
}
