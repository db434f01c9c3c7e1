// Finds out through RocksDB what deltabloom doctor needs to know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/deltabloom/filter_use.h"
#include "tools/deltabloom/options_file.h"

namespace deltabloom::tools {

// This process as an example of those that use the policy.
struct ProcessReport {
  std::string built_for;               // version of RocksDB; empty: without it
  std::string loaded;                  // version
  std::vector<std::string> libraries;  // files that RocksDB was loaded from
  std::string cpu;                     // level in use
  std::string problem;                 // why no policy can be created
};

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

// These exist in builds with RocksDB only.
void ReadRocksDB(ProcessReport* report);
PolicyVerdict JudgePolicy(const FamilyOptions& family);
// Returns whether RocksDB reads any collector from this text of an OPTIONS
// file.
bool ReadsCollectors(const std::string& collectors);

}  // namespace deltabloom::tools
