// The filters that the tables of each column family get.
#pragma once

#include <map>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Parses the text of a policy whose filters fit into tables. Returns what is
// wrong with it.
std::string ParseFilter(const std::string& text,
                        internal::PolicyOptions* options);

struct Policies {
  std::map<std::string, RefilterOptions> families;  // of the OPTIONS file
  RefilterOptions others;  // of families that it does not name
  // Families that get filters which their policy does not use: how they were
  // last opened.
  std::map<std::string, std::string> without_policy;

  const RefilterOptions& Of(const std::string& family) const;
};

// Takes the filter of `options`, or, unless `is_given`, those of the policies
// that the newest OPTIONS file names. Throws if all filters would stay.
Policies ReadPolicies(const std::string& database,
                      const RefilterOptions& options, bool is_given,
                      Console* console);

}  // namespace deltabloom::tools
