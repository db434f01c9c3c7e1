// A filter in memory for many threads: sized in advance, filled over time,
// asked meanwhile. For a memtable, or a service that asks "seen before?". Its
// bytes can become a filter of layout local at any time. In deltabloom::shared.
#ifndef DELTABLOOM_CONCURRENT_FILTER_H_
#define DELTABLOOM_CONCURRENT_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"
#include "deltabloom/sizing.h"

namespace deltabloom {

struct DELTABLOOM_EXPORT ConcurrentFilterOptions {
  // Keys that the filter is made for: up to 2^40.
  uint64_t expected_keys = 0;

  // The rate that a filter with that many different keys has on average. Legal:
  // 1e-9 to less than 1. With 0.01, a million keys take 1.24 MB; with 0.001,
  // 1.97 MB.
  double false_positive_rate = 0.01;

  // Empty when the options can be built with; else one line that names the
  // offending option, its value and what is legal.
  std::string Validate() const;
};

// Thread-safe without locks: any method may be called at any time from any
// thread. A key is found by every MayMatch that happens after its Add (in the
// sense of the C++ memory model); by one that runs beside it, perhaps.
//
// The constructor throws std::invalid_argument with the text of Validate(), or
// std::bad_alloc; nothing else throws but AppendTo, std::bad_alloc.
class DELTABLOOM_EXPORT ConcurrentFilter {
 public:
  explicit ConcurrentFilter(const ConcurrentFilterOptions& options);
  ~ConcurrentFilter();
  ConcurrentFilter(const ConcurrentFilter&) = delete;
  ConcurrentFilter& operator=(const ConcurrentFilter&) = delete;

  // True if the key was certainly not there before: it changed the filter. The
  // rare new key that changes nothing is a false positive of its time. When
  // threads add the same new key at once, more than one may be told true.
  bool Add(std::string_view key);

  // False only if `key` was not added.
  bool MayMatch(std::string_view key) const;

  // Calls of Add, duplicates too. Beside running Adds, the counts and rates
  // below lie between those before and those after them.
  uint64_t KeysAdded() const;

  // How many different keys explain the bits that are set: an estimate. Its
  // error is a percent or two with a thousand keys, falls with the square root
  // of their number, and grows when the filter is far beyond its capacity.
  // UINT64_MAX when every bit is set.
  uint64_t DistinctKeysEstimate() const;

  // It was made for this many keys at this rate.
  uint64_t ExpectedKeys() const;
  double ExpectedRate() const;

  // Holds more keys than it was made for, duplicates counted.
  bool IsOverfull() const { return KeysAdded() > ExpectedKeys(); }

  // The rate that the present contents mean. Up to 4 MiB, exactly: computed
  // from how full each block is, in up to some milliseconds. In larger filters
  // from the number of set bits, within half a percent of itself, and nearer
  // the larger they are.
  double FalsePositiveRate() const;

  BloomSize Size() const;

  // Appends the raw bytes of a filter of layout local (deltabloom/filter.h):
  // Filter reads them, with the same answers. It holds every key whose Add
  // happened before, and those that run beside it or not. Size().bits / 8 + 1
  // bytes. FilterBuilder writes the same bytes for the same keys when it
  // arrives at the same size and probes.
  void AppendTo(std::string* dst) const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_CONCURRENT_FILTER_H_
