#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "db_bench_ext/torture/disk.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;

struct Watched {
  uint64_t synced = 0;  // bytes
  bool named = false;   // the folder was synced since it has this name
};

struct Rename {
  std::string undo;  // what had the name before, or "-"
  std::string to;
  bool synced = false;
};

// What was written down, replayed.
struct Notes {
  std::map<std::string, Watched> files;
  std::vector<Rename> renames;
};

Notes Replay(const std::string& path) {
  Notes notes;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string what;
    std::string name;
    words >> what;
    if (what == "new") {
      words >> name;
      notes.files[name] = Watched();
    } else if (what == "sync") {
      uint64_t size = 0;
      words >> size >> name;
      const auto found = notes.files.find(name);
      if (found != notes.files.end()) found->second.synced = size;
    } else if (what == "folder") {
      for (auto& [unused, watched] : notes.files) watched.named = true;
      for (Rename& rename : notes.renames) rename.synced = true;
    } else if (what == "rename") {
      Rename rename;
      std::string from;
      words >> rename.undo >> from >> rename.to;
      // A file from elsewhere was there before.
      Watched watched;
      const auto found = notes.files.find(from);
      if (found != notes.files.end()) {
        watched = found->second;
        notes.files.erase(found);
      }
      watched.named = false;
      notes.files[rename.to] = watched;
      notes.renames.push_back(rename);
    } else if (what == "delete") {
      words >> name;
      notes.files.erase(name);
    } else {
      throw std::runtime_error(path + ": unknown note: " + line);
    }
  }
  return notes;
}

}  // namespace

uint64_t LosePower(const DiskPlan& plan, const PowerLoss& loss) {
  Notes notes = Replay(plan.notes + "/disk");
  uint64_t changed = 0;
  bool tail_kept = false;
  // In the order of their numbers: later logs lose what an earlier one lost.
  for (const auto& [path, watched] : notes.files) {
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error) continue;
    if (!watched.named) {
      fs::remove(path);
      ++changed;
      continue;
    }
    const bool is_log = fs::path(path).extension() == ".log";
    uint64_t kept = is_log && loss.forget_syncs ? 0 : watched.synced;
    if (size <= kept) continue;
    if (is_log && !tail_kept) {
      tail_kept = true;
      kept += static_cast<uint64_t>(static_cast<double>(size - kept) *
                                    loss.log_tail_kept);
    }
    fs::resize_file(path, kept);
    ++changed;
  }
  for (auto rename = notes.renames.rbegin(); rename != notes.renames.rend();
       ++rename) {
    if (rename->synced || rename->undo == "-") continue;
    fs::rename(rename->undo, rename->to);
    ++changed;
  }
  return changed;
}

}  // namespace deltabloom::torture
