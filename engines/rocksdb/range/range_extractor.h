// The prefix extractor by which RocksDB tells a filter the bounds of a seek.
//
// For an iterator with auto_prefix_mode and an iterate_upper_bound RocksDB
// calls, in one thread and with nothing of the extractor's between,
//
//   InDomain(lower), prefix = Transform(lower),
//   InDomain(upper), Transform(upper)
//
// and then, as both prefixes are equal, asks the filter for `prefix`
// (FilterBlockReaderCommon::RangeMayExist; in RocksDB 7.0
// FullFilterBlockReader::RangeMayExist). This extractor gives every key the
// empty prefix, for which RocksDB's contract holds trivially: a seek never
// leaves it. What it gives away is where the prefix lies, an address that no
// other call of the thread has lately had. A filter that is asked for a prefix
// at the address of the last call but one thereby knows both bounds, and that
// they are those of this very question: calls of another one in its midst,
// while the filter is read, come from elsewhere on the stack.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_EXTRACTOR_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_EXTRACTOR_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "rocksdb/slice.h"
#include "rocksdb/slice_transform.h"

namespace deltabloom::internal {

// Its name and id, in OPTIONS files and table properties, never another.
inline constexpr char kRangeExtractorName[] = "deltabloom.Range";

// Thread-safe. Bounds mean nothing under another order of keys than that of
// their bytes, and RocksDB does not tell an extractor the order: bounds are
// handed over only after Trust().
class __attribute__((visibility("hidden"))) RangeExtractor final
    : public ROCKSDB_NAMESPACE::SliceTransform {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  // Throws std::bad_alloc.
  RangeExtractor();
  ~RangeExtractor() override;

  static const char* kClassName() { return kRangeExtractorName; }
  const char* Name() const override { return kRangeExtractorName; }

  Slice Transform(const Slice& key) const override;
  bool InDomain(const Slice& key) const override;

  // Somebody looked: it is used for keys in the order of their bytes, or for
  // others. The latter counts for good.
  void Trust() const;
  void Distrust() const;

 private:
  enum class Order : uint8_t { kUnknown, kBytewise, kOther };

  mutable std::atomic<Order> order_{Order::kUnknown};
};

// `extractor`, which may be null, if it is one of this library's, else null.
const RangeExtractor* AsRangeExtractor(
    const ROCKSDB_NAMESPACE::SliceTransform* extractor);

// A table of keys in another order than that of their bytes was written with a
// RangeExtractor, in a column family that nobody looked at. From now on no
// extractor of this process hands over bounds.
void StopRanges();
bool RangesStopped();

struct Bounds {
  std::string_view lower;
  std::string_view upper;  // not part of it
};

// Whether a filter that is asked for `prefix` is asked for a range, and for
// which: lower < upper, bytewise. The bounds live as long as the question.
// True once for each question.
bool TakeBounds(const ROCKSDB_NAMESPACE::Slice& prefix, Bounds* bounds);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_EXTRACTOR_H_
