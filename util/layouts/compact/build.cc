// Building compact filters: hashes in, payload out.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/compact/compact.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {
namespace {

// --- Equations -------------------------------------------------------------
//
// One triangular system that takes keys one bucket at a time and can give back
// the latest of them. Row i holds an equation whose first row is i, or none. A
// new equation whose first row is taken is XORed with the one there, which
// moves its first row to the right, until it finds a free row. Which sets of
// equations fit and what solves them does not depend on their order
// (docs/format.md).

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
  // Makes one XOR, or ends a lane.
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
      // Only the fingerprint is left. It is 0 for a duplicate.
      return fingerprint[lane] == 0 ? kDone : kContradiction;
    }
    const auto shift = static_cast<unsigned>(__builtin_ctzll(rest));
    equation[lane] = rest >> shift;
    row[lane] += shift;
    return kMoved;
  };

  Step result = kDone;
  const auto finish = [&](unsigned lane) __attribute__((always_inline)) {
    do {
      result = step(lane);
    } while (result == kMoved);
  };
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
      if (lane != finished && result != kContradiction) finish(lane);
    }
  }
  while (hashes != end && result == kDone) {
    load(0);
    finish(0);
  }
  taken_size_ = static_cast<size_t>(taken - taken_);
  return result == kDone;
}

// --- From equations to columns ---------------------------------------------

template <unsigned kColumns>
using FingerprintOf =
    std::conditional_t<kColumns <= 8, uint8_t,
                       std::conditional_t<kColumns <= 16, uint16_t, uint32_t>>;

// Solves the triangular system from the last row to the first, free rows being
// 0, and writes the columns of every block. A column word under construction
// holds the 64 rows from the current one on; after the first row of a block
// that is the block's word.
template <unsigned kColumns>
void Solve(const Shape& shape, const uint64_t* coefficients,
           const void* fingerprints_of_rows, unsigned char* columns) {
  const auto* fingerprints =
      static_cast<const FingerprintOf<kColumns>*>(fingerprints_of_rows);
  uint64_t column[kColumns] = {};
  for (uint64_t block = shape.blocks(); block-- > 0;) {
    for (uint64_t row = (block + 1) * kBlockRows; row-- > block * kBlockRows;) {
      const uint64_t equation = coefficients[row];
      const uint64_t fingerprint = fingerprints[row];
      for (unsigned j = 0; j < kColumns; ++j) {
        column[j] <<= 1;
        column[j] |=
            (static_cast<uint64_t>(__builtin_parityll(column[j] & equation)) ^
             fingerprint >> j) &
            1;
      }
    }
    const uint64_t first = block * kColumns - std::min(block, shape.narrow);
    const unsigned width = block < shape.narrow ? kColumns - 1 : kColumns;
    for (unsigned j = 0; j < width; ++j) {
      StoreFixed64(columns + (first + j) * 8, column[j]);
    }
  }
}

#if defined(__x86_64__)
template <unsigned kColumns>
DELTABLOOM_TARGET_AVX2 __attribute__((flatten)) void SolveAvx2(
    const Shape& shape, const uint64_t* coefficients, const void* fingerprints,
    unsigned char* columns) {
  Solve<kColumns>(shape, coefficients, fingerprints, columns);
}
#endif

using SolveFn = decltype(&Solve<1>);

template <size_t... kIndex>
SolveFn ChooseSolve(unsigned columns, [[maybe_unused]] Cpu cpu,
                    std::index_sequence<kIndex...>) {
#if defined(__x86_64__)
  static constexpr SolveFn kAvx2[] = {SolveAvx2<kIndex + 1>...};
  if (cpu >= Cpu::kAvx2) return kAvx2[columns - 1];
#endif
  static constexpr SolveFn kPortable[] = {Solve<kIndex + 1>...};
  return kPortable[columns - 1];
}

// --- From hashes to equations ----------------------------------------------
//
// Keys are first gathered by ranges of starts ("groups") that fit the cache,
// then, group by group, by bucket and class. A class is a range of starts of a
// bucket between two thresholds, from the right: class 0 stays longest. Later
// layers have so few keys that each is one group.
constexpr unsigned kClasses = 3;
constexpr unsigned kSmallestGroupLog2 = 12;
constexpr uint64_t kMostGroups = 1024;

unsigned ClassOf(uint64_t start) {
  const uint64_t offset = start % kBucketStarts;
  return (offset < kThresholds[2] ? 1u : 0u) +
         (offset < kThresholds[1] ? 1u : 0u);
}

unsigned GroupLog2(uint64_t starts) {
  unsigned log2 = kSmallestGroupLog2;
  while (starts >> log2 >= kMostGroups) ++log2;
  return log2;
}

