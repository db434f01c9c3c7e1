// The last lines of a subcommand that examines table files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/program/console.h"

namespace deltabloom::tools {

// Counts the files that are sound or gone, and collects the names of the others
// in lists, which have a name for programs and a text.
class Summary {
 public:
  using Lists = std::vector<std::pair<const char*, const char*>>;
  explicit Summary(Lists lists);

  // `what`: "sound", "gone" or a list.
  void Add(const std::string& what, const std::string& path);
  bool Has(const char* list) const { return !json_.at(list).empty(); }
  // Prints "3 tables: 1 without a false negative, ...", if there are several.
  void Show(const std::string& files, const std::string& sound,
            Console* console) const;

 private:
  const Lists lists_;
  Json json_;
};

}  // namespace deltabloom::tools
