// Which cuts can reject a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "util/range/sample.h"

namespace deltabloom::internal::range {

// The depths at which a sample can be rejected, in bits from the beginning of a
// key, and how many prefixes it then asks for. From the depth at which it parts
// from the keys around it, it asks for one prefix as long as all keys in its
// range share it, and deeper for several, up to kMaxPrefixesPerRange.
class Reach {
 public:
  // `least_size`: no key is shorter. The sample must outlive this.
  Reach(const Sample& sample, size_t least_size);

  // The bits with which all keys in the range begin.
  size_t common() const { return common_; }
  // The deepest depth that has at most kMaxPrefixesPerRange prefixes.
  size_t last() const { return common_ + several_.size(); }

  // If any depth rejects it, the deepest does, too.
  bool CanBeRejected() const { return AsksAt(last()) > 0; }
  // Returns whether some depth rejects it with one prefix.
  bool HasOnePrefix() const { return first_ <= common_; }

  // How many prefixes it asks for at this depth; 0 if it cannot be rejected
  // there.
  uint8_t AsksAt(size_t depth) const {
    if (depth <= common_) return depth >= first_ ? 1 : 0;
    return depth <= last() ? several_[depth - common_ - 1] : 0;
  }

  // The bytes with which all keys in the range begin.
  std::string_view CommonBytes() const { return common_bytes_; }

 private:
  size_t first_, common_;
  std::string_view common_bytes_;
  std::vector<uint8_t> several_;  // at the depths behind common_
};

}  // namespace deltabloom::internal::range
