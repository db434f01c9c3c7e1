// The filter that a builder makes of the hashes of its keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engines/rocksdb/policy/sealed_bits.h"
#include "rocksdb/slice.h"
#include "table/framing.h"
#include "util/hash_list.h"

namespace deltabloom::internal {

struct BuiltFilter {
  rocksdb::Slice bytes;
  std::unique_ptr<char[]> memory;  // of the bytes; null: they are static
  FilterKind kind = FilterKind::kEmpty;
};

// Builds the filter of `hashes`: with the layout of the settings, or with one
// of its fallbacks, or one that matches every key if the limits of the settings
// allow no other. Calls `charge` with the bytes that it is about to take, those
// of the hashes not among them. May change the hashes unless detect_corruption.
// Throws std::bad_alloc.
BuiltFilter BuildFilter(const BuilderSettings& settings,
                        const std::function<void(uint64_t)>& charge,
                        HashList* hashes);

// Returns a filter that matches every key. Takes no memory.
BuiltFilter FilterThatMatchesAll() noexcept;

}  // namespace deltabloom::internal
