#include "db_bench_ext/torture/configuration.h"

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>

#include <algorithm>
#include <stdexcept>

#include "db_bench_ext/torture/extensions.h"
#include "deltabloom/rocksdb.h"

namespace deltabloom::torture {

namespace {

using bench::MixedNumbers;

// The options of Deltabloom's policy, each with the values that are drawn: the
// first as often as all others together.
struct Row {
  enum When { kAtRunTime, kAtOpening };

  When when;
  std::vector<const char*> values;
};

const std::vector<Row>& PolicyRows() {
  static const std::vector<Row> rows = {
      {Row::kAtOpening,
       {"bits_per_key=10", "bits_per_key=4.5", "bits_per_key=16",
        "bits_per_key=24.7", "bits_per_key=0.3", "false_positive_rate=0.01",
        "false_positive_rate=0.0001", "false_positive_rate=0.3"}},
      {Row::kAtRunTime,
       {"layout=classic", "layout=local", "layout=compact", "layout=auto"}},
      {Row::kAtRunTime, {"allocation=uniform", "allocation=levels"}},
      {Row::kAtRunTime, {"max_build_bytes=0", "max_build_bytes=3000"}},
      {Row::kAtRunTime,
       {"max_filter_bytes=unlimited", "max_filter_bytes=300",
        "max_filter_bytes=40"}},
      {Row::kAtOpening, {"compatibility=builtin", "compatibility=own"}},
      {Row::kAtRunTime, {"payload_check=false", "payload_check=true"}},
      {Row::kAtRunTime, {"seeded=false", "seeded=true"}},
      {Row::kAtRunTime, {"statistics=true", "statistics=false"}},
      {Row::kAtRunTime,
       {"statistics_log_seconds=600", "statistics_log_seconds=1"}},
      {Row::kAtOpening, {"range=off", "range=on"}},
      {Row::kAtOpening,
       {"key_transform=none", "key_transform=ascii_lowercase@1",
        "key_transform=trim_trailing_spaces@1"}},
  };
  return rows;
}

// RocksDB's own.
const std::vector<const char*>& BuiltinPolicies() {
  static const std::vector<const char*> texts = {
      "bloomfilter:10:false", "bloomfilter:6.5:false", "ribbonfilter:10",
      "ribbonfilter:12:2", "nullptr"};
  return texts;
}

template <typename T>
T Pick(MixedNumbers* numbers, const std::vector<T>& from) {
  return from[numbers->Below(from.size())];
}

const char* PickValue(MixedNumbers* numbers, const Row& row) {
  // Layouts are what this is about: all alike.
  const bool alike = row.values.size() == 4;
  if (!alike && numbers->Below(2) == 0) return row.values[0];
  return Pick(numbers, row.values);
}

std::string DrawPolicy(MixedNumbers* numbers, uint32_t slot) {
  // RocksDB's filters lose keys that are equal in other bytes.
  const bool folded = slot == kFoldedSlot;
  if (!folded && numbers->Below(5) == 0) {
    return Pick(numbers, BuiltinPolicies());
  }
  std::string text = "id=deltabloom";
  for (const Row& row : PolicyRows()) {
    std::string value = PickValue(numbers, row);
    if (folded && value.rfind("key_transform=", 0) == 0) {
      value = "key_transform=ascii_lowercase@1";
    }
    // Refused beside a rate, another order or, drawn last, a transform.
    if (value == "range=on" &&
        (folded || text.find(";false_positive_rate=") != std::string::npos)) {
      value = "range=off";
    }
    if (value.find('@') != std::string::npos &&
        text.find(";range=on") != std::string::npos) {
      value = "key_transform=none";
    }
    text += ";" + value;
  }
  return text;
}

rocksdb::BlockBasedTableOptions DrawTable(MixedNumbers* numbers,
                                          uint32_t slot) {
  using Table = rocksdb::BlockBasedTableOptions;
  const auto yes = [&] { return numbers->Below(2) == 0; };
  Table table;
  table.partition_filters = yes();
  table.index_type =
      table.partition_filters || numbers->Below(4) == 0
          ? Table::kTwoLevelIndexSearch
          : Pick<Table::IndexType>(numbers, {Table::kBinarySearch,
                                             Table::kBinarySearchWithFirstKey});
  table.metadata_block_size = Pick<uint64_t>(numbers, {128, 512, 4096});
  table.block_size = Pick<size_t>(numbers, {400, 1024, 4096});
  table.whole_key_filtering = numbers->Below(5) != 0;
  table.optimize_filters_for_memory = yes();
  table.detect_filter_construct_corruption = yes();
  table.format_version = Pick<uint32_t>(numbers, {3, 4, 5});
  table.checksum = Pick<rocksdb::ChecksumType>(
      numbers,
      {rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kxxHash64, rocksdb::kXXH3});
  if (slot != kFoldedSlot && yes()) {
    table.data_block_index_type = Table::kDataBlockBinaryAndHash;
  }
  table.no_block_cache = numbers->Below(6) == 0;
  if (!table.no_block_cache) {
    table.cache_index_and_filter_blocks = yes();
    table.pin_l0_filter_and_index_blocks_in_cache = yes();
    table.pin_top_level_index_and_filter = yes();
    table.block_cache = rocksdb::NewLRUCache(
        Pick<size_t>(numbers, {64 << 10, 1 << 20, 16 << 20}));
  }
  return table;
}

rocksdb::ColumnFamilyOptions DrawFamily(MixedNumbers* numbers, uint32_t slot,
                                        bool transformed) {
  const auto yes = [&] { return numbers->Below(2) == 0; };
  rocksdb::ColumnFamilyOptions family;
  family.merge_operator = AppendingMergeOperator();
  family.write_buffer_size =
      Pick<size_t>(numbers, {64 << 10, 128 << 10, 1 << 20});
  family.target_file_size_base = Pick<uint64_t>(numbers, {16 << 10, 64 << 10});
  family.max_bytes_for_level_base =
      Pick<uint64_t>(numbers, {64 << 10, 256 << 10});
  family.max_bytes_for_level_multiplier = 4;
  family.level0_file_num_compaction_trigger = Pick<int>(numbers, {2, 4});
  family.level_compaction_dynamic_level_bytes = false;
  family.optimize_filters_for_hits = numbers->Below(4) == 0;
  family.compression = Pick<rocksdb::CompressionType>(
      numbers, {rocksdb::kNoCompression, rocksdb::kSnappyCompression,
                rocksdb::kLZ4Compression});
  if (slot == kUniversalSlot) {
    family.compaction_style = rocksdb::kCompactionStyleUniversal;
  }
  if (slot == kFoldedSlot) {
    family.comparator = FoldingComparator();
    return family;
  }
  switch (numbers->Below(6)) {
    case 0:
      break;
    case 4:
    case 5:
      family.prefix_extractor = NewRocksDBRangeExtractor();
      break;
    case 1:
      family.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(4));
      break;
    default:
      family.prefix_extractor.reset(
          rocksdb::NewFixedPrefixTransform(kPrefixSize));
  }
  // Deltabloom refuses them beside a key transform.
  if (!transformed) {
    if (yes()) family.memtable_prefix_bloom_size_ratio = 0.1;
    family.memtable_whole_key_filtering = yes();
  }
  return family;
}

rocksdb::DBOptions DrawDatabase(MixedNumbers* numbers) {
  const auto yes = [&] { return numbers->Below(2) == 0; };
  rocksdb::DBOptions db;
  db.max_background_jobs = 2;
  db.max_subcompactions = Pick<uint32_t>(numbers, {1, 2});
  db.max_open_files = Pick<int>(numbers, {-1, 30});
  db.avoid_flush_during_recovery = yes();
  db.enable_pipelined_write = false;
  db.two_write_queues = false;
  db.paranoid_checks = true;
  db.max_total_wal_size = Pick<uint64_t>(numbers, {0, 256 << 10});
  db.keep_log_file_num = 3;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

}  // namespace

const char* EngineName(Engine engine) {
  switch (engine) {
    case Engine::kPlain:
      return "no transactions";
    case Engine::kWriteCommitted:
      return "transactions, WriteCommitted";
    case Engine::kWritePrepared:
      return "transactions, WritePrepared";
  }
  return "";
}

std::string DrawChange(MixedNumbers* numbers) {
  while (true) {
    const Row& row = PolicyRows()[numbers->Below(PolicyRows().size())];
    if (row.when == Row::kAtRunTime) return PickValue(numbers, row);
  }
}

Configuration DrawConfiguration(uint64_t seed, const PolicyHook& hook) {
  MixedNumbers numbers(seed);
  std::string error;
  if (!RegisterRocksDB(&error)) throw std::runtime_error(error);
  Configuration configuration;
  configuration.db = DrawDatabase(&numbers);
  configuration.db.listeners.push_back(NewRocksDBFilterListener());
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    std::string& text = configuration.policies[slot];
    text = DrawPolicy(&numbers, slot);
    const bool transformed = text.find("@") != std::string::npos;
    configuration.families[slot] = DrawFamily(&numbers, slot, transformed);
    auto& table = configuration.tables[slot];
    table = DrawTable(&numbers, slot);
    std::shared_ptr<const rocksdb::FilterPolicy> policy;
    const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(), text, &policy);
    if (!status.ok()) {
      throw std::runtime_error("RocksDB refuses the policy " + text + ": " +
                               status.ToString());
    }
    rocksdb::BlockBasedTableOptions with_policy = table;
    with_policy.filter_policy = hook && policy ? hook(policy) : policy;
    configuration.families[slot].table_factory.reset(
        rocksdb::NewBlockBasedTableFactory(with_policy));
    // For column families that are made later.
    if (!CheckRocksDBFilters(configuration.families[slot], &error)) {
      throw std::runtime_error(error);
    }
  }
  return configuration;
}

std::string Configuration::Describe() const {
  std::string text;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const auto& prefix = families[slot].prefix_extractor;
    text += "  slot " + std::to_string(slot) + ": " + policies[slot] +
            (tables[slot].partition_filters ? ", partitioned" : ", full") +
            (tables[slot].whole_key_filtering ? "" : ", prefixes only") +
            (prefix == nullptr ? "" : ", prefix " + prefix->AsString()) + "\n";
  }
  return text;
}

}  // namespace deltabloom::torture
