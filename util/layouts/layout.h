// A layout is one way to lay a set of hashes out in bytes. Each is a row of
// functions; layout.cc lists the rows, and says which one "auto" takes. The
// filters of table/ and of the engines ask rows and do not know which layouts
// there are, but for table/small_filter.h, a short cut to classic. (The shared
// filters set the bits of local, by its probes.h; programs that measure look
// into shapes.)
//
// A folder each, with the same files: row (the functions below), shape (what
// the bytes of a filter say, and planning), kernels (the table of functions per
// set of instructions), portable, avx2 and where it pays avx512, which share a
// body in simd-inl.h, build, and estimate (what a filter's own bits tell of its
// keys). Files beside these are the layout's own parts.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LAYOUT_H_
#define DELTABLOOM_UTIL_LAYOUTS_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/hash_list.h"

namespace deltabloom::internal {

struct LayoutRow;

// What the bytes of a filter tell of it beside their size.
struct FilterEstimate {
  double keys = 0;
  double rate = 0;  // of false positives, over all keys that were not added
};

// What a filter of some keys will look like, known before it is built.
struct Plan {
  const LayoutRow* layout = nullptr;  // that builds it
  uint64_t keys = 0;
  uint64_t payload_size = 0;  // bytes in front of the framing
  uint64_t build_bytes = 0;   // temporary memory of build(), without the hash
                              // list
  uint64_t late_build_bytes = 0;  // of these, what it takes only when it has
                                  // freed a list that it need not keep
  uint8_t last_byte = 0;          // k or marker
  AnyShape shape;                 // the layout's own
};

struct LayoutRow {
  Layout layout;
  Hash classic_hash;  // kMurmurHash2 for layouts that have no choice of hash
  const char* name;
  // The last bytes of its filters: first_marker..last_marker.
  uint8_t first_marker;
  uint8_t last_marker;
  // Bytes of hash kept per key while building, 4 or 8.
  unsigned hash_size;
  // Keys in one filter above which the hash itself adds false positives that
  // show; 0: no number of keys does that.
  uint64_t many_keys;
  // What is built instead when plan() or build() gives up; null when neither
  // ever does. Shares hash and hash_size.
  const LayoutRow* fallback;

  uint64_t (*hash)(std::string_view key);

  // Fills in all of a plan but `layout` and `keys`, which come in set, for
  // plan->keys keys at millibits_per_key thousandths of a bit each. False: the
  // layout does not reach so many keys or pays too little, use the fallback.
  bool (*plan)(uint32_t millibits_per_key, Plan* plan);

  // Enlarges the plan to the largest payload of at most `payload_limit` bytes
  // that the layout can use (an allocator's slack, for instance); never
  // shrinks it.
  void (*grow)(Plan* plan, uint64_t payload_limit);

  // Fills payload[0 .. plan.payload_size), which comes in zeroed. False: gave
  // up, use the fallback; the hashes are then still there and the payload's
  // content is undefined. When `keep_hashes` is false, a build that succeeds
  // may free the hashes as it goes.
  bool (*build)(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
                unsigned char* payload);

  // `parsed` comes in with payload and payload_size set. Fills in the rest, or
  // returns false when the fields are inconsistent.
  bool (*parse)(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed);

  // For a filter that parse() accepted: may_match by the hash of a key.
  bool (*may_match_hash)(const ParsedFilter& parsed, uint64_t hash);

  // The expected false-positive rate of a filter of `keys` keys, 1 or more,
  // whose plan or parse() gave this shape; for classic, whose rate depends on
  // the exact size, that of the worst sizes. util/rates/layout_rates.h has what
  // callers need.
  double (*rate)(const AnyShape& shape, uint64_t keys);

  // For a filter that parse() accepted: its keys and its rate, from a sample of
  // its own bits or from its shape. estimate.h of the layout says how near.
  // Some microseconds, and no allocation.
  FilterEstimate (*estimate)(const ParsedFilter& parsed);

  // "classic, 6 probes, 80 bits" for a filter that parse() accepted.
  std::string (*describe)(const ParsedFilter& parsed);
};

// All layouts, ended by a null pointer.
extern const LayoutRow* const kLayouts[];

// The level of a table in the LSM tree when it is not known.
inline constexpr int kNoLevel = -1;

// The row that writes `layout`, or null: `hash` is an option of classic. A
// layout of kAuto depends on the level that the table is written for.
const LayoutRow* FindLayout(Layout layout, Hash hash, int level = kNoLevel);

// The plan of the first of `row` and its fallbacks that has one.
Plan PlanFilter(const LayoutRow* row, uint64_t keys,
                uint32_t millibits_per_key);

// The most temporary memory that building holds at a time, in bytes, the list
// of hashes included, which takes hash_list_size.
uint64_t PeakBuildBytes(const Plan& plan, uint64_t hash_list_size,
                        bool keep_hashes);

// The first of `row` and its fallbacks whose plan has PeakBuildBytes of at most
// max_build_bytes; the last of them if none has. 0: no limit.
const LayoutRow* FindAffordableLayout(const LayoutRow* row, uint64_t keys,
                                      uint32_t millibits_per_key,
                                      uint64_t hash_list_size, bool keep_hashes,
                                      uint64_t max_build_bytes);

// "classic, local, compact, auto": the names that ParseLayout knows.
std::string LayoutNames();

// The row whose filters end in `last_byte`, or null. With Hash::kLevelDB only
// what LevelDB itself reads.
const LayoutRow* FindLayoutOfLastByte(uint8_t last_byte, Hash hash);

// Null for an unknown name.
const LayoutRow* FindLayoutOfName(std::string_view name);

// The two answers that need no bytes.
void SetAlwaysMatch(ParsedFilter* parsed);
void SetNeverMatch(ParsedFilter* parsed);

// The legal range of bits_per_key, and its conversion; NaN and values out of
// range are not valid.
inline constexpr double kMaxBitsPerKey = 1000;
inline constexpr uint32_t kMaxMillibits = 1'000'000;
bool ValidBitsPerKey(double bits_per_key);
uint32_t ToMillibits(double bits_per_key);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_LAYOUTS_LAYOUT_H_
