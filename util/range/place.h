// A declared place: where prefixes of keys end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/range/functions.h"

namespace deltabloom::internal::range {

// The limits of docs/format.md, "Which prefixes". The key functions of writers
// and readers must stop at the same ones, so filters store the first two.
inline constexpr size_t kMaxPlaceBytes = 1024;  // of a prefix
inline constexpr size_t kMaxDelimiters = 16;    // of a byte, in a key
inline constexpr size_t kMaxPlaces = 16;        // of a declaration
inline constexpr size_t kMaxPlaceBits = 8 * kMaxPlaceBytes;

struct Place {
  enum class Kind : uint8_t {
    kLength,    // after `bits`
    kEach,      // after each `byte`
    kCounted,   // `bits` after the count-th `byte`
    kFunction,  // at the ends of a function of the bytes after the first
                // `bits`
  };

  Kind kind = Kind::kLength;
  uint8_t byte = 0;
  uint8_t count = 0;
  // A window: it was declared in bits, and keys that end within it are padded
  // with zero bits.
  bool window = false;
  uint16_t bits = 0;
  const RegisteredFunction* function = nullptr;
};

}  // namespace deltabloom::internal::range
