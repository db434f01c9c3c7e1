#include "tools/deltabloom/database/options_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "engines/rocksdb/base/options_file.h"
#include "tools/deltabloom/database/read_file.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "deltabloom:10:local" of "{id=deltabloom:10:local;statistics=true}" and of
// "deltabloom:10:local".
std::string_view IdOf(std::string_view policy) {
  if (!policy.empty() && policy.front() == '{') policy.remove_prefix(1);
  constexpr std::string_view kId = "id=";
  if (StartsWith(policy, kId)) policy.remove_prefix(kId.size());
  return policy.substr(0, policy.find_first_of(";} "));
}

bool IsTrue(std::string_view value) { return value == "true" || value == "1"; }

void TakeOption(const internal::OptionsLine& line, FamilyOptions* family) {
  if (line.section == "TableOptions/BlockBasedTable") {
    if (line.name == "filter_policy") family->policy = line.value;
    if (line.name == "whole_key_filtering") {
      family->whole_key_filtering = IsTrue(line.value);
    }
    if (line.name == "cache_index_and_filter_blocks") {
      family->cache_index_and_filter_blocks = IsTrue(line.value);
    }
    if (line.name == "metadata_cache_options") {
      family->metadata_cache_options = line.value;
    }
    if (line.name == "metadata_block_size") {
      internal::ParseNumber(line.value, &family->metadata_block_size);
    }
  } else if (line.section != "CFOptions") {
    return;
  } else if (line.name == "table_factory") {
    family->table_factory = line.value;
  } else if (line.name == "prefix_extractor") {
    family->prefix_extractor = line.value;
  } else if (line.name == "compaction_style") {
    family->is_fifo = line.value == "kCompactionStyleFIFO";
  } else if (line.name == "comparator") {
    family->comparator = line.value;
  } else if (line.name == "table_properties_collectors") {
    family->collectors = line.value;
  } else if (line.name == "optimize_filters_for_hits") {
    family->optimize_filters_for_hits = IsTrue(line.value);
  }
}

// Sets *newest to the name of the newest OPTIONS file in the directory, or to
// nothing if there is none. Returns what is wrong.
std::string FindNewest(const std::string& directory, std::string* newest) {
  uint64_t newest_number = 0;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    uint64_t number = 0;
    if (ParseOptionsFileName(name, &number) &&
        (newest->empty() || number > newest_number)) {
      *newest = std::move(name);
      newest_number = number;
    }
  }
  return error ? directory + ": cannot be read: " + error.message()
               : std::string();
}

// Returns what is wrong, after the path.
std::string Read(const std::string& path, OptionsFile* file) {
  constexpr uint64_t kMost = 64 << 20;
  std::string bytes;
  std::string error = ReadFile(path, kMost, &bytes);
  if (!error.empty()) return error;
  error = ParseOptionsFile(bytes, file);
  return error.empty() ? error : path + ": " + error;
}

}  // namespace

bool FamilyOptions::CachesFilters(bool partitioned) const {
  const char* const pinned =
      partitioned ? "partition_pinning=kAll" : "unpartitioned_pinning=kAll";
  const bool cached = partitioned || cache_index_and_filter_blocks;
  return BlockBased() && cached && !Contains(metadata_cache_options, pinned);
}

bool FamilyOptions::NamesDeltabloom() const {
  const std::string_view id = IdOf(policy);
  return id == "deltabloom" || StartsWith(id, "deltabloom:");
}

// These look for the text of an option, which a file of RocksDB always
// has, instead of parsing all options: the program also reads databases whose
// options it could not accept, such as a key transform of another program or
// options of a later version.
bool FamilyOptions::OwnCompatibility() const {
  return NamesDeltabloom() && Contains(policy, "compatibility=own");
}

bool FamilyOptions::HasKeyTransform() const {
  return NamesDeltabloom() && Contains(policy, "key_transform=") &&
         !Contains(policy, "key_transform=none");
}

bool FamilyOptions::HasSeveralCollectors() const {
  return Contains(collectors, "id=deltabloom.range") &&
         Contains(collectors, "}:{");
}

const FamilyOptions* OptionsFile::Find(const std::string& family) const {
  for (const FamilyOptions& one : families) {
    if (one.name == family) return &one;
  }
  return nullptr;
}

std::string LastKnownRocksDB() {
  return std::to_string(kLastKnownRocksDB.first) + "." +
         std::to_string(kLastKnownRocksDB.second);
}

bool OptionsFile::IsOfLaterRocksDB() const {
  std::pair<unsigned, unsigned> ours = {0, 0};
  const size_t dot = rocksdb_version.find('.');
  internal::ParseNumber(rocksdb_version.substr(0, dot), &ours.first);
  if (dot != std::string::npos) {
    const std::string rest = rocksdb_version.substr(dot + 1);
    internal::ParseNumber(rest.substr(0, rest.find('.')), &ours.second);
  }
  return ours > kLastKnownRocksDB;
}

std::string ParseOptionsFile(std::string_view text, OptionsFile* file) {
  *file = {};
  std::map<std::string, size_t> index;  // of families, by name
  const std::string problem =
      internal::ForEachOption(text, [&](const internal::OptionsLine& line) {
        if (line.section == "Version" && line.name == "rocksdb_version") {
          file->rocksdb_version = line.value;
        } else if (line.section == "DBOptions" && line.name == "db_log_dir") {
          file->log_directory = line.value;
        } else if (line.section == "CFOptions" && line.name.empty() &&
                   index.emplace(line.family, file->families.size()).second) {
          file->families.emplace_back().name = line.family;
        }
        const auto family = index.find(line.family);
        if (family == index.end()) return;
        TakeOption(line, &file->families[family->second]);
      });
  if (!problem.empty()) return problem;
  if (file->families.empty()) return "expected a section CFOptions, found none";
  return {};
}

bool ParseOptionsFileName(std::string_view name, uint64_t* number) {
  constexpr std::string_view kStart = "OPTIONS-";
  return StartsWith(name, kStart) &&
         internal::ParseNumber(name.substr(kStart.size()), number);
}

std::string ReadNewestOptionsFile(const std::string& database,
                                  OptionsFile* file) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    *file = {};
    std::string name;
    std::string error = FindNewest(database, &name);
    const std::string path = fs::path(database) / name;
    if (error.empty() && !name.empty()) {
      error = Read(path, file);
      file->name = name;
      struct stat status;
      if (stat(path.c_str(), &status) != 0) {
        error = path + ": cannot be examined: " + std::strerror(errno);
      } else if (status.st_mtime > 0) {
        file->time = static_cast<uint64_t>(status.st_mtime);
      }
    }
    // A running database removes old files when it writes a new one.
    if ((error.empty() && !name.empty()) || i == kTries) return error;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace deltabloom::tools
