#include "tools/deltabloom/tables/summary.h"

#include <cstdint>
#include <string>
#include <utility>

#include "tools/program/console.h"

namespace deltabloom::tools {

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

}  // namespace deltabloom::tools
