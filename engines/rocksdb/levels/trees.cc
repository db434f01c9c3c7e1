#include "engines/rocksdb/levels/trees.h"

#include <charconv>
#include <utility>

#include "engines/rocksdb/policy/options_file.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_util.h"

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

struct Announced {
  bool waiting = false;
  TableAnnouncement table;
};

Announced& AnnouncedOnThisThread() {
  static thread_local Announced announced;
  return announced;
}

// 0 for text that is not a number.
double NumberOf(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Section {
  std::string name;  // empty: not that of a column family
  LevelLimits limits;
  bool leveled = true;
};

void TakeLine(const OptionsLine& line, Section* section) {
  LevelLimits& limits = section->limits;
  if (line.name == "level0_file_num_compaction_trigger") {
    limits.level0_files = NumberOf(line.value);
  } else if (line.name == "max_bytes_for_level_base") {
    limits.base_bytes = NumberOf(line.value);
  } else if (line.name == "max_bytes_for_level_multiplier") {
    limits.ratio = NumberOf(line.value);
  } else if (line.name == "level_compaction_dynamic_level_bytes") {
    limits.dynamic = line.value == "true";
  } else if (line.name == "compaction_style") {
    section->leveled &= line.value == "kCompactionStyleLevel";
  } else if (line.name == "disable_auto_compactions") {
    section->leveled &= line.value == "false";
  }
}

void Keep(const Section& section, LimitsByFamily* all) {
  const LevelLimits& limits = section.limits;
  if (section.leveled && !section.name.empty() && limits.level0_files > 0 &&
      limits.base_bytes > 0 && limits.ratio >= 1) {
    (*all)[section.name] = limits;
  }
}

}  // namespace

void ApplySilentChanges(DatabaseTrees* trees) {
  for (auto& [name, family] : trees->families) {
    if (family.silently_deleted.empty()) continue;
    std::vector<LiveTable> added;
    auto it = trees->unannounced.begin();
    while (it != trees->unannounced.end()) {
      if (it->second.family != name) {
        ++it;
        continue;
      }
      // An event may have added it since then.
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

void AnnounceTable(TableAnnouncement table) {
  AnnouncedOnThisThread() = {true, std::move(table)};
}

bool TakeAnnouncement(const std::string& family, TableAnnouncement* table) {
  Announced& announced = AnnouncedOnThisThread();
  if (!announced.waiting) return false;
  *table = std::move(announced.table);
  announced = Announced();
  return table->family == family;
}

LimitsByFamily ParseLimits(std::string_view options) {
  LimitsByFamily all;
  Section section;
  ForEachOption(options, [&](const OptionsLine& line) {
    if (!line.name.empty()) return TakeLine(line, &section);
    Keep(section, &all);
    section = Section();
    if (line.section == "CFOptions") section.name = line.family;
  });
  Keep(section, &all);
  return all;
}

void ReadLimits(rocksdb::DB* db, std::string* file, LimitsByFamily* limits) {
  std::string newest;
  if (!rocksdb::GetLatestOptionsFileName(db->GetName(), db->GetEnv(), &newest)
           .ok() ||
      newest == *file) {
    return;
  }
  std::string text;
  if (!rocksdb::ReadFileToString(db->GetEnv(), db->GetName() + "/" + newest,
                                 &text)
           .ok()) {
    return;  // replaced meanwhile; the next call reads the newer one
  }
  *limits = ParseLimits(text);
  *file = newest;
}

}  // namespace deltabloom::internal
