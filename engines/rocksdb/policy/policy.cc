#include "engines/rocksdb/policy/policy.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string_view>
#include <unordered_map>

#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/policy/family_check.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_type.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/json.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::DBOptions;
using rocksdb::Logger;
using rocksdb::OptionTypeInfo;
using rocksdb::Status;

constexpr char kOwnCompatibilityName[] = "deltabloom.SealedFilter";

constexpr char kNoListener[] =
    "[deltabloom] allocation=levels without its listener: all tables get "
    "bits_per_key; add listeners=deltabloom to the DBOptions of the OPTIONS "
    "file, or NewRocksDBFilterListener() to DBOptions::listeners";

std::atomic<ErrorReporter> error_reporter{nullptr};

// "deltabloom: <error>", handed to the reporter as well.
std::string Report(const std::string& error) {
  std::string line = "deltabloom: " + error;
  const ErrorReporter reporter = error_reporter;
  if (reporter != nullptr) reporter(line);
  return line;
}

// RocksDB's own errors hold names from the text as they are.
Status OnOneLine(const Status& status) {
  const std::string text = status.ToString();
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return c >= ' ' && c <= '~'; })) {
    return status;
  }
  return Status::InvalidArgument(Quote(text));
}

// What RocksDB calls for each option. Without memory the option is not set, and
// a policy that is being made is refused: RocksDB may drop the Status.
Status ParseOption(const PolicyOption& option, const std::string& text,
                   LiveOptions* live) {
  try {
    std::string error;
    {
      const std::lock_guard<std::mutex> lock(live->mutex);
      if (live->in_use) {
        PolicyOptions changed = live->options;
        error = ApplyPolicyOptions({{option.name, text}}, /*in_use=*/true,
                                   &changed);
        if (error.empty()) live->options = changed;
      } else {
        error = option.parse(option, text, &live->options);
      }
    }
    if (error.empty()) return Status::OK();
    const std::string line = Report(error);
    if (!live->in_use && live->error.empty()) live->error = line;
    return Status::InvalidArgument(line);
  } catch (const std::exception&) {
    if (!live->in_use && live->error.empty()) live->error = kOutOfMemory;
    return Status::MemoryLimit();
  }
}

// Spaces that no other living object has. RocksDB drops spaces at the end of a
// value when it reads one.
std::string UniqueSpaces(const LiveOptions& live) {
  std::string spaces = " ";
  for (uintptr_t rest = reinterpret_cast<uintptr_t>(&live); rest != 0;
       rest >>= 1) {
    spaces += rest % 2 == 0 ? ' ' : '\t';
  }
  return spaces;
}

