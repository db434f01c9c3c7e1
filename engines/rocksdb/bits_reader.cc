#include "engines/rocksdb/bits_reader.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "table/framing.h"
#include "util/cpu_level.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::Slice;

// RocksDB's trailer; filters of no more bytes hold no key for its reader.
constexpr size_t kBuiltinTrailerSize = 5;

constexpr int kBatch = 32;  // MultiGet's largest

// Not zeroed first: that takes as long as several lookups.
union Batch {
  Batch() {}
  std::string_view keys[kBatch];
};

class SealedBitsReader final : public FilterBitsReader {
 public:
  explicit SealedBitsReader(const ParsedFilter& parsed) : parsed_(parsed) {}

  bool MayMatch(const Slice& key) override {
    return parsed_.may_match(parsed_, {key.data(), key.size()});
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    Batch batch;
    while (n > 0) {
      const int size = std::min(n, kBatch);
      for (int i = 0; i < size; ++i) {
        new (&batch.keys[i]) std::string_view(keys[i]->data(), keys[i]->size());
      }
      parsed_.may_match_many(parsed_, batch.keys, static_cast<size_t>(size),
                             may_match);
      keys += size;
      may_match += size;
      n -= size;
    }
  }

 private:
  const ParsedFilter parsed_;
};

}  // namespace

FilterBitsReader* NewSealedBitsReader(const Slice& filter,
                                      const FilterPolicy* builtin) {
  ParsedFilter parsed;
  const FilterKind kind = ParseSealed({filter.data(), filter.size()},
                                      ActiveCpuLevel(), &parsed, nullptr);
  if (kind == FilterKind::kForeign && builtin != nullptr &&
      filter.size() > kBuiltinTrailerSize) {
    return builtin->GetFilterBitsReader(filter);
  }
  return new (std::nothrow) SealedBitsReader(parsed);
}

}  // namespace deltabloom::internal
