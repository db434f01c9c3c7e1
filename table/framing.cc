#include "table/framing.h"

#include "util/coding.h"
#include "util/hash.h"

namespace deltabloom::internal {
namespace {

// Offsets from the end of a sealed filter; docs/format.md draws them.
constexpr size_t kMagicAt = 16;
constexpr size_t kVersionAt = 12;
constexpr size_t kFlagsAt = 11;
constexpr size_t kLevelAt = 10;
constexpr size_t kCheckAt = 9;
constexpr size_t kZerosAt = 5;

constexpr uint32_t kMagic = 0x4d6c62ce;  // ce 62 6c 4d
constexpr uint8_t kVersion = 1;
constexpr uint32_t kCheckSeed = 0xde17ab10;

// Covers the trailer, the last byte and the total length.
uint32_t Check(const unsigned char* end, uint64_t total_size) {
  char covered[kSealedFramingSize + 8];
  for (size_t i = 0; i < kSealedFramingSize; ++i) {
    covered[i] = static_cast<char>((end - kSealedFramingSize)[i]);
  }
  StoreFixed32(covered + (kSealedFramingSize - kCheckAt), 0);
  StoreFixed64(covered + kSealedFramingSize, total_size);
  return MurmurHash2(covered, sizeof(covered), kCheckSeed);
}

const unsigned char* End(std::string_view filter) {
  return reinterpret_cast<const unsigned char*>(filter.data()) + filter.size();
}

FilterKind Always(ParsedFilter* parsed, std::string* why, std::string text) {
  SetAlwaysMatch(parsed);
  if (why != nullptr) *why = "always matches: " + std::move(text);
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
    return Always(parsed, why,
                  "unknown last byte " + std::to_string(last_byte));
  }
  if (!row->parse(last_byte, cpu, parsed)) {
    return Always(parsed, why,
                  std::string("inconsistent fields of layout ") + row->name);
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

FilterKind ParseSealed(std::string_view filter, Cpu cpu, ParsedFilter* parsed,
                       std::string* why) {
  *parsed = {};
  const unsigned char* end = End(filter);
  if (filter.size() < kSealedFramingSize ||
      LoadFixed32(end - kMagicAt) != kMagic) {
    SetAlwaysMatch(parsed);
    if (why != nullptr) *why = "not a Deltabloom filter";
    return FilterKind::kForeign;
  }
  if (end[-static_cast<int>(kVersionAt)] != kVersion) {
    return Always(parsed, why, "written by another version of the format");
  }
  if (LoadFixed32(end - kCheckAt) != Check(end, filter.size())) {
    return Always(parsed, why, "damaged, the check of its trailer fails");
  }
  if (end[-static_cast<int>(kFlagsAt)] != 0 ||
      LoadFixed32(end - kZerosAt) != 0) {
    return Always(parsed, why, "it has flags this version does not know");
  }
  parsed->payload = reinterpret_cast<const unsigned char*>(filter.data());
  parsed->payload_size = filter.size() - kSealedFramingSize;
  if (parsed->payload_size == 0) {
    if (end[-1] == kEmptyLastByte) return Empty(parsed, why);
    return Always(parsed, why, "it has no payload");
  }
  return ParsePayload(end[-1], Hash::kMurmurHash2, cpu, parsed, why);
}

void Seal(unsigned char* payload, uint64_t payload_size, uint8_t last_byte,
          uint8_t level_at_creation) {
  const uint64_t total_size = payload_size + kSealedFramingSize;
  unsigned char* end = payload + total_size;
  StoreFixed32(end - kMagicAt, kMagic);
  end[-static_cast<int>(kVersionAt)] = kVersion;
  end[-static_cast<int>(kFlagsAt)] = 0;
  end[-static_cast<int>(kLevelAt)] = level_at_creation;
  StoreFixed32(end - kZerosAt, 0);
  end[-1] = last_byte;
  StoreFixed32(end - kCheckAt, Check(end, total_size));
}

uint8_t SealedLevel(std::string_view filter) {
  return End(filter)[-static_cast<int>(kLevelAt)];
}

}  // namespace deltabloom::internal
