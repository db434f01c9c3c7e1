#include "engines/rocksdb/policy/policy.h"

#include <exception>
#include <new>
#include <set>
#include <string>
#include <unordered_map>

#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/policy/random_seed.h"
#include "engines/rocksdb/policy/settings_fields.h"
#include "engines/rocksdb/policy/transform_conflicts.h"
#include "engines/rocksdb/range/range_check.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/env.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::ColumnFamilyOptions;
using ROCKSDB_NAMESPACE::ConfigOptions;
using ROCKSDB_NAMESPACE::DBOptions;
using ROCKSDB_NAMESPACE::FilterBitsBuilder;
using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterBuildingContext;
using ROCKSDB_NAMESPACE::Logger;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;

constexpr char kOwnCompatibilityName[] = "deltabloom.SealedFilter";

constexpr char kNoListener[] =
    "[deltabloom] allocation=levels without its listener: all tables get "
    "bits_per_key; add listeners=deltabloom to the DBOptions of the OPTIONS "
    "file, or NewRocksDBFilterListener() to DBOptions::listeners";

class WhileTrue {
 public:
  explicit WhileTrue(bool* flag) : flag_(flag) { *flag_ = true; }
  ~WhileTrue() { *flag_ = false; }
  WhileTrue(const WhileTrue&) = delete;
  WhileTrue& operator=(const WhileTrue&) = delete;

 private:
  bool* const flag_;
};

}  // namespace

SealedFilterPolicy::SealedFilterPolicy()
    : builtin_(ROCKSDB_NAMESPACE::NewBloomFilterPolicy(10)) {
  RegisterOptions(&settings_, &SettingsTypeInfo());
  AddPolicy(this, statistics_);
}

SealedFilterPolicy::~SealedFilterPolicy() { RemovePolicy(this); }

const char* SealedFilterPolicy::CompatibilityName() const {
  return settings_.compatibility == RocksDBCompatibility::kOwn
             ? kOwnCompatibilityName
             : builtin_->CompatibilityName();
}

FilterBitsBuilder* SealedFilterPolicy::GetBuilderWithContext(
    const FilterBuildingContext& context) const {
  try {
    const LevelBits bits = ChooseBits(context);
    LogUnaskedFilters(context.info_log);
    BuilderSettings builder;
    builder.layout = bits.layout;
    builder.max_build_bytes = settings_.max_build_bytes;
    builder.max_filter_bytes = settings_.max_filter_bytes;
    builder.millibits_per_key = bits.millibits_per_key;
    builder.false_positive_rate = bits.false_positive_rate;
    if (builder.false_positive_rate == 0 &&
        builder.millibits_per_key < kMinMillibitsPerKey) {
      return nullptr;
    }
    if (!MapKeys(context.info_log, &builder.mapping)) return nullptr;
    builder.seal.level_at_creation =
        LevelByte({context.level_at_creation, context.is_bottommost});
    builder.seal.payload_check = settings_.payload_check;
    builder.range = AnswersRanges();
    builder.optimize_for_memory =
        context.table_options.optimize_filters_for_memory;
    builder.detect_corruption =
        context.table_options.detect_filter_construct_corruption;
    builder.charged_cache = CacheToCharge(context.table_options);
    builder.log = context.info_log;
    builder.tally = tally_;
    if (settings_.statistics) {
      builder.statistics = statistics_;
      LogStatistics(context.info_log);
    }
    return new BitsBuilder(builder);
  } catch (const std::exception&) {
    return nullptr;  // out of memory: no filter
  }
}

// Throws std::bad_alloc.
bool SealedFilterPolicy::AnswersRanges() const {
  return settings_.range && settings_.key_transform == nullptr &&
         settings_.false_positive_rate == 0 && RangeProblem().empty();
}

LevelBits SealedFilterPolicy::ChooseBits(
    const FilterBuildingContext& context) const {
  if (settings_.allocation != RocksDBAllocation::kLevels) {
    LogConfiguration(context.info_log, "");
    return {FindLayout(settings_.layout, Hash::kMurmurHash2,
                       context.level_at_creation),
            settings_.millibits_per_key, settings_.false_positive_rate};
  }
  const LevelChoice choice = ChooseByLevel(settings_, context);
  LogConfiguration(context.info_log, choice.no_listener ? kNoListener : "");
  if (!choice.log_line.empty() && context.info_log != nullptr) {
    try {
      ROCKSDB_NAMESPACE::Info(context.info_log, "%s", choice.log_line.c_str());
    } catch (const std::bad_alloc&) {
      // Not worth a filter; the next change of the tree has a line again.
    }
  }
  return choice.bits;
}

