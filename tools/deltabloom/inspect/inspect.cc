// deltabloom inspect: which filters table files hold, and whether they are
// sound.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "engines/rocksdb/ranges/property.h"
#include "table/framing.h"
#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/summary.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "tools/sst/sst.h"
#include "util/coding.h"
#include "util/range/filter.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::FilterKind;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;

// The first window's filter stands for all: a policy writes one kind.
std::string DescribeFilterBlock(std::string_view block) {
  const auto policy = NewBloomFilterPolicy(10);  // only keys would need it
  const FilterBlockReader reader(policy.get(), block);
  std::string text = reader.Describe();
  if (reader.NumWindows() == 0) return text;
  const uint32_t array = internal::LoadFixed32(&block[block.size() - 5]);
  for (uint64_t i = 0; i < reader.NumWindows(); ++i) {
    const uint32_t start = internal::LoadFixed32(&block[array + 4 * i]);
    const uint32_t end = internal::LoadFixed32(&block[array + 4 * i + 4]);
    if (start >= end || end > array) continue;
    return text + "; first filter: " +
           DescribeFilter(block.substr(start, end - start));
  }
  return text;
}

// A block of filter bytes: a whole filter, a partition, or a filter block.
Json InspectPart(const SstSource& source, const SstFile& file,
                 const SstFilter& filter, const BlockHandle& handle) {
  Json part = {{"offset", handle.offset}, {"bytes", handle.size}};
  std::string error;
  try {
    std::string bytes;
    error = internal::ReadBlock(source, file, handle, &bytes);
    if (error.empty()) {
      part["checksum"] =
          file.checksum == internal::ChecksumType::kNone ? "none" : "ok";
      part["layout"] = filter.scope == FilterScope::kPerBlock
                           ? DescribeFilterBlock(bytes)
                           : DescribeTableFilter(filter.policy, bytes);
      return part;
    }
  } catch (const std::bad_alloc&) {
    error = source.Name() + ": offset " + std::to_string(handle.offset) +
            ": no memory for a filter of " + std::to_string(handle.size) +
            " bytes";
  }
  part["checksum"] = "failed";
  part["error"] = error;
  return part;
}

// Appends the filter to `filters`. Throws if its parts cannot be listed; an
// error of a single part stands in the part.
void InspectFilter(const SstSource& source, const SstFile& file,
                   const SstFilter& filter, const Json& keys, Json* filters) {
  Json& json = filters->emplace_back();
  json["kind"] = internal::ScopeName(filter.scope);
  json["policy"] = filter.policy;
  json["bytes"] = filter.bytes;
  json["bits_per_key"] = nullptr;
  if (keys.is_number() && keys > 0) {
    json["bits_per_key"] =
        static_cast<double>(filter.bytes) * 8 / keys.get<double>();
  }
  if (filter.scope == FilterScope::kPartitioned) {
    json["index"] = {{"offset", filter.handle.offset},
                     {"bytes", filter.handle.size}};
  }
  Json& parts = json["parts"] = Json::array();
  for (const BlockHandle& handle : FilterBlocks(source, file, filter)) {
    parts.push_back(InspectPart(source, file, filter, handle));
  }
}

// The range filter among the table's properties, or null.
Json InspectRangeFilter(const SstFile& file) {
  std::string_view bytes;
  if (!file.properties.Text(internal::kRangePropertyName, &bytes)) return {};
  Json json = {{"bytes", bytes.size()}};
  internal::RangeProperty property;
  if (!ParseRangeProperty(bytes, &property)) {
    json["entries"] = json["bits_per_key"] = json["key_transform"] = nullptr;
    json["comparator"] = json["timestamp_size"] = nullptr;
    json["layout"] = "damaged or of another version";
    return json;
  }
  json["entries"] = property.entries;
  json["bits_per_key"] = nullptr;
  if (property.entries > 0) {
    json["bits_per_key"] = 8 * static_cast<double>(bytes.size()) /
                           static_cast<double>(property.entries);
  }
  json["key_transform"] = TextOrNull(std::string(property.transform));
  json["comparator"] = TextOrNull(std::string(property.comparator));
  json["timestamp_size"] = property.timestamp_size;
  json["layout"] = internal::range::Filter(property.filter).Describe();
  return json;
}

