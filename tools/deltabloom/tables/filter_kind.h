// Tells from its bytes the kind and the false-positive rate of a filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {

// "Deltabloom local, 6 probes, ..." or "RocksDB Bloom, ...": a filter of a
// table of RocksDB, under this name.
std::string DescribeTableFilter(const std::string& policy,
                                std::string_view filter);

// Its first part: "Deltabloom local", "RocksDB Bloom".
std::string KindOfFilter(const std::string& policy, std::string_view filter);

// The false-positive rate of a filter with this many keys, by its layout, size
// and probes, not by its bits; nothing if it is not Deltabloom's.
std::optional<double> RateOfFilter(internal::FilterKind kind,
                                   const internal::ParsedFilter& parsed,
                                   std::string_view filter, Hash hash,
                                   uint64_t keys);

// Returns that rate of a filter in a table of RocksDB; works for RocksDB's own
// filters, too.
std::optional<double> RateOfSealedFilter(std::string_view filter,
                                         uint64_t keys);

}  // namespace deltabloom::tools
