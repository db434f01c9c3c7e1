// Tries the policy that an OPTIONS file names. Only in builds with RocksDB.
#pragma once

#include <memory>
#include <string>

#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/options_file.h"

namespace deltabloom::tools {

// The result of trying the policy that an OPTIONS file names: it is created as
// RocksDB creates it, and builds a filter.
struct PolicyVerdict {
  std::string problem;  // why filters are missing or useless; empty: none
  std::string to_do;
  bool unknown = false;            // no policy of this name is known here
  bool unknown_transform = false;  // nor is its key transform
  // False: none by choice (deltabloom:0); in the last level upper_bits_per_key
  // does not count.
  bool builds_filters = true;
  bool builds_in_last_level = true;
  // The bits that each key in a filter has at least; 0: not known, or limited
  // by another option.
  double bits_per_key = 0;
  // Reads filters as the policy does; null if it cannot be made here.
  std::shared_ptr<const PolicyReader> reader;
};

PolicyVerdict JudgePolicy(const FamilyOptions& family);

}  // namespace deltabloom::tools
