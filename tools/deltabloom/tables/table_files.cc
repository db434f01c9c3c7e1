#include "tools/deltabloom/tables/table_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

bool IsTableName(const fs::path& path) {
  return path.extension() == ".sst" || path.extension() == ".ldb";
}

// Appends the tables in a directory, or the directory with what is wrong.
void ListDirectory(const std::string& path, std::vector<TableFile>* files) {
  std::error_code error;
  fs::directory_iterator entry(path, error);
  const size_t before = files->size();
  while (!error && entry != fs::directory_iterator()) {
    std::error_code unknown;  // such an entry is listed; reading it fails
    if (IsTableName(entry->path()) && !entry->is_directory(unknown)) {
      files->push_back({entry->path().string(), true});
    }
    entry.increment(error);
  }
  const bool is_empty = files->size() == before;
  std::sort(
      files->begin() + static_cast<std::ptrdiff_t>(before), files->end(),
      [](const TableFile& a, const TableFile& b) { return a.path < b.path; });
  if (error) {
    files->push_back(
        {path, false, path + ": cannot be read: " + error.message()});
  } else if (is_empty) {
    files->push_back({path, false,
                      path + ": expected table files (*.sst, *.ldb), found "
                             "none",
                      true});
  }
}

}  // namespace

uint64_t TableFile::Size() const {
  std::error_code unknown;
  const uint64_t size = fs::file_size(path, unknown);
  return unknown ? 0 : size;
}

std::vector<TableFile> TableFiles(const std::vector<std::string>& paths) {
  std::vector<TableFile> files;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) {
      ListDirectory(path, &files);
    } else {
      files.push_back({path});
    }
  }
  return files;
}

void AddPathOption(CLI::App* app, std::vector<std::string>* paths) {
  app->add_option("--path", *paths,
                  "Another directory with tables of the database (db_paths, "
                  "cf_paths); may be repeated")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<std::string> DirectoriesOf(const std::string& database,
                                       const std::vector<std::string>& paths) {
  std::vector<std::string> directories = {database};
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool known = std::any_of(directories.begin(), directories.end(),
                                   [&](const std::string& one) {
                                     return fs::equivalent(one, path, ignored);
                                   });
    if (!known) directories.push_back(path);
  }
  return directories;
}

std::string NumberedPath(const std::string& directory, uint64_t number,
                         const char* extension) {
  std::string name = std::to_string(number);
  if (name.size() < 6) name.insert(0, 6 - name.size(), '0');
  return (fs::path(directory) / (name + "." + extension)).string();
}

uint64_t NumberOfName(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [next, status] = std::from_chars(name.data(), end, number);
  return status == std::errc() && next != end && *next == '.' ? number : 0;
}

std::vector<std::string> FindTable(const std::vector<std::string>& directories,
                                   uint64_t number) {
  std::vector<std::string> found;
  for (const std::string& directory : directories) {
    for (const char* extension : {"sst", "ldb"}) {
      std::error_code unknown;
      found.push_back(NumberedPath(directory, number, extension));
      if (!fs::exists(found.back(), unknown)) found.pop_back();
    }
  }
  return found;
}

bool IsYoung(const TableFile& file) {
  constexpr std::chrono::seconds kYoung(10);
  std::error_code error;
  const fs::file_time_type written = fs::last_write_time(file.path, error);
  return !error && fs::file_time_type::clock::now() - written < kYoung;
}

bool IsGone(const TableFile& file) {
  std::error_code unknown;
  return file.from_directory && fs::symlink_status(file.path, unknown).type() ==
                                    fs::file_type::not_found;
}

}  // namespace deltabloom::tools
