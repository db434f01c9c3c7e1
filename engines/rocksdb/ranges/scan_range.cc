#include "engines/rocksdb/ranges/scan_range.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "util/range/key_range.h"

namespace deltabloom::internal {

using rocksdb::Slice;

namespace {

// Returns the smallest text that is larger, bytewise, than all that begin with
// `prefix`; nothing if there is none.
std::optional<std::string> AfterPrefix(std::string_view prefix) {
  std::string after(prefix);
  while (!after.empty() && after.back() == '\xff') after.pop_back();
  if (after.empty()) return std::nullopt;
  ++after.back();
  return after;
}

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

ScanRange::ScanRange(const rocksdb::ReadOptions& options,
                     const ScanRequest& request)
    : comparator_(request.comparator) {
  lower_ = request.lower;
  if (request.upper) upper_ = *request.upper;
  std::optional<std::string> after, before;
  if (request.prefix_order) {
    after = AfterPrefix(request.lower);
    upper_ = after;
  }
  if (request.prefix_order == range::Order::kReverse) {
    prefix_ = request.lower;
    lower_ = after;
    before = BeforePrefix(request.lower);
    upper_ = before;
  }
  const Slice* const lower = options.iterate_lower_bound;
  const Slice* const upper = options.iterate_upper_bound;
  if (lower != nullptr && (!lower_ || Compare(*lower, *lower_) > 0)) {
    lower_ = *lower;
  }
  if (upper != nullptr && (!upper_ || Compare(*upper, *upper_) < 0)) {
    upper_ = *upper;
  }
  // Copies the bytes of all.
  const auto all = {&lower_, &upper_, &prefix_};
  size_t size = 0;
  for (const auto* const slice : all) size += *slice ? (*slice)->size() : 0;
  if (size > sizeof(few_bytes_)) more_bytes_.reset(new char[size]);
  char* at = more_bytes_ == nullptr ? few_bytes_ : more_bytes_.get();
  for (auto* const slice : all) {
    if (!*slice) continue;
    const char* const copy = at;
    at = std::copy_n((*slice)->data(), (*slice)->size(), at);
    *slice = Slice(copy, (*slice)->size());
  }
}

bool ScanRange::IsBeyond(const Slice& key, bool backward) const {
  if (backward && lower_ && Compare(key, *lower_) < 0) return true;
  if (!backward && upper_ && Compare(key, *upper_) >= 0) return true;
  // In the reverse order of bytes.
  return prefix_ && !key.starts_with(*prefix_) &&
         (key.compare(*prefix_) > 0) == backward;
}

}  // namespace deltabloom::internal
