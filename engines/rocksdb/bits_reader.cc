#include "engines/rocksdb/bits_reader.h"

#include <cstddef>
#include <new>
#include <type_traits>

#include "table/framing.h"
#include "util/cpu.h"
#include "util/key_batch.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::Slice;

// RocksDB's trailer; filters of no more bytes hold no key for its reader.
constexpr size_t kBuiltinTrailerSize = 5;

// A Slice lies in memory like a KeyBytes; slice.h declares both members public.
static_assert(std::is_trivially_copyable<Slice>::value &&
              sizeof(Slice) == sizeof(KeyBytes) &&
              offsetof(Slice, data_) == offsetof(KeyBytes, data) &&
              offsetof(Slice, size_) == offsetof(KeyBytes, size));

class SealedBitsReader final : public FilterBitsReader {
 public:
  explicit SealedBitsReader(const ParsedFilter& parsed) : parsed_(parsed) {}

  bool MayMatch(const Slice& key) override {
    return parsed_.may_match(parsed_, {key.data(), key.size()});
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    if (n <= 0) return;
    parsed_.may_match_many(parsed_, KeyBatch(keys), static_cast<size_t>(n),
                           may_match);
  }

 private:
  const ParsedFilter parsed_;
};

}  // namespace

FilterBitsReader* NewSealedBitsReader(const Slice& filter,
                                      const FilterPolicy* builtin) {
  ParsedFilter parsed;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpu(), &parsed, nullptr);
  if (kind == FilterKind::kForeign && builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    return builtin->GetFilterBitsReader(filter);
  }
  return new (std::nothrow) SealedBitsReader(parsed);
}

}  // namespace deltabloom::internal
