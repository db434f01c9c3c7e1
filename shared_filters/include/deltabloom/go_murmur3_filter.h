// The filter that Go services keep in Redis bitmaps, in memory. Its offsets are
// those of go-zero's core/bloom and its relatives (scheme go-murmur3 in
// shared_filters/docs/format.md).
#ifndef DELTABLOOM_GO_MURMUR3_FILTER_H_
#define DELTABLOOM_GO_MURMUR3_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// The number of probes of go-zero. At 20 bits per key the rate is 7 in 100,000.
inline constexpr uint32_t kGoZeroProbes = 14;

struct DELTABLOOM_EXPORT GoMurmur3FilterOptions {
  // The number of bits of the filter: 1 or more. It must be that of every other
  // program that uses the bits, and so must be the probes.
  uint64_t bits = 0;

  // The number of probes of a key: 1 to 256, as the number of a probe is one
  // byte.
  uint32_t probes = kGoZeroProbes;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Thread-safe without locks. A key is found by every MayMatch that happens
// after its Add, in the sense of the C++ memory model. The constructor throws
// std::invalid_argument with the text of Validate(), or std::bad_alloc;
// AppendBitmap may throw std::bad_alloc; nothing else throws.
class DELTABLOOM_EXPORT GoMurmur3Filter {
 public:
  explicit GoMurmur3Filter(const GoMurmur3FilterOptions& options);
  ~GoMurmur3Filter();
  GoMurmur3Filter(const GoMurmur3Filter&) = delete;
  GoMurmur3Filter& operator=(const GoMurmur3Filter&) = delete;

  // Adds a key. Returns true if that changed the filter, so the key was not
  // added before. Of several threads that add the same key at once, more than
  // one may get true.
  bool Add(std::string_view key);

  // Returns false only if `key` was not added.
  bool MayMatch(std::string_view key) const;

  // Returns the number of bits that are set.
  uint64_t SetBits() const;

  // Returns the probability that a key which was not added may match:
  // (set bits / bits)^probes.
  double FalsePositiveRate() const;

  // Appends the bits as a Redis string holds them, in (bits + 7) / 8 bytes: bit
  // i is the bit 0x80 >> i % 8 of byte i / 8.
  void AppendBitmap(std::string* dst) const;

  // Sets all bits that are set in a Redis string of any length; the one at
  // offset `bits`, the marker, is ignored. Returns an empty string; or, without
  // a change, one line if a later bit is set, as the bitmap is that of a larger
  // filter then.
  std::string MergeBitmap(std::string_view bitmap);

  uint64_t Bits() const;
  uint32_t Probes() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_GO_MURMUR3_FILTER_H_
