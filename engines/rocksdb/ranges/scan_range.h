// The keys of a scan, in the order of its comparator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rocksdb/comparator.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "util/range/key_range.h"

namespace deltabloom::internal {

// The keys that a caller asks for. Views need not live longer than the call.
struct ScanRequest {
  std::string_view lower;
  std::optional<std::string_view> upper;
  const rocksdb::Comparator* comparator;
  // If set, `lower` is a prefix, and the scan has all keys that begin with it,
  // in this order.
  std::optional<range::Order> prefix_order = std::nullopt;
  // True: the iterator may not keep its bounds.
  bool keeps_bounds = false;
};

// RocksDB keeps pointers to the bounds, so this is not copied.
class ScanRange {
 public:
  // Takes the bounds of the request and of `options`, whichever are narrower.
  ScanRange(const rocksdb::ReadOptions& options, const ScanRequest& request);
  ScanRange(const ScanRange&) = delete;
  ScanRange& operator=(const ScanRange&) = delete;

  // The bounds for RocksDB; null: there is none. Those of a reverse prefix
  // leave a few more keys.
  const rocksdb::Slice* lower() const { return lower_ ? &*lower_ : nullptr; }
  const rocksdb::Slice* upper() const { return upper_ ? &*upper_ : nullptr; }
  // The prefix of all keys, if it is a reverse one.
  const std::optional<rocksdb::Slice>& prefix() const { return prefix_; }

  // Returns whether no key can be in it.
  bool Empty() const {
    return lower_ && upper_ && Compare(*lower_, *upper_) >= 0;
  }

  // Returns whether a move passes all keys of the range before it reaches this
  // key: whether the key is after the range, or, backward, before it.
  bool IsBeyond(const rocksdb::Slice& key, bool backward) const;
  // Returns whether a move that starts at the key starts with all of the range.
  bool StartsAt(const rocksdb::Slice& key, bool backward) const {
    return (!backward && lower_ && key == *lower_) || IsBeyond(key, !backward);
  }

 private:
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const {
    return comparator_->CompareWithoutTimestamp(a, false, b, false);
  }

  const rocksdb::Comparator* const comparator_;
  // The bytes of the bounds and of the prefix. They are allocated only if the
  // two bounds have more than 128 bytes each.
  char few_bytes_[256];
  std::unique_ptr<char[]> more_bytes_;
  std::optional<rocksdb::Slice> lower_, upper_, prefix_;
};

}  // namespace deltabloom::internal
