#include "db_bench_ext/demo/tree.h"

#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "deltabloom/filter.h"
#include "table/framing.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::demo {

using bench::Mix;

namespace {

// Big-endian: the order of keys is that of the numbers.
std::string MakeKey(uint64_t spread, uint64_t number) {
  std::string key;
  for (const uint64_t word : {spread, number}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      key.push_back(static_cast<char>(word >> shift & 0xff));
    }
  }
  return key;
}

// Returns nothing for a partitioned filter, and where the rate is not known.
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
  table.name = file.name;
  table.entries = properties.num_entries;
  table.bytes = file.size;
  table.smallest = file.smallestkey;
  table.largest = file.largestkey;
  table.index_bytes = properties.index_size;
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

std::string KeySet::Key(uint64_t i) const {
  return MakeKey(Mix(i ^ Mix(seed_)), i);
}

std::string KeySet::AbsentKey(uint64_t j) const {
  return Key((uint64_t{1} << 40) + j);
}

std::string KeySet::Value(std::string_view key, size_t bytes) {
  uint64_t state = key.size();
  for (const char c : key) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::string value(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(state)) {
    state = Mix(state);
    std::memcpy(&value[at], &state, std::min(sizeof(state), bytes - at));
  }
  return value;
}

TreePlan DemoTree(uint64_t keys) {
  // Quarters of level 1: 400 + 40 + 4 + 1 + 1.
  const uint64_t unit = std::max<uint64_t>(1, keys / 446);
  TreePlan plan{"demo", keys, {{3, keys - 46 * unit}}};
  for (const auto& [level, units] :
       {std::pair{2, 40}, {1, 4}, {0, 1}, {0, 1}}) {
    plan.runs.push_back({level, static_cast<uint64_t>(units) * unit});
  }
  return plan;
}

TreePlan LoadingTree(uint64_t keys, bool partitioned) {
  TreePlan plan = DemoTree(keys);
  plan.name = partitioned ? "partitioned" : "full";
  plan.partitioned = partitioned;
  return plan;
}

TreePlan OneTable(uint64_t keys, bool partitioned) {
  TreePlan plan{partitioned ? "partitioned" : "full", keys, {{6, keys}}};
  plan.partitioned = partitioned;
  return plan;
}

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

Prediction Predict(const Tree& tree, const std::vector<std::string>& absent) {
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
  if (prediction.absent) prediction.present = present;
  return prediction;
}

}  // namespace deltabloom::demo
