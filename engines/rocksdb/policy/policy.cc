#include "engines/rocksdb/policy/policy.h"

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/policy/table_bits.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_type.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/mutex.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ColumnFamilyOptions;
using rocksdb::ConfigOptions;
using rocksdb::Logger;
using rocksdb::OptionTypeInfo;
using rocksdb::Status;
using std::chrono::steady_clock;

constexpr char kOwnCompatibilityName[] = "deltabloom.SealedFilter";

// Returns "deltabloom: <error>", and passes it to the reporter as well.
std::string Report(const Process& process, const std::string& error) {
  std::string line = "deltabloom: " + error;
  const ErrorReporter reporter = process.error_reporter;
  if (reporter != nullptr) reporter(line);
  return line;
}

template <typename Fn>
Status StatusOf(Fn fn) {
  Status status = Status::MemoryLimit();
  WithoutThrowing([&] { status = fn(); });
  return status;
}

// Returns a blank text that no other number has: its bits.
std::string BlanksOf(uint64_t number) {
  std::string blanks = " ";
  for (; number != 0; number >>= 1) blanks += number % 2 == 0 ? ' ' : '\t';
  return blanks;
}

// Options as RocksDB configures them, also while the policy is in use.
struct LiveOptions {
  explicit LiveOptions(Process* of) : process(of) {}

  static uint64_t NextSerial() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  static const char* kName() { return "DeltabloomOptions"; }

  PolicyOptions Get() const {
    const MutexLock lock(mutex);
    return options;
  }

  // Sets options by name; those in use only if nothing is wrong. A policy that
  // is being made keeps what could be read, above all the compatibility, and
  // the error, with which it is refused: RocksDB may drop the Status
  // (SetOptions from 9.8 on) and use the policy.
  Status Set(const OptionMap& map, bool ignores_unknown) {
    const Status status = StatusOf([&] {
      std::string notice;
      std::string wrong;
      {
        const MutexLock lock(mutex);
        PolicyOptions changed = options;
        wrong = ApplyPolicyOptions(map, in_use, ignores_unknown, &changed);
        notice = changed.notice;
        if (!in_use || wrong.empty()) options = std::move(changed);
      }
      if (!notice.empty()) Report(*process, notice);
      if (wrong.empty()) return Status::OK();
      const std::string line = Report(*process, wrong);
      if (!in_use && error.empty()) error = line;
      return Status::InvalidArgument(line);
    });
    if (status.IsMemoryLimit() && !in_use && error.empty()) {
      error = kOutOfMemory;
    }
    return status;
  }

  // RocksDB reads an OPTIONS file again before the file replaces an older one,
  // and compares the policies. Where Equals() finds a difference, it takes the
  // policies for equal nevertheless if their texts are (Configurable::
  // OptionsAreEqual in options/configurable.cc: AreEqual() or
  // AreEqualByName()). So the text of a policy with an error ends in blanks
  // that no other policy has. RocksDB drops them when it reads the text.
  std::string Print(const PolicyOption& option) const {
    return option.print(Get()) + (error.empty() ? "" : BlanksOf(serial));
  }

  bool Equals(const PolicyOption& option, const LiveOptions& other,
              std::string* mismatch) const {
    const bool done = WithoutThrowing([&] {
      *mismatch = Print(option) == other.Print(option) ? ""
                  : !error.empty()                     ? error
                  : !other.error.empty()               ? other.error
                                                       : option.name;
    });
    if (!done) *mismatch = kOutOfMemory;
    return mismatch->empty();
  }

  Process* const process;
  const uint64_t serial = NextSerial();
  mutable Mutex mutex;
  PolicyOptions options DELTABLOOM_GUARDED_BY(mutex);
  // The first error in the text that the policy is made from. It does not
  // change once the policy is in use.
  std::string error;
  // True once the policy is in use: an error then has no effect but its Status.
  std::atomic<bool> in_use{false};
};

