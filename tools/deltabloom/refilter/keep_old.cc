#include "tools/deltabloom/refilter/keep_old.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "tools/deltabloom/refilter/copy.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/read_table.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// Links a table of each directory, and removes the links.
void TryLinks(const std::string& keep_old, const fs::path& existing,
              const std::vector<RefilterTable>& tables) {
  std::set<fs::path> tried;
  for (const RefilterTable& table : tables) {
    const fs::path path = table.path;
    std::error_code error;
    if (!fs::is_regular_file(path, error) ||
        !tried.insert(path.parent_path()).second) {
      continue;
    }
    const fs::path link = existing / "deltabloom.try";
    fs::remove(link, error);
    fs::create_hard_link(path, link, error);
    if (error) {
      Check(keep_old + ": tables of " + path.parent_path().string() +
            " cannot be linked there: " + error.message() +
            ". Name a directory of the same file system");
    }
    fs::remove(link, error);
  }
}

}  // namespace

void MakeKeepOld(const std::string& keep_old,
                 const std::vector<std::string>& directories,
                 const std::vector<RefilterTable>& tables) {
  fs::path made = fs::absolute(keep_old);
  fs::path existing = made;
  while (!fs::exists(existing)) existing = existing.parent_path();
  for (const std::string& directory : directories) {
    if (existing != made || !fs::equivalent(made, directory)) continue;
    Check(keep_old + ": expected a directory other than those of the tables");
  }
  // A new directory is in the file system of the one above it.
  if (fs::is_directory(existing)) TryLinks(keep_old, existing, tables);
  std::error_code error;
  fs::create_directories(made, error);
  if (error) {
    Check(made.string() + ": cannot be made a directory: " + error.message());
  }
  while (made != existing) {
    made = made.parent_path();
    if (!SyncDirectory(made)) Check(made.string() + ": cannot be synced");
  }
}

}  // namespace deltabloom::tools
