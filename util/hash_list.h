// The hashes of the keys added so far, in the order they came. The list
// consists of chunks, so that it grows without copying and has little unused
// memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace deltabloom::internal {

class HashList {
 public:
  // hash_size: 4 or 8, the number of bytes of each hash that are stored, from
  // the lowest on.
  explicit HashList(unsigned hash_size) : hash_size_(hash_size) {}

  void Add(uint64_t hash) {
    if (used_ == capacity_) AddChunk();
    if (hash_size_ == 4) {
      static_cast<uint32_t*>(tail_)[used_] = static_cast<uint32_t>(hash);
    } else {
      static_cast<uint64_t*>(tail_)[used_] = hash;
    }
    ++used_;
  }

  uint64_t size() const { return full_ + used_; }
  unsigned hash_size() const { return hash_size_; }

  void Clear() { *this = HashList(hash_size_); }

  // Bytes allocated for hashes.
  uint64_t MemorySize() const { return memory_size_; }

  // Calls fn(const T* hashes, size_t n) for each chunk, in order; T is
  // uint32_t or uint64_t, the type of hash_size() bytes.
  template <typename T, typename Fn>
  void ForEachChunk(Fn fn) const {
    for (const Chunk& chunk : chunks_) {
      const bool last = &chunk == &chunks_.back();
      fn(static_cast<const T*>(chunk.memory.get()),
         last ? used_ : chunk.capacity);
    }
  }

  // Does what ForEachChunk does, but frees each chunk after fn; the list is
  // then empty.
  template <typename T, typename Fn>
  void ConsumeChunks(Fn fn) {
    size_t i = 0;
    ForEachChunk<T>([&](const T* hashes, size_t n) {
      fn(hashes, n);
      chunks_[i++].memory.reset();
    });
    Clear();
  }

 private:
  static constexpr size_t kFirstChunkBytes = size_t{4} << 10;
  static constexpr size_t kLargestChunkBytes = size_t{256} << 10;

  struct Delete {
    void operator()(void* memory) const { ::operator delete(memory); }
  };
  struct Chunk {
    std::unique_ptr<void, Delete> memory;  // of hashes of either size
    size_t capacity;                       // hashes
  };

  // Kept out of Add, so that Add needs few registers.
  __attribute__((noinline)) void AddChunk() {
    // A new chunk is a thirty-second of the list, so that the unused part is
    // always small.
    const size_t bytes =
        std::clamp(static_cast<size_t>(memory_size_ / 32) & ~size_t{7},
                   kFirstChunkBytes, kLargestChunkBytes);
    Chunk chunk{std::unique_ptr<void, Delete>(::operator new(bytes)),
                bytes / hash_size_};
    chunks_.push_back(std::move(chunk));
    full_ += used_;
    used_ = 0;
    tail_ = chunks_.back().memory.get();
    capacity_ = chunks_.back().capacity;
    memory_size_ += bytes;
  }

  std::vector<Chunk> chunks_;
  void* tail_ = nullptr;  // memory of the last chunk
  size_t used_ = 0;       // hashes in the last chunk
  size_t capacity_ = 0;   // hashes that fit the last chunk
  uint64_t full_ = 0;     // hashes in all chunks before it
  uint64_t memory_size_ = 0;
  unsigned hash_size_;
};

}  // namespace deltabloom::internal
