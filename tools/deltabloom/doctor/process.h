// Finds out through RocksDB what deltabloom doctor needs to know of this
// process.
#pragma once

#include <string>
#include <vector>

namespace deltabloom::tools {

// This process as an example of those that use the policy.
struct ProcessReport {
  std::string built_for;               // version of RocksDB; empty: without it
  std::string loaded;                  // version
  std::vector<std::string> libraries;  // files that RocksDB was loaded from
  std::string cpu;                     // level in use
  std::string problem;                 // why no policy can be created
};

// These exist in builds with RocksDB only.
void ReadRocksDB(ProcessReport* report);
// Returns whether RocksDB reads any collector from this text of an OPTIONS
// file.
bool ReadsCollectors(const std::string& collectors);

}  // namespace deltabloom::tools
