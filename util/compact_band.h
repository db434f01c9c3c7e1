// The equations of a compact filter while it is built: one triangular system
// that takes keys one bucket at a time and can give back the latest of them.
//
// Row i holds an equation whose first row is i, or none. A new equation whose
// first row is taken is XORed with the one there, which moves its first row
// to the right, until it finds a free row. Which sets of equations fit and
// what solves them does not depend on their order (docs/format.md).
#ifndef DELTABLOOM_UTIL_COMPACT_BAND_H_
#define DELTABLOOM_UTIL_COMPACT_BAND_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "util/compact_geometry.h"

namespace deltabloom::internal {

// Fingerprint: the smallest unsigned integer of at least `columns` bits.
template <typename Fingerprint>
class CompactBand {
 public:
  CompactBand(uint64_t rows, unsigned columns)
      : coefficients_(Zeroed<uint64_t>(rows)),
        fingerprints_(Zeroed<Fingerprint>(rows)),
        fingerprint_mask_(~uint32_t{0} >> (32 - columns)) {}

  // Bytes per row.
  static constexpr uint64_t kRowBytes = 8 + sizeof(Fingerprint);

  // Begins a bucket: Undo reaches back to here.
  void BeginBucket() { taken_size_ = 0; }

  // Takes the keys with these hashes, all of the current bucket. False if
  // they contradict the equations there; some of them are then in, Undo must
  // follow.
  bool Insert(const CompactLayer& layer, unsigned seed, unsigned layer_index,
              const uint64_t* hashes, size_t n);

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
  struct Lane {
    uint64_t row;
    uint64_t coefficients;
    uint32_t fingerprint;
  };

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

  enum class StepResult { kMoved, kDone, kContradiction };

  // One XOR, or the end of a lane.
  StepResult Step(Lane* lane) {
    const uint64_t there = coefficients_[lane->row];
    if (there == 0) {
      coefficients_[lane->row] = lane->coefficients;
      fingerprints_[lane->row] = static_cast<Fingerprint>(lane->fingerprint);
      taken_[taken_size_++] = lane->row;
      return StepResult::kDone;
    }
    const uint64_t rest = lane->coefficients ^ there;
    lane->fingerprint ^= fingerprints_[lane->row];
    if (__builtin_expect(rest == 0, 0)) {
      // Nothing but the fingerprint is left. It is 0 for a duplicate.
      return lane->fingerprint == 0 ? StepResult::kDone
                                    : StepResult::kContradiction;
    }
    const auto shift = static_cast<unsigned>(__builtin_ctzll(rest));
    lane->coefficients = rest >> shift;
    lane->row += shift;
    return StepResult::kMoved;
  }

  std::unique_ptr<uint64_t[], Free> coefficients_;
  std::unique_ptr<Fingerprint[], Free> fingerprints_;
  uint32_t fingerprint_mask_;
  // The equations of a bucket name 191 rows, so no more of them are
  // independent.
  uint64_t taken_[kBucketStarts + kBlockRows];
  size_t taken_size_ = 0;
};

template <typename Fingerprint>
bool CompactBand<Fingerprint>::Insert(const CompactLayer& layer, unsigned seed,
                                      unsigned layer_index,
                                      const uint64_t* hashes, size_t n) {
  // Each XOR waits for the one before it. Keys of one bucket may overtake each
  // other, so several are under way at a time.
  constexpr unsigned kLanes = 4;
  Lane lanes[kLanes];
  size_t next = 0;
  const auto load = [&](Lane* lane) {
    const uint64_t hash = CompactLayerHash(hashes[next++], seed, layer_index);
    const CompactEquation equation = EquationOf(hash);
    lane->row = layer.first_row + ScaleHash(hash, layer.starts);
    lane->coefficients = equation.coefficients;
    lane->fingerprint = equation.fingerprint & fingerprint_mask_;
  };
  unsigned finished = kLanes;  // a lane that is, with no key left for it
  if (n >= kLanes) {
    for (unsigned i = 0; i < kLanes; ++i) load(&lanes[i]);
    do {
#pragma GCC unroll 4
      for (unsigned i = 0; i < kLanes; ++i) {
        const StepResult result = Step(&lanes[i]);
        if (result == StepResult::kMoved) continue;
        if (result == StepResult::kContradiction) return false;
        if (next == n) {
          finished = i;
          break;
        }
        load(&lanes[i]);
      }
    } while (finished == kLanes);
  }
  const auto run = [&](Lane* lane) {
    for (;;) {
      const StepResult result = Step(lane);
      if (result != StepResult::kMoved) return result == StepResult::kDone;
    }
  };
  if (n >= kLanes) {
    for (unsigned i = 0; i < kLanes; ++i) {
      if (i != finished && !run(&lanes[i])) return false;
    }
  }
  while (next < n) {
    load(&lanes[0]);
    if (!run(&lanes[0])) return false;
  }
  return true;
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_BAND_H_
