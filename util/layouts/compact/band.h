// The equations of a compact filter while it is built: one triangular system
// that takes keys one bucket at a time and can give back the latest of them.
//
// Row i holds an equation whose first row is i, or none. A new equation whose
// first row is taken is XORed with the one there, which moves its first row
// to the right, until it finds a free row. Which sets of equations fit and
// what solves them does not depend on their order (docs/format.md).
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_BAND_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_BAND_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "util/layouts/compact/equation.h"

namespace deltabloom::internal::compact {

// Fingerprint: the smallest unsigned integer of at least `columns` bits.
template <typename Fingerprint>
class Band {
 public:
  Band(uint64_t rows, unsigned columns)
      : coefficients_(Zeroed<uint64_t>(rows)),
        fingerprints_(Zeroed<Fingerprint>(rows)),
        fingerprint_mask_(~uint32_t{0} >> (32 - columns)) {}

  // Begins a bucket: Undo reaches back to here.
  void BeginBucket() { taken_size_ = 0; }

  // Takes the keys with these hashes, all of the current bucket. False if
  // they contradict the equations there; some of them are then in, Undo must
  // follow.
  bool Insert(const Shape& shape, unsigned layer, const uint64_t* hashes,
              size_t n);

  // Rows taken since BeginBucket, and the way back to an earlier number.
  size_t taken() const { return taken_size_; }
  void Undo(size_t taken) {
    while (taken_size_ > taken) {
      const uint64_t row = taken_[--taken_size_];
      coefficients_[row] = 0;
      fingerprints_[row] = 0;
    }
  }

  // 0 for a free row.
  const uint64_t* coefficients() const { return coefficients_.get(); }
  const Fingerprint* fingerprints() const { return fingerprints_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  // Fresh pages from the system are zero without being touched.
  template <typename T>
  static std::unique_ptr<T[], Free> Zeroed(uint64_t n) {
    void* memory = std::calloc(n, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return std::unique_ptr<T[], Free>(static_cast<T*>(memory));
  }

  enum Step { kMoved, kDone, kContradiction };

  std::unique_ptr<uint64_t[], Free> coefficients_;
  std::unique_ptr<Fingerprint[], Free> fingerprints_;
  uint32_t fingerprint_mask_;
  // The equations of a bucket name 191 rows, so no more of them are
  // independent.
  uint64_t taken_[kBucketStarts + kBlockRows];
  size_t taken_size_ = 0;
};

// Each XOR waits for the one before it. Keys of one bucket may overtake each
// other, so several are under way at a time, each in a lane. Everything is in
// local variables: a store to the arrays could change any member.
template <typename Fingerprint>
bool Band<Fingerprint>::Insert(const Shape& shape, unsigned layer,
                               const uint64_t* hashes, size_t n) {
  constexpr unsigned kLanes = 4;
  uint64_t* const coefficients = coefficients_.get();
  Fingerprint* const fingerprints = fingerprints_.get();
  const uint32_t mask = fingerprint_mask_;
  const unsigned seed = shape.seed;
  const uint64_t first_row = shape.first_row(layer);
  const uint64_t starts = shape.starts(layer);
  uint64_t* taken = taken_ + taken_size_;
  const uint64_t* const end = hashes + n;
  uint64_t row[kLanes];
  uint64_t equation[kLanes];
  uint32_t fingerprint[kLanes];

  const auto load = [&](unsigned lane) __attribute__((always_inline)) {
    const uint64_t hash = LayerHash(*hashes++, seed, layer);
    const Equation loaded = EquationOf(hash);
    row[lane] = first_row + StartOf(hash, starts);
    equation[lane] = loaded.coefficients;
    fingerprint[lane] = loaded.fingerprint & mask;
  };
  // One XOR, or the end of a lane.
  const auto step = [&](unsigned lane) __attribute__((always_inline)) {
    const uint64_t there = coefficients[row[lane]];
    if (there == 0) {
      coefficients[row[lane]] = equation[lane];
      fingerprints[row[lane]] = static_cast<Fingerprint>(fingerprint[lane]);
      *taken++ = row[lane];
      return kDone;
    }
    const uint64_t rest = equation[lane] ^ there;
    fingerprint[lane] ^= fingerprints[row[lane]];
    if (__builtin_expect(rest == 0, 0)) {
      // Nothing but the fingerprint is left. It is 0 for a duplicate.
      return fingerprint[lane] == 0 ? kDone : kContradiction;
    }
    const auto shift = static_cast<unsigned>(__builtin_ctzll(rest));
    equation[lane] = rest >> shift;
    row[lane] += shift;
    return kMoved;
  };

  Step result = kDone;
  if (n >= kLanes) {
    unsigned finished = kLanes;  // a lane for which no key is left
#pragma GCC unroll 4
    for (unsigned lane = 0; lane < kLanes; ++lane) load(lane);
    do {
#pragma GCC unroll 4
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        result = step(lane);
        if (result == kMoved) continue;
        if (result == kContradiction || hashes == end) {
          finished = lane;
          break;
        }
        load(lane);
      }
    } while (finished == kLanes);
#pragma GCC unroll 4
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (lane == finished || result == kContradiction) continue;
      do {
        result = step(lane);
      } while (result == kMoved);
    }
  }
  while (hashes != end && result == kDone) {
    load(0);
    do {
      result = step(0);
    } while (result == kMoved);
  }
  taken_size_ = static_cast<size_t>(taken - taken_);
  return result == kDone;
}

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_BAND_H_
