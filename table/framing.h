// The two framings of a filter (docs/format.md, chapter "Framings"). The
// caller names the one it has; nothing guesses.
//
//   raw     payload | last byte               for everything but RocksDB
//   sealed  payload | optional fields | trailer | last byte     for RocksDB
//
// A sealed filter is safe under every reader that may meet it: RocksDB's own,
// which looks at the byte five from the end, takes it for "always match".
#ifndef DELTABLOOM_TABLE_FRAMING_H_
#define DELTABLOOM_TABLE_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/siphash.h"

namespace deltabloom::internal {

// Bytes that framing adds to a payload, the last byte included; a sealed filter
// with optional fields has more (SealedFramingSize).
inline constexpr size_t kRawFramingSize = 1;
inline constexpr size_t kSealedFramingSize = 16;

// The LSM level in a trailer when it is not known.
inline constexpr uint8_t kUnknownLevel = 255;

// What the bytes turned out to be.
enum class FilterKind : uint8_t {
  kFilter,   // a filter; parsed
  kEmpty,    // holds no key: never matches
  kAlways,   // damaged, of a later version or without probes: always matches
  kForeign,  // sealed framing only: not Deltabloom's
};

// What the layout of a sealed filter was given instead of the keys; the
// default: the keys.
struct HashedKeys {
  bool transformed = false;  // by the key transform of this id
  uint32_t transform_id = 0;
  bool seeded = false;  // then by SeededKey under this seed
  SipHashKey seed;

  bool AsTheyAre() const { return !transformed && !seeded; }
};

// A key of a seeded filter, as its layout hashes it.
inline constexpr size_t kSeededKeySize = 8;
void SeededKey(const SipHashKey& seed, std::string_view key,
               char seeded_key[kSeededKeySize]);

// Fill *parsed for the answers that docs/format.md requires. The bytes must
// outlive it. `why` may be null; else it receives one line about the bytes.
FilterKind ParseRaw(std::string_view filter, Hash hash, Cpu cpu,
                    ParsedFilter* parsed, std::string* why);
// *parsed is to be asked for what *keys says. Without `keys` a filter of
// anything but the keys as they are always matches.
FilterKind ParseSealed(std::string_view filter, Cpu cpu, HashedKeys* keys,
                       ParsedFilter* parsed, std::string* why);
inline FilterKind ParseSealed(std::string_view filter, Cpu cpu,
                              ParsedFilter* parsed, std::string* why) {
  return ParseSealed(filter, cpu, nullptr, parsed, why);
}

// What a sealed filter says beside its payload.
struct SealOptions {
  uint8_t level_at_creation = kUnknownLevel;  // or of LevelByte()
  bool payload_check = false;
  HashedKeys keys = {};
  // As RangePartBuilder wrote it, or nothing. REQUIRES: none of transformed
  // keys.
  std::string_view range_part = {};
};

// Bytes that Seal writes.
size_t SealedFramingSize(const SealOptions& options);

// The range part of a filter that ParseSealed called kFilter; nothing if it has
// none.
std::string_view RangePartOf(std::string_view filter);

// Writes the framing behind payload[0 .. payload_size).
void Seal(unsigned char* payload, uint64_t payload_size, uint8_t last_byte,
          const SealOptions& options);

// A sealed filter that holds no key is its framing alone, with this last byte.
inline constexpr uint8_t kEmptyLastByte = 0;

// The level byte of a sealed filter that ParseSealed did not call foreign.
uint8_t SealedLevel(std::string_view filter);

// What a level byte says: for which level of the LSM tree the filter was built,
// negative if that is not known, and whether no older data of its keys lay
// below.
struct LevelAtCreation {
  int level = -1;
  bool bottommost = false;
};
LevelAtCreation ParseLevelByte(uint8_t byte);
// kUnknownLevel for a level that the byte has no room for.
uint8_t LevelByte(const LevelAtCreation& level);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_FRAMING_H_
