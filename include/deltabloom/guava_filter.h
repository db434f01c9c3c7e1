// Guava's BloomFilter (com.google.common.hash), bit for bit: filters that a
// Java service writes are read here, and the reverse.
// docs/shared_filters_format.md defines the bytes and the offsets.
//
//   deltabloom::GuavaFilterOptions options;
//   options.expected_insertions = 1000000;
//   deltabloom::GuavaFilter filter(options);
//   filter.Put("key");                               // stringFunnel(UTF_8)
//   filter.Put(deltabloom::GuavaLongFunnel(42));     // longFunnel()
//   std::string bytes;
//   filter.AppendTo(&bytes);                         // writeTo(stream)
//
// A filter does not know which funnel its keys went through: keys must go
// through the same one in every language (deltabloom/guava_funnels.h).
#ifndef DELTABLOOM_GUAVA_FILTER_H_
#define DELTABLOOM_GUAVA_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// Which bits belong to a key. The numbers are the ones in the bytes.
enum class GuavaStrategy : uint8_t {
  // The older one. Offsets of 31 bits: in a filter of more
  // than 2^31 bits (256 MiB) the rest stays empty.
  kMurmur128Mitz32 = 0,
  kMurmur128Mitz64 = 1,
};

// "MURMUR128_MITZ_32", "MURMUR128_MITZ_64"; null for a value that is neither.
DELTABLOOM_EXPORT const char* GuavaStrategyName(GuavaStrategy strategy);

// How Guava arrives at the number of hash functions k. Readers take k from the
// bytes: only filters that are to be merged must agree.
enum class GuavaProbeRule : uint8_t {
  kFromSize,  // round(bits / insertions * ln 2): Guava 31.1
  kFromRate,  // round(-log2(rate)): Guava since its change 7494 of 2024
};

struct DELTABLOOM_EXPORT GuavaFilterOptions {
  // Keys that the filter is made for; 0 counts as 1, as in Guava.
  uint64_t expected_insertions = 0;

  // The rate with that many keys, in theory. Above 0, below 1.
  double false_positive_rate = 0.03;

  GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64;
  GuavaProbeRule probe_rule = GuavaProbeRule::kFromSize;

  // Empty when the options can be built with; else one line that names the
  // offending option, its value and what is legal. What Guava refuses is
  // refused: filters of 0 bits, of 2^31 words of 64 bits or more, of more than
  // 255 hash functions.
  std::string Validate() const;
};

// Thread-safe without locks: any method may be called at any time from any
// thread. A key is found by every MightContain that happens after its Put (in
// the sense of the C++ memory model); by one that runs beside it, perhaps.
//
// Methods have the names and meanings of Guava's. None throws but AppendTo,
// std::bad_alloc, and those that say so.
class DELTABLOOM_EXPORT GuavaFilter {
 public:
  // BloomFilter.create. Throws std::invalid_argument with the text of
  // Validate(), or std::bad_alloc.
  explicit GuavaFilter(const GuavaFilterOptions& options);

  // BloomFilter.readFrom: the filter in `bytes`, which are copied and must end
  // where it ends. Null if they are not one, and *error, if given, is one line
  // that says why. Nothing is allocated before the sizes agree; throws
  // std::bad_alloc.
  static std::unique_ptr<GuavaFilter> FromBytes(std::string_view bytes,
                                                std::string* error = nullptr);

  ~GuavaFilter();
  GuavaFilter(const GuavaFilter&) = delete;
  GuavaFilter& operator=(const GuavaFilter&) = delete;

  // True if the key was certainly not there before: it changed the filter. When
  // threads put the same new key at once, more than one may be told true.
  bool Put(std::string_view key);

  // False only if `key` was not put.
  bool MightContain(std::string_view key) const;

  // How many different keys explain the bits that are set. UINT64_MAX when
  // every bit is set (Guava throws).
  uint64_t ApproximateElementCount() const;

  // The chance that a key which was not put may match: (set bits / bits)^k.
  double ExpectedFpp() const;

  // Can the other be put into this one? The same bits, hash functions and
  // strategy, and not this very filter. Funnels are for the caller to compare.
  bool IsCompatible(const GuavaFilter& other) const;

  // Everything that was put into the other before this call is in this one
  // after it. Throws std::invalid_argument, which says what differs, if they
  // are not compatible.
  void PutAll(const GuavaFilter& other);

  // BloomFilter.writeTo: appends 6 + Bits() / 8 bytes. They hold every key
  // whose Put happened before, and those that run beside it or not.
  void AppendTo(std::string* dst) const;

  uint64_t Bits() const;           // a multiple of 64
  uint32_t HashFunctions() const;  // 1 to 255
  GuavaStrategy Strategy() const;

 private:
  struct Rep;
  explicit GuavaFilter(std::unique_ptr<Rep> rep);

  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_GUAVA_FILTER_H_
