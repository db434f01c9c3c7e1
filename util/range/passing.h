// The probability that a sample passes filters of prefixes.
#pragma once

#include <cstddef>

#include "util/range/prefixes_of_range.h"

namespace deltabloom::internal::range {

// A cut has at most this many bits per prefix: one in 16 million lookups
// passes.
inline constexpr unsigned kMaxBits = 24;

class PassingTable {
 public:
  constexpr PassingTable() {
    double one_passes = 1;  // 2^-bits
    for (size_t bits = 0; bits <= kMaxBits; ++bits) {
      double all_are_rejected = 1;
      passing_[0][bits] = 1;
      for (size_t prefixes = 1; prefixes <= kMaxPrefixesPerRange; ++prefixes) {
        all_are_rejected *= 1 - one_passes;
        passing_[prefixes][bits] = 1 - all_are_rejected;
      }
      one_passes /= 2;
    }
  }

  constexpr double Get(unsigned prefixes, unsigned bits) const {
    return passing_[prefixes][bits];
  }

 private:
  double passing_[kMaxPrefixesPerRange + 1][kMaxBits + 1] = {};
};

inline constexpr PassingTable kPassing;

// Returns with which probability a sample that asks a filter of `bits` bits per
// prefix for `prefixes` prefixes passes it: 1 - (1 - 2^-bits)^prefixes. A
// sample that asks for none always passes, and a filter without bits lets all
// others pass as well. REQUIRES: prefixes <= kMaxPrefixesPerRange, bits <=
// kMaxBits.
inline double Passing(unsigned prefixes, unsigned bits) {
  return kPassing.Get(prefixes, bits);
}

}  // namespace deltabloom::internal::range
