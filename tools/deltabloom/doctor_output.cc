#include "tools/deltabloom/doctor_output.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "util/version.h"

namespace deltabloom::tools {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kUnknown:
      return "unknown";
    case Severity::kProblem:
      return "problem";
  }
  return "";
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += (joined.empty() ? "" : ", ") + text;
  }
  return joined;
}

std::string Megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", static_cast<double>(bytes) / 1e6);
  return text;
}

class Text {
 public:
  explicit Text(Console* console) : console_(console) {}

  void Process(const ProcessReport& process) {
    console_->Line(std::string("deltabloom ") + internal::kVersion +
                   (process.built_for.empty()
                        ? ", built without RocksDB"
                        : ", built for RocksDB " + process.built_for +
                              "; loaded is " + process.loaded + " from " +
                              Joined(process.libraries)));
    console_->Line("kernels for this CPU: " + process.cpu);
    if (!process.built_for.empty()) {
      console_->Line(std::string("filter policy in this process: ") +
                     (process.problem.empty() ? "can be made" : "none"));
    }
  }

  void Database(const DatabaseReport& database) {
    console_->Line("");
    console_->Line(database.path + ": " +
                   (database.options_file.empty()
                        ? "no OPTIONS file"
                        : database.options_file + " of " +
                              TimeText(database.options_time) +
                              ", written by RocksDB " +
                              database.options.rocksdb_version));
    for (const FamilyOptions& family : database.options.families) {
      console_->Line("  column family " + family.name + ": " +
                     (family.policy.empty()
                          ? "names no filter_policy"
                          : "filter_policy=" + family.policy));
    }
    if (!database.groups.empty()) Groups(database);
    Counted(database.unused, "not part of the database, or not yet");
    Counted(database.gone, "gone meanwhile");
    Counted(database.unfinished, "being written");
  }

  void All(const std::vector<Finding>& findings) {
    console_->Line("");
    if (findings.empty()) console_->Line("no problem found");
    for (size_t i = 0; i < findings.size(); ++i) {
      const std::string& to_do = findings[i].to_do;
      console_->Line(std::string(SeverityName(findings[i].severity)) + ": " +
                     findings[i].what);
      // Once for all column families.
      if (i + 1 < findings.size() && findings[i + 1].to_do == to_do) continue;
      if (!to_do.empty()) console_->Line("  to do: " + to_do);
    }
  }

 private:
  void Row(const std::string& family, const std::string& level,
           const std::string& filter, const std::string& tables,
           const std::string& bytes, const std::string& filters,
           const std::string& written) {
    const auto padded = [](const std::string& text, size_t width, bool right) {
      const std::string spaces(width - std::min(width, text.size()), ' ');
      return right ? spaces + text : text + spaces;
    };
    console_->Line("  " + padded(family, family_width_, false) +
                   padded(level, 7, true) + "  " + padded(filter, 12, false) +
                   padded(tables, 8, true) + padded(bytes, 11, true) +
                   padded(filters, 11, true) + "  " + written);
  }

  void Groups(const DatabaseReport& database) {
    const std::string header = "column family";
    family_width_ = header.size();
    for (const auto& [key, group] : database.groups) {
      family_width_ = std::max(family_width_, key.family.size());
    }
    Row(header, "level", "filters", "tables", "MB", "filter MB", "written");
    for (const auto& [key, group] : database.groups) {
      Row(key.family.empty() ? "-" : key.family,
          key.level < 0 ? "-" : std::to_string(key.level),
          key.filter.empty() ? "none" : key.filter,
          std::to_string(group.tables), Megabytes(group.bytes),
          Megabytes(group.filter_bytes), TimeText(group.oldest, group.newest));
    }
  }

  void Counted(uint64_t tables, const char* what) {
    if (tables == 0) return;
    console_->Line("  " + std::to_string(tables) +
                   (tables == 1 ? " table " : " tables ") + what);
  }

  Console* const console_;
  size_t family_width_ = 0;
};

class Document {
 public:
  explicit Document(JsonOutput* json) : json_(json) {}

  void Process(const ProcessReport& process) {
    const auto object = json_->Object("process");
    json_->Text("deltabloom", internal::kVersion);
    TextOrNull("built_for_rocksdb", process.built_for);
    TextOrNull("loaded_rocksdb", process.loaded);
    {
      const auto array = json_->Array("libraries");
      for (const std::string& path : process.libraries) json_->Text({}, path);
    }
    json_->Text("cpu", process.cpu);
    if (process.built_for.empty()) {
      json_->Null("policy_can_be_made");
    } else {
      json_->Boolean("policy_can_be_made", process.problem.empty());
    }
  }

  void Database(const DatabaseReport& database) {
    const auto object = json_->Object("database");
    json_->Text("path", database.path);
    TextOrNull("options_file", database.options_file);
    TimeOrNull("options_time", database.options_time);
    TextOrNull("rocksdb_version", database.options.rocksdb_version);
    {
      const auto array = json_->Array("column_families");
      for (const FamilyOptions& family : database.options.families) {
        const auto element = json_->Object();
        json_->Text("name", family.name);
        TextOrNull("filter_policy", family.policy);
        json_->Boolean("names_a_policy", family.NamesPolicy());
        json_->Boolean("names_deltabloom", family.NamesDeltabloom());
      }
    }
    {
      const auto array = json_->Array("tables");
      for (const auto& [key, group] : database.groups) Group(key, group);
    }
    json_->Number("unused", database.unused);
    json_->Number("gone", database.gone);
    json_->Number("elsewhere", database.elsewhere);
    json_->Number("being_written", database.unfinished);
  }

  void All(const std::vector<Finding>& findings) {
    const auto array = json_->Array("findings");
    for (const Finding& finding : findings) {
      const auto object = json_->Object();
      json_->Text("severity", SeverityName(finding.severity));
      json_->Text("code", finding.code);
      json_->Text("what", finding.what);
      TextOrNull("to_do", finding.to_do);
    }
  }

 private:
  void Group(const GroupKey& key, const TableGroup& group) {
    const auto object = json_->Object();
    TextOrNull("column_family", key.family);
    if (key.level < 0) {
      json_->Null("level");
    } else {
      json_->Number("level", static_cast<uint64_t>(key.level));
    }
    TextOrNull("filter", key.filter);
    TextOrNull("compatibility_name", key.compatibility_name);
    json_->Number("tables", group.tables);
    json_->Number("bytes", group.bytes);
    json_->Number("entries", group.entries);
    json_->Number("filter_bytes", group.filter_bytes);
    TimeOrNull("oldest", group.oldest);
    TimeOrNull("newest", group.newest);
  }

  void TextOrNull(const char* key, const std::string& text) {
    if (text.empty()) {
      json_->Null(key);
    } else {
      json_->Text(key, text);
    }
  }

  void TimeOrNull(const char* key, uint64_t seconds) {
    if (seconds == 0) {
      json_->Null(key);
    } else {
      json_->Number(key, seconds);
    }
  }

  JsonOutput* const json_;
};

template <typename Output>
void Show(const ProcessReport& process, const DatabaseReport* database,
          const std::vector<Finding>& findings, Output output) {
  output.Process(process);
  if (database != nullptr) output.Database(*database);
  output.All(findings);
}

}  // namespace

void ShowReport(const ProcessReport& process, const DatabaseReport* database,
                const std::vector<Finding>& findings, Console* console) {
  if (console->json() != nullptr) {
    Show(process, database, findings, Document(console->json()));
  } else {
    Show(process, database, findings, Text(console));
  }
}

}  // namespace deltabloom::tools
