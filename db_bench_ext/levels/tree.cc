#include "db_bench_ext/levels/tree.h"

#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>

#include <map>
#include <stdexcept>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/levels/keys.h"
#include "table/framing.h"
#include "table/sst/source.h"
#include "table/sst/sst.h"
#include "util/layouts/layout.h"

namespace deltabloom::levels {
namespace {

constexpr char kOurs[] = "deltabloom-";

// The filter of a table as its bytes are.
std::string ReadFilter(const std::string& path) {
  std::string problem;
  const auto source = internal::OpenSstFile(path, &problem);
  internal::SstFile file;
  if (source != nullptr) problem = internal::WalkSst(*source, &file);
  if (problem.empty() && file.filters.size() != 1) problem = "not one filter";
  std::string bytes;
  if (problem.empty()) {
    problem =
        internal::ReadBlock(*source, file, file.filters[0].handle, &bytes);
  }
  if (!problem.empty()) throw std::runtime_error(path + ": " + problem);
  return bytes;
}

// Fills in what a filter of Deltabloom says of itself.
void ReadOurs(const std::string& path, Table* table) {
  const std::string bytes = ReadFilter(path);
  internal::ParsedFilter parsed;
  std::string why;
  const internal::LayoutRow* row = nullptr;
  if (internal::ParseSealed(bytes, internal::ActiveCpu(), nullptr, &parsed,
                            &why) == internal::FilterKind::kFilter) {
    row = internal::FindLayoutOfLastByte(static_cast<uint8_t>(bytes.back()),
                                         Hash::kMurmurHash2);
  }
  if (row == nullptr) throw std::runtime_error(path + ": its filter is " + why);
  table->filter.kind = FindKind(std::string(kOurs) + row->name);
  table->formula_rate = row->rate(parsed.shape, table->filter.keys);
}

Table ReadTable(const rocksdb::SstFileMetaData& file,
                const rocksdb::TableProperties& properties,
                const std::string& kind_name) {
  Table table;
  // A database that may not open all files does not know file.num_entries.
  table.entries = properties.num_entries;
  table.begin = Position(file.smallestkey);
  table.end = Position(file.largestkey);
  if (properties.filter_size == 0) return table;
  table.filter.bytes = properties.filter_size;
  table.filter.keys = properties.num_filter_entries;
  if (kind_name.rfind(kOurs, 0) == 0) {
    ReadOurs(file.directory + "/" + file.relative_filename, &table);
  } else {
    table.filter.kind = FindKind(kind_name);
  }
  if (table.filter.kind == nullptr) {
    throw std::runtime_error(file.relative_filename + ": an unknown filter");
  }
  return table;
}

}  // namespace

uint64_t Run::Entries() const {
  uint64_t sum = 0;
  for (const Table& table : tables) sum += table.entries;
  return sum;
}

uint64_t Run::FilterKeys() const {
  uint64_t sum = 0;
  for (const Table& table : tables) sum += table.filter.keys;
  return sum;
}

uint64_t Run::FilterBytes() const {
  uint64_t sum = 0;
  for (const Table& table : tables) sum += table.filter.bytes;
  return sum;
}

double Run::Share() const {
  double sum = 0;
  for (const Table& table : tables) sum += table.share();
  return sum;
}

uint64_t Tree::Entries() const {
  uint64_t sum = 0;
  for (const Run& run : runs) sum += run.Entries();
  return sum;
}

uint64_t Tree::FilterBytes() const {
  uint64_t sum = 0;
  for (const Run& run : runs) sum += run.FilterBytes();
  return sum;
}

double Tree::BitsPerKey() const {
  return 8 * static_cast<double>(FilterBytes()) /
         static_cast<double>(Entries());
}

Tree ReadTree(rocksdb::DB* db, const std::string& kind_name) {
  rocksdb::TablePropertiesCollection collection;
  const rocksdb::Status status = db->GetPropertiesOfAllTables(&collection);
  if (!status.ok()) {
    throw std::runtime_error("cannot read the table properties: " +
                             status.ToString());
  }
  // Paths come in more than one spelling; their last part is unique.
  std::map<std::string, const rocksdb::TableProperties*> by_file;
  for (const auto& [path, properties] : collection) {
    by_file[path.substr(path.rfind('/') + 1)] = properties.get();
  }
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(&metadata);
  Tree tree;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (size_t i = 0; i < level.files.size(); ++i) {
      if (i == 0 || level.level == 0) tree.runs.push_back({level.level, {}});
      const rocksdb::SstFileMetaData& file = level.files[i];
      const auto found = by_file.find(file.relative_filename);
      if (found == by_file.end()) {
        throw std::runtime_error(file.name + ": no table properties");
      }
      tree.runs.back().tables.push_back(
          ReadTable(file, *found->second, kind_name));
    }
  }
  return tree;
}

std::string DescribeRuns(const Tree& tree) {
  std::string text;
  for (const Run& run : tree.runs) {
    if (!text.empty()) text += " ";
    text += "L" + std::to_string(run.level) + ":" +
            bench::WithThousands(run.Entries());
  }
  return text;
}

}  // namespace deltabloom::levels
