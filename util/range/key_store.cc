#include <cstring>

#include "util/range/shapes.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kChunkSize = 64 << 10;
constexpr size_t kRecordHeader = 2;

// Eight bytes compared at a time.
using Bytes8 = unsigned char __attribute__((vector_size(8)));

unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

bool KeyStore::Add(std::string_view key) {
  size_t shared = 0;
  if (size_ > 0) {
    shared = CommonPrefix(last_, key);
    if (shared == key.size()) return shared == last_.size();
    if (shared < last_.size() && ByteAt(key, shared) < ByteAt(last_, shared)) {
      return false;
    }
    CountCommonBits(key, shared);
  }
  NoteBytes(key);
  const std::string_view first = key.substr(0, kMaxCutBytes);
  shared = std::min(shared, first.size());
  const size_t rest = first.size() - shared;
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() <
                             kRecordHeader + rest) {
    chunks_.emplace_back().reserve(kChunkSize);
  }
  const char header[kRecordHeader] = {static_cast<char>(shared),
                                      static_cast<char>(rest)};
  chunks_.back().append(header, kRecordHeader).append(first, shared);
  least_size_ = std::min(least_size_, key.size());
  last_ = key;
  ++size_;
  return true;
}

void KeyStore::CountCommonBits(std::string_view key, size_t shared) {
  unsigned difference = 0;
  if (shared < last_.size()) {
    difference = ByteAt(last_, shared) ^ ByteAt(key, shared);
  } else {
    // The shorter key goes on with zeros.
    while (shared < key.size() && key[shared] == '\0') ++shared;
    if (shared == key.size()) return;
    difference = ByteAt(key, shared);
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

void KeyStore::NoteBytes(std::string_view key) {
  if (size_ == 0) {
    one_width_ = key.size() <= kMaxWidth;
    if (one_width_) least_.assign(key.begin(), key.end());
    most_ = least_;
  }
  one_width_ = one_width_ && key.size() == least_.size();
  if (!one_width_) return;
  size_t i = 0;
  for (; i + 8 <= key.size(); i += 8) {
    Bytes8 bytes, least, most;
    std::memcpy(&bytes, &key[i], 8);
    std::memcpy(&least, &least_[i], 8);
    std::memcpy(&most, &most_[i], 8);
    least = bytes < least ? bytes : least;
    most = bytes > most ? bytes : most;
    std::memcpy(&least_[i], &least, 8);
    std::memcpy(&most_[i], &most, 8);
  }
  for (; i < key.size(); ++i) {
    least_[i] = std::min(least_[i], ByteAt(key, i));
    most_[i] = std::max(most_[i], ByteAt(key, i));
  }
}

size_t KeyStore::MemorySize() const {
  size_t sum = last_.capacity() + chunks_.capacity() * sizeof(chunks_[0]) +
               common_bits_.capacity() * sizeof(uint64_t);
  for (const std::string& chunk : chunks_) sum += chunk.capacity();
  return sum;
}

bool KeyStore::Cursor::Next() {
  if (chunk_ == store_->chunks_.size()) return false;
  const std::string& chunk = store_->chunks_[chunk_];
  shared_ = ByteAt(chunk, at_);
  const size_t rest = ByteAt(chunk, at_ + 1);
  const char* const bytes = &chunk[at_ + kRecordHeader];
  different_ = shared_ < size_ && rest > 0
                   ? static_cast<unsigned char>(key_[shared_] ^ *bytes)
                   : 0xff;
  std::memcpy(key_ + shared_, bytes, rest);
  size_ = shared_ + rest;
  at_ += kRecordHeader + rest;
  if (at_ == chunk.size()) {
    ++chunk_;
    at_ = 0;
  }
  return true;
}

unsigned KeyStore::Cursor::shared_bits() const {
  return static_cast<unsigned>(8 * shared_) +
         static_cast<unsigned>(__builtin_clz(different_)) - 24;
}

}  // namespace deltabloom::internal::range
