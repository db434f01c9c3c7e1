// The shape "prefixes" of a range part (docs/format.md, "Prefixes"): filters of
// key prefixes at a few cuts. A range whose possible keys have few prefixes at
// a cut is empty if the cut's filter holds none of them.
#ifndef DELTABLOOM_UTIL_RANGE_PREFIXES_H_
#define DELTABLOOM_UTIL_RANGE_PREFIXES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/layouts/layout.h"
#include "util/range/key_store.h"
#include "util/siphash.h"

namespace deltabloom::internal::range {

// A monotone map of keys to prefixes.
struct Cut {
  // 0: the first `bits` bits of a key, padded with zeros to whole bytes.
  // Else: up to and including the count-th `byte`, if that is within the first
  // kMaxCutBytes bytes; other keys have none.
  uint8_t count = 0;
  uint8_t byte = 0;
  uint16_t bits = 0;
};

inline constexpr size_t kMaxCuts = 16;
inline constexpr unsigned kMaxCutBits = 8 * kMaxCutBytes;
// A cut answers ranges whose keys have no more prefixes there.
inline constexpr uint64_t kMaxPrefixesPerRange = 8;

inline constexpr size_t kCutSize = 8;  // in the table of cuts

// Cuts as text, as in RangeFilterOptions::range_prefixes. False, and *cuts
// undefined, if the text is not valid; kCutsSyntax says what is.
bool ParseCuts(std::string_view text, std::vector<Cut>* cuts);

inline constexpr char kCutsSyntax[] =
    "up to 16 prefixes, separated by commas: lengths in bytes (8) or bits "
    "(20b), at most 128 bytes, or delimiters by how often they occur ('/'x3, "
    "or by their byte 0x2fx3)";

std::string TextOf(const Cut& cut);

// The prefix of a key, empty if it has none: in `bytes`, which has
// kMaxCutBytes, or a part of the key.
std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes);

// A range of keys, lower <= k < upper. REQUIRES: lower < upper.
struct KeyRange {
  KeyRange(std::string_view lower, std::string_view upper);

  std::string_view lower, upper;
  size_t common;  // bytes of `lower` with which all keys in the range begin
};

// The prefixes at a cut that keys in a range can have, one after the other.
class PrefixesOfRange {
 public:
  // `least_size`: no key is shorter. `range` and `cut` must outlive this.
  PrefixesOfRange(const Cut& cut, const KeyRange& range, size_t least_size);

  // False if there are more than kMaxPrefixesPerRange, or if keys in the range
  // need not have a prefix here.
  bool known() const { return known_; }
  uint64_t left() const { return left_; }
  // REQUIRES: left() > 0.
  std::string_view prefix() const { return prefix_; }
  void Next();

 private:
  const Cut& cut_;
  bool known_ = false;
  uint64_t left_ = 0;
  std::string_view prefix_;
  char bytes_[kMaxCutBytes];
};

enum class Answer : uint8_t {
  kNo,  // no key is in the range
  kMayMatch,
  kNoCut,  // may match: no cut can reject this range
};

// A view. Any bytes are safe.
class Prefixes {
 public:
  // False, and nothing else may be called then, if the body breaks a rule.
  // `seed`: of a seeded filter, else null.
  bool Parse(std::string_view body, const SipHashKey* seed);

  Answer Ask(std::string_view lower, std::string_view upper) const;
  // Queries the cut with the most bytes: it has the most distinct prefixes.
  bool KeyMayMatch(std::string_view key) const;
  bool HasKeyFrom(std::string_view bound) const { return bound <= last_; }
  std::vector<Cut> Cuts() const;
  std::string Describe() const;

 private:
  struct CutFilter {
    Cut cut;
    uint64_t size = 0;
    bool usable = false;
    ParsedFilter filter;
  };

  bool MayHold(const CutFilter& cut, std::string_view prefix) const;

  size_t least_size_ = 0;
  std::string_view last_;  // the beginning of the last key, or all of it
  size_t cuts_count_ = 0;
  std::array<CutFilter, kMaxCuts> cuts_;
  size_t largest_ = kMaxCuts;  // cut; kMaxCuts: none
  bool seeded_ = false;
  SipHashKey seed_;
};

struct PlannedCut {
  Cut cut;
  uint64_t prefixes = 0;  // distinct
  unsigned bits = 0;      // per prefix
  Layout layout = Layout::kCompact;
  double rejects = 0;  // of the ranges
};

struct PrefixesPlan {
  std::vector<PlannedCut> cuts;  // none if there is no use for any
  double passing = 0;            // how many of the ranges are likely to pass
};

// Plans a body of no more than `bytes`: with the `fixed` cuts, or, if there are
// none, with cuts that the ranges decide, or the keys alone. The same arguments
// give the same plan.
PrefixesPlan PlanPrefixes(const KeyStore& keys, uint64_t bytes,
                          const std::vector<EmptyRange>& ranges,
                          const std::vector<Cut>& fixed);

// Allocated per key at most; fixed cuts take 8 more each.
inline constexpr uint64_t kPrefixesBytesPerKey = 26;
void AppendPrefixes(const KeyStore& keys, const std::vector<PlannedCut>& cuts,
                    const SipHashKey* seed, std::string* dst);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_PREFIXES_H_
