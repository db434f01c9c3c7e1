#include "engines/rocksdb/levels/compaction_aims.h"

#include <charconv>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_util.h"

namespace deltabloom::internal {
namespace {

// "  name=value" of an OPTIONS file.
struct Line {
  std::string_view name;
  std::string_view value;
};

Line LineOf(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  const size_t equals = text.find('=');
  if (begin == std::string_view::npos || equals == std::string_view::npos) {
    return {};
  }
  return {text.substr(begin, equals - begin), text.substr(equals + 1)};
}

// 0 for what is no number.
double NumberOf(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// `[CFOptions "name"]`: the name; another line: false.
bool FamilyOf(std::string_view line, std::string* name) {
  constexpr std::string_view kBegin = "[CFOptions \"";
  constexpr std::string_view kEnd = "\"]";
  const size_t end = line.rfind(kEnd);
  if (line.substr(0, kBegin.size()) != kBegin ||
      end == std::string_view::npos || end < kBegin.size()) {
    return false;
  }
  *name = line.substr(kBegin.size(), end - kBegin.size());
  return true;
}

struct Section {
  std::string name;  // empty: of something else than a column family
  CompactionAims aims;
  bool leveled = true;
};

void TakeLine(const Line& line, Section* section) {
  CompactionAims& aims = section->aims;
  if (line.name == "level0_file_num_compaction_trigger") {
    aims.level0_files = NumberOf(line.value);
  } else if (line.name == "max_bytes_for_level_base") {
    aims.base_bytes = NumberOf(line.value);
  } else if (line.name == "max_bytes_for_level_multiplier") {
    aims.ratio = NumberOf(line.value);
  } else if (line.name == "level_compaction_dynamic_level_bytes") {
    aims.dynamic = line.value == "true";
  } else if (line.name == "compaction_style") {
    section->leveled &= line.value == "kCompactionStyleLevel";
  } else if (line.name == "disable_auto_compactions") {
    section->leveled &= line.value == "false";
  }
}

void Keep(const Section& section, AimsByFamily* all) {
  const CompactionAims& aims = section.aims;
  if (section.leveled && !section.name.empty() && aims.level0_files > 0 &&
      aims.base_bytes > 0 && aims.ratio >= 1) {
    (*all)[section.name] = aims;
  }
}

}  // namespace

AimsByFamily ParseAims(std::string_view options) {
  AimsByFamily all;
  Section section;
  while (!options.empty()) {
    const size_t end = options.find('\n');
    const std::string_view text = options.substr(0, end);
    options.remove_prefix(end == std::string_view::npos ? options.size()
                                                        : end + 1);
    if (text.substr(0, 1) == "[") {
      Keep(section, &all);
      section = Section();
      if (!FamilyOf(text, &section.name)) section.name.clear();
    } else {
      TakeLine(LineOf(text), &section);
    }
  }
  Keep(section, &all);
  return all;
}

void ReadAims(ROCKSDB_NAMESPACE::DB* db, std::string* file,
              AimsByFamily* aims) {
  std::string newest;
  if (!ROCKSDB_NAMESPACE::GetLatestOptionsFileName(db->GetName(), db->GetEnv(),
                                                   &newest)
           .ok() ||
      newest == *file) {
    return;
  }
  std::string text;
  if (!ROCKSDB_NAMESPACE::ReadFileToString(db->GetEnv(),
                                           db->GetName() + "/" + newest, &text)
           .ok()) {
    return;  // replaced by now; the next time brings the newer one
  }
  *aims = ParseAims(text);
  *file = newest;
}

}  // namespace deltabloom::internal
