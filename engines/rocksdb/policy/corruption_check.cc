#include "engines/rocksdb/policy/corruption_check.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "deltabloom/filter.h"
#include "engines/rocksdb/base/errors.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Status;

Status Corruption(const char* text) {
  Status status = Status::Corruption();
  WithoutThrowing([&] { status = Status::Corruption(text); });
  return status;
}

template <typename Fn>
void ForEachHash(const HashList& hashes, Fn fn) {
  const auto chunk = [&fn](const auto* words, size_t n) {
    for (size_t i = 0; i < n; ++i) fn(uint64_t{words[i]});
  };
  if (hashes.hash_size() == sizeof(uint32_t)) {
    hashes.ForEachChunk<uint32_t>(chunk);
  } else {
    hashes.ForEachChunk<uint64_t>(chunk);
  }
}

}  // namespace

Status CorruptionCheck::ChangeOfHashes(const HashList& hashes) const {
  uint64_t checksum = 0;
  ForEachHash(hashes, [&](uint64_t hash) { checksum ^= hash; });
  if (checksum == checksum_) return Status::OK();
  return Corruption(
      "deltabloom: the hashes of a filter changed in memory while it was "
      "built");
}

void CorruptionCheck::Keep(FilterKind kind, HashList* hashes) {
  checksum_ = 0;
  kind_ = kind;
  kept_.Clear();
  if (hashes != nullptr) std::swap(kept_, *hashes);
}

Status CorruptionCheck::ChangeOfFilter(const rocksdb::Slice& filter) {
  ParsedFilter parsed;
  HashedKeys keys;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &keys, &parsed, nullptr);
  bool intact = kind == kind_;
  if (intact && kind == FilterKind::kFilter) {
    const LayoutRow* row = FindLayoutOfLastByte(
        static_cast<uint8_t>(filter[filter.size() - 1]), Hash::kMurmurHash2);
    ForEachHash(kept_, [&](uint64_t hash) {
      intact = intact && row->may_match_hash(parsed, hash);
    });
  }
  kept_.Clear();
  if (intact) return Status::OK();
  return Corruption(
      "deltabloom: a filter changed in memory after it was built");
}

}  // namespace deltabloom::internal
