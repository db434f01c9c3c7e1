// A filter in memory, sized in advance, that many threads fill and query at the
// same time: for a memtable, say. Link deltabloom::shared.
#ifndef DELTABLOOM_CONCURRENT_FILTER_H_
#define DELTABLOOM_CONCURRENT_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"
#include "deltabloom/sizing.h"

namespace deltabloom {

struct DELTABLOOM_EXPORT ConcurrentFilterOptions {
  // The number of keys to size the filter for: up to 2^40.
  uint64_t expected_keys = 0;

  // The average false-positive rate with that many different keys. Legal: 1e-9
  // to less than 1. With 0.01, a million keys take 1.24 MB.
  double false_positive_rate = 0.01;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Thread-safe without locks. A key is found by every MayMatch that happens
// after its Add, in the sense of the C++ memory model. The constructor throws
// std::invalid_argument with the text of Validate(), or std::bad_alloc;
// AppendTo may throw std::bad_alloc; nothing else throws.
class DELTABLOOM_EXPORT ConcurrentFilter {
 public:
  explicit ConcurrentFilter(const ConcurrentFilterOptions& options);
  ~ConcurrentFilter();
  ConcurrentFilter(const ConcurrentFilter&) = delete;
  ConcurrentFilter& operator=(const ConcurrentFilter&) = delete;

  // Adds a key. Returns true if that changed the filter, so the key was not
  // added before; a new key that changes nothing was a false positive. Of
  // several threads that add the same key at once, more than one may get true.
  bool Add(std::string_view key);

  // Returns false only if `key` was not added.
  bool MayMatch(std::string_view key) const;

  // Returns the number of calls of Add, duplicates included. During concurrent
  // Adds this count, and the counts and rates below, lie between those before
  // and those after them.
  uint64_t KeysAdded() const;

  // Returns the number of different keys, estimated from the bits that are set:
  // within 2 % with a thousand keys, closer with more, up to the capacity. It
  // is UINT64_MAX if every bit is set. Reads the whole filter, as
  // FalsePositiveRate() does, which takes about 50 us per MiB.
  uint64_t DistinctKeysEstimate() const;

  // Returns whether the filter holds more keys than it was made for; duplicates
  // count.
  bool IsOverfull() const;

  // Returns the average rate of filters of this size with as many bits set.
  // That of a single filter differs from it, by a twentieth with a thousand
  // keys at 0.01.
  double FalsePositiveRate() const;

  // Returns the number of bits and of probes.
  BloomSize Size() const;

  // Appends Size().bits / 8 + 1 raw bytes, a filter of layout local for Filter
  // (deltabloom/filter.h). Keys of concurrent Adds may be missing.
  void AppendTo(std::string* dst) const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_CONCURRENT_FILTER_H_
