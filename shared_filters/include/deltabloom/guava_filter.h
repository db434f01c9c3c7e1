// Guava's BloomFilter (com.google.common.hash), bit for bit: filters that a
// Java service writes are read here, and the reverse.
// shared_filters/docs/format.md defines the bytes and the offsets. A filter
// does not know which funnel (below) its keys went through: it must be the same
// one in every language.
#ifndef DELTABLOOM_GUAVA_FILTER_H_
#define DELTABLOOM_GUAVA_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// Decides which bits belong to a key. The bytes hold these numbers.
enum class GuavaStrategy : uint8_t {
  // Older: in a filter of more than 2^31 bits (256 MiB) the rest stays empty.
  kMurmur128Mitz32 = 0,
  kMurmur128Mitz64 = 1,
};

// Returns "MURMUR128_MITZ_32" or "MURMUR128_MITZ_64"; null for any other value.
DELTABLOOM_EXPORT const char* GuavaStrategyName(GuavaStrategy strategy);

// Guava's formula for the number of hash functions k. Readers take k from the
// bytes: only filters that are to be merged must agree.
enum class GuavaProbeRule : uint8_t {
  kFromSize,  // round(bits / insertions * ln 2): Guava 31.1
  kFromRate,  // round(-log2(rate)): Guava since its change 7494 of 2024
};

struct DELTABLOOM_EXPORT GuavaFilterOptions {
  // Keys that the filter is made for; 0 counts as 1, as in Guava.
  uint64_t expected_insertions = 0;

  // The rate with that many keys, in theory. Legal: above 0, below 1.
  double false_positive_rate = 0.03;

  GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64;
  GuavaProbeRule probe_rule = GuavaProbeRule::kFromSize;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range. As in Guava, filters of 0 bits, of 2^31 words of 64 bits or
  // more, and of more than 255 hash functions are invalid.
  std::string Validate() const;
};

// A filter with Guava's methods. Thread-safe without locks: a key is found by
// every MightContain that happens after its Put, in the sense of the C++ memory
// model. AppendTo and FromBytes may throw std::bad_alloc; of the others only
// those throw that say so.
class DELTABLOOM_EXPORT GuavaFilter {
 public:
  // Does what BloomFilter.create does. Throws std::invalid_argument with the
  // text of Validate(), or std::bad_alloc.
  explicit GuavaFilter(const GuavaFilterOptions& options);

  // Does what BloomFilter.readFrom does: returns the filter in `bytes`, which
  // are copied and must end where it ends. Returns null if they are no filter;
  // *error, if given, then says why in one line. Allocates nothing before the
  // sizes agree.
  static std::unique_ptr<GuavaFilter> FromBytes(std::string_view bytes,
                                                std::string* error = nullptr);

  ~GuavaFilter();
  GuavaFilter(const GuavaFilter&) = delete;
  GuavaFilter& operator=(const GuavaFilter&) = delete;

  // Puts a key. Returns true if that changed the filter, so the key was not put
  // before. Of several threads that put the same key at once, more than one may
  // get true.
  bool Put(std::string_view key);

  // Returns false only if `key` was not put.
  bool MightContain(std::string_view key) const;

  // Returns the number of keys, estimated from the bits that are set;
  // UINT64_MAX if all are, where Guava throws.
  uint64_t ApproximateElementCount() const;

  // Returns the probability that a key which was not put may match:
  // (set bits / bits)^k.
  double ExpectedFpp() const;

  // Returns whether the other filter, which must not be this one, has the same
  // number of bits and hash functions and the same strategy.
  bool IsCompatible(const GuavaFilter& other) const;

  // Puts into this filter what is in the other. Throws std::invalid_argument,
  // which says what differs, if they are not compatible.
  void PutAll(const GuavaFilter& other);

  // Does what BloomFilter.writeTo does: appends 6 + Bits() / 8 bytes. They hold
  // every key whose Put happened before; keys of concurrent Puts may be
  // missing.
  void AppendTo(std::string* dst) const;

  uint64_t Bits() const;           // a multiple of 64
  uint32_t HashFunctions() const;  // 1 to 255
  GuavaStrategy Strategy() const;

 private:
  struct Rep;
  explicit GuavaFilter(std::unique_ptr<Rep> rep);

  std::unique_ptr<Rep> rep_;
};

// --- Funnels: each function returns what a funnel of Guava
// (com.google.common.hash.Funnels) gives to the hash. byteArrayFunnel() and,
// for UTF-8, stringFunnel(UTF_8) give the key itself and have no function.

// integerFunnel(): 4 bytes, little-endian.
DELTABLOOM_EXPORT std::string GuavaIntegerFunnel(int32_t value);
// longFunnel(): 8 bytes, little-endian.
DELTABLOOM_EXPORT std::string GuavaLongFunnel(int64_t value);
// stringFunnel(UTF_8) of UTF-16: a surrogate without its partner becomes '?'.
DELTABLOOM_EXPORT std::string GuavaStringFunnel(std::u16string_view text);
// unencodedCharsFunnel(): each UTF-16 unit as 2 bytes, little-endian.
DELTABLOOM_EXPORT std::string GuavaUnencodedCharsFunnel(
    std::u16string_view text);

// Returns UTF-16 as Java decodes it (new String(bytes, UTF_8)): each byte
// sequence that is not UTF-8 becomes U+FFFD, split as Java splits them. With it
// the text of a UTF-8 file can go through GuavaUnencodedCharsFunnel.
DELTABLOOM_EXPORT std::u16string JavaUtf16(std::string_view utf8);

}  // namespace deltabloom

#endif  // DELTABLOOM_GUAVA_FILTER_H_
