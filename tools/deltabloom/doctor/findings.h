// The findings of doctor, a line each, by their severity.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

enum class Severity : uint8_t {
  kNote,     // nothing to do
  kUnknown,  // could not be examined
  kProblem,  // filters are missing, or will be
};

struct Finding {
  Severity severity;
  const char* code;  // for programs; never changes
  std::string what;  // a line
  std::string to_do;
};

class Findings {
 public:
  void Add(Severity severity, const char* code, std::string what,
           std::string to_do = {});

  // Puts the worst first, those of the same code together, and shows them.
  // Returns the exit status.
  ExitCode Show(Console* console);

 private:
  std::vector<Finding> findings_;
};

// These add what they find.

// Can programs like this one use the policy?
void FindInProcess(const ProcessReport& process, Findings* findings);
// What is the directory, and what of it could not be examined?
void FindInFolder(const DatabaseReport& database, Findings* findings);
// Do the options of each column family name a policy that works?
void FindInOptions(const DatabaseReport& database, Findings* findings);
// Have the tables filters, do lookups use these, and do they reject keys?
void FindInFilters(const DatabaseReport& database, Findings* findings);
// Do lookups load more bytes of filters than the filters save?
void FindInCaches(const DatabaseReport& database, Findings* findings);

}  // namespace deltabloom::tools
