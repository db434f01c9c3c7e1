#include "util/range/key_store.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "util/coding.h"
#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/digits.h"

namespace deltabloom::internal::range {
namespace {

// Tables of few keys take one chunk. At the end of each up to 1,060 bytes stay
// unused, which is 1.6 % of 64 KiB.
constexpr size_t kChunkSize = 64 << 10;
// No record begins after this, so that Cursor can read whole steps.
constexpr size_t kLastRecordAt =
    kChunkSize - KeyStore::kRecordHeader - kMaxCutBytes - KeyStore::kStep;

}  // namespace

bool KeyStore::Add(std::string_view key, size_t shared) {
  if (size_ > 0) {
    if (shared == key.size()) return shared == last_size_;
    if (shared < last_size_ && ByteAt(key, shared) < ByteAt(Last(), shared)) {
      return false;
    }
    CountSharedBits(key, shared);
  }
  NoteBytes(key, shared);
  const size_t kept = std::min(key.size(), kMaxCutBytes);
  shared = std::min(shared, kept);
  if (chunks_.empty() || chunks_.back().size > kLastRecordAt) {
    chunks_.push_back({std::make_unique<char[]>(kChunkSize), 0});
  }
  Chunk& chunk = chunks_.back();
  char* const record = &chunk.bytes[chunk.size];
  const size_t rest = kept - shared;
  StoreFixed32(record, static_cast<uint32_t>(shared | rest << 16));
  if (last_.size() < key.size() + kStep) last_.resize(2 * key.size() + kStep);
  key.copy(last_.data(), key.size());
  last_size_ = key.size();
  for (size_t i = 0; i < rest; i += kStep) {
    std::memcpy(record + kRecordHeader + i, &last_[shared + i], kStep);
  }
  chunk.size += kRecordHeader + rest;
  least_size_ = std::min(least_size_, key.size());
  ++size_;
  return true;
}

void KeyStore::CountSharedBits(std::string_view key, size_t shared) {
  const unsigned byte = shared < last_size_ ? ByteAt(Last(), shared) : 0;
  // The shorter key goes on with zeros.
  while (byte == 0 && key[shared] == '\0') {
    if (++shared == key.size()) return;
  }
  const unsigned difference = byte ^ ByteAt(key, shared);
  const size_t bits =
      8 * shared + static_cast<size_t>(__builtin_clz(difference)) - 24;
  if (bits >= kMaxCutBits) return;
  if (bits >= keys_by_shared_bits_.size()) {
    keys_by_shared_bits_.resize(bits + 1);
  }
  ++keys_by_shared_bits_[bits];
}

std::string_view KeyStore::First() const {
  const char* const record = &chunks_[0].bytes[0];
  return {record + kRecordHeader, LoadFixed32(record) >> 16};
}

void KeyStore::NoteBytes(std::string_view key, size_t shared) {
  if (size_ == 0) {
    one_width_ = key.size() <= kMaxWidth;
    if (one_width_) least_.assign(key.begin(), key.end());
    most_ = least_;
  }
  one_width_ = one_width_ && key.size() == least_.size();
  if (!one_width_ || !may_be_numbers_) return;
  unsigned char* const least = least_.data();
  unsigned char* const most = most_.data();
  // The shared bytes are those of the last key.
  for (size_t i = shared; i < key.size(); ++i) {
    least[i] = std::min(least[i], ByteAt(key, i));
    most[i] = std::max(most[i], ByteAt(key, i));
  }
  // Keys that are no numbers are often too many after a few of them.
  if ((size_ & (size_ - 1)) == 0) {
    may_be_numbers_ = Digits{least, most, key.size()}.Fit();
  }
}

size_t KeyStore::MemorySize() const {
  return last_.capacity() + chunks_.capacity() * sizeof(chunks_[0]) +
         keys_by_shared_bits_.capacity() * sizeof(uint64_t) +
         chunks_.size() * kChunkSize;
}

bool KeyStore::Cursor::NextChunk() {
  if (chunks_read_ == store_.chunks_.size()) return false;
  const Chunk& chunk = store_.chunks_[chunks_read_++];
  at_ = chunk.bytes.get();
  end_ = at_ + chunk.size;
  return true;
}

}  // namespace deltabloom::internal::range
