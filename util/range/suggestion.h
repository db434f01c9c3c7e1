// Says what to declare, by what empty scans share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/range/prefixes_option.h"

namespace deltabloom::internal::range {

// Counts in how many bytes the keys of scans agree, or the delimiter with which
// these bytes end. No byte of a key is kept. Thread-safe.
class Suggestion {
 public:
  // Notes the bytes that all keys of a scan share, which found none in tables
  // that were let through.
  void Note(std::string_view common);

  // Returns a line such as "94 % of 60000 empty scans share a prefix that ends
  // with '/': prefixes='/'"; empty if no half of the scans has one of this kind
  // that is not declared.
  std::string Text(const PlacesToHold& declared) const;

 private:
  // More bytes than these count as these.
  static constexpr size_t kMostBytes = 64;

  std::atomic<uint64_t> scans_{0};
  std::array<std::atomic<uint64_t>, kMostBytes + 1> of_size_{};
  std::array<std::atomic<uint64_t>, 128> of_delimiter_{};  // by its byte
};

}  // namespace deltabloom::internal::range