// All options have offset 0, that of the LiveOptions.
OptionTypeInfo TypeInfo(const PolicyOption* of) {
  return OptionTypeInfo(
      0, rocksdb::OptionType::kString, rocksdb::OptionVerificationType::kNormal,
      of->may_change ? rocksdb::OptionTypeFlags::kMutable
                     : rocksdb::OptionTypeFlags::kNone,
      [of](const auto&, const auto&, const std::string& text, void* live) {
        return static_cast<LiveOptions*>(live)->Set({{of->name, text}}, false);
      },
      [of](const auto&, const auto&, const void* live, std::string* text) {
        return StatusOf([&] {
          *text = static_cast<const LiveOptions*>(live)->Print(*of);
          return Status::OK();
        });
      },
      [of](const auto&, const auto&, const void* a, const void* b,
           std::string* mismatch) {
        return static_cast<const LiveOptions*>(a)->Equals(
            *of, *static_cast<const LiveOptions*>(b), mismatch);
      });
}

const std::unordered_map<std::string, OptionTypeInfo>& TypeInfos() {
  // Never destroyed: policies may outlive static objects.
  static const auto& infos = *[] {
    auto* const made = new std::unordered_map<std::string, OptionTypeInfo>;
    for (const PolicyOption& option : kPolicyOptions) {
      made->emplace(option.name, TypeInfo(&option));
    }
    return made;
  }();
  return infos;
}

// The cache to which RocksDB would charge the building of its own filters, or
// null.
std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& table) {
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 3, 0)
  using Decision = rocksdb::CacheEntryRoleOptions::Decision;
  const auto& usage = table.cache_usage_options;
  Decision charged = usage.options.charged;
  const auto of_role = usage.options_overrides.find(
      rocksdb::CacheEntryRole::kFilterConstruction);
  if (of_role != usage.options_overrides.end() &&
      of_role->second.charged != Decision::kFallback) {
    charged = of_role->second.charged;
  }
  const bool charges = charged == Decision::kEnabled;
#else
  const bool charges = table.reserve_table_builder_memory;
#endif
  return charges ? table.block_cache : nullptr;
}

// Returns whether tables of the family have an index by the hash of a key's
// prefix.
bool HasHashIndex(const ColumnFamilyOptions& family) {
  using Table = rocksdb::BlockBasedTableOptions;
  if (family.table_factory == nullptr) return false;
  const auto* const table = family.table_factory->GetOptions<Table>();
  return table != nullptr && table->index_type == Table::kHashSearch;
}

// Returns what conflicts with a key transform. Where RocksDB itself hashes the
// bytes of keys, it does not find keys that are equal but differ in bytes,
// whatever filters do.
std::string TransformConflict(const ColumnFamilyOptions& family) {
  std::string option;
  const std::string_view memtable =
      family.memtable_factory == nullptr ? "" : family.memtable_factory->Name();
  if (family.memtable_prefix_bloom_size_ratio > 0 &&
      family.memtable_whole_key_filtering) {
    option = "memtable_whole_key_filtering";
  } else if (family.memtable_prefix_bloom_size_ratio > 0 &&
             family.prefix_extractor != nullptr) {
    option = "memtable_prefix_bloom_size_ratio with a prefix_extractor";
  } else if (memtable == "HashSkipListRepFactory" ||
             memtable == "HashLinkListRepFactory") {
    option = "memtable_factory " + std::string(memtable);
  } else if (HasHashIndex(family)) {
    option = "index_type kHashSearch";
  }
  if (option.empty()) return {};
  return option +
         " hashes the bytes of keys in RocksDB, where a key transform has no "
         "effect, and would lose keys that are equal but differ in bytes: do "
         "without it, or without key_transform";
}