// RocksDB reads an OPTIONS file again before the file replaces an older one,
// and compares first the policies, then their texts. A policy with an error
// that RocksDB dropped equals no other, and prints like no other, not even like
// one with the same error that was read from its text.
Status PrintOption(const PolicyOption& option, const LiveOptions& live,
                   std::string* text) {
  try {
    *text = option.print(live.Get());
    if (!live.error.empty()) *text += UniqueSpaces(live);
    return Status::OK();
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
}

bool EqualOption(const PolicyOption& option, const LiveOptions& a,
                 const LiveOptions& b, std::string* mismatch) {
  try {
    const std::string& error = a.error.empty() ? b.error : a.error;
    if (error.empty() && option.print(a.Get()) == option.print(b.Get())) {
      return true;
    }
    *mismatch = error.empty() ? option.name : error;
  } catch (const std::exception&) {
    *mismatch = kOutOfMemory;
  }
  return false;
}

rocksdb::OptionType RocksDBType(OptionType type) {
  switch (type) {
    case OptionType::kReal:
      return rocksdb::OptionType::kDouble;
    case OptionType::kInteger:
      return rocksdb::OptionType::kUInt64T;
    case OptionType::kSwitch:
      return rocksdb::OptionType::kBoolean;
    case OptionType::kChoice:
      return rocksdb::OptionType::kEnum;
    case OptionType::kText:
      break;
  }
  return rocksdb::OptionType::kString;
}

// All options have offset 0, that of the LiveOptions. `option` is one of
// kPolicyOptions.
OptionTypeInfo TypeInfo(const PolicyOption& option) {
  const PolicyOption* const of = &option;
  return OptionTypeInfo(
      0, RocksDBType(option.type), rocksdb::OptionVerificationType::kNormal,
      option.may_change ? rocksdb::OptionTypeFlags::kMutable
                        : rocksdb::OptionTypeFlags::kNone,
      [of](const ConfigOptions&, const std::string&, const std::string& text,
           void* object) {
        return ParseOption(*of, text, static_cast<LiveOptions*>(object));
      },
      [of](const ConfigOptions&, const std::string&, const void* object,
           std::string* text) {
        return PrintOption(*of, *static_cast<const LiveOptions*>(object), text);
      },
      [of](const ConfigOptions&, const std::string&, const void* left,
           const void* right, std::string* mismatch) {
        return EqualOption(*of, *static_cast<const LiveOptions*>(left),
                           *static_cast<const LiveOptions*>(right), mismatch);
      });
}

const std::unordered_map<std::string, OptionTypeInfo>& TypeInfos() {
  // Never destroyed: policies may outlive static objects.
  static const auto& infos = *[] {
    auto* const made = new std::unordered_map<std::string, OptionTypeInfo>;
    for (size_t i = 0; i < kPolicyOptionCount; ++i) {
      made->emplace(kPolicyOptions[i].name, TypeInfo(kPolicyOptions[i]));
    }
    return made;
  }();
  return infos;
}

std::string NameOf(const TransformMismatch& mismatch) {
  if (mismatch.builtin) return "is not Deltabloom's";
  if (!mismatch.keys.transformed) return "has none";
  const RegisteredTransform* const transform =
      FindKeyTransform(mismatch.keys.transform_id);
  if (transform != nullptr) return "has " + transform->text;
  char id[16];
  std::snprintf(id, sizeof(id), "%08x", mismatch.keys.transform_id);
  return std::string("has one with id ") + id +
         " that is not registered in this process";
}

// A log line is not worth a filter. Returns false if memory has run out.
template <typename Fn>
bool WriteIfMemory(Fn write) noexcept {
  try {
    write();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Throws std::bad_alloc.
bool AnswersRanges(const PolicyOptions& options) {
  return options.range && options.transform == nullptr &&
         options.false_positive_rate == 0 && RangeProblem().empty();
}

// False if there can be no filter.
bool MapKeys(const PolicyOptions& options, Logger* log, KeyMapping* mapping) {
  if (options.TransformIsUnknown()) return false;  // the LOG has the error
  HashedKeys keys;
  keys.seeded = options.seeded;
  if (keys.seeded && !RandomSeed(&keys.seed)) {
    if (log != nullptr) {
      rocksdb::Error(log,
                     "[deltabloom] the system gives no random bytes "
                     "for a seed: this table gets no filter");
    }
    return false;
  }
  *mapping = KeyMapping(options.transform, keys);
  return true;
}

}  // namespace

void SetErrorReporter(ErrorReporter reporter) { error_reporter = reporter; }

void MismatchLog::Note(const TransformMismatch& mismatch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!first_.found) first_ = mismatch;
}

std::string MismatchLog::TakeLine(const PolicyOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!first_.found || written_) return {};
  written_ = true;
  return "filters of another key transform than key_transform=" +
         options.key_transform +
         " are ignored, every key may match until compaction replaces them; "
         "the first that was found " +
         NameOf(first_);
}

void MismatchLog::PutBack() {
  const std::lock_guard<std::mutex> lock(mutex_);
  written_ = false;
}

SealedFilterPolicy::SealedFilterPolicy()
    : builtin_(rocksdb::NewBloomFilterPolicy(10)) {
  RegisterOptions(&live_, &TypeInfos());
  AddPolicy(this, statistics_);
}

SealedFilterPolicy::SealedFilterPolicy(const std::string& uri)
    : SealedFilterPolicy() {
  const std::string error = ParsePolicyUri(uri, &live_.options);
  if (!error.empty()) live_.error = Report(error);
}

SealedFilterPolicy::SealedFilterPolicy(const PolicyOptions& options)
    : SealedFilterPolicy() {
  live_.options = options;
  StartUse(options);
}

SealedFilterPolicy::~SealedFilterPolicy() { RemovePolicy(this); }

void SealedFilterPolicy::StartUse(const PolicyOptions& options) {
  live_.in_use = true;
  if (options.range) RangeProblem();  // runs its check now
}

const char* SealedFilterPolicy::CompatibilityName() const {
  const std::lock_guard<std::mutex> lock(live_.mutex);
  return live_.options.compatibility == RocksDBCompatibility::kOwn
             ? kOwnCompatibilityName
             : builtin_->CompatibilityName();
}

