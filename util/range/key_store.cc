#include "util/range/key_store.h"

#include <algorithm>

#include "util/coding.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kChunkSize = 64 << 10;
constexpr size_t kMaxNumberSize = 10;

void PutNumber(size_t number, std::string* to) {
  for (; number >= 128; number >>= 7) {
    to->push_back(static_cast<char>(number | 128));
  }
  to->push_back(static_cast<char>(number));
}

size_t TakeNumber(const std::string& from, size_t* at) {
  size_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from[(*at)++]);
    number |= static_cast<size_t>(byte & 127) << shift;
    if (byte < 128) return number;
  }
}

}  // namespace

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + 8 <= end; i += 8) {
    const uint64_t difference =
        LoadFixed64(a.data() + i) ^ LoadFixed64(b.data() + i);
    if (difference != 0) {
      return i + static_cast<size_t>(__builtin_ctzll(difference)) / 8;
    }
  }
  while (i < end && a[i] == b[i]) ++i;
  return i;
}

bool KeyStore::Add(std::string_view key) {
  size_t shared = 0;
  if (size_ > 0) {
    shared = CommonPrefix(last_, key);
    if (shared == key.size()) return shared == last_.size();
    if (shared < last_.size() && static_cast<unsigned char>(key[shared]) <
                                     static_cast<unsigned char>(last_[shared]))
      return false;
    Keep(shared);
    CountCommonBits(key, shared);
  }
  least_size_ = std::min(least_size_, key.size());
  NoteBytes(key, shared);
  last_.replace(shared, std::string::npos, key.substr(shared));
  shared_of_last_ = shared;
  ++size_;
  return true;
}

void KeyStore::CountCommonBits(std::string_view key, size_t shared) {
  unsigned difference = 0;
  if (shared < last_.size()) {
    difference = static_cast<unsigned char>(last_[shared] ^ key[shared]);
  } else {
    // The shorter key goes on with zeros.
    while (shared < key.size() && key[shared] == '\0') ++shared;
    if (shared == key.size()) return;
    difference = static_cast<unsigned char>(key[shared]);
  }
  const size_t bits =
      8 * shared + static_cast<size_t>(__builtin_clz(difference)) - 24;
  if (bits >= 8 * kMaxCutBytes) return;
  if (common_bits_.empty()) common_bits_.resize(8 * kMaxCutBytes);
  ++common_bits_[bits];
}

uint64_t KeyStore::DistinctPrefixes(unsigned bits) const {
  uint64_t prefixes = 1;
  if (!common_bits_.empty()) {
    for (unsigned i = 0; i < bits; ++i) prefixes += common_bits_[i];
  }
  return prefixes;
}

void KeyStore::NoteBytes(std::string_view key, size_t from) {
  if (size_ == 0) {
    width_ = key.size();
    one_width_ = width_ <= kMaxWidth;
    if (!one_width_) return;
    least_.assign(key.begin(), key.end());
    most_ = least_;
  }
  if (key.size() != width_) one_width_ = false;
  if (!one_width_) return;
  for (size_t i = from; i < width_; ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    least_[i] = std::min(least_[i], byte);
    most_[i] = std::max(most_[i], byte);
  }
}

void KeyStore::Keep(size_t shared_with_next) {
  const size_t different = std::max(shared_of_last_, shared_with_next);
  size_t kept = last_.size();
  const size_t wanted =
      std::max(different + kBytesAfterDifference, first_bytes_);
  if (kept > wanted) {
    kept = wanted;
    kept_of_each_ = std::min(kept_of_each_, kept);
  }
  const size_t rest = kept - shared_of_last_;
  const size_t most = 2 * kMaxNumberSize + rest;
  if (chunks_.empty() ||
      chunks_.back().capacity() - chunks_.back().size() < most) {
    chunks_.emplace_back();
    chunks_.back().reserve(std::max(kChunkSize, most));
  }
  PutNumber(shared_of_last_, &chunks_.back());
  PutNumber(rest, &chunks_.back());
  chunks_.back().append(last_, shared_of_last_, rest);
}

void KeyStore::Close() {
  if (size_ > 0) Keep(0);
}

void KeyStore::Clear() {
  const size_t first_bytes = first_bytes_;
  *this = KeyStore();
  first_bytes_ = first_bytes;
}

size_t KeyStore::MemorySize() const {
  size_t sum = last_.capacity() + chunks_.capacity() * sizeof(std::string) +
               common_bits_.capacity() * sizeof(uint64_t);
  for (const std::string& chunk : chunks_) sum += chunk.capacity();
  return sum;
}

bool KeyStore::Cursor::Next() {
  while (chunk_ < store_->chunks_.size() &&
         at_ == store_->chunks_[chunk_].size()) {
    ++chunk_;
    at_ = 0;
  }
  if (chunk_ == store_->chunks_.size()) return false;
  const std::string& bytes = store_->chunks_[chunk_];
  shared_ = TakeNumber(bytes, &at_);
  const size_t rest = TakeNumber(bytes, &at_);
  key_.replace(shared_, std::string::npos, bytes, at_, rest);
  at_ += rest;
  return true;
}

}  // namespace deltabloom::internal::range
