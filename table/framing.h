// The two framings of a filter (docs/format.md, chapter "Framings"). The caller
// states which one the bytes have; a parser never guesses.
//
//   raw     payload | last byte               for all engines except RocksDB
//   sealed  payload | optional fields | trailer | last byte     for RocksDB
//
// A sealed filter is safe with every reader: RocksDB's own, which reads the
// byte five from the end, treats it as "always match".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/siphash.h"

namespace deltabloom::internal {

// Bytes that framing adds to a payload, the last byte included; a sealed filter
// with optional fields has more (SealedFramingSize).
inline constexpr size_t kRawFramingSize = 1;
inline constexpr size_t kSealedFramingSize = 16;

// The LSM level in a trailer when it is not known.
inline constexpr uint8_t kUnknownLevel = 255;

// The kinds of bytes that a parser distinguishes.
enum class FilterKind : uint8_t {
  kFilter,   // a filter; parsed
  kEmpty,    // holds no key: never matches
  kAlways,   // damaged, of a later version or without probes: always matches
  kForeign,  // sealed framing only: not Deltabloom's
};

// The mapping of keys to the bytes that the layout of a sealed filter hashed.
// By default the layout hashes the keys themselves.
struct HashedKeys {
  bool transformed = false;  // first by the key transform of this id
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
// Query *parsed with keys mapped as *keys says. If `keys` is null, a filter of
// mapped keys always matches.
FilterKind ParseSealed(std::string_view filter, Cpu cpu, HashedKeys* keys,
                       ParsedFilter* parsed, std::string* why);

// The fields of a sealed filter besides its payload.
struct SealOptions {
  uint8_t level_at_creation = kUnknownLevel;  // or of LevelByte()
  bool payload_check = false;
  HashedKeys keys = {};
};

// Returns the number of bytes that Seal writes.
size_t SealedFramingSize(const SealOptions& options);

// Writes the framing after payload[0 .. payload_size).
void Seal(unsigned char* payload, uint64_t payload_size, uint8_t last_byte,
          const SealOptions& options);

// A sealed filter that holds no key is its framing alone, with this last byte.
inline constexpr uint8_t kEmptyLastByte = 0;

// The level byte of a sealed filter that ParseSealed did not call foreign.
uint8_t SealedLevel(std::string_view filter);

// The meaning of a level byte: the level of the LSM tree that the filter was
// built for, negative if unknown, and whether it was the last level with data
// of its keys.
struct LevelAtCreation {
  int level = -1;
  bool bottommost = false;
};
LevelAtCreation ParseLevelByte(uint8_t byte);
// Returns kUnknownLevel for a level that the byte cannot represent.
uint8_t LevelByte(const LevelAtCreation& level);

}  // namespace deltabloom::internal
