// Databases with allocation=levels, whose trees get four levels from a few
// hundred flushes, and their trees and filters as RocksDB itself reports them.
#pragma once

#include "rocksdb/listener.h"
#include "tests/rocksdb/test_db.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::testing {

struct MeasuredTree {
  std::string text;  // one line per run
  size_t runs = 0;
  std::vector<internal::SortedRun> sorted;  // from the top
  std::vector<double> run_rates;
  double keys = 0;
  double bits = 0;          // per key, on disk
  double payload_bits = 0;  // of these, without the framing
  double rates = 0;  // summed over the runs of a lookup, from each file's bits
  double best = 0;   // the least possible on this tree with these bits
  double uniform = 0;  // with the same bits per key in each file

  double Gain() const { return uniform / rates; }
  double BestGain() const { return uniform / best; }
};

inline MeasuredTree Measure(rocksdb::DB* db, ColumnFamilyHandle* handle,
                            Layout layout) {
  const internal::RateCurve& curve = internal::CurveOf(layout).curve;
  rocksdb::TablePropertiesCollection tables;
  EXPECT_OK(db->GetPropertiesOfAllTables(handle, &tables));
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(handle, &metadata);
  MeasuredTree tree;
  std::vector<internal::SortedRun> runs;
  double bits = 0;
  double payload = 0;
  std::ostringstream text;
  constexpr double kFraming = 8 * 16;
  const auto add_run = [&](int level, size_t files, double keys,
                           double run_bits, double rate) {
    if (keys == 0) return;
    runs.push_back({keys, 1});
    tree.run_rates.push_back(rate);
    tree.rates += rate;
    tree.keys += keys;
    bits += run_bits;
    text << "  level " << level << ": " << files << " files, " << keys
         << " keys, " << run_bits / keys << " bits, rate " << rate << "\n";
  };
  for (const auto& level : metadata.levels) {
    double keys = 0;
    double level_bits = 0;
    double rate = 0;
    for (const auto& file : level.files) {
      const auto it =
          tables.find(file.directory + "/" + file.relative_filename);
      // A compaction ended between the two calls.
      if (it == tables.end()) return Measure(db, handle, layout);
      const auto& properties = *it->second;
      const auto n = static_cast<double>(properties.num_filter_entries > 0
                                             ? properties.num_filter_entries
                                             : properties.num_entries);
      const double filter = 8 * static_cast<double>(properties.filter_size);
      const double file_rate = curve.At((filter - kFraming) / n).rate;
      payload += filter - kFraming;
      if (level.level == 0) {
        add_run(0, 1, n, filter, file_rate);
      } else {
        keys += n;
        level_bits += filter;
        rate += n * file_rate;
      }
    }
    add_run(level.level, level.files.size(), keys, level_bits, rate / keys);
  }
  tree.runs = runs.size();
  tree.sorted = runs;
  tree.bits = tree.keys > 0 ? bits / tree.keys : 0;
  tree.payload_bits = tree.keys > 0 ? payload / tree.keys : 0;
  tree.best = internal::AllocateBits(curve, runs, tree.payload_bits).rates;
  tree.uniform = internal::UniformBits(curve, runs, tree.payload_bits).rates;
  text << "  " << tree.keys << " keys, " << tree.bits << " bits on disk; gain "
       << tree.Gain() << " of " << tree.BestGain() << "\n";
  tree.text = text.str();
  return tree;
}

inline RocksDBFilterOptions LevelsOptions(Layout layout = Layout::kCompact,
                                          double bits_per_key = 10) {
  RocksDBFilterOptions filters;
  filters.bits_per_key = bits_per_key;
  filters.layout = layout;
  filters.allocation = RocksDBAllocation::kLevels;
  return filters;
}

inline Options SmallTrees() {
  Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  // For FIFO: keep everything.
  options.compaction_options_fifo.max_table_files_size = uint64_t{1} << 30;
  BlockBasedTableOptions table;
  table.optimize_filters_for_memory = true;  // the default since 9.2
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Keys in order, and keys evenly spread over all keys.
inline std::string InOrder(uint64_t i) {
  char name[24];
  std::snprintf(name, sizeof(name), "%016llx",
                static_cast<unsigned long long>(i));
  return name;
}
inline std::string Scattered(uint64_t i) {
  return InOrder(i * 0x9e3779b97f4a7c15);
}

// Waits until no flush or compaction runs or is scheduled and none that would
// change the tree is pending: universal compaction may stay pending forever.
inline void WaitForCompactions(rocksdb::DB* db) {
  for (uint64_t before = 0, now = 1; before != now;) {
    before = now;
    FinishJobs(db);
    EXPECT_TRUE(db->GetAggregatedIntProperty(
        rocksdb::DB::Properties::kCurrentSuperVersionNumber, &now));
  }
}

class LevelsDb : public TestDb {
 public:
  LevelsDb() = default;
  explicit LevelsDb(const RocksDBFilterOptions& filters,
                    Options options = SmallTrees()) {
    Open(filters, std::move(options));
  }

  using TestDb::Open;
  void Open(const RocksDBFilterOptions& filters,
            Options options = SmallTrees()) {
    AddRocksDBFiltersOrThrow(filters, &options, &options);
    layout_ = filters.layout;
    Open(options);
  }

  // If false, writes outrun compactions.
  void set_waits(bool waits) { waits_ = waits; }
  // Waits for compactions from time to time, as in a database that is not
  // overloaded.
  void Put(const std::string& key) {
    ASSERT_OK(get()->Put(Unlogged(), key, "0123456789abcdef"));
    if (++written_ % 500 == 0 && waits_) WaitForCompactions(*this);
  }
  void Delete(const std::string& key) {
    ASSERT_OK(get()->Delete(Unlogged(), key));
  }
  // Compacts all tables of a level, or the oldest ones of level 0, into one
  // table of another level or the same.
  void CompactLevel(int from, int to, size_t most = SIZE_MAX) {
    rocksdb::ColumnFamilyMetaData metadata;
    get()->GetColumnFamilyMetaData(&metadata);
    std::vector<std::string> files;
    for (const auto& file : metadata.levels[static_cast<size_t>(from)].files) {
      files.push_back(file.name);
    }
    if (files.size() > most) {
      files.erase(files.begin(), files.end() - static_cast<int>(most));
    }
    ASSERT_OK(get()->CompactFiles({}, files, to));
  }
  void Settle() {
    Flush();
    WaitForCompactions(*this);
  }
  void PutScattered(uint64_t keys) {
    for (uint64_t i = 0; i < keys; ++i) Put(Scattered(i));
    Settle();
  }

  MeasuredTree Measured() {
    return Measure(*this, get()->DefaultColumnFamily(), layout_);
  }

 private:
  static rocksdb::WriteOptions Unlogged() {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    return write;
  }

  Layout layout_ = Layout::kCompact;
  uint64_t written_ = 0;
  bool waits_ = true;
};

}  // namespace deltabloom::testing
