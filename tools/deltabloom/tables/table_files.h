// The table files that a command line names.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace deltabloom::tools {

struct TableFile {
  std::string path;
  // Listed in a directory: no error if a running database removes it meanwhile.
  bool from_directory = false;
  // Set for a directory that has no tables or cannot be read.
  std::string error = {};
  bool is_empty = false;  // a directory that has no tables

  uint64_t Size() const;  // 0 if it is not known
};

// Each path that is not a directory, and for each directory the files in it
// (not below it) whose names end in .sst or .ldb, in the order of their names.
// A directory that cannot be read or has no such files is listed with an error.
std::vector<TableFile> TableFiles(const std::vector<std::string>& paths);

// --path, which names other directories with tables of a database.
void AddPathOption(CLI::App* app, std::vector<std::string>* paths);

// The directories of a database: its own, and those of `paths` that are others.
std::vector<std::string> DirectoriesOf(const std::string& database,
                                       const std::vector<std::string>& paths);

// "DIRECTORY/000012.sst", and the number in such a name; 0 in other names.
std::string NumberedPath(const std::string& directory, uint64_t number,
                         const char* extension);
uint64_t NumberOfName(const std::string& path);
// The tables of that number (*.sst, *.ldb) that are in the directories.
std::vector<std::string> FindTable(const std::vector<std::string>& directories,
                                   uint64_t number);

// Returns whether the file was written to in the last ten seconds, so that a
// running database may still be writing it.
bool IsYoung(const TableFile& file);

// Returns whether a file that was listed in a directory no longer exists.
bool IsGone(const TableFile& file);

}  // namespace deltabloom::tools
