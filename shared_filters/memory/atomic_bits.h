// Bits that many threads set and read without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace deltabloom::internal {

// Enough everywhere: bits are only ever set, by read-modify-writes, so a thread
// that a set happens before reads that bit or a later value of its word, which
// still has it. No other data is published through a bit.
inline constexpr auto kRelaxed = std::memory_order_relaxed;

// The byte with its bits in reverse order: in a Redis string, bit 0 is the
// highest bit of the first byte.
inline char ReverseBits(char byte) {
  unsigned reversed = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    reversed |= (static_cast<unsigned char>(byte) >> bit & 1u) << (7 - bit);
  }
  return static_cast<char>(reversed);
}

// A sum of what threads add. Each adds in a cache line that few others use.
class StripedCounter {
 public:
  void Add(uint64_t n) {
    static std::atomic<size_t> threads{0};
    thread_local const size_t mine = threads.fetch_add(1, kRelaxed) % kStripes;
    stripes_[mine].sum.fetch_add(n, kRelaxed);
  }

  uint64_t Sum() const {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) {
      sum += stripe.sum.load(kRelaxed);
    }
    return sum;
  }

 private:
  static constexpr size_t kStripes = 16;

  struct alignas(64) Stripe {
    std::atomic<uint64_t> sum{0};
  };
  Stripe stripes_[kStripes];
};

class AtomicBits {
 public:
  static constexpr uint64_t kWordBits = 64;

  // All zeros. Throws std::bad_alloc.
  explicit AtomicBits(uint64_t words) : words_(words), array_(Allocate(words)) {
    std::uninitialized_value_construct_n(array_.get(), words);
  }

  uint64_t words() const { return words_; }
  uint64_t bits() const { return words_ * kWordBits; }

  uint64_t Word(uint64_t i) const { return array_[i].load(kRelaxed); }

  bool Get(uint64_t bit) const {
    return (Word(bit / kWordBits) >> (bit % kWordBits) & 1) != 0;
  }

  // Sets the bits of `mask` in word i. (Without the result of fetch_or this is
  // one instruction, not a loop of compare and exchange.)
  void Or(uint64_t i, uint64_t mask) { array_[i].fetch_or(mask, kRelaxed); }

  // Sets one bit, and returns whether it was clear before. Reading first leaves
  // the cache line shared when the bit is set.
  bool Set(uint64_t bit) {
    if (Get(bit)) return false;
    Or(bit / kWordBits, uint64_t{1} << (bit % kWordBits));
    return true;
  }

  // Sets the bits offset_of(0 .. n-1). True if one of them was clear before.
  template <typename OffsetOf>
  bool SetAll(uint32_t n, OffsetOf offset_of) {
    bool changed = false;
    for (uint32_t i = 0; i < n; ++i) changed |= Set(offset_of(i));
    return changed;
  }

  template <typename OffsetOf>
  bool GetAll(uint32_t n, OffsetOf offset_of) const {
    uint32_t i = 0;
    while (i < n && Get(offset_of(i))) ++i;
    return i == n;
  }

  // Counts them, in a time proportional to words(). With running calls of Or,
  // the result is between the counts before and after them.
  uint64_t SetBits() const {
    uint64_t count = 0;
    for (uint64_t i = 0; i < words_; ++i) {
      count += static_cast<uint64_t>(__builtin_popcountll(Word(i)));
    }
    return count;
  }

 private:
  // Each 8 words are one cache line.
  struct Free {
    void operator()(std::atomic<uint64_t>* array) const {
      ::operator delete[](array, std::align_val_t{64});
    }
  };

  static std::atomic<uint64_t>* Allocate(uint64_t words) {
    if (words > SIZE_MAX / sizeof(uint64_t)) throw std::bad_alloc();
    return static_cast<std::atomic<uint64_t>*>(
        ::operator new[](words * sizeof(uint64_t), std::align_val_t{64}));
  }

  const uint64_t words_;
  const std::unique_ptr<std::atomic<uint64_t>[], Free> array_;
};

}  // namespace deltabloom::internal
