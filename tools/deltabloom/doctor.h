// What deltabloom doctor finds out about this process and a database.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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

// Tables that have the same kind of filter, in one level of a column family.
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
  // The policy that wrote the filter; empty: no filter.
  std::string filter;
  // The name of the filter in the table; empty without a filter.
  std::string compatibility_name;

  bool operator<(const GroupKey& other) const {
    return std::tie(family, level, filter, compatibility_name) <
           std::tie(other.family, other.level, other.filter,
                    other.compatibility_name);
  }
};

struct DatabaseReport {
  std::string path;
  std::string options_file;   // its name; empty: there is none
  uint64_t options_time = 0;  // when it was written, as above
  OptionsFile options;
  std::map<GroupKey, TableGroup> groups;
  uint64_t gone = 0;                  // tables that vanished meanwhile
  uint64_t unused = 0;                // tables that are not in the MANIFEST
  uint64_t elsewhere = 0;             // tables in other directories, or lost
  uint64_t unfinished = 0;            // tables that are being written
  std::vector<std::string> problems;  // what could not be read; lines
};

// Reads the directory of a database, and writes nothing. `progress` is called
// with the number of tables done and of all, and the name of the next.
using DoctorProgress =
    std::function<void(uint64_t done, uint64_t all, const std::string& name)>;
DatabaseReport ReadDatabase(const std::string& path,
                            const DoctorProgress& progress);

// What the policy that an OPTIONS file names does, found out by creating it as
// RocksDB does and by building a filter.
struct PolicyVerdict {
  std::string problem;  // why filters are missing or useless; empty: none
  std::string to_do;
  bool unknown = false;        // no policy of this name is known here
  bool builds_filters = true;  // false: none by choice (deltabloom:0)
};

#ifdef DELTABLOOM_TOOLS_ROCKSDB
void ReadRocksDB(ProcessReport* report);
PolicyVerdict JudgePolicy(const FamilyOptions& family);
#endif

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

// The worst first, those of the same code together. `database` may be null.
std::vector<Finding> Findings(const ProcessReport& process,
                              const DatabaseReport* database);

// "2026-11-21 22:07:27 UTC"; "an unknown time" for 0.
std::string TimeText(uint64_t seconds);
// "... to ...", if they differ.
std::string TimeText(uint64_t oldest, uint64_t newest);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_H_
