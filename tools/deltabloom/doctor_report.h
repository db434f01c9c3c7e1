// What deltabloom doctor finds out.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_REPORT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/deltabloom/options_file.h"

namespace deltabloom::tools {

// This program as an example of those that use the policy.
struct ProcessReport {
  std::string built_for;               // version of RocksDB; empty: without it
  std::string loaded;                  // version
  std::vector<std::string> libraries;  // that RocksDB was loaded from
  std::string cpu;                     // level in use
  std::string problem;                 // why there can be no policy
};

// Tables that have the same kind of filter, of one level of a column family.
struct TableGroup {
  uint64_t tables = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t filter_bytes = 0;
  // When they were written, in seconds since 1970; 0: not known.
  uint64_t oldest = 0;
  uint64_t newest = 0;

  void Add(const TableGroup& other);
};

struct GroupKey {
  std::string family;
  int level = -1;  // -1: not known
  // Who wrote the filter, "deltabloom" or another policy; empty: no filter.
  std::string filter;
  // Under which it is found in the table; empty without a filter.
  std::string compatibility_name;

  bool operator<(const GroupKey& other) const;
};

struct DatabaseReport {
  std::string path;
  std::string options_file;   // its name; empty: there is none
  uint64_t options_time = 0;  // when it was written, as above
  OptionsFile options;
  std::map<GroupKey, TableGroup> groups;
  uint64_t gone = 0;                  // tables that vanished meanwhile
  uint64_t unused = 0;                // tables that the database does not have
  uint64_t elsewhere = 0;             // tables in other directories, or lost
  uint64_t unfinished = 0;            // tables that are being written
  std::vector<std::string> problems;  // what could not be read; lines
};

enum class Severity : uint8_t {
  kNote,     // nothing to do
  kUnknown,  // could not be looked at
  kProblem,  // filters are missing, or will be
};

struct Finding {
  Severity severity;
  const char* code;  // for programs; never changes
  std::string what;  // a line
  std::string to_do;
};

// Reads the directory of a database, and writes nothing. `progress` is called
// with the tables done, all, and the name of the next.
using DoctorProgress = void (*)(uint64_t done, uint64_t all,
                                const std::string& name, void* data);
DatabaseReport LookAtDatabase(const std::string& path, DoctorProgress progress,
                              void* data);

// In a build without RocksDB built_for is empty.
ProcessReport LookAtProcess();

// The worst first, those of the same kind together. `database` may be null.
std::vector<Finding> Findings(const ProcessReport& process,
                              const DatabaseReport* database);

// "2026-11-21 22:07:27 UTC"; "an unknown time" for 0.
std::string TimeText(uint64_t seconds);
// "... to ...", where they differ.
std::string TimeText(uint64_t oldest, uint64_t newest);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_REPORT_H_
