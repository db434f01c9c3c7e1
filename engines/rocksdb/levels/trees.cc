#include "engines/rocksdb/levels/trees.h"

#include <utility>

namespace deltabloom::internal {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<DatabaseTrees>> trees;
};

// Never destroyed: databases may be closed by destructors of static objects.
Registry& TheRegistry() {
  static auto& registry = *new Registry;
  return registry;
}

struct LeftNote {
  bool left = false;
  TableNote note;
};

LeftNote& NoteOfThisThread() {
  static thread_local LeftNote note;
  return note;
}

}  // namespace

void TakeSilentChanges(DatabaseTrees* trees) {
  for (auto& [name, family] : trees->families) {
    if (family.silently_deleted.empty()) continue;
    std::vector<LiveTable> added;
    auto it = trees->unannounced.begin();
    while (it != trees->unannounced.end()) {
      if (it->second.family != name) {
        ++it;
        continue;
      }
      // An event may have told of it since then.
      if (!family.bits.HasInTree(it->first)) {
        added.push_back({it->first, it->second.level, 0});
      }
      it = trees->unannounced.erase(it);
    }
    family.bits.Edit(family.silently_deleted, added);
    family.silently_deleted.clear();
  }
}

std::shared_ptr<DatabaseTrees> TreesOf(const std::string& name,
                                       const void* default_family) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::shared_ptr<DatabaseTrees>& trees = registry.trees[name];
  if (trees == nullptr || trees->default_family != default_family) {
    trees = std::make_shared<DatabaseTrees>();
    trees->name = name;
    trees->default_family = default_family;
  }
  return trees;
}

std::shared_ptr<DatabaseTrees> FindTrees(const std::string& name) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto it = registry.trees.find(name);
  return it == registry.trees.end() ? nullptr : it->second;
}

void ForgetTrees(const void* default_family) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto it = registry.trees.begin(); it != registry.trees.end(); ++it) {
    if (it->second->default_family != default_family) continue;
    registry.trees.erase(it);
    return;
  }
}

std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.trees;
}

void LeaveNote(TableNote note) {
  LeftNote& left = NoteOfThisThread();
  left.note = std::move(note);
  left.left = true;
}

bool TakeNote(const std::string& family, TableNote* note) {
  LeftNote& left = NoteOfThisThread();
  if (!left.left) return false;
  *note = std::move(left.note);
  left = LeftNote();
  return note->family == family;
}

}  // namespace deltabloom::internal
