// A layout is one way to store a set of hashes in bytes. Each layout is a row
// of functions; layout.cc lists the rows. Callers do not depend on which
// layouts exist, except table/small_filter.h, a short cut to classic.
//
// Each layout has a folder with the same files: a header of its name (shape,
// positions of a key's bits), row.cc (planning, parsing and the row), one file
// of equivalent kernels per instruction set, and rate.cc. compact has build.cc,
// and its rate in row.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/parsed_filter.h"
#include "util/span.h"

namespace deltabloom::internal {

struct LayoutRow;

// Estimates of a filter's content, from its bytes.
struct ContentEstimate {
  double keys = 0;
  double rate = 0;  // of false positives, over all keys that were not added
};

struct Plan {
  const LayoutRow* layout = nullptr;  // that builds it
  uint64_t keys = 0;
  uint64_t payload_size = 0;  // bytes in front of the framing
  // Temporary memory of build(), without the hash list; and the part of it that
  // build() allocates only after it has freed the list, if it may free it.
  uint64_t build_bytes = 0;
  uint64_t late_build_bytes = 0;
  uint8_t last_byte = 0;  // k or marker
  AnyShape shape;         // the layout's own
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
  // Keys in one filter above which collisions of the hash add to the
  // false-positive rate visibly; 0: no limit.
  uint64_t many_keys;
  // The row that builds the filter instead when plan() or build() gives up;
  // null when neither ever does. It has the same hash and hash_size.
  const LayoutRow* fallback;

  uint64_t (*hash)(std::string_view key);

  // Fills in a plan, in which `layout` and `keys` are set, for plan->keys keys
  // at millibits_per_key thousandths of a bit each. Returns false if the layout
  // does not support this many keys or saves too little: use the fallback.
  bool (*plan)(uint32_t millibits_per_key, Plan* plan);

  // Enlarges the plan to the largest payload of at most `payload_limit` bytes
  // that the layout can use; never shrinks it.
  void (*grow)(Plan* plan, uint64_t payload_limit);

  // Fills payload[0 .. plan.payload_size), whose bytes are 0. If it returns
  // false, use the fallback; the hashes are then all there, in any order, and
  // the payload is undefined. Without keep_hashes a build that succeeds may
  // free the hashes as it goes.
  bool (*build)(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
                unsigned char* payload);

  // Fills in *parsed, in which payload and payload_size are set, or returns
  // false when the fields are inconsistent.
  bool (*parse)(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed);

  // Does what parsed.may_match does, but takes the hash of the key.
  bool (*may_match_hash)(const ParsedFilter& parsed, uint64_t hash);

  // The expected false-positive rate of a filter of `keys` keys, 1 or more,
  // whose plan or parse() gave this shape; for classic that of the worst sizes.
  // util/rates/layout_rates.h has what callers need.
  double (*rate)(const AnyShape& shape, uint64_t keys);

  // For a filter that parse() accepted: its keys and its rate, from a sample of
  // its own bits or from its shape; the layout's source states the error.
  ContentEstimate (*estimate)(const ParsedFilter& parsed);

  // "classic, 6 probes, 80 bits" for a filter that parse() accepted.
  std::string (*describe)(const ParsedFilter& parsed);
};

extern const Span<const LayoutRow*> kLayouts;

// Returns the row that writes `layout`, or null. `hash` is a choice of classic
// only.
const LayoutRow* FindLayout(Layout layout, Hash hash = Hash::kMurmurHash2);

// The plan of the first of `row` and its fallbacks that has one.
Plan PlanFilter(const LayoutRow* row, uint64_t keys,
                uint32_t millibits_per_key);

// The most temporary memory that building holds at a time, in bytes, the list
// of hashes included, which takes hash_list_size.
uint64_t PeakBuildBytes(const Plan& plan, uint64_t hash_list_size,
                        bool keep_hashes);

// Returns the first of `row` and its fallbacks whose plan has PeakBuildBytes of
// at most max_build_bytes, or the last of them if none has. 0: no limit.
const LayoutRow* FindAffordableLayout(const LayoutRow* row, uint64_t keys,
                                      uint32_t millibits_per_key,
                                      uint64_t hash_list_size, bool keep_hashes,
                                      uint64_t max_build_bytes);

// Appends the filter of the hashes, payload and last byte, that the first of
// `row` and its fallbacks can build, and clears the hashes.
void AppendRawFilter(const LayoutRow* row, uint32_t millibits_per_key,
                     HashList* hashes, std::string* dst);

// "classic, local, compact": the names that ParseLayout knows.
std::string LayoutNames();

// Returns the row whose filters end in `last_byte`, or null. With
// Hash::kLevelDB it finds only filters that LevelDB itself reads.
const LayoutRow* FindLayoutOfLastByte(uint8_t last_byte, Hash hash);

// Returns null for an unknown name.
const LayoutRow* FindLayoutOfName(std::string_view name);

// --- Kernels: functions that exist once per set of instructions ------------

// The two lookups of a filter; `n` may be any number.
struct Lookup {
  bool (*may_match)(const ParsedFilter&, std::string_view key);
  void (*may_match_many)(const ParsedFilter&, KeyBatch keys, size_t n,
                         bool* may_match);
};

inline void SetLookup(const Lookup& lookup, ParsedFilter* parsed) {
  parsed->may_match = lookup.may_match;
  parsed->may_match_many = lookup.may_match_many;
}

void SetAlwaysMatch(ParsedFilter* parsed);
void SetNeverMatch(ParsedFilter* parsed);

// A policy that chooses bits per key writes no filter with fewer bits than
// this, as RocksDB's own policies do.
inline constexpr double kMinBitsPerKey = 0.5;

// The legal range of bits_per_key, which begins at 0, and its conversion; NaN
// and values out of range are not valid.
inline constexpr double kMaxBitsPerKey = 1000;
inline constexpr uint32_t kMaxMillibits = 1'000'000;
bool ValidBitsPerKey(double bits_per_key);
uint32_t ToMillibits(double bits_per_key);

}  // namespace deltabloom::internal
