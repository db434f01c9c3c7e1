// The files of a database, as deltabloom doctor sees them.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "table/sst/sst.h"
#include "tools/deltabloom/doctor_report.h"
#include "tools/deltabloom/table_files.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// The newest OPTIONS file in the directory; empty if there is none. Throws
// fs::filesystem_error.
std::string NewestOptionsFile(const std::string& path) {
  std::string newest;
  uint64_t newest_number = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    uint64_t number = 0;
    std::error_code unknown;
    if (ParseOptionsFileName(name, &number) && !entry.is_directory(unknown) &&
        !entry.is_fifo(unknown) && (newest.empty() || number > newest_number)) {
      newest = name;
      newest_number = number;
    }
  }
  return newest;
}

// Returns what went wrong.
std::string ReadWhole(const std::string& path, std::string* text) {
  constexpr uint64_t kMost = 64 << 20;
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (!error && size > kMost) {
    return path + ": expected an OPTIONS file, found " + std::to_string(size) +
           " bytes";
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return path + ": cannot be read: " + std::strerror(errno);
  }
  *text = bytes.str();
  return {};
}

void ReadOptions(DatabaseReport* report) {
  // A database that runs removes old files when it writes a new one.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    report->options_file = NewestOptionsFile(report->path);
    if (report->options_file.empty()) {
      if (i == kTries) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const std::string path =
        (fs::path(report->path) / report->options_file).string();
    std::string text;
    std::string error = ReadWhole(path, &text);
    if (!error.empty() && i < kTries && !fs::exists(path)) continue;
    if (error.empty()) {
      error = ParseOptionsFile(text, &report->options);
      if (!error.empty()) error = path + ": " + error;
    }
    if (!error.empty()) report->problems.push_back(error);
    struct stat status;
    if (stat(path.c_str(), &status) == 0 && status.st_mtime > 0) {
      report->options_time = static_cast<uint64_t>(status.st_mtime);
    }
    return;
  }
}

std::string TextOf(const internal::SstFile& file, const char* name) {
  std::string_view text;
  return file.properties.Text(name, &text) ? std::string(text) : std::string();
}

uint64_t NumberOf(const internal::SstFile& file, const char* name) {
  uint64_t number = 0;
  return file.properties.Number(name, &number) ? number : 0;
}

uint64_t WhenWritten(const internal::SstFile& file) {
  const uint64_t time = NumberOf(file, "rocksdb.file.creation.time");
  return time != 0 ? time : NumberOf(file, "rocksdb.creation.time");
}

// Returns what went wrong.
std::string AddTable(const std::string& path, DatabaseReport* report) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  internal::SstFile file;
  error = internal::FindFilters(*source, &file);
  if (!error.empty()) return error;
  const uint64_t entries = NumberOf(file, "rocksdb.num.entries");
  GroupKey key;
  key.family = TextOf(file, "rocksdb.column.family.name");
  uint64_t filter_bytes = 0;
  for (const internal::SstFilter& filter : file.filters) {
    filter_bytes += filter.bytes;
    key.compatibility_name = filter.policy;
  }
  if (!file.filters.empty()) {
    key.filter = TextOf(file, "rocksdb.filter.policy");
    if (key.filter.empty()) key.filter = key.compatibility_name;
  }
  TableGroup& group = report->groups[key];
  ++group.tables;
  group.bytes += source->Size();
  group.entries += entries;
  group.filter_bytes += filter_bytes;
  const uint64_t written = WhenWritten(file);
  if (written != 0) {
    group.oldest =
        group.oldest == 0 ? written : std::min(group.oldest, written);
    group.newest = std::max(group.newest, written);
  }
  return {};
}

// Returns what went wrong; nothing if the table is gone, which is counted.
std::string TryTable(const TableFile& file, DatabaseReport* report) {
  std::string error;
  try {
    error = AddTable(file.path, report);
  } catch (const std::bad_alloc&) {
    error = file.path + ": no memory for what this file claims to hold";
  }
  if (error.empty() || !IsGone(file)) return error;
  ++report->gone;
  return {};
}

uint64_t SizeOf(const TableFile& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file.path, error);
  return error ? 0 : size;
}

void AddTables(DoctorProgress progress, void* data, DatabaseReport* report) {
  const std::vector<TableFile> files = TableFiles({report->path});
  std::vector<std::pair<TableFile, uint64_t>> again;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].from_directory) continue;  // the directory, without tables
    progress(i, files.size(), files[i].path, data);
    const uint64_t size = SizeOf(files[i]);
    if (!TryTable(files[i], report).empty()) again.emplace_back(files[i], size);
  }
  if (again.empty()) return;
  // Tables that a running database is writing have no end yet, and grow.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const auto& [file, size] : again) {
    const std::string error = TryTable(file, report);
    if (error.empty()) continue;
    if (SizeOf(file) != size) {
      ++report->unfinished;
    } else {
      report->problems.push_back(error);
    }
  }
}

}  // namespace

bool GroupKey::operator<(const GroupKey& other) const {
  return std::tie(family, filter, compatibility_name) <
         std::tie(other.family, other.filter, other.compatibility_name);
}

DatabaseReport LookAtDatabase(const std::string& path, DoctorProgress progress,
                              void* data) {
  DatabaseReport report;
  report.path = path;
  try {
    ReadOptions(&report);
    AddTables(progress, data, &report);
  } catch (const fs::filesystem_error& error) {
    report.problems.push_back(path +
                              ": cannot be read: " + error.code().message());
  }
  return report;
}

}  // namespace deltabloom::tools
