#include "engines/rocksdb/policy.h"

#include <exception>
#include <new>
#include <string>

#include "engines/rocksdb/bits_builder.h"
#include "engines/rocksdb/bits_reader.h"
#include "engines/rocksdb/library_check.h"
#include "rocksdb/env.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBitsBuilder;
using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterBuildingContext;
using ROCKSDB_NAMESPACE::Logger;
using ROCKSDB_NAMESPACE::Slice;

constexpr char kOwnCompatibilityName[] = "deltabloom.SealedFilter";

// Less writes no filter, as in RocksDB.
constexpr uint32_t kMinMillibitsPerKey = 500;

uint8_t LevelByte(int level) {
  return level >= 0 && level < kUnknownLevel ? static_cast<uint8_t>(level)
                                             : kUnknownLevel;
}

}  // namespace

SealedFilterPolicy::SealedFilterPolicy()
    : builtin_(ROCKSDB_NAMESPACE::NewBloomFilterPolicy(10)) {
  RegisterOptions(&settings_, &SettingsTypeInfo());
}

const char* SealedFilterPolicy::CompatibilityName() const {
  return settings_.compatibility == RocksDBCompatibility::kOwn
             ? kOwnCompatibilityName
             : builtin_->CompatibilityName();
}

FilterBitsBuilder* SealedFilterPolicy::GetBuilderWithContext(
    const FilterBuildingContext& context) const {
  try {
    LogConfiguration(context.info_log);
    BuilderSettings builder;
    builder.layout = FindLayout(settings_.layout, Hash::kMurmurHash2,
                                context.level_at_creation);
    builder.max_build_bytes = settings_.max_build_bytes;
    builder.millibits_per_key = settings_.millibits_per_key;
    if (builder.millibits_per_key < kMinMillibitsPerKey) return nullptr;
    builder.level_at_creation = LevelByte(context.level_at_creation);
    if (context.table_options.optimize_filters_for_memory) {
      builder.rounding_balance = &rounding_balance_;
    }
    builder.detect_corruption =
        context.table_options.detect_filter_construct_corruption;
    builder.log = context.info_log;
    builder.warned_of_many_keys = &warned_of_many_keys_;
    return new BitsBuilder(builder);
  } catch (const std::exception&) {
    return nullptr;  // out of memory: no filter
  }
}

FilterBitsReader* SealedFilterPolicy::GetFilterBitsReader(
    const Slice& filter) const {
  const bool own = settings_.compatibility == RocksDBCompatibility::kOwn;
  return NewSealedBitsReader(filter, own ? nullptr : builtin_.get());
}

// RocksDB itself logs only our name. One line per log, and one more whenever
// SetOptions changed something.
void SealedFilterPolicy::LogConfiguration(Logger* log) const {
  if (log == nullptr) return;
  const std::string line = std::string("[deltabloom] version ") + kVersion +
                           ": " + ToText(settings_) +
                           " name=" + CompatibilityName() +
                           " cpu=" + CpuLevelName(LevelOf(ActiveCpu())) +
                           " rocksdb=" + HeadersVersion();
  {
    const std::lock_guard<std::mutex> lock(logged_mutex_);
    std::string& last = logged_[log];
    if (last == line) return;
    last = line;
  }
  ROCKSDB_NAMESPACE::Info(log, "%s", line.c_str());
}

}  // namespace deltabloom::internal
