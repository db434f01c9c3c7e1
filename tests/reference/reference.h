// Naive versions of the layouts, written from docs/format.md alone: slow,
// obvious, and sharing no code with util/. The conformance suite compares
// every kernel of a layout with its reference.
//
// A new layout adds a file here and a name to FindReference.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::reference {

inline uint64_t Byte(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes.at(at));
}

// The little-endian number in bytes[at .. at + size).
inline uint64_t Number(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number * 256 + Byte(bytes, at + i);
  return number;
}

struct Reference {
  // LayoutRow::name of the layout.
  const char* name;

  // The hash of a key; of hash lists that keep fewer bytes, the low ones.
  uint64_t (*hash)(std::string_view key);

  // Bytes of payload a writer chooses for `keys` keys at millibits_per_key
  // thousandths of a bit each.
  uint64_t (*payload_size)(uint64_t keys, uint32_t millibits_per_key);

  // The raw filter `payload | last byte` with that many bytes of payload;
  // empty where the layout gives up and its fallback is built. Null when the
  // layout leaves writers freedom beyond the size: the suite then compares
  // the bytes of the CPU levels with each other only.
  std::string (*build)(const std::vector<std::string>& keys,
                       uint32_t millibits_per_key, uint64_t payload_size);

  // The answer for a raw filter of this layout.
  bool (*may_match)(std::string_view filter, std::string_view key);
};

extern const Reference kClassicMurmurHash2;
extern const Reference kClassicLevelDBHash;
extern const Reference kLocal;
extern const Reference kCompact;

// The raw filter of layout local with this last byte, which says how many
// probes a key has.
std::string BuildLocal(const std::vector<std::string>& keys, int marker,
                       uint64_t payload_size);

// Null if no reference has that name.
inline const Reference* FindReference(std::string_view name) {
  for (const Reference* reference :
       {&kClassicMurmurHash2, &kClassicLevelDBHash, &kLocal, &kCompact}) {
    if (name == reference->name) return reference;
  }
  return nullptr;
}

// --- compact by hashes, for tests that make up hashes

// Blocks of the three layers.
using CompactBlocks = std::array<uint64_t, 3>;

CompactBlocks CompactBlocksFor(uint64_t keys);

// 8 + T
uint64_t CompactFixedBytes(const CompactBlocks& blocks);

// The payload with the first seed that works; empty if none does.
std::string BuildCompact(const std::vector<uint64_t>& hashes,
                         const CompactBlocks& blocks, uint64_t payload_size);

// False if the fields contradict each other: then every key may match.
bool CompactIsValid(std::string_view payload);

// The answer for any payload, malformed ones included.
bool CompactMayMatch(std::string_view payload, uint64_t hash);

// A slow reader of declarations, written straight from docs/format.md ("Which
// prefixes"). Prefixes are texts of '0' and '1'.
class RangePlaces {
 public:
  // Returns the ends of the function of this name and version in a text.
  using Ends = std::function<std::vector<size_t>(const std::string& name,
                                                 const std::string& text)>;

  // REQUIRES: a legal declaration.
  RangePlaces(const std::string& declaration, Ends ends);

  // All prefixes of a key.
  std::set<std::string> PrefixesOf(const std::string& key) const;

  // Those that a range asks for; none if it cannot ask.
  std::vector<std::string> AskedBy(const std::string& lower,
                                   const std::optional<std::string>& upper,
                                   bool reverse) const;
  // Those that a scan of a prefix asks for.
  std::vector<std::string> AskedByPrefix(const std::string& prefix) const;

 private:
  struct End {
    size_t bits;
    bool window;
  };
  std::vector<End> EndsIn(const std::string& text) const;
  std::vector<std::string> Asked(const std::string& common,
                                 const std::string* smaller,
                                 const std::string* larger) const;

  std::vector<std::string> places_;
  Ends ends_;
};

}  // namespace deltabloom::reference
