#include "tools/deltabloom/table_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/sst/sst.h"
#include "tools/program/console.h"

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

void Check(const std::string& error) {
  if (!error.empty()) throw std::runtime_error(error);
}

std::string ReadTable(
    const std::string& path,
    const std::function<void(const internal::SstSource&)>& fn) {
  std::string error;
  try {
    const auto source = internal::OpenSstFile(path, &error);
    if (source != nullptr) fn(*source);
  } catch (const std::bad_alloc&) {
    error = path + ": no memory for what this file claims to hold";
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  return error;
}

std::string TextOf(const internal::SstFile& file, const char* name,
                   const char* otherwise) {
  std::string_view text = otherwise;
  file.properties.Text(name, &text);
  return std::string(text);
}

uint64_t NumberOf(const internal::SstFile& file, const char* name,
                  uint64_t otherwise) {
  uint64_t number;
  return file.properties.Number(name, &number) ? number : otherwise;
}

uint64_t FilterKeysOf(const internal::SstFile& file) {
  const uint64_t keys = NumberOf(file, "rocksdb.num.filter_entries");
  // Older releases of RocksDB count entries only.
  return keys > 0 ? keys : NumberOf(file, "rocksdb.num.entries");
}

internal::SstFile ReadSst(const internal::SstSource& source, bool* damaged) {
  internal::SstFile file;
  const std::string error = internal::WalkSst(source, &file);
  if (!error.empty() && damaged != nullptr) {
    std::string index;
    *damaged = std::any_of(
        file.filters.begin(), file.filters.end(), [&](const auto& filter) {
          return filter.scope == internal::FilterScope::kPartitioned &&
                 !internal::ReadBlock(source, file, filter.handle, &index)
                      .empty();
        });
  }
  Check(error);
  return file;
}

std::string ReadBlock(const internal::SstSource& source,
                      const internal::SstFile& file,
                      const internal::BlockHandle& handle, bool* damaged) {
  std::string bytes;
  const std::string error = internal::ReadBlock(source, file, handle, &bytes);
  if (!error.empty() && damaged != nullptr) *damaged = true;
  Check(error);
  return bytes;
}

std::vector<internal::BlockHandle> FilterBlocks(
    const internal::SstSource& source, const internal::SstFile& file,
    const internal::SstFilter& filter) {
  if (filter.scope != internal::FilterScope::kPartitioned) {
    return {filter.handle};
  }
  std::vector<internal::BlockHandle> blocks;
  Check(internal::ForEachPartition(
      source, file, filter,
      [&](std::string_view, const internal::BlockHandle& handle) {
        blocks.push_back(handle);
        return std::string();
      }));
  return blocks;
}

std::string KindOfFilter(const std::string& policy, std::string_view filter) {
  const std::string text = DescribeTableFilter(policy, filter);
  return text.substr(0, text.find(','));
}

Summary::Summary(Lists lists) : lists_(std::move(lists)) {
  json_["sound"] = 0;
  for (const auto& list : lists_) json_[list.first] = Json::array();
  json_["gone"] = 0;
}

void Summary::Add(const std::string& what, const std::string& path) {
  Json& entry = json_.at(what);
  if (entry.is_array()) {
    entry.push_back(path);
  } else {
    entry = entry.get<uint64_t>() + 1;
  }
}

void Summary::Show(const std::string& files, const std::string& sound,
                   Console* console) const {
  console->Add("summary", json_);
  uint64_t all =
      json_.at("sound").get<uint64_t>() + json_.at("gone").get<uint64_t>();
  std::string line = " " + files + ": " + json_.at("sound").dump() + sound;
  for (const auto& [list, text] : lists_) {
    all += json_.at(list).size();
    line += ", " + std::to_string(json_.at(list).size()) + " " + text;
  }
  if (all < 2) return;
  console->Line(std::to_string(all) + line + ", " + json_.at("gone").dump() +
                " gone meanwhile");
  for (const auto& [list, text] : lists_) {
    for (const Json& path : json_.at(list)) {
      console->Line(std::string("  ") + text + ": " + path.get<std::string>());
    }
  }
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
