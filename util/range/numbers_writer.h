// Planning and writing range filters of the shape "numbers".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "util/range/codes.h"
#include "util/range/key_store.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

// The length of ranges that shall be answered well if none is given. With 16
// and with 65,536 as many scans pass in the workloads of docs/design.md.
inline constexpr uint64_t kRangeLength = 1024;

// The functions below allocate this much per key: a number, and again as much
// to sort them.
inline constexpr uint64_t kNumbersBytesPerKey = 16;

// Returns whether the keys can be stored as numbers.
bool AreNumbers(const KeyStore& keys);

struct NumbersPlan {
  CodesShape shape;  // without buckets: the keys do not fit
  uint64_t base = 0;
  uint64_t span = 0;
  unsigned unit = 0;
  std::vector<uint64_t> numbers;  // of the keys, less base

  bool Fits() const { return shape.buckets != 0; }
  // Returns whether each unit has a code of its own.
  bool IsExact() const { return span >> unit < shape.Universe(); }
};

// Plans a body of no more than `bytes` for ranges of `range_length` numbers.
// REQUIRES: AreNumbers(keys).
NumbersPlan PlanNumbers(const KeyStore& keys, uint64_t bytes,
                        uint64_t range_length);

// Returns how much weight of the samples [first, last) is likely to pass a
// filter of this plan. REQUIRES: plan.Fits().
double NumbersPassing(const KeyStore& keys, const NumbersPlan& plan,
                      const std::vector<Sample>& samples, size_t first,
                      size_t last);

// REQUIRES: plan.Fits().
void AppendNumbers(const KeyStore& keys, NumbersPlan plan, std::string* dst);

}  // namespace deltabloom::internal::range
