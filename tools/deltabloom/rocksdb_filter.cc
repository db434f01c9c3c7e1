#include "tools/deltabloom/rocksdb_filter.h"

#include <algorithm>
#include <array>
#include <new>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/key_transforms.h"
#include "table/framing.h"

namespace deltabloom::tools {
namespace {

using ROCKSDB_NAMESPACE::Slice;

Slice ToSlice(std::string_view key) { return {key.data(), key.size()}; }

}  // namespace

std::string RocksDBFilter::Open(std::string bytes) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  const internal::FilterKind kind = internal::ParseSealed(
      bytes, internal::ActiveCpu(), &keys, &parsed, nullptr);
  std::string key_transform = internal::kNoTransform;
  if (keys.transformed) {
    const auto* transform = internal::FindKeyTransform(keys.transform_id);
    if (transform == nullptr) {
      return "no key transform known here has the id " +
             std::to_string(keys.transform_id);
    }
    key_transform = transform->text;
  }
  std::string error = FindPolicy(key_transform);
  if (!error.empty()) return error;
  reader_.reset();  // has a view of the bytes
  bytes_ = std::move(bytes);
  reader_ = internal::NewBitsReader(*policy_, bytes_);
  if (reader_ == nullptr) throw std::bad_alloc();
  range_part_.reset();
  if (kind == internal::FilterKind::kFilter) {
    const std::string_view range_part = internal::RangePartOf(bytes_);
    if (!range_part.empty()) {
      range_part_.emplace(range_part, keys.seeded ? &keys.seed : nullptr);
    }
  }
  return {};
}

std::string RocksDBFilter::FindPolicy(const std::string& key_transform) {
  if (policy_ != nullptr && key_transform == key_transform_) return {};
  key_transform_ = key_transform;
  for (const auto compatibility :
       {RocksDBCompatibility::kBuiltin, RocksDBCompatibility::kOwn}) {
    RocksDBFilterOptions options;
    options.compatibility = compatibility;
    options.key_transform = key_transform;
    std::string error;
    policy_ = NewRocksDBFilterPolicy(options, &error);
    if (policy_ == nullptr) return error;
    if (policy_->CompatibilityName() == compatibility_name_) return {};
  }
  policy_ = nullptr;
  return "no policy known here has the compatibility name " +
         compatibility_name_;
}

bool RocksDBFilter::MayMatch(std::string_view key) {
  return reader_->MayMatch(ToSlice(key));
}

bool RocksDBFilter::RangeOfKeyMayMatch(std::string_view key) {
  if (!range_part_.has_value()) return true;
  std::string upper(key);
  upper.push_back('\0');
  // The empty key counts as present, as for the policy's reader.
  return key.empty() || range_part_->MayMatch(key, upper);
}

bool RocksDBFilter::MayMatch(const std::string_view* keys, size_t n,
                             bool* may_match) {
  constexpr size_t kMost = 32;  // as in RocksDB
  std::array<Slice, kMost> slices;
  std::array<Slice*, kMost> pointers;
  for (size_t done = 0; done < n;) {
    const size_t now = std::min(n - done, kMost);
    for (size_t i = 0; i < now; ++i) {
      slices[i] = ToSlice(keys[done + i]);
      pointers[i] = &slices[i];
    }
    reader_->MayMatch(static_cast<int>(now), pointers.data(), may_match + done);
    done += now;
  }
  return true;
}

}  // namespace deltabloom::tools
