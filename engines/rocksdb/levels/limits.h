// The limits of a column family's levels, as its options have them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engines/rocksdb/levels/full_tree.h"

namespace deltabloom::internal {

// The limits of column families by name, in bytes.
using LimitsByFamily = std::map<std::string, TreeLimits>;

// Reads limits from the text of an OPTIONS file. Lines that are not understood
// are ignored.
LimitsByFamily ParseLimits(std::string_view options);

}  // namespace deltabloom::internal