void SealedFilterPolicy::LogStatistics(Logger* log) const noexcept {
  try {
    statistics_log_.Write(*statistics_, settings_.statistics_log_seconds, log);
  } catch (const std::exception&) {
    // Out of memory: not worth a filter; the next interval has a table again.
  }
}

// False: there can be no filter.
bool SealedFilterPolicy::MapKeys(Logger* log, KeyMapping* mapping) const {
  if (!settings_.unknown_key_transform.empty()) return false;  // is in the LOG
  HashedKeys keys;
  keys.seeded = settings_.seeded;
  if (keys.seeded && !RandomSeed(&keys.seed)) {
    if (log != nullptr) {
      ROCKSDB_NAMESPACE::Error(log,
                               "[deltabloom] the system gives no random bytes "
                               "for a seed: this table gets no filter");
    }
    return false;
  }
  *mapping = KeyMapping(settings_.key_transform, keys);
  return true;
}

FilterBitsReader* SealedFilterPolicy::GetFilterBitsReader(
    const Slice& filter) const {
  try {
    // No filter can be made out without its transform, not even an empty one.
    if (!settings_.unknown_key_transform.empty()) {
      return NewSealedBitsReader({}, {});
    }
    ReaderSettings reader;
    if (settings_.compatibility == RocksDBCompatibility::kBuiltin) {
      reader.builtin = builtin_.get();
    }
    reader.transform = settings_.key_transform;
    if (settings_.statistics) reader.statistics = statistics_;
    reader.range = AnswersRanges();
    OtherKeys other;
    FilterBitsReader* const bits = NewSealedBitsReader(filter, reader, &other);
    if (other.found) unasked_.Note(other);
    return bits;
  } catch (const std::exception&) {
    return nullptr;  // out of memory, in RocksDB's reader: may match
  }
}

// After an error RocksDB puts back what was there before, as it should where it
// tells the error. Where it drops it (SetOptions from 9.8 on) the new policy
// takes the place of the old one: what could be read, above all the
// compatibility, then is better than the defaults.
Status SealedFilterPolicy::ConfigureOptions(
    const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& options,
    std::unordered_map<std::string, std::string>* unused) {
  try {
    return Configure(config, options, unused);
  } catch (const std::exception&) {
    if (!settings_.made) settings_.problem = kOutOfMemory;
    return Status::MemoryLimit();
  }
}

Status SealedFilterPolicy::Configure(
    const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& options,
    std::unordered_map<std::string, std::string>* unused) {
  const std::string conflict = ConflictIn(settings_, options);
  if (settings_.made) {
    if (!conflict.empty()) return Status::InvalidArgument(Report(conflict));
    return FilterPolicy::ConfigureOptions(config, options, unused);
  }
  if (configuring_) return Status::OK();
  Status status;
  {
    const WhileTrue configuring(&configuring_);
    status = FilterPolicy::ConfigureOptions(config, options, unused);
  }
  if (status.ok() && !conflict.empty()) {
    settings_.problem = Report(conflict);
    return Status::InvalidArgument(settings_.problem);
  }
  if (!status.ok() && settings_.problem.empty()) {
    settings_.problem = Report(status.ToString());
  }
  if (status.ok()) NoteIgnored(options);
  return status;
}