// Thread-safe. Once it is in use nothing throws: without memory there is no
// builder or reader, which RocksDB takes for no filter and "may match", and a
// Status is MemoryLimit.
class SealedFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  SealedFilterPolicy(Process* process, const std::string& uri)
      : SealedFilterPolicy(process) {
    const std::string error = ParsePolicyUri(uri, &live_.options);
    if (!error.empty()) live_.error = Report(*process, error);
  }

  SealedFilterPolicy(Process* process, const PolicyOptions& options)
      : SealedFilterPolicy(process) {
    live_.options = options;
    live_.in_use = true;
  }

  ~SealedFilterPolicy() override { RemovePolicy(process_, this); }

  const char* Name() const override { return kPolicyName; }

  const char* CompatibilityName() const override {
    const MutexLock lock(live_.mutex);
    return live_.options.compatibility == RocksDBCompatibility::kOwn
               ? kOwnCompatibilityName
               : builtin_->CompatibilityName();
  }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    try {
      const PolicyOptions options = live_.Get();
      LogConfiguration(options, context.info_log);
      LogMismatch(options, context.info_log);
      const uint32_t millibits_per_key = MillibitsOfTable(options, context);
      if (millibits_per_key < kMinMillibitsPerKey) return nullptr;
      // LogConfiguration() has logged the error.
      if (options.TransformIsUnknown()) return nullptr;
      HashedKeys keys;
      keys.seeded = options.seeded;
      if (keys.seeded && !RandomSeed(&keys.seed)) {
        rocksdb::Error(context.info_log,
                       "[deltabloom] the system gives no random bytes for a "
                       "seed: this table gets no filter");
        return nullptr;
      }
      const rocksdb::BlockBasedTableOptions& table = context.table_options;
      BuildContext build;
      build.optimize_for_memory = table.optimize_filters_for_memory;
      build.detect_corruption = table.detect_filter_construct_corruption;
      build.charged_cache = CacheToCharge(table);
      build.log = context.info_log;
      build.tally = tally_;
      if (options.statistics) {
        build.statistics = statistics_;
        LogStatistics(options.statistics_log_seconds, context.info_log);
      }
      process_->policy_was_used = true;
      return new BitsBuilder(
          SettingsFor(options, millibits_per_key,
                      {context.level_at_creation, context.is_bottommost},
                      KeyMapping(options.transform, keys), std::move(build)));
    } catch (const std::exception&) {
      return nullptr;  // out of memory: no filter
    }
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    try {
      process_->policy_was_used = true;
      const PolicyOptions options = live_.Get();
      // No filter can be read without its transform, not even an empty one.
      if (options.TransformIsUnknown()) return NewSealedBitsReader({}, {});
      ReaderSettings reader;
      if (options.compatibility == RocksDBCompatibility::kBuiltin) {
        reader.builtin = builtin_.get();
      }
      reader.transform = options.transform;
      if (options.statistics) reader.statistics = statistics_;
      std::string mismatch;
      rocksdb::FilterBitsReader* const bits =
          NewSealedBitsReader(filter, reader, &mismatch);
      if (!mismatch.empty()) {
        const MutexLock lock(log_mutex_);
        if (mismatch_.empty()) mismatch_ = std::move(mismatch);
      }
      return bits;
    } catch (const std::exception&) {
      return nullptr;  // out of memory: RocksDB's reader says "may match"
    }
  }

  // These return the error in the text that the policy was made from.
  Status PrepareOptions(const ConfigOptions& config) override {
    return StatusOf([&] {
      if (!live_.error.empty()) return Status::InvalidArgument(live_.error);
      live_.in_use = true;
      return FilterPolicy::PrepareOptions(config);
    });
  }

  // RocksDB also calls this whenever a database is opened.
  Status ValidateOptions(const rocksdb::DBOptions& db,
                         const ColumnFamilyOptions& family) const override {
    return StatusOf([&] {
      if (!live_.error.empty()) return Status::InvalidArgument(live_.error);
      const PolicyOptions options = live_.Get();
      std::string conflict;
      if (options.transform != nullptr) conflict = TransformConflict(family);
      if (!conflict.empty()) {
        return Status::InvalidArgument("deltabloom: " + conflict);
      }
      {
        const MutexLock lock(log_mutex_);
        for (auto& [log, state] : logs_) state.text.clear();
      }
      return FilterPolicy::ValidateOptions(db, family);
    });
  }

 protected:
  // RocksDB's own would set the options one by one, and those already set may
  // conflict with others that are not set yet.
  Status ConfigureOptions(const ConfigOptions& config, const OptionMap& options,
                          OptionMap* /*unused*/) override {
    const Status status = live_.Set(options, config.ignore_unknown_options);
    return status.ok() && config.invoke_prepare_options ? PrepareOptions(config)
                                                        : status;
  }

 private:
  // The lines of a LOG, and when it got the statistics or was seen first.
  struct LogState {
    std::string text;
    std::string header;  // of it; loggers keep headers for good
    steady_clock::time_point statistics = steady_clock::now();
  };

  LogState& StateOf(const Logger* log) const DELTABLOOM_WITH_LOCK(log_mutex_) {
    constexpr size_t kMostLogs = 1000;  // some of them closed long ago
    if (logs_.size() >= kMostLogs && logs_.count(log) == 0) logs_.clear();
    return logs_[log];
  }

  explicit SealedFilterPolicy(Process* process)
      : process_(process),
        live_(process),
        builtin_(rocksdb::NewBloomFilterPolicy(10)) {
    RegisterOptions(&live_, &TypeInfos());
    AddPolicy(process, this, statistics_.get());
  }

  // RocksDB itself logs only the policy's name. A LOG is known by the address
  // of its logger. A rolled LOG repeats the header, not the warnings. In this
  // function and the next a line for which memory has run out comes with the
  // next builder.
  void LogConfiguration(const PolicyOptions& options,
                        Logger* log) const noexcept {
    using Level = rocksdb::InfoLogLevel;
    if (log == nullptr) return;
    const bool done = WithoutThrowing([&] {
      std::vector<std::pair<Level, std::string>> lines = {
          {Level::HEADER_LEVEL, std::string("version ") + kVersion + ": " +
                                    PrintPolicyOptions(options) +
                                    " name=" + CompatibilityName() +
                                    " cpu=" + CpuName(ActiveCpu()) +
                                    " rocksdb=" + HeadersVersion()}};
      const auto add = [&lines](bool applies, Level level,
                                const std::string& line) {
        if (applies) lines.emplace_back(level, line);
      };
      add(!options.notice.empty(), Level::WARN_LEVEL, options.notice);
      add(!live_.error.empty(), Level::ERROR_LEVEL,
          "not as it was set: " + live_.error);
      std::string text;
      for (const auto& [level, line] : lines) text += line + "\n";
      {
        const MutexLock lock(log_mutex_);
        LogState& state = StateOf(log);
        if (state.text == text) return;
        state.text = text;
        auto& [level, line] = lines.front();
        if (state.header == line) level = Level::INFO_LEVEL;
        state.header = line;
      }
      for (const auto& [level, line] : lines) {
        rocksdb::Log(level, log, "[deltabloom] %s", line.c_str());
      }
    });
    if (done) return;
    const MutexLock lock(log_mutex_);
    logs_.erase(log);
  }

  void LogMismatch(const PolicyOptions& options, Logger* log) const noexcept {
    const MutexLock lock(log_mutex_);
    if (log == nullptr || mismatch_.empty() || mismatch_logged_) return;
    const char* const first = mismatch_.c_str();
    mismatch_logged_ = WithoutThrowing([&] {
      rocksdb::Warn(
          log,
          "[deltabloom] filters of another key transform than key_transform=%s "
          "are ignored, every key may match until compaction replaces them; "
          "the first that was found %s",
          options.key_transform.c_str(), first);
    });
  }

  // Logs are known by their addresses: one at the address of a log that was
  // closed continues its interval.
  void LogStatistics(uint64_t seconds, Logger* log) const noexcept {
    if (seconds == 0 || log == nullptr) return;
    WithoutThrowing([&] {
      {
        const auto now = steady_clock::now();
        const MutexLock lock(log_mutex_);
        LogState& state = StateOf(log);
        const std::chrono::duration<double> passed = now - state.statistics;
        if (passed.count() < static_cast<double>(seconds)) return;
        state.statistics = now;
      }
      std::istringstream lines(statistics_->Get().ToText());
      for (std::string line; std::getline(lines, line);) {
        rocksdb::Info(log, "[deltabloom] %s", line.c_str());
      }
    });
  }

  Process* const process_;
  LiveOptions live_;
  // Reads filters that are not Deltabloom's, and knows its name.
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_;
  const std::shared_ptr<SharedTally> tally_ = std::make_shared<SharedTally>();
  const std::shared_ptr<PolicyStatistics> statistics_ =
      std::make_shared<PolicyStatistics>();

  mutable Mutex log_mutex_;
  // By logger.
  mutable std::map<const void*, LogState> logs_
      DELTABLOOM_GUARDED_BY(log_mutex_);
  // The problem of the first filter that has another key transform. RocksDB
  // gives readers no LOG, so the next builder writes it.
  mutable std::string mismatch_ DELTABLOOM_GUARDED_BY(log_mutex_);
  mutable bool mismatch_logged_ DELTABLOOM_GUARDED_BY(log_mutex_) = false;
};

}  // namespace

std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(Process* process,
                                                       const std::string& uri) {
  assert(LibraryProblem().empty());
  return std::make_unique<SealedFilterPolicy>(process, uri);
}

std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(
    Process* process, const PolicyOptions& options) {
  assert(LibraryProblem().empty());
  assert(PolicyOptions().Set(options).empty());
  return std::make_unique<SealedFilterPolicy>(process, options);
}

}  // namespace deltabloom::internal