// Hashes in the buffer through which groups are sorted. Larger groups, which
// random hashes do not form, are sorted in place.
uint64_t BufferSize(uint64_t keys, const Shape& shape) {
  return std::min(keys, std::max(uint64_t{2} << GroupLog2(shape.starts(0)),
                                 2 * shape.starts(1)));
}

// Turns the number of elements in each category into the place where the
// category ends. Filling each category from its end then leaves the place where
// it begins.
void CountsToEnds(std::vector<uint64_t>* counts) {
  uint64_t sum = 0;
  for (uint64_t& count : *counts) count = sum += count;
}

template <typename Fingerprint>
class Construction {
 public:
  Construction(const Shape& shape, unsigned char* payload)
      : shape_(shape), thresholds_(payload + shape.thresholds_at) {}

  // Gathers the hashes of the list by group. With keep_hashes false the list
  // ends empty, before the equations take their memory; Restore brings it back
  // once they are gone.
  void Gather(HashList* hashes, bool keep_hashes) {
    const unsigned log2 = GroupLog2(shape_.starts(0));
    const auto group_of = [this, log2](uint64_t hash) {
      return StartIn(0, hash) >> log2;
    };
    group_begin_.assign((shape_.starts(0) >> log2) + 2, 0);
    hashes->ForEachChunk<uint64_t>([&](const uint64_t* chunk, size_t n) {
      for (size_t i = 0; i < n; ++i) ++group_begin_[group_of(chunk[i])];
    });
    CountsToEnds(&group_begin_);
    size_ = hashes->size();
    buffer_size_ = BufferSize(size_, shape_);
    buffer_.reset(new uint64_t[buffer_size_]);
    hashes_.reset(new uint64_t[size_]);
    uint64_t* const to = hashes_.get();
    uint64_t* const at = group_begin_.data();
    const auto scatter = [&](const uint64_t* chunk, size_t n) {
      for (size_t i = 0; i < n; ++i) to[--at[group_of(chunk[i])]] = chunk[i];
    };
    if (keep_hashes) {
      hashes->ForEachChunk<uint64_t>(scatter);
    } else {
      hashes->ConsumeChunks<uint64_t>(scatter);
    }
    band_.emplace(shape_.blocks() * kBlockRows, shape_.columns);
  }

  void Restore(HashList* hashes) {
    band_.reset();
    for (uint64_t i = 0; i < size_; ++i) hashes->Add(hashes_[i]);
  }

  // Returns false if this seed does not work.
  bool InsertAll() {
    const uint64_t group_buckets =
        (uint64_t{1} << GroupLog2(shape_.starts(0))) / kBucketStarts;
    for (size_t group = 0; group + 1 < group_begin_.size(); ++group) {
      const uint64_t first = group * group_buckets;
      const uint64_t begin = group_begin_[group];
      if (!InsertBuckets(
              0, first, std::min(first + group_buckets, shape_.buckets(0)),
              hashes_.get() + begin, group_begin_[group + 1] - begin)) {
        return false;
      }
    }
    std::vector<uint64_t> passed;
    for (unsigned layer = 1; layer < shape_.layers; ++layer) {
      passed.swap(bumped_);
      bumped_.clear();
      if (!InsertBuckets(layer, 0, shape_.buckets(layer), passed.data(),
                         passed.size())) {
        return false;
      }
    }
    return true;
  }

  void SolveInto(unsigned char* payload, Cpu cpu) {
    ChooseSolve(shape_.columns, cpu, std::make_index_sequence<kMaxColumns>())(
        shape_, band_->coefficients(), band_->fingerprints(), payload);
  }

 private:
  uint64_t StartIn(unsigned layer, uint64_t hash) const {
    return StartOf(LayerHash(hash, shape_.seed, layer), shape_.starts(layer));
  }

  // The n hashes of buckets first .. end - 1, which it reorders.
  bool InsertBuckets(unsigned layer, uint64_t first, uint64_t end,
                     uint64_t* hashes, uint64_t n) {
    if (first >= end) return true;
    const auto category_of = [this, layer, first](uint64_t hash) {
      const uint64_t start = StartIn(layer, hash);
      return (start / kBucketStarts - first) * kClasses + ClassOf(start);
    };
    class_begin_.assign((end - first) * kClasses + 1, 0);
    uint64_t* at = class_begin_.data();
    for (uint64_t i = 0; i < n; ++i) ++at[category_of(hashes[i])];
    CountsToEnds(&class_begin_);
    if (n > buffer_size_) {
      std::sort(hashes, hashes + n, [&](uint64_t a, uint64_t b) {
        return category_of(a) < category_of(b);
      });
      for (uint64_t i = 0; i < n; ++i) --at[category_of(hashes[i])];
    } else {
      uint64_t* const to = buffer_.get();
      for (uint64_t i = 0; i < n; ++i) {
        to[--at[category_of(hashes[i])]] = hashes[i];
      }
      hashes = to;
    }
    for (uint64_t bucket = first; bucket < end; ++bucket, at += kClasses) {
      if (!InsertBucket(layer, bucket, hashes, at)) return false;
    }
    return true;
  }

