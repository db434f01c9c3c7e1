// The table files that a command line names.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_TABLE_FILES_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_TABLE_FILES_H_

#include <string>
#include <vector>

namespace deltabloom::tools {

struct TableFile {
  std::string path;
  // Found in a directory: one that a running database removes meanwhile is no
  // error.
  bool from_directory = false;
  std::string error;  // of a directory, which then stands for itself
};

// Each path that is no directory, and of each directory the files in it (not
// below it) whose names end in .sst or .ldb, in the order of their names. A
// directory that cannot be read, or holds none, is listed with an error.
std::vector<TableFile> TableFiles(const std::vector<std::string>& paths);

// Whether the file is gone that was seen in a directory.
bool IsGone(const TableFile& file);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_TABLE_FILES_H_
