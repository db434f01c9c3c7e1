// The files of a database that deltabloom doctor reads.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "table/sst/sst.h"
#include "tools/deltabloom/doctor.h"
#include "tools/deltabloom/manifest.h"
#include "tools/deltabloom/table_files.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// "MANIFEST-000005" in the file CURRENT; else empty.
std::string CurrentManifest(const fs::path& database) {
  std::ifstream file(database / "CURRENT", std::ios::binary);
  std::string name;
  std::getline(file, name);
  constexpr std::string_view kStart = "MANIFEST-";
  const bool good = name.compare(0, kStart.size(), kStart) == 0 &&
                    name.find('/') == std::string::npos &&
                    name.find('\0') == std::string::npos;
  return good ? name : std::string();
}

// Reads the MANIFEST that the file CURRENT names. Returns what is wrong.
std::string ReadManifest(const std::string& database, Manifest* manifest) {
  // A running database starts a new one now and then, or is writing it.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    const std::string name = CurrentManifest(database);
    if (name.empty()) {
      return database + ": expected a file CURRENT that names a MANIFEST";
    }
    const fs::path path = fs::path(database) / name;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      if (i < kTries) continue;
      return path.string() + ": cannot be read: " + std::strerror(errno);
    }
    *manifest = Manifest();
    std::array<char, Manifest::kBlockSize> block;
    do {
      file.read(block.data(), block.size());
    } while (
        manifest->Add({block.data(), static_cast<size_t>(file.gcount())}) &&
        file);
    if (!manifest->error().empty()) {
      return path.string() + ": " + manifest->error();
    }
    if (!manifest->is_cut()) return {};
    if (i == kTries) return path.string() + ": is cut off within a record";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

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
  // A running database removes old files when it writes a new one.
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

// Adds tables to a report, with their levels from the MANIFEST.
class Tables {
 public:
  Tables(const Manifest* manifest, DatabaseReport* report)
      : manifest_(manifest), report_(report) {}

  void AddAll(const std::vector<TableFile>& files,
              const DoctorProgress& progress);

 private:
  std::string Add(const TableFile& file);
  std::string TryToAdd(const TableFile& file);
  void CountElsewhere();

  const Manifest* const manifest_;  // null: not known
  DatabaseReport* const report_;
};

// The number in "000012.sst"; 0 in other names.
uint64_t NumberOfName(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [next, status] = std::from_chars(name.data(), end, number);
  return status == std::errc() && next != end && *next == '.' ? number : 0;
}

// Returns what went wrong.
std::string Tables::Add(const TableFile& table) {
  std::string error;
  const auto source = internal::OpenSstFile(table.path, &error);
  if (source == nullptr) return error;
  internal::SstFile file;
  error = internal::FindFilters(*source, &file);
  if (!error.empty()) return error;
  GroupKey key;
  key.family = TextOf(file, "rocksdb.column.family.name");
  if (manifest_ != nullptr) {
    const LiveTable& live = manifest_->tables().at(NumberOfName(table.path));
    key.level = static_cast<int>(std::min(live.level, 1000u));
    key.family = manifest_->FamilyName(live.family);
  }
  uint64_t filter_bytes = 0;
  for (const internal::SstFilter& filter : file.filters) {
    filter_bytes += filter.bytes;
    key.compatibility_name = filter.policy;
  }
  if (!file.filters.empty()) {
    key.filter = TextOf(file, "rocksdb.filter.policy");
    if (key.filter.empty()) key.filter = key.compatibility_name;
  }
  TableGroup table_alone;
  table_alone.tables = 1;
  table_alone.bytes = source->Size();
  table_alone.entries = NumberOf(file, "rocksdb.num.entries");
  table_alone.filter_bytes = filter_bytes;
  table_alone.oldest = table_alone.newest = WhenWritten(file);
  report_->groups[key].Add(table_alone);
  return {};
}

// Returns what went wrong; nothing if the table is gone, which is counted.
std::string Tables::TryToAdd(const TableFile& file) {
  std::string error;
  try {
    error = Add(file);
  } catch (const std::bad_alloc&) {
    error = file.path + ": no memory for what this file claims to hold";
  }
  if (error.empty() || !IsGone(file)) return error;
  ++report_->gone;
  return {};
}

void Tables::AddAll(const std::vector<TableFile>& files,
                    const DoctorProgress& progress) {
  std::vector<std::pair<TableFile, uint64_t>> again;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].from_directory) continue;  // the directory, without tables
    if (manifest_ != nullptr &&
        manifest_->tables().count(NumberOfName(files[i].path)) == 0) {
      ++report_->unused;
      continue;
    }
    progress(i, files.size(), files[i].path);
    const uint64_t size = files[i].Size();
    if (!TryToAdd(files[i]).empty()) again.emplace_back(files[i], size);
  }
  if (manifest_ != nullptr) CountElsewhere();
  if (again.empty()) return;
  // Tables that a running database is writing have no end yet, and grow.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const auto& [file, size] : again) {
    const std::string error = TryToAdd(file);
    if (error.empty()) continue;
    if (file.Size() != size) {
      ++report_->unfinished;
    } else {
      report_->problems.push_back(error);
    }
  }
}

// Counts the tables of the MANIFEST that are not in the directory. A newer
// state of it tells which of them compactions have just removed.
void Tables::CountElsewhere() {
  const auto missing = [&](const Manifest& manifest) {
    std::set<uint64_t> numbers;
    for (const auto& [number, table] : manifest.tables()) {
      char name[32];
      std::snprintf(name, sizeof(name), "%06llu.sst",
                    static_cast<unsigned long long>(number));
      const fs::path path = fs::path(report_->path) / name;
      std::error_code error;
      if (!fs::exists(path, error) &&
          !fs::exists(fs::path(path).replace_extension(".ldb"), error)) {
        numbers.insert(number);
      }
    }
    return numbers;
  };
  const std::set<uint64_t> before = missing(*manifest_);
  Manifest now;
  if (before.empty() || !ReadManifest(report_->path, &now).empty()) return;
  for (const uint64_t number : missing(now)) {
    report_->elsewhere += before.count(number);
  }
}

// A table that was listed before the MANIFEST is read, and is not in it, is no
// longer used, or not yet.
void AddTables(const DoctorProgress& progress, DatabaseReport* report) {
  const std::vector<TableFile> files = TableFiles({report->path});
  Manifest manifest;
  const std::string problem = ReadManifest(report->path, &manifest);
  if (!problem.empty()) report->problems.push_back(problem);
  Tables(problem.empty() ? &manifest : nullptr, report).AddAll(files, progress);
}

}  // namespace

void TableGroup::Add(const TableGroup& other) {
  tables += other.tables;
  bytes += other.bytes;
  entries += other.entries;
  filter_bytes += other.filter_bytes;
  if (other.oldest != 0) {
    oldest = oldest == 0 ? other.oldest : std::min(oldest, other.oldest);
  }
  newest = std::max(newest, other.newest);
}

DatabaseReport ReadDatabase(const std::string& path,
                            const DoctorProgress& progress) {
  DatabaseReport report;
  report.path = path;
  try {
    ReadOptions(&report);
    AddTables(progress, &report);
  } catch (const fs::filesystem_error& error) {
    report.problems.push_back(path +
                              ": cannot be read: " + error.code().message());
  }
  return report;
}

}  // namespace deltabloom::tools