  // class_begin: where in `hashes` the classes of the bucket begin, and where
  // the last one ends.
  bool InsertBucket(unsigned layer, uint64_t bucket, const uint64_t* hashes,
                    const uint64_t* class_begin) {
    band_->BeginBucket();
    // Most buckets that cannot keep all keep all but the last class, so that is
    // tried before the classes one by one.
    unsigned kept = 0;
    const auto keep = [&](unsigned classes) {
      const size_t taken = band_->taken();
      const uint64_t begin = class_begin[kept];
      if (!band_->Insert(shape_, layer, hashes + begin,
                         class_begin[classes] - begin)) {
        band_->Undo(taken);
        return false;
      }
      kept = classes;
      return true;
    };
    if (keep(kClasses - 1)) {
      if (keep(kClasses)) return true;
    } else {
      for (unsigned classes = 1; keep(classes);) ++classes;
    }
    if (layer + 1u == shape_.layers) return false;
    const uint64_t at = shape_.first_bucket(layer) + bucket;
    thresholds_[at / 4] |=
        static_cast<unsigned char>((kClasses - kept) << (at % 4 * 2));
    // The next layer has no room for more than this. Only keys that were chosen
    // to collide, many times over, reach this limit.
    const uint64_t most = 2 * (shape_.starts(layer + 1) + kBlockRows);
    const uint64_t begin = class_begin[kept];
    const uint64_t end = class_begin[kClasses];
    if (bumped_.size() + (end - begin) > most) return false;
    bumped_.insert(bumped_.end(), hashes + begin, hashes + end);
    return true;
  }

  const Shape& shape_;
  std::optional<Band<Fingerprint>> band_;
  unsigned char* thresholds_;
  std::unique_ptr<uint64_t[]> hashes_;  // of all keys, by group of layer 0
  uint64_t size_ = 0;
  std::vector<uint64_t> group_begin_;  // and where the last one ends
  std::vector<uint64_t> bumped_;  // hashes that the current layer passes on
  // Working space.
  std::unique_ptr<uint64_t[]> buffer_;
  uint64_t buffer_size_ = 0;
  std::vector<uint64_t> class_begin_;
};

template <typename Fingerprint>
bool BuildWith(HashList* hashes, bool keep_hashes, const Shape& shape, Cpu cpu,
               unsigned char* payload) {
  Construction<Fingerprint> construction(shape, payload);
  construction.Gather(hashes, keep_hashes);
  if (construction.InsertAll()) {
    construction.SolveInto(payload, cpu);
    return true;
  }
  if (!keep_hashes) construction.Restore(hashes);
  return false;
}

}  // namespace

bool BuildShape(HashList* hashes, bool keep_hashes, Shape shape, Cpu cpu,
                unsigned char* payload) {
  const auto build = shape.columns <= 8    ? BuildWith<uint8_t>
                     : shape.columns <= 16 ? BuildWith<uint16_t>
                                           : BuildWith<uint32_t>;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SetSeed(seed, &shape);
    std::fill_n(payload + shape.thresholds_at, shape.thresholds_bytes(),
                static_cast<unsigned char>(0));
    if (build(hashes, keep_hashes, shape, cpu, payload)) {
      StoreSizes(shape, payload + shape.payload_size() - kSizesBytes);
      return true;
    }
  }
  return false;
}

void SetBuildBytes(const Shape& shape, Plan* plan) {
  const unsigned fingerprint_bytes = shape.columns <= 8    ? 1
                                     : shape.columns <= 16 ? 2
                                                           : 4;
  uint64_t bumped = 0;
  for (unsigned i = 1; i < shape.layers; ++i) {
    bumped += 2 * (shape.starts(i) + kBlockRows);
  }
  const uint64_t starts = shape.starts(0);
  const uint64_t groups = (starts >> GroupLog2(starts)) + 2;
  plan->late_build_bytes =
      shape.blocks() * kBlockRows * (8 + fingerprint_bytes) + bumped * 8;
  plan->build_bytes = plan->keys * 8 + BufferSize(plan->keys, shape) * 8 +
                      groups * 8 + plan->late_build_bytes;
}

}  // namespace deltabloom::internal::compact
