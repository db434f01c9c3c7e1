#include "util/range/key_store.h"

#include <algorithm>
#include <cstring>

namespace deltabloom::internal::range {
namespace {

constexpr size_t kChunkSize = 64 << 10;
constexpr size_t kMaxNumberSize = 10;

char* PutNumber(size_t number, char* to) {
  for (; number >= 128; number >>= 7) {
    *to++ = static_cast<char>(number | 128);
  }
  *to++ = static_cast<char>(number);
  return to;
}

inline size_t TakeNumber(const char** from) {
  size_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*(*from)++);
    number |= static_cast<size_t>(byte & 127) << shift;
    if (byte < 128) return number;
  }
}

// Replaces what follows the first `size` bytes.
inline void ReplaceRest(std::string* text, size_t size, const char* rest,
                        size_t rest_size) {
  text->resize(size + rest_size);
  std::copy_n(rest, rest_size, &(*text)[size]);
}

// Eight bytes compared at a time.
using Bytes8 = unsigned char __attribute__((vector_size(8)));

}  // namespace

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
  // All of it: reading across the end of a recent short store is slow.
  ReplaceRest(&last_, 0, key.data(), key.size());
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
  size_t i = from;
  for (; i + 8 <= width_; i += 8) {
    Bytes8 bytes, least, most;
    std::memcpy(&bytes, key.data() + i, 8);
    std::memcpy(&least, &least_[i], 8);
    std::memcpy(&most, &most_[i], 8);
    const Bytes8 below = reinterpret_cast<Bytes8>(bytes < least);
    const Bytes8 above = reinterpret_cast<Bytes8>(bytes > most);
    least = (bytes & below) | (least & ~below);
    most = (bytes & above) | (most & ~above);
    std::memcpy(&least_[i], &least, 8);
    std::memcpy(&most_[i], &most, 8);
  }
  for (; i < width_; ++i) {
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
  if (chunks_.empty() || chunks_.back().capacity - chunks_.back().size < most) {
    const size_t capacity = std::max(kChunkSize, most);
    chunks_.push_back(
        {std::unique_ptr<char[]>(new char[capacity]), capacity, 0});
  }
  Chunk& chunk = chunks_.back();
  char* at = PutNumber(shared_of_last_, chunk.bytes.get() + chunk.size);
  at = PutNumber(rest, at);
  std::memcpy(at, last_.data() + shared_of_last_, rest);
  chunk.size = static_cast<size_t>(at + rest - chunk.bytes.get());
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
  size_t sum = last_.capacity() + chunks_.capacity() * sizeof(Chunk) +
               common_bits_.capacity() * sizeof(uint64_t);
  for (const Chunk& chunk : chunks_) sum += chunk.capacity;
  return sum;
}

bool KeyStore::Cursor::Next() {
  if (chunk_ == store_->chunks_.size()) return false;
  const Chunk& chunk = store_->chunks_[chunk_];
  if (at_ == nullptr) at_ = chunk.bytes.get();
  shared_ = TakeNumber(&at_);
  const size_t rest = TakeNumber(&at_);
  different_ = shared_ < key_.size() && rest > 0
                   ? static_cast<unsigned char>(key_[shared_] ^ *at_)
                   : 0xff;
  ReplaceRest(&key_, shared_, at_, rest);
  at_ += rest;
  if (at_ == chunk.bytes.get() + chunk.size) {
    ++chunk_;
    at_ = nullptr;
  }
  return true;
}

unsigned KeyStore::Cursor::shared_bits() const {
  return static_cast<unsigned>(8 * shared_) +
         static_cast<unsigned>(__builtin_clz(different_)) - 24;
}

}  // namespace deltabloom::internal::range
