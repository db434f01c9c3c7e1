// The keys of which a range filter is built.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "util/coding.h"
#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/digits.h"

namespace deltabloom::internal::range {

// Keeps the first kMaxCutBytes bytes of each key, without those that it shares
// with the previous one.
class KeyStore {
 public:
  // For keys of one size up to this, which docs/format.md ("Numbers") stores in
  // a byte, the bytes at each place are known, too.
  static constexpr size_t kMaxWidth = 255;
  // Bytes copied at a time. Reading a key takes 3.3 ns so, and 5.3 ns with
  // copies of sizes that change from key to key. Steps of 16 and of 64 bytes
  // differ by less than one run from the next.
  static constexpr size_t kStep = 32;
  static constexpr size_t kRecordHeader = 4;

  // Equal neighbours count once. False if the key is smaller than the last,
  // with which it has `shared` bytes in common.
  bool Add(std::string_view key, size_t shared);

  uint64_t size() const { return size_; }
  size_t MemorySize() const;

  // Returns whether all keys have Width() bytes, no more than kMaxWidth.
  bool OneWidth() const { return size_ > 0 && one_width_; }
  size_t Width() const { return last_size_; }
  // The least and the largest byte at each place, if the keys can be numbers.
  const unsigned char* Least() const { return least_.data(); }
  const unsigned char* Most() const { return most_.data(); }
  Digits DigitsOfKeys() const { return {Least(), Most(), Width()}; }
  size_t LeastSize() const { return least_size_; }
  // The first kMaxCutBytes bytes of the first key. REQUIRES: size() > 0.
  std::string_view First() const;
  std::string_view Last() const { return {last_.data(), last_size_}; }
  // At [b] the number of keys that share exactly b bits with the previous key
  // if both are padded with zeros: as prefixes are, so these are the keys that
  // have a new prefix from b + 1 bits on. Keys that share kMaxCutBits or more
  // are not counted.
  const std::vector<uint64_t>& KeysBySharedBits() const {
    return keys_by_shared_bits_;
  }

  // Reads what is kept, from the first key on.
  class Cursor {
   public:
    explicit Cursor(const KeyStore& store) : store_(store) {}
    bool Next();
    std::string_view key() const { return {key_, size_}; }
    // The bytes that the key shares with the previous one.
    size_t shared() const { return shared_; }
    // The bits that both have and share. If the key goes on where the previous
    // one ends, these are all bits of the previous one: unlike in
    // KeysBySharedBits, no zeros are added to it.
    unsigned shared_bits() const { return shared_bits_; }

   private:
    bool NextChunk();

    const KeyStore& store_;
    size_t chunks_read_ = 0;
    const char* at_ = nullptr;   // the next record
    const char* end_ = nullptr;  // of the chunk
    size_t size_ = 0;
    size_t shared_ = 0;
    unsigned shared_bits_ = 0;
    char key_[kMaxCutBytes + kStep];
  };

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };

  void CountSharedBits(std::string_view key, size_t shared);
  void NoteBytes(std::string_view key, size_t shared);

  // For each key the shared bytes and the size of the rest, in two bytes each,
  // and the rest.
  std::vector<Chunk> chunks_;
  uint64_t size_ = 0;
  std::vector<char> last_;  // and kStep bytes more
  size_t last_size_ = 0;
  bool one_width_ = true;
  bool may_be_numbers_ = true;  // no more than 2^64 keys of this form
  std::vector<unsigned char> least_, most_;
  size_t least_size_ = ~size_t{0};
  std::vector<uint64_t> keys_by_shared_bits_;
};

// Inline, as building reads all keys several times.
inline bool KeyStore::Cursor::Next() {
  if (at_ == end_ && !NextChunk()) return false;
  const uint32_t header = LoadFixed32(at_);
  const char* const bytes = at_ + kRecordHeader;
  const size_t rest = header >> 16;
  shared_ = header & 0xffff;
  const auto different = static_cast<unsigned char>(
      shared_ < size_ && rest > 0 ? key_[shared_] ^ *bytes : 0xff);
  shared_bits_ = static_cast<unsigned>(8 * shared_) +
                 static_cast<unsigned>(__builtin_clz(different)) - 24;
  char* const to = key_ + shared_;
  for (size_t i = 0; i < rest; i += kStep) {
    std::memcpy(to + i, bytes + i, kStep);
  }
  size_ = shared_ + rest;
  at_ = bytes + rest;
  return true;
}

}  // namespace deltabloom::internal::range
