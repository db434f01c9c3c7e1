// Keeps what builders learn from scans: some of their ranges, as samples, and
// the cuts that earlier samples chose for tables.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "util/range/cut.h"
#include "util/range/filter.h"
#include "util/range/range.h"

namespace deltabloom::internal {

// Ranges of scans: the last ones of a kind, of which each scan is taken at
// first and later one in kEvery. Thread-safe. Note never waits: a scan that
// comes while another thread stores or reads is dropped.
class ScanSamples {
 public:
  // A table chooses by those among its own keys, so more tables need more: with
  // 128, scans of a million keys read twice the blocks, and with all scans as
  // many (docs/measurements.md). With bounds of 60 bytes they take some 400
  // KiB.
  static constexpr size_t kScansOfKind = 1024;
  // So the samples stand for the last 32,000 scans of their kind, and a scan
  // takes 8 ns on average instead of the 55 ns that storing each would take.
  // With a larger number it would be 6 ns, as 55 / 31 of the 8 are spent on
  // storing. It is a prime, so that scans that take turns are all met.
  static constexpr uint32_t kEvery = 31;

  enum class Kind : uint8_t {
    // No key was found, though some table was let through: what a better choice
    // of prefixes would save. Up to half of the samples are theirs, however
    // rare they are.
    kPassedForNothing,
    kOther,
  };

  // REQUIRES: lower < upper. Only the first range::kMaxCutBytes of both count.
  // No exceptions.
  void Note(Kind kind, std::string_view lower, std::string_view upper);

  // Returns whether Note was not called yet. There may be no sample though it
  // was: a scan is dropped while another thread stores or reads.
  bool Empty() const {
    return of_kind_[0].seen.load(std::memory_order_relaxed) == 0 &&
           of_kind_[1].seen.load(std::memory_order_relaxed) == 0;
  }

  // Throws std::bad_alloc.
  std::vector<range::Range> Get() const;

 private:
  struct OfKind {
    std::atomic<uint32_t> seen{0};
    size_t next = 0;                   // where the next one is stored
    std::vector<range::Range> ranges;  // up to kScansOfKind
  };

  mutable std::mutex mutex_;  // of the ranges
  std::array<OfKind, 2> of_kind_;
};

// The cuts that earlier samples chose for the largest table that a scan has
// opened. Builders use them as long as there are no samples, as after a
// restart.
// Thread-safe.
class EarlierCuts {
 public:
  // Does nothing without memory, or while another thread is here.
  void Note(const range::Filter& filter, size_t filter_size);
  // Throws std::bad_alloc.
  std::vector<range::Cut> Get() const;

 private:
  mutable std::mutex mutex_;  // of the cuts
  std::atomic<size_t> size_{0};
  std::vector<range::Cut> cuts_;
};

}  // namespace deltabloom::internal
