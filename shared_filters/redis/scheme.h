// Which bits of a bitmap belong to a key, for each scheme by name
// (docs/shared_filters_format.md).
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_SCHEME_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_SCHEME_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::internal {

// A named string hash of PHP programs that keep Bloom filters in Redis, with
// PHP's arithmetic on 64-bit machines. Frozen.
using PhpHash = uint32_t (*)(std::string_view key);

// The hash of that name: JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV; "JSHash" and
// the like are the same. Null if there is none.
PhpHash FindPhpHash(std::string_view name);

// The names in a table, as in "JS, PJW, ELF".
template <typename Rows>
std::string NamesOf(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

// Those of the hashes, and of the schemes.
std::string PhpHashNames();
std::string SchemeNames();

enum class SchemeKind : uint8_t {
  kLocal,
  kGoMurmur3,
  kGuavaHelper,
  kPhpNamedHashes,
};

inline constexpr uint32_t kMaxProbes = 255;
inline constexpr uint32_t kGoZeroProbes = 14;
inline constexpr uint64_t kBlockBits = 512;  // of local
inline constexpr uint64_t kBlockBytes = 64;
inline constexpr uint32_t kMaxBlockProbes = 8;
// Beyond this offset Redis has no bit.
inline constexpr uint64_t kMaxRedisOffset = UINT32_MAX;

// "go-murmur3-14" is go-murmur3, with *fixed_probes set to 14; else it is 0.
bool FindScheme(std::string_view name, SchemeKind* kind,
                uint32_t* fixed_probes);

// A scheme with all its numbers: a plain value.
struct Scheme {
  SchemeKind kind = SchemeKind::kLocal;
  uint64_t bits = 0;
  uint32_t probes = 0;
  bool doubled_string = false;
  std::vector<std::string> hashes;      // their names
  std::vector<PhpHash> hash_functions;  // the same, found

  // The name without a number of probes.
  std::string Name() const;

  bool is_local() const { return kind == SchemeKind::kLocal; }

  // offsets[0 .. probes): bits of the key, each in [0, bits).
  void Offsets(std::string_view key, uint64_t* offsets) const;

  // Sets hash_functions. Empty if all fits; else what is wrong.
  std::string Validate();
};

// The rate of a local filter in Redis: that of the layout, and what the markers
// add, which a probe always finds set.
double RedisLocalRate(uint64_t keys, uint64_t blocks, uint32_t probes);

// Sets bits and probes for that many keys at this rate. False: the scheme
// cannot reach it.
bool SizeScheme(uint64_t keys, double rate, uint32_t fixed_probes,
                Scheme* scheme);

// The rate that a share of set bits means.
double RateOfOccupancy(const Scheme& scheme, double occupancy);

// How many keys explain that share. Infinite if all bits are set.
double KeysOfOccupancy(const Scheme& scheme, double occupancy);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_SCHEME_H_
