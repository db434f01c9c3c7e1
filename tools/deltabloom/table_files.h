// The table files that a command line names.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sst/sst.h"
#include "tools/program/console.h"

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

// Throws std::runtime_error(error) unless that is empty.
void Check(const std::string& error);

// Opens the table and calls fn with it. Returns what that threw: what went
// wrong, too little memory included, in one line.
std::string ReadTable(
    const std::string& path,
    const std::function<void(const internal::SstSource&)>& fn);

// A property of the table, `otherwise` if the table has none of that name.
std::string TextOf(const internal::SstFile& file, const char* name,
                   const char* otherwise = "");
uint64_t NumberOf(const internal::SstFile& file, const char* name,
                  uint64_t otherwise = 0);

// The keys and prefixes in the filter of a table, by its properties.
uint64_t FilterKeysOf(const internal::SstFile& file);

// Returns what WalkSst finds. Sets *damaged if the index of a partitioned
// filter is damaged. Throws std::runtime_error.
internal::SstFile ReadSst(const internal::SstSource& source,
                          bool* damaged = nullptr);

// The blocks with the bytes of the filter: its partitions, or it alone. Throws
// std::runtime_error.
std::vector<internal::BlockHandle> FilterBlocks(
    const internal::SstSource& source, const internal::SstFile& file,
    const internal::SstFilter& filter);

// The bytes of a block. *damaged is set if it cannot be read. Throws
// std::runtime_error.
std::string ReadBlock(const internal::SstSource& source,
                      const internal::SstFile& file,
                      const internal::BlockHandle& handle,
                      bool* damaged = nullptr);

// "Deltabloom local, 6 probes, ..." or "RocksDB Bloom, ...": a filter of a
// table of RocksDB, under this name.
std::string DescribeTableFilter(const std::string& policy,
                                std::string_view filter);

// Its first part: "Deltabloom local", "RocksDB Bloom".
std::string KindOfFilter(const std::string& policy, std::string_view filter);

// Counts the files that are sound or gone, and collects the names of the others
// in lists, which have a name for programs and a text.
class Summary {
 public:
  using Lists = std::vector<std::pair<const char*, const char*>>;
  explicit Summary(Lists lists);

  // `what`: "sound", "gone" or a list.
  void Add(const std::string& what, const std::string& path);
  bool Has(const char* list) const { return !json_.at(list).empty(); }
  // Prints "3 tables: 1 without a false negative, ...", if there are several.
  void Show(const std::string& files, const std::string& sound,
            Console* console) const;

 private:
  const Lists lists_;
  Json json_;
};

// Returns whether the file was written to in the last ten seconds, so that a
// running database may still be writing it.
bool IsYoung(const TableFile& file);

// Returns whether a file that was listed in a directory no longer exists.
bool IsGone(const TableFile& file);

}  // namespace deltabloom::tools
