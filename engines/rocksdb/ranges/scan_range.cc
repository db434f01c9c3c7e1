#include "engines/rocksdb/ranges/scan_range.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace deltabloom::internal {

using rocksdb::Slice;

namespace {

// Returns a text that is smaller, bytewise, than all that begin with `prefix`,
// but larger than most others that are: there is no largest one.
std::optional<std::string> BeforePrefix(std::string_view prefix) {
  if (prefix.empty()) return std::nullopt;
  std::string before(prefix);
  if (before.back() == '\0') {
    before.pop_back();
    return before;
  }
  --before.back();
  // Most keys of the prefix before have no such bytes.
  return before.append(8, '\xff');
}

}  // namespace

std::optional<std::string> AfterPrefix(std::string_view prefix) {
  std::string after(prefix);
  while (!after.empty() && after.back() == '\xff') after.pop_back();
  if (after.empty()) return std::nullopt;
  ++after.back();
  return after;
}

ScanRange::ScanRange(const rocksdb::ReadOptions& options,
                     const ScanRequest& request)
    : comparator_(request.comparator) {
  std::optional<std::string> after, before;
  if (request.reverse_prefix) {
    prefix_ = Slice(request.lower.data(), request.lower.size());
    after = AfterPrefix(request.lower);
    before = BeforePrefix(request.lower);
    if (after) lower_ = *after;
    if (before) upper_ = *before;
  } else {
    lower_ = Slice(request.lower.data(), request.lower.size());
    if (request.upper)
      upper_ = Slice(request.upper->data(), request.upper->size());
  }
  const Slice* const lower = options.iterate_lower_bound;
  const Slice* const upper = options.iterate_upper_bound;
  if (lower != nullptr && (!lower_ || Compare(*lower, *lower_) > 0)) {
    lower_ = *lower;
  }
  if (upper != nullptr && (!upper_ || Compare(*upper, *upper_) < 0)) {
    upper_ = *upper;
  }
  // Copies the bytes of all, in one allocation.
  size_t size = 0;
  for (const auto* const slice : {&lower_, &upper_, &prefix_}) {
    if (*slice) size += (*slice)->size();
  }
  bytes_.reserve(size);
  for (auto* const slice : {&lower_, &upper_, &prefix_}) {
    if (!*slice) continue;
    const size_t at = bytes_.size();
    bytes_.append((*slice)->data(), (*slice)->size());
    *slice = Slice(bytes_.data() + at, (*slice)->size());
  }
}

bool ScanRange::IsBefore(const Slice& key) const {
  if (lower_ && Compare(key, *lower_) < 0) return true;
  return prefix_ && !key.starts_with(*prefix_) && key.compare(*prefix_) > 0;
}

bool ScanRange::IsAfter(const Slice& key) const {
  if (upper_ && Compare(key, *upper_) >= 0) return true;
  return prefix_ && !key.starts_with(*prefix_) && key.compare(*prefix_) < 0;
}

bool ScanRange::IsAtFront(const Slice& key) const {
  return IsBefore(key) || (lower_ && Compare(key, *lower_) == 0);
}

}  // namespace deltabloom::internal