rocksdb::FilterBitsBuilder* SealedFilterPolicy::GetBuilderWithContext(
    const rocksdb::FilterBuildingContext& context) const {
  try {
    const PolicyOptions options = live_.Get();
    const LevelBits bits = ChooseBits(options, context);
    LogMismatch(options, context.info_log);
    BuilderSettings builder;
    builder.layout = bits.layout;
    builder.max_build_bytes = options.max_build_bytes;
    builder.max_filter_bytes = options.max_filter_bytes;
    builder.millibits_per_key = bits.millibits_per_key;
    builder.false_positive_rate = bits.false_positive_rate;
    if (builder.false_positive_rate == 0 &&
        builder.millibits_per_key < kMinMillibitsPerKey) {
      return nullptr;
    }
    if (!MapKeys(options, context.info_log, &builder.mapping)) return nullptr;
    builder.seal.level_at_creation =
        LevelByte({context.level_at_creation, context.is_bottommost});
    builder.seal.payload_check = options.payload_check;
    builder.range = AnswersRanges(options);
    builder.optimize_for_memory =
        context.table_options.optimize_filters_for_memory;
    builder.detect_corruption =
        context.table_options.detect_filter_construct_corruption;
    builder.charged_cache = CacheToCharge(context.table_options);
    builder.log = context.info_log;
    builder.tally = tally_;
    if (options.statistics) {
      builder.statistics = statistics_;
      WriteIfMemory([&] {
        statistics_log_.Write(*statistics_, options.statistics_log_seconds,
                              context.info_log);
      });
    }
    return new BitsBuilder(builder);
  } catch (const std::exception&) {
    return nullptr;  // out of memory: no filter
  }
}

LevelBits SealedFilterPolicy::ChooseBits(
    const PolicyOptions& options,
    const rocksdb::FilterBuildingContext& context) const {
  if (options.allocation != RocksDBAllocation::kLevels) {
    LogConfiguration(options, context.info_log, "");
    return UniformBitsFor(options, context.level_at_creation);
  }
  const LevelChoice choice = ChooseByLevel(options, context);
  LogConfiguration(options, context.info_log,
                   choice.no_listener ? kNoListener : "");
  if (!choice.log_line.empty() && context.info_log != nullptr) {
    WriteIfMemory([&] {
      rocksdb::Info(context.info_log, "%s", choice.log_line.c_str());
    });
  }
  return choice.bits;
}

rocksdb::FilterBitsReader* SealedFilterPolicy::GetFilterBitsReader(
    const rocksdb::Slice& filter) const {
  try {
    const PolicyOptions options = live_.Get();
    // Without its transform no filter can be read, not even an empty one.
    if (options.TransformIsUnknown()) return NewSealedBitsReader({}, {});
    ReaderSettings reader;
    if (options.compatibility == RocksDBCompatibility::kBuiltin) {
      reader.builtin = builtin_.get();
    }
    reader.transform = options.transform;
    if (options.statistics) reader.statistics = statistics_;
    reader.range = AnswersRanges(options);
    TransformMismatch mismatch;
    rocksdb::FilterBitsReader* const bits =
        NewSealedBitsReader(filter, reader, &mismatch);
    if (mismatch.found) mismatch_log_.Note(mismatch);
    return bits;
  } catch (const std::exception&) {
    return nullptr;  // out of memory: RocksDB's reader says "may match"
  }
}

// After an error RocksDB restores what was there before, which is right where
// it returns the error. Where it drops the error (SetOptions from 9.8 on) the
// new policy replaces the old one: then what could be read, above all the
// compatibility, is better than the defaults.
Status SealedFilterPolicy::ConfigureOptions(const ConfigOptions& config,
                                            const OptionMap& options,
                                            OptionMap* unused) {
  try {
    return Configure(config, options, unused);
  } catch (const std::exception&) {
    if (!live_.in_use) live_.error = kOutOfMemory;
    return Status::MemoryLimit();
  }
}

Status SealedFilterPolicy::Configure(const ConfigOptions& config,
                                     const OptionMap& options,
                                     OptionMap* unused) {
  PolicyOptions changed = live_.Get();
  const std::string error = ApplyPolicyOptions(options, live_.in_use, &changed);
  if (live_.in_use) {
    if (!error.empty()) return Status::InvalidArgument(Report(error));
    return OnOneLine(FilterPolicy::ConfigureOptions(config, options, unused));
  }
  if (configuring_) return Status::OK();  // RocksDB restores
  configuring_ = true;
  Status status;
  try {
    status = OnOneLine(FilterPolicy::ConfigureOptions(config, options, unused));
  } catch (const std::exception&) {
    configuring_ = false;
    throw;
  }
  configuring_ = false;
  if (live_.error.empty()) {
    if (!status.ok()) {
      live_.error = Report(status.ToString());
    } else if (!error.empty()) {
      live_.error = Report(error);
      return Status::InvalidArgument(live_.error);
    }
  }
  if (status.ok()) NoteIgnoredOptions(options);
  return status;
}

