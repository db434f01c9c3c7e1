// The share of false positives that theory expects of a filter.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_EXPECTED_RATE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_EXPECTED_RATE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "deltabloom/filter.h"

namespace deltabloom::tools {

// Of a filter that this many keys were added to: from its layout, its size and
// its probes, not from its bits. 1 for one that always matches; nothing for
// bytes whose theory is not known.
//
// A filter of RocksDB: Deltabloom's, RocksDB's Bloom filter since 6.6
// (probes in one cache line of 512 bits) or its Ribbon filter.
std::optional<double> ExpectedRateInRocksDB(std::string_view filter,
                                            uint64_t keys);

// A raw filter.
std::optional<double> ExpectedRateOfRaw(std::string_view filter, Hash hash,
                                        uint64_t keys);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_EXPECTED_RATE_H_
