#include "tests/torture/plan.h"

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include <stdexcept>
#include <vector>

#include "deltabloom/rocksdb.h"

namespace deltabloom::torture {

namespace {

using bench::MixedNumbers;
using rocksdb::Slice;

// A compaction releases a snapshot under the mutex that this takes, and waits
// for itself: seen in 9.10, not in 9.6, fixed by facebook/rocksdb#13632.
constexpr int kVersion = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;
constexpr bool kWritePreparedHangs = kVersion >= 907 && kVersion < 1005;

constexpr char kFoldingName[] = "deltabloom.torture.folding";

// Orders bytes, upper case letters as lower case ones.
class Folding : public rocksdb::Comparator {
 public:
  const char* Name() const override { return kFoldingName; }
  int Compare(const Slice& a, const Slice& b) const override {
    return Lower(a.ToStringView()).compare(Lower(b.ToStringView()));
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return true; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// Merged().
class Appending : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "deltabloom.torture.appending"; }
  bool Merge(const Slice&, const Slice* existing, const Slice& operand,
             std::string* merged, rocksdb::Logger*) const override {
    *merged = Merged(existing == nullptr ? Value() : existing->ToString(),
                     operand.ToStringView());
    return true;
  }
};

const rocksdb::Comparator* FoldingComparator() {
  static const rocksdb::Comparator* const comparator = [] {
    static const Folding folding;
    // A backup opens tables by the name of their comparator.
    rocksdb::ObjectLibrary::Default()->AddFactory<const rocksdb::Comparator>(
        kFoldingName,
        [](const std::string&, std::unique_ptr<const rocksdb::Comparator>*,
           std::string*) { return &folding; });
    return &folding;
  }();
  return comparator;
}

// The options of Deltabloom's policy, each with the values that are drawn: the
// first as often as all others together.
struct Row {
  bool at_run_time;
  std::vector<const char*> values;
};

const std::vector<Row>& PolicyRows() {
  static const std::vector<Row> rows = {
      {false,
       {"bits_per_key=10", "bits_per_key=4.5", "bits_per_key=16",
        "bits_per_key=24.7", "bits_per_key=0.3", "false_positive_rate=0.01",
        "false_positive_rate=0.0001", "false_positive_rate=0.3"}},
      {true,
       {"layout=classic", "layout=local", "layout=compact", "layout=auto"}},
      {true, {"allocation=uniform", "allocation=levels"}},
      {true, {"max_build_bytes=0", "max_build_bytes=3000"}},
      {true,
       {"max_filter_bytes=unlimited", "max_filter_bytes=300",
        "max_filter_bytes=40"}},
      {false, {"compatibility=builtin", "compatibility=own"}},
      {true, {"payload_check=false", "payload_check=true"}},
      {true, {"seeded=false", "seeded=true"}},
      {true, {"statistics=true", "statistics=false"}},
      {true, {"statistics_log_seconds=600", "statistics_log_seconds=1"}},
      {false, {"range=off", "range=on"}},
      {false,
       {"key_transform=none", "key_transform=ascii_lowercase@1",
        "key_transform=trim_trailing_spaces@1"}},
  };
  return rows;
}

template <typename T>
T Pick(MixedNumbers* numbers, const std::vector<T>& from) {
  return from[numbers->Below(from.size())];
}

const char* PickValue(MixedNumbers* numbers, const Row& row) {
  // All layouts are equally likely.
  const bool equal = row.values.size() == 4;
  if (!equal && numbers->Below(2) == 0) return row.values[0];
  return Pick(numbers, row.values);
}

std::string DrawPolicy(MixedNumbers* numbers, uint32_t slot) {
  // RocksDB's filters lose keys whose bytes differ and that compare equal.
  const bool folded = slot == kFoldedSlot;
  if (!folded && numbers->Below(5) == 0) {
    return Pick<const char*>(
        numbers, {"bloomfilter:10:false", "bloomfilter:6.5:false",
                  "ribbonfilter:10", "ribbonfilter:12:2", "nullptr"});
  }
  std::string text = "id=deltabloom";
  for (const Row& row : PolicyRows()) {
    std::string value = PickValue(numbers, row);
    if (folded && value.rfind("key_transform=", 0) == 0) {
      value = "key_transform=ascii_lowercase@1";
    }
    // Rejected with a rate, another order or, drawn last, a transform.
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
  family.merge_operator = std::make_shared<Appending>();
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
  // Deltabloom rejects them with a key transform.
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

Folders::Folders(const std::string& folder)
    : database(folder + "/database"),
      state(folder + "/state"),
      notes(folder + "/notes"),
      copies(folder + "/copies") {}

Plan DrawPlan(uint64_t seed, uint64_t cycle, const Folders& folders) {
  Plan plan;
  plan.seed = bench::Mix(seed + bench::Mix(cycle));
  plan.cycle = cycle;
  bench::MixedNumbers numbers(plan.seed);
  plan.engine = static_cast<Engine>(numbers.Below(3));
  if (kWritePreparedHangs && plan.engine == Engine::kWritePrepared) {
    plan.engine = Engine::kWriteCommitted;
  }
  plan.power_loss = numbers.Below(3) == 0;
  if (numbers.Below(2) == 0) {
    plan.loss.log_tail_kept = static_cast<double>(numbers.Below(1000)) / 1000;
  }
  // Prepared transactions need the log.
  if (plan.engine == Engine::kPlain && numbers.Below(3) == 0) {
    for (bool& no_log : plan.no_log) no_log = numbers.Below(2) == 0;
  }
  plan.disk.database = folders.database;
  plan.disk.notes = folders.notes;
  plan.max_millis = 150 + numbers.Below(1000);
  switch (numbers.Below(8)) {
    case 0:
      plan.closes = true;
      plan.max_writes = 200 + numbers.Below(4000);
      plan.max_millis = 60'000;
      break;
    case 1:
    case 2:
    case 3:
      plan.disk.stop_at = 1 + numbers.Below(3000);
      break;
    case 4:
      plan.disk.fail_at = 1 + numbers.Below(1500);
      plan.disk.failures = 1 + numbers.Below(3);
      break;
    case 5:
      plan.max_writes = 1 + numbers.Below(5000);
      break;
    default:
      break;
  }
  return plan;
}

std::string Plan::Describe() const {
  std::string text = engine == Engine::kPlain ? "no transactions"
                     : engine == Engine::kWriteCommitted
                         ? "transactions, WriteCommitted"
                         : "transactions, WritePrepared";
  if (no_log[0] || no_log[1] || no_log[2] || no_log[3]) {
    text += ", slots without log:";
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (no_log[slot]) text += " " + std::to_string(slot);
    }
  }
  if (closes) {
    text += ", closed after " + std::to_string(max_writes) + " writes";
  } else {
    text += ", killed after " + std::to_string(max_millis) + " ms";
    if (max_writes != 0)
      text += " or " + std::to_string(max_writes) + " writes";
    if (disk.stop_at != 0) {
      text += " or in file operation " + std::to_string(disk.stop_at);
    }
  }
  if (disk.fail_at != 0) {
    text += ", file operation " + std::to_string(disk.fail_at) + " fails";
  }
  if (power_loss) text += ", then power is lost";
  return text;
}

uint64_t Plan::SeedFor(Purpose purpose, uint64_t number) const {
  return bench::Mix(seed + (uint64_t{purpose} << 32) + number + 1);
}

std::string DrawChange(MixedNumbers* numbers) {
  while (true) {
    const Row& row = PolicyRows()[numbers->Below(PolicyRows().size())];
    if (row.at_run_time) return PickValue(numbers, row);
  }
}

Configuration DrawConfiguration(uint64_t seed, const Sabotage& sabotage) {
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
    rocksdb::BlockBasedTableOptions table = DrawTable(&numbers, slot);
    std::shared_ptr<const rocksdb::FilterPolicy> policy;
    const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(), text, &policy);
    if (!status.ok()) {
      throw std::runtime_error("RocksDB rejects the policy " + text + ": " +
                               status.ToString());
    }
    table.filter_policy =
        sabotage.policy && policy ? sabotage.policy(policy) : policy;
    configuration.families[slot].table_factory.reset(
        rocksdb::NewBlockBasedTableFactory(table));
    const auto& prefix = configuration.families[slot].prefix_extractor;
    configuration.description +=
        "  slot " + std::to_string(slot) + ": " + text +
        (table.partition_filters ? ", partitioned" : ", full") +
        (table.whole_key_filtering ? "" : ", prefixes only") +
        (prefix == nullptr ? "" : ", prefix " + prefix->AsString()) + "\n";
    // For column families created later.
    if (!CheckRocksDBFilters(configuration.families[slot], &error)) {
      throw std::runtime_error(error);
    }
  }
  return configuration;
}

}  // namespace deltabloom::torture