// `family` may be null.
Status SealedFilterPolicy::Problem(const ColumnFamilyOptions* family) const {
  try {
    if (!settings_.problem.empty()) {
      return Status::InvalidArgument(settings_.problem);
    }
    if (family == nullptr) return Status::OK();
    const std::string conflict = settings_.key_transform != nullptr
                                     ? TransformConflict(*family)
                                     : RangeConflict(*family, settings_.range);
    if (conflict.empty()) return Status::OK();
    return Status::InvalidArgument("deltabloom: " + conflict);
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
}

// RocksDB ignores what nobody knows where ignore_unknown_options says so, as
// for the OPTIONS file of a later version. It does not say which.
void SealedFilterPolicy::NoteIgnored(
    const std::unordered_map<std::string, std::string>& options) {
  std::set<std::string> names;
  for (const auto& [name, value] : options) {
    if (name != "id" && FindField(name) == nullptr) names.insert(Quote(name));
  }
  for (const std::string& name : names) {
    settings_.ignored += (settings_.ignored.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) {
    Report("ignored, as version " + std::string(kVersion) +
           " does not know them: " + settings_.ignored);
  }
}

Status SealedFilterPolicy::PrepareOptions(const ConfigOptions& config) {
  Status problem = Problem(nullptr);
  if (!problem.ok()) return problem;
  settings_.made = true;
  try {
    if (settings_.range) RangeProblem();  // tries it out
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
  return FilterPolicy::PrepareOptions(config);
}

Status SealedFilterPolicy::ValidateOptions(
    const DBOptions& db, const ColumnFamilyOptions& family) const {
  Status problem = Problem(&family);
  if (!problem.ok()) return problem;
  {
    const std::lock_guard<std::mutex> lock(logged_mutex_);
    logged_.clear();
  }
  // Here the LOG is not always open yet; the first table tells again.
  if (settings_.allocation == RocksDBAllocation::kLevels &&
      !HasTreeListener(db.listeners)) {
    LogConfiguration(db.info_log.get(), kNoListener);
  }
  return FilterPolicy::ValidateOptions(db, family);
}

void SealedFilterPolicy::LogUnaskedFilters(Logger* log) const noexcept {
  if (log == nullptr) return;
  try {
    const std::string line = unasked_.Tell(settings_.key_transform);
    if (!line.empty()) {
      ROCKSDB_NAMESPACE::Warn(log, "[deltabloom] %s", line.c_str());
    }
  } catch (const std::exception&) {
    unasked_.TellAgain();
  }
}

// RocksDB itself logs only our name. All that tells one LOG from another here
// is the address of its logger, which a later database may get again: every
// address is forgotten when a database is opened, and one whose log became
// shorter is another's, or its log was rolled.
bool SealedFilterPolicy::NewConfiguration(Logger* log,
                                          const std::string& line) const {
  const std::lock_guard<std::mutex> lock(logged_mutex_);
  Logged& last = logged_[log];
  const size_t log_size = log->GetLogFileSize();
  const bool done = last.line == line && log_size >= last.log_size;
  last.log_size = log_size;
  if (!done) last.line = line;
  return !done;
}

// A line for which there is no memory comes with the next builder: it is not
// worth a filter.
void SealedFilterPolicy::LogConfiguration(Logger* log,
                                          const char* warning) const noexcept {
  if (log == nullptr) return;
  try {
    const std::string line = std::string("[deltabloom] version ") + kVersion +
                             ": " + ToText(settings_) +
                             " name=" + CompatibilityName() +
                             " cpu=" + CpuLevelName(LevelOf(ActiveCpu())) +
                             " rocksdb=" + HeadersVersion();
    const bool stopped = settings_.range && RangesStopped();
    if (!NewConfiguration(log, line + warning + (stopped ? "stopped" : ""))) {
      return;
    }
    ROCKSDB_NAMESPACE::Info(log, "%s", line.c_str());
    if (*warning != '\0') ROCKSDB_NAMESPACE::Warn(log, "%s", warning);
    if (!settings_.ignored.empty()) {
      ROCKSDB_NAMESPACE::Warn(log,
                              "[deltabloom] ignored, as this version does not "
                              "know them: %s",
                              settings_.ignored.c_str());
    }
    if (stopped) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] no filter of this process is asked about ranges any "
          "more: a column family with prefix_extractor=deltabloom.Range has "
          "keys in another order than that of their bytes; use "
          "CheckRocksDBFilters before CreateColumnFamily");
    }
    if (settings_.range && !RangeProblem().empty()) {
      ROCKSDB_NAMESPACE::Warn(log, "[deltabloom] %s", RangeProblem().c_str());
    }
    if (!settings_.problem.empty()) {
      ROCKSDB_NAMESPACE::Error(log, "[deltabloom] not as it was set: %s",
                               settings_.problem.c_str());
    }
  } catch (const std::exception&) {
    const std::lock_guard<std::mutex> lock(logged_mutex_);
    logged_.erase(log);
  }
}

}  // namespace deltabloom::internal
