// Reference of the layout "compact" by hashes, for tests that make up hashes.
#ifndef DELTABLOOM_TESTS_REFERENCE_COMPACT_H_
#define DELTABLOOM_TESTS_REFERENCE_COMPACT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::reference {

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

}  // namespace deltabloom::reference

#endif  // DELTABLOOM_TESTS_REFERENCE_COMPACT_H_