// Fills the report as far as the file can be read. Throws if not to its end.
void InspectTable(const SstSource& source, bool* damaged, Json* report) {
  const SstFile file = ReadSst(source, damaged);
  Json& json = *report;
  json["engine"] = file.format_version > 0 || !file.properties.empty()
                       ? "RocksDB"
                       : "LevelDB";
  json["format_version"] = file.format_version;
  json["checksum"] = internal::ChecksumName(file.checksum);
  json["keys"] = nullptr;
  uint64_t keys;
  if (file.properties.Number("rocksdb.num.filter_entries", &keys)) {
    json["keys"] = keys;
  }
  json["filters"] = Json::array();
  for (const SstFilter& filter : file.filters) {
    InspectFilter(source, file, filter, json["keys"], &json["filters"]);
  }
  json["range_filter"] = InspectRangeFilter(file);
}

// Reads the file. `again`: it could not be read when it had `size` bytes.
Json InspectFile(const TableFile& file, bool again = false, uint64_t size = 0) {
  Json report = {{"file", file.path}};
  std::string error = file.error;
  bool damaged = false;
  if (error.empty()) {
    error = ReadTable(file.path, [&](const SstSource& source) {
      InspectTable(source, &damaged, &report);
    });
  }
  if (error.empty()) return report;
  if (damaged) report["damaged"] = true;
  if (IsGone(file)) {
    report["gone"] = true;
  } else if (again && file.Size() != size) {
    report["being_written"] = true;
  } else {
    report["error"] = error;
  }
  return report;
}

std::string Text(const Json& value) { return value.get<std::string>(); }

// Shows a filter. Returns whether it is sound.
bool ShowFilter(const Json& filter, Console* console) {
  std::string line =
      "  " + Text(filter["kind"]) + " filter " + Text(filter["policy"]) + ": ";
  const Json& parts = filter["parts"];
  if (filter.contains("index")) {
    line += Count(parts.size(), "partition", "partitions") + ", index of " +
            filter["index"]["bytes"].dump() + " bytes at offset " +
            filter["index"]["offset"].dump() + ", filters of ";
  }
  line += filter["bytes"].dump() + " bytes";
  if (filter["bits_per_key"].is_number()) {
    line += Format(", %.2f bits per key", filter["bits_per_key"].get<double>());
  }
  console->Line(line);
  bool sound = true;
  for (const Json& part : parts) {
    line = "    offset " + part["offset"].dump() + ", " + part["bytes"].dump() +
           " bytes, checksum " + Text(part["checksum"]);
    if (part.contains("layout")) line += ": " + Text(part["layout"]);
    console->Line(line);
    if (!part.contains("error")) continue;
    console->Error(Text(part["error"]));
    sound = false;
  }
  return sound;
}

void ShowRangeFilter(const Json& filter, Console* console) {
  std::string line = "  range filter: " + filter["bytes"].dump() + " bytes";
  if (filter["bits_per_key"].is_number()) {
    line += Format(", %.2f bits per key", filter["bits_per_key"].get<double>());
  }
  if (filter["key_transform"].is_string()) {
    line += ", key transform " + Text(filter["key_transform"]);
  }
  console->Line(line + ": " + Text(filter["layout"]));
}

// Shows the report and counts it in the summary.
void ShowFile(const Json& report, Console* console, Summary* summary) {
  bool sound = !report.contains("damaged");
  if (report.contains("engine")) {
    std::string line = Text(report["file"]) + ": " + Text(report["engine"]) +
                       " table, format_version " +
                       report["format_version"].dump() + ", checksums " +
                       Text(report["checksum"]);
    if (report["keys"].is_number()) {
      line += ", " + report["keys"].dump() + " keys in filters";
    }
    console->Line(line + (report["filters"].empty() ? ", no filter" : ""));
    for (const Json& filter : report["filters"]) {
      sound = ShowFilter(filter, console) && sound;
    }
    if (report.contains("range_filter") && !report["range_filter"].is_null()) {
      ShowRangeFilter(report["range_filter"], console);
    }
  }
  if (report.contains("error")) console->Error(Text(report["error"]));
  console->AddElement(report);
  summary->Add(report.contains("gone")            ? "gone"
               : report.contains("being_written") ? "being_written"
               : !sound                           ? "not_sound"
               : report.contains("error")         ? "unreadable"
               : report["filters"].empty()        ? "without_filter"
                                                  : "sound",
               Text(report["file"]));
}

