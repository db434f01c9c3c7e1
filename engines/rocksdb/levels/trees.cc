#include "engines/rocksdb/levels/trees.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engines/rocksdb/base/process.h"

namespace deltabloom::internal {

std::shared_ptr<DatabaseTrees> TreesOf(Process* process,
                                       const std::string& name,
                                       const void* default_family) {
  const auto databases = process->databases.Lock();
  std::shared_ptr<DatabaseTrees>& trees = databases->trees[name];
  if (trees == nullptr || trees->default_family != default_family) {
    trees = std::make_shared<DatabaseTrees>();
    trees->default_family = default_family;
  }
  return trees;
}

std::shared_ptr<DatabaseTrees> FindTrees(Process* process,
                                         const std::string& name) {
  const auto databases = process->databases.Lock();
  const auto it = databases->trees.find(name);
  return it == databases->trees.end() ? nullptr : it->second;
}

void ForgetTrees(Process* process, const void* default_family) {
  const auto databases = process->databases.Lock();
  auto& trees = databases->trees;
  for (auto it = trees.begin(); it != trees.end(); ++it) {
    if (it->second->default_family != default_family) continue;
    trees.erase(it);
    return;
  }
}

std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees(
    Process* process) {
  return process->databases.Lock()->trees;
}

void AnnounceTable(Process* process, TableAnnouncement table) {
  process->databases.Lock()->announced.insert_or_assign(
      std::this_thread::get_id(), std::move(table));
}

void DropAnnouncement(Process* process) {
  process->databases.Lock()->announced.erase(std::this_thread::get_id());
}

std::optional<TableAnnouncement> TakeAnnouncement(Process* process,
                                                  const std::string& family) {
  const auto table =
      process->databases.Lock()->announced.extract(std::this_thread::get_id());
  if (!table || table.mapped().family != family) return std::nullopt;
  return std::move(table.mapped());
}

}  // namespace deltabloom::internal
