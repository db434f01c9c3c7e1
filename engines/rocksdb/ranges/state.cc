#include "engines/rocksdb/ranges/state.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "rocksdb/comparator.h"
#include "rocksdb/db.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/range/cut.h"
#include "util/range/cut_text.h"

namespace deltabloom {
namespace {

constexpr char kNone[] = "none";

// A property is a node of a std::map, whose two strings have allocations of
// their own. glibc adds 8 bytes to an allocation and rounds up to 16: the node
// of 96 bytes takes 112, the name of 17 takes 32, and the value up to 24 more
// than its size, 168 in all.
constexpr uint64_t kBytesBesideProperty = 170;

// The tables of the family; level by level, as RocksDB counts them.
uint64_t CountTables(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  uint64_t tables = 0;
  for (int level = 0; level < db->NumberLevels(family); ++level) {
    std::string count;
    db->GetProperty(
        family,
        rocksdb::DB::Properties::kNumFilesAtLevelPrefix + std::to_string(level),
        &count);
    tables += std::strtoull(count.c_str(), nullptr, 10);
  }
  return tables;
}

}  // namespace

std::string RocksDBRangeOptions::Validate() const {
  return internal::ParsedRangeOptions().Set(*this);
}

namespace internal {

std::string ParsedRangeOptions::Set(const RocksDBRangeOptions& from) {
  static_cast<RocksDBRangeOptions&>(*this) = from;
  if (!(bits_per_key >= kLeastRangeBitsPerKey &&
        bits_per_key <= kMaxBitsPerKey)) {
    return "bits_per_key = " + NumberText(bits_per_key) +
           " is out of range: use 2 to 1000";
  }
  if (max_table_bytes == 0) {
    return "max_table_bytes = 0 is out of range: use 1 or more";
  }
  if (max_memory == 0) return "max_memory = 0 is out of range: use 1 or more";
  if (!range::ParseCuts(range_prefixes == kNone ? "" : range_prefixes, &cuts)) {
    return "range_prefixes = " + range_prefixes +
           " is not valid: use none, or " + range::kCutsSyntax;
  }
  // The text must not have the bytes that separate options in the files of
  // RocksDB.
  range_prefixes.clear();
  for (const range::Cut& cut : cuts) {
    range_prefixes += (range_prefixes.empty() ? "" : ",") + TextOf(cut);
  }
  if (cuts.empty()) range_prefixes = kNone;
  transform = nullptr;
  if (key_transform == kNoTransform) return {};
  transform = FindKeyTransform(key_transform);
  if (transform == nullptr) {
    return "key_transform = " + key_transform +
           " is not registered: use none, or one of " + KeyTransformNames();
  }
  key_transform = transform->text;
  return {};
}

bool IsBytewiseOrder(std::string_view comparator) {
  return comparator == rocksdb::BytewiseComparator()->Name() ||
         comparator == "leveldb.BytewiseComparator.u64ts";
}

bool RangesState::OrderFits(const rocksdb::Comparator& order) const {
  // The comparator of most, which each scan asks for, without its name.
  return options.transform != nullptr ||
         &order == rocksdb::BytewiseComparator() ||
         IsBytewiseOrder(order.Name());
}

void RangesState::KeepMaxMemory(rocksdb::DB* db,
                                rocksdb::ColumnFamilyHandle* family) {
  if (options.max_memory == kUnlimited) return;
  const uint64_t tables =
      counters.filters_built.load(std::memory_order_relaxed) +
      counters.tables_built_without.load(std::memory_order_relaxed) + 1;
  if (tables_at_last_estimate_.exchange(tables) == tables) return;
  uint64_t keys = 0;
  if (!db->GetIntProperty(family, rocksdb::DB::Properties::kEstimateNumKeys,
                          &keys)) {
    return;
  }
  const uint64_t beside = kBytesBesideProperty * CountTables(db, family);
  const uint64_t bytes =
      options.max_memory - std::min(beside, options.max_memory);
  const double bits_that_fit = 8 * static_cast<double>(bytes) /
                               static_cast<double>(std::max<uint64_t>(keys, 1));
  const double bits = std::min(options.bits_per_key, bits_that_fit);
  const double before = bits_per_key.exchange(bits);
  const auto is_full = [this](double of) { return of >= options.bits_per_key; };
  const auto is_none = [](double of) { return of < kLeastRangeBitsPerKey; };
  if (is_full(bits) == is_full(before) && is_none(bits) == is_none(before)) {
    return;
  }
  rocksdb::Warn(db->GetDBOptions().info_log,
                "[deltabloom] [%s] range filters: %s bits per key for new "
                "tables, as max_memory=%s holds those of %s keys",
                family->GetName().c_str(),
                is_none(bits) ? "no" : NumberText(bits, 3).c_str(),
                std::to_string(options.max_memory).c_str(),
                std::to_string(keys).c_str());
}

}  // namespace internal
}  // namespace deltabloom
