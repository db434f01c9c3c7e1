#include "engines/rocksdb/ranges/scan_range.h"

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
    prefix_ = request.lower;
    after = AfterPrefix(request.lower);
    before = BeforePrefix(request.lower);
    if (after) lower_ = *after;
    if (before) upper_ = *before;
  } else {
    lower_ = request.lower;
    if (request.upper) upper_ = *request.upper;
  }
  const Slice* const lower = options.iterate_lower_bound;
  const Slice* const upper = options.iterate_upper_bound;
  if (lower != nullptr && (!lower_ || Compare(*lower, *lower_) > 0)) {
    lower_ = *lower;
  }
  if (upper != nullptr && (!upper_ || Compare(*upper, *upper_) < 0)) {
    upper_ = *upper;
  }
  // Copies the bytes of all. Both bounds mostly have the size of the first.
  bytes_.reserve(2 * request.lower.size() + 1);
  for (const auto* const slice : {&lower_, &upper_, &prefix_}) {
    if (*slice) bytes_.append((*slice)->data(), (*slice)->size());
  }
  const char* at = bytes_.data();
  for (auto* const slice : {&lower_, &upper_, &prefix_}) {
    if (!*slice) continue;
    *slice = Slice(at, (*slice)->size());
    at += (*slice)->size();
  }
}

bool ScanRange::IsBeyond(const Slice& key, bool backward) const {
  if (backward && lower_ && Compare(key, *lower_) < 0) return true;
  if (!backward && upper_ && Compare(key, *upper_) >= 0) return true;
  // In the reverse order of bytes.
  return prefix_ && !key.starts_with(*prefix_) &&
         (key.compare(*prefix_) > 0) == backward;
}

const Slice* ScanRange::Start(bool backward) const {
  if (!backward) return lower();
  // In the reverse order the prefix itself is the last key that has it.
  return prefix_ && !IsBeyond(*prefix_, false) ? &*prefix_ : upper();
}

}  // namespace deltabloom::internal