RunFn AddInspectOptions(CLI::App* app) {
  const auto paths = std::make_shared<std::vector<std::string>>();
  app->add_option("PATH", *paths,
                  "Table files, or directories with such files (*.sst, *.ldb)")
      ->required();
  return [paths](Console* console) {
    const std::vector<TableFile> files = TableFiles(*paths);
    Summary summary({{"without_filter", "without a filter"},
                     {"not_sound", "not sound"},
                     {"unreadable", "unreadable"},
                     {"being_written", "being written"}});
    uint64_t filter_bytes = 0;
    console->StartArray("files");
    const auto show = [&](const Json& report) {
      for (const Json& filter : report.value("filters", Json::array())) {
        filter_bytes += filter.at("bytes").get<uint64_t>();
      }
      ShowFile(report, console, &summary);
    };
    std::vector<std::pair<TableFile, uint64_t>> again;
    for (size_t i = 0; i < files.size(); ++i) {
      console->ShowProgress(i, files.size(), "files", files[i].path);
      const bool may_grow = files[i].from_directory && IsYoung(files[i]);
      const uint64_t size = files[i].Size();
      const Json report = InspectFile(files[i]);
      if (may_grow && report.contains("error")) {
        again.emplace_back(files[i], size);
      } else {
        show(report);
      }
    }
    // Tables that a running database is writing have no end yet, and grow.
    if (!again.empty()) std::this_thread::sleep_for(std::chrono::seconds(1));
    for (const auto& [file, size] : again) show(InspectFile(file, true, size));
    summary.Show("files", " with sound filters", console);
    console->Add("filter_bytes", filter_bytes);
    if (files.size() > 1) {
      console->Line("all filters: " + std::to_string(filter_bytes) + " bytes");
    }
    if (summary.Has("not_sound")) return kFailure;
    return summary.Has("unreadable") ? kUndecided : kSuccess;
  };
}

}  // namespace

Command InspectCommand() {
  Command command = {"inspect",
                     "List the filters in table files and check them",
                     AddInspectOptions};
  command.manual.description = R"(
Shows for each table file the engine that wrote it and its format_version, and
for each filter its kind, place, size, layout, keys and whether its checksum
holds. It needs neither engine, opens no database and writes nothing, so it can
read the files of a running database. A file that is still being written has no
end yet: if it cannot be read and was written to in the last ten seconds, it is
read again after the others, and counts as being written if it has grown. Of a
range filter, which a table of
RocksDB has among its properties, it shows the size, which is in memory while
the table is open, which declared prefixes it holds and how many bits each has.

A summary follows if there are several files. It names the tables without a
filter, those with a filter that is not sound and the files that cannot be read,
and counts those that vanished from their directories meanwhile. Then comes the
size of all filters together.

The document of --json has "files", in the order of the text, "summary", and
"filter_bytes", the sum of all filters. A file has "file", its path, and "error"
if it could not be read, "damaged" if that is because of the index of its
filter, "gone" if it vanished, "being_written", else "engine", "format_version",
"checksum", "keys", "filters" and
"range_filter"; a filter has "kind", "policy", "bytes", "bits_per_key", "index"
if it is partitioned, and "parts"; a part has "offset", "bytes", "checksum" (ok,
failed or none) and "layout" or "error"; a range filter has "bytes", "entries",
"bits_per_key", "key_transform", "comparator", "timestamp_size" and "layout".
Unknown numbers are null, and so is a range filter that is not there.)";
  command.manual.examples = {
      {"deltabloom inspect 000012.sst", "the filters of one table"},
      {"deltabloom inspect /var/lib/db",
       "all tables in a directory, with a summary"},
      {"deltabloom inspect --json /var/lib/db | jq .summary.without_filter",
       "the tables without a filter, for a program"}};
  command.manual.success =
      "every file could be read and every filter in it is sound";
  command.manual.failure =
      "a filter is damaged; standard error has a line for each";
  command.manual.undecided =
      "no filter is damaged, but a file could not be read; standard error has "
      "a line for each";
  return command;
}

}  // namespace deltabloom::tools