// With ignore_unknown_options, as for the OPTIONS file of a later version,
// RocksDB ignores unknown options and does not say which.
void SealedFilterPolicy::NoteIgnoredOptions(const OptionMap& options) {
  std::set<std::string> names;
  for (const auto& [name, value] : options) {
    if (name != "id" && FindPolicyOption(name) == nullptr) {
      names.insert(Quote(name));
    }
  }
  for (const std::string& name : names) {
    live_.ignored += (live_.ignored.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) {
    Report("ignored, as version " + std::string(kVersion) +
           " does not know them: " + live_.ignored);
  }
}

Status SealedFilterPolicy::PrepareOptions(const ConfigOptions& config) {
  try {
    if (!live_.error.empty()) return Status::InvalidArgument(live_.error);
    StartUse(live_.Get());
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
  return FilterPolicy::PrepareOptions(config);
}

Status SealedFilterPolicy::ValidateOptions(
    const DBOptions& db, const rocksdb::ColumnFamilyOptions& family) const {
  try {
    if (!live_.error.empty()) return Status::InvalidArgument(live_.error);
    const PolicyOptions options = live_.Get();
    const std::string conflict = FamilyConflict(family, options);
    if (!conflict.empty()) {
      return Status::InvalidArgument("deltabloom: " + conflict);
    }
    {
      const std::lock_guard<std::mutex> lock(logged_mutex_);
      logged_.clear();
    }
    // The LOG may not be open yet; then the first table logs it.
    if (options.allocation == RocksDBAllocation::kLevels &&
        !HasTreeListener(db.listeners)) {
      LogConfiguration(options, db.info_log.get(), kNoListener);
    }
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
  return FilterPolicy::ValidateOptions(db, family);
}

void SealedFilterPolicy::LogMismatch(const PolicyOptions& options,
                                     Logger* log) const noexcept {
  if (log == nullptr) return;
  const bool written = WriteIfMemory([&] {
    const std::string line = mismatch_log_.TakeLine(options);
    if (!line.empty()) rocksdb::Warn(log, "[deltabloom] %s", line.c_str());
  });
  if (!written) mismatch_log_.PutBack();
}

// RocksDB itself logs only the policy's name. A LOG is known by the address of
// its logger, which a later database may get again: so all addresses are
// forgotten when a database is opened, and a LOG that became shorter is another
// one, or was rolled.
bool SealedFilterPolicy::IsNewConfiguration(Logger* log,
                                            const std::string& line) const {
  const std::lock_guard<std::mutex> lock(logged_mutex_);
  Logged& last = logged_[log];
  const size_t log_size = log->GetLogFileSize();
  const bool done = last.line == line && log_size >= last.log_size;
  last.log_size = log_size;
  if (!done) last.line = line;
  return !done;
}

// A line for which memory has run out comes with the next builder.
void SealedFilterPolicy::LogConfiguration(const PolicyOptions& options,
                                          Logger* log,
                                          const char* warning) const noexcept {
  if (log == nullptr) return;
  try {
    const std::string line = std::string("[deltabloom] version ") + kVersion +
                             ": " + PrintPolicyOptions(options) +
                             " name=" + CompatibilityName() +
                             " cpu=" + CpuLevelName(LevelOf(ActiveCpu())) +
                             " rocksdb=" + HeadersVersion();
    const bool stopped = options.range && RangesStopped();
    if (!IsNewConfiguration(log, line + warning + (stopped ? "stopped" : ""))) {
      return;
    }
    rocksdb::Info(log, "%s", line.c_str());
    if (*warning != '\0') rocksdb::Warn(log, "%s", warning);
    if (!live_.ignored.empty()) {
      rocksdb::Warn(log,
                    "[deltabloom] ignored, as this version does not "
                    "know them: %s",
                    live_.ignored.c_str());
    }
    if (stopped) {
      rocksdb::Warn(
          log,
          "[deltabloom] no filter of this process answers ranges any more: a "
          "column family with prefix_extractor=deltabloom.Range has keys in "
          "another order than that of their bytes; use CheckRocksDBFilters "
          "before CreateColumnFamily");
    }
    if (options.range && !RangeProblem().empty()) {
      rocksdb::Warn(log, "[deltabloom] %s", RangeProblem().c_str());
    }
    if (!live_.error.empty()) {
      rocksdb::Error(log, "[deltabloom] not as it was set: %s",
                     live_.error.c_str());
    }
  } catch (const std::exception&) {
    const std::lock_guard<std::mutex> lock(logged_mutex_);
    logged_.erase(log);
  }
}

}  // namespace deltabloom::internal
