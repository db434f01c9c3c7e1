#include "db_bench_ext/db/tree.h"

#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "table/framing.h"
#include "table/sst/sst.h"
#include "util/layouts/layout.h"
#include "util/rates/rates.h"

namespace deltabloom::db_reads {
namespace {

// None for a filter in partitions, and where the rate is not known.
std::optional<double> ExpectedRate(const std::string& path, uint64_t keys) {
  std::string problem;
  const auto source = internal::OpenSstFile(path, &problem);
  internal::SstFile file;
  if (source != nullptr) problem = internal::FindFilters(*source, &file);
  if (problem.empty() && file.filters.size() != 1) problem = "not one filter";
  std::string bytes;
  if (problem.empty()) {
    if (file.filters[0].scope != internal::FilterScope::kFull) {
      return std::nullopt;
    }
    problem =
        internal::ReadBlock(*source, file, file.filters[0].handle, &bytes);
  }
  if (!problem.empty()) throw std::runtime_error(path + ": " + problem);
  internal::ParsedFilter parsed;
  if (internal::ParseSealed(bytes, internal::ActiveCpu(), nullptr, &parsed,
                            nullptr) != internal::FilterKind::kFilter) {
    return internal::RocksDBFilterRate(bytes, keys);
  }
  return internal::FindLayoutOfLastByte(static_cast<uint8_t>(bytes.back()),
                                        Hash::kMurmurHash2)
      ->rate(parsed.shape, keys);
}

Table ReadTable(const rocksdb::SstFileMetaData& file,
                const rocksdb::TableProperties& properties) {
  Table table;
  table.entries = properties.num_entries;
  table.bytes = file.size;
  table.smallest = file.smallestkey;
  table.largest = file.largestkey;
  table.filter_bytes = properties.filter_size;
  if (table.filter_bytes == 0) return table;
  table.filter_keys = properties.num_filter_entries;
  table.rate = ExpectedRate(file.directory + "/" + file.relative_filename,
                            table.filter_keys);
  return table;
}

// The table of a run whose range contains a key, or null.
const Table* TableAt(const Run& run, const std::string& key) {
  const auto after = std::upper_bound(
      run.tables.begin(), run.tables.end(), key,
      [](const std::string& at, const Table& t) { return at < t.smallest; });
  if (after == run.tables.begin()) return nullptr;
  return (after - 1)->largest < key ? nullptr : &*(after - 1);
}

}  // namespace

uint64_t Run::Sum(uint64_t Table::*field) const {
  return std::accumulate(
      tables.begin(), tables.end(), uint64_t{0},
      [=](uint64_t sum, const Table& table) { return sum + table.*field; });
}

uint64_t Tree::Sum(uint64_t Table::*field) const {
  return std::accumulate(
      runs.begin(), runs.end(), uint64_t{0},
      [=](uint64_t sum, const Run& run) { return sum + run.Sum(field); });
}

double Tree::BitsPerKey() const {
  return 8 * static_cast<double>(Sum(&Table::filter_bytes)) /
         static_cast<double>(Sum(&Table::entries));
}

Tree ReadTree(rocksdb::DB* db) {
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
      tree.runs.back().tables.push_back(ReadTable(file, *found->second));
    }
  }
  return tree;
}

Prediction Predict(const Tree& tree, const std::vector<std::string>& absent,
                   uint64_t keys) {
  Prediction prediction;
  prediction.absent = 0;
  const double weight = 1 / static_cast<double>(absent.size());
  const auto all = static_cast<double>(tree.Sum(&Table::entries));
  double older = 1;  // the share of the keys in older runs
  double present = 1;
  for (const Run& run : tree.runs) {
    double share = 0, reads = 0;
    for (const std::string& key : absent) {
      const Table* const table = TableAt(run, key);
      if (table == nullptr) continue;
      if (!table->rate) prediction.absent.reset();
      share += weight;
      reads += weight * table->rate.value_or(0);
    }
    older -= static_cast<double>(run.Sum(&Table::entries)) / all;
    present += std::max(0.0, older) * reads;
    prediction.shares.push_back(share);
    if (prediction.absent) *prediction.absent += reads;
    prediction.variance += reads * std::max(0.0, 1 - reads);
  }
  if (prediction.absent && tree.Sum(&Table::entries) == keys) {
    prediction.present = present;
  }
  return prediction;
}

}  // namespace deltabloom::db_reads
