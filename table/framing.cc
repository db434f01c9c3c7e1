#include "table/framing.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash.h"
#include "util/hash64.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/siphash.h"

namespace deltabloom::internal {
namespace {

// Offsets from the end of a sealed filter; docs/format.md draws them.
constexpr size_t kMagicAt = 16;
constexpr int kVersionAt = 12;
constexpr int kFlagsAt = 11;
constexpr int kLevelAt = 10;
constexpr int kBottommostBit = 128;  // of the level byte
constexpr size_t kCheckAt = 9;
constexpr size_t kZerosAt = 5;

constexpr uint32_t kMagic = 0x4d6c62ce;  // ce 62 6c 4d
constexpr uint8_t kFramingVersion = 1;
constexpr uint32_t kCheckSeed = 0xde17ab10;

// Flags of the optional fields that this version writes and reads, and their
// sizes. A field stands before those with lower flags.
constexpr unsigned kSeedFlag = 1 << 0;
constexpr unsigned kTransformFlag = 1 << 1;
constexpr unsigned kPayloadCheckFlag = 1 << 2;
constexpr unsigned kKnownFlags = 7;
constexpr size_t kFieldSizes[] = {kSipHashKeySize, 4, 8};

constexpr size_t FramingSizeOf(unsigned flags) {
  size_t size = kSealedFramingSize;
  for (unsigned i = 0; i < 3; ++i) {
    if ((flags >> i & 1) != 0) size += kFieldSizes[i];
  }
  return size;
}

constexpr size_t kMaxFramingSize = FramingSizeOf(kKnownFlags);

// Returns how far before the end the field of `flag` starts, if it is among
// `flags`.
size_t FieldAt(unsigned flags, unsigned flag) {
  return FramingSizeOf(flags & (2 * flag - 1));
}

unsigned FlagsOf(const SealOptions& options) {
  return (options.keys.seeded ? kSeedFlag : 0) |
         (options.keys.transformed ? kTransformFlag : 0) |
         (options.payload_check ? kPayloadCheckFlag : 0);
}

HashedKeys LoadHashedKeys(const unsigned char* end, unsigned flags) {
  HashedKeys keys;
  keys.transformed = (flags & kTransformFlag) != 0;
  if (keys.transformed) {
    keys.transform_id = LoadFixed32(end - FieldAt(flags, kTransformFlag));
  }
  keys.seeded = (flags & kSeedFlag) != 0;
  if (keys.seeded) keys.seed = LoadSipHashKey(end - FieldAt(flags, kSeedFlag));
  return keys;
}

std::string Describe(const HashedKeys& keys) {
  char text[32] = "";
  if (keys.transformed) {
    std::snprintf(text, sizeof(text), ", key transform %08x",
                  keys.transform_id);
  }
  return text + std::string(keys.seeded ? ", seeded" : "");
}

// Returns the check, which covers the framing and the total size.
uint32_t Check(const unsigned char* end, size_t framing_size,
               uint64_t total_size) {
  char covered[kMaxFramingSize + 8];
  std::memcpy(covered, end - framing_size, framing_size);
  StoreFixed32(covered + (framing_size - kCheckAt), 0);
  StoreFixed64(covered + framing_size, total_size);
  return MurmurHash2(covered, framing_size + 8, kCheckSeed);
}

// Returns the check of all bytes from begin to end.
uint64_t PayloadCheck(const unsigned char* begin, const unsigned char* end) {
  return Hash64(reinterpret_cast<const char*>(begin),
                static_cast<size_t>(end - begin));
}

const unsigned char* End(std::string_view filter) {
  return reinterpret_cast<const unsigned char*>(filter.data()) + filter.size();
}

// Allocates nothing if `why` is null, so that no lookup can fail.
FilterKind Always(ParsedFilter* parsed, std::string* why, const char* text,
                  std::string_view detail = {}) {
  SetAlwaysMatch(parsed);
  if (why != nullptr) {
    *why = std::string("always matches: ") + text;
    why->append(detail);
  }
  return FilterKind::kAlways;
}

FilterKind Empty(ParsedFilter* parsed, std::string* why) {
  SetNeverMatch(parsed);
  if (why != nullptr) *why = "holds no key";
  return FilterKind::kEmpty;
}

// The part that both framings share; parsed->payload and payload_size are set.
FilterKind ParsePayload(uint8_t last_byte, Hash hash, Cpu cpu,
                        ParsedFilter* parsed, std::string* why) {
  if (last_byte == 0) return Always(parsed, why, "it has no probes");
  const LayoutRow* row = FindLayoutOfLastByte(last_byte, hash);
  if (row == nullptr) {
    return Always(parsed, why, "unknown last byte ", std::to_string(last_byte));
  }
  if (!row->parse(last_byte, cpu, parsed)) {
    return Always(parsed, why, "inconsistent fields of layout ", row->name);
  }
  if (why != nullptr) *why = row->describe(*parsed);
  return FilterKind::kFilter;
}

}  // namespace

FilterKind ParseRaw(std::string_view filter, Hash hash, Cpu cpu,
                    ParsedFilter* parsed, std::string* why) {
  *parsed = {};
  if (filter.size() <= kRawFramingSize) return Empty(parsed, why);
  parsed->payload = reinterpret_cast<const unsigned char*>(filter.data());
  parsed->payload_size = filter.size() - kRawFramingSize;
  return ParsePayload(static_cast<uint8_t>(filter.back()), hash, cpu, parsed,
                      why);
}

void SeededKey(const SipHashKey& seed, std::string_view key,
               char seeded_key[kSeededKeySize]) {
  StoreFixed64(seeded_key, SipHash(seed, key));
}

FilterKind ParseSealed(std::string_view filter, Cpu cpu, HashedKeys* keys,
                       ParsedFilter* parsed, std::string* why) {
  *parsed = {};
  if (keys != nullptr) *keys = {};
  const unsigned char* end = End(filter);
  if (filter.size() < kSealedFramingSize ||
      LoadFixed32(end - kMagicAt) != kMagic) {
    SetAlwaysMatch(parsed);
    if (why != nullptr) *why = "not a Deltabloom filter";
    return FilterKind::kForeign;
  }
  if (end[-kVersionAt] != kFramingVersion) {
    return Always(parsed, why, "written by another version of the format");
  }
  const unsigned flags = end[-kFlagsAt];
  if ((flags & ~kKnownFlags) != 0 || LoadFixed32(end - kZerosAt) != 0) {
    return Always(parsed, why, "it has fields this version does not know");
  }
  const size_t framing_size = FramingSizeOf(flags);
  if (filter.size() < framing_size ||
      LoadFixed32(end - kCheckAt) != Check(end, framing_size, filter.size())) {
    return Always(parsed, why, "damaged, the check of its trailer fails");
  }
  parsed->payload = reinterpret_cast<const unsigned char*>(filter.data());
  parsed->payload_size = filter.size() - framing_size;
  if ((flags & kPayloadCheckFlag) != 0) {
    const unsigned char* check = end - FieldAt(flags, kPayloadCheckFlag);
    if (LoadFixed64(check) != PayloadCheck(parsed->payload, check)) {
      return Always(parsed, why, "damaged, the check of its payload fails");
    }
  }
  const HashedKeys hashed = LoadHashedKeys(end, flags);
  if (keys != nullptr) *keys = hashed;
  if (keys == nullptr && !hashed.AsTheyAre()) {
    return Always(parsed, why, "not of the keys as they are",
                  why == nullptr ? std::string() : Describe(hashed));
  }
  if (parsed->payload_size == 0) {
    if (end[-1] == kEmptyLastByte) return Empty(parsed, why);
    return Always(parsed, why, "it has no payload");
  }
  const FilterKind kind =
      ParsePayload(end[-1], Hash::kMurmurHash2, cpu, parsed, why);
  if (why != nullptr) *why += Describe(hashed);
  return kind;
}

size_t SealedFramingSize(const SealOptions& options) {
  return FramingSizeOf(FlagsOf(options));
}

void Seal(unsigned char* payload, uint64_t payload_size, uint8_t last_byte,
          const SealOptions& options) {
  const unsigned flags = FlagsOf(options);
  const size_t framing_size = FramingSizeOf(flags);
  const uint64_t total_size = payload_size + framing_size;
  unsigned char* end = payload + total_size;
  if (options.payload_check) {
    unsigned char* check = end - FieldAt(flags, kPayloadCheckFlag);
    StoreFixed64(check, PayloadCheck(payload, check));
  }
  if (options.keys.transformed) {
    StoreFixed32(end - FieldAt(flags, kTransformFlag),
                 options.keys.transform_id);
  }
  if (options.keys.seeded) {
    StoreFixed64(end - FieldAt(flags, kSeedFlag), options.keys.seed.low);
    StoreFixed64(end - FieldAt(flags, kSeedFlag) + 8, options.keys.seed.high);
  }
  StoreFixed32(end - kMagicAt, kMagic);
  end[-kVersionAt] = kFramingVersion;
  end[-kFlagsAt] = static_cast<uint8_t>(flags);
  end[-kLevelAt] = options.level_at_creation;
  StoreFixed32(end - kZerosAt, 0);
  end[-1] = last_byte;
  StoreFixed32(end - kCheckAt, Check(end, framing_size, total_size));
}

LevelAtCreation ParseLevelByte(uint8_t byte) {
  if (byte == kUnknownLevel) return {};
  return {byte % kBottommostBit, byte >= kBottommostBit};
}

uint8_t LevelByte(const LevelAtCreation& level) {
  // The last bottommost level would have the value of an unknown level.
  const int most = kBottommostBit - (level.bottommost ? 2 : 1);
  if (level.level < 0 || level.level > most) return kUnknownLevel;
  return static_cast<uint8_t>(level.level +
                              (level.bottommost ? kBottommostBit : 0));
}

uint8_t SealedLevel(std::string_view filter) { return End(filter)[-kLevelAt]; }

}  // namespace deltabloom::internal
