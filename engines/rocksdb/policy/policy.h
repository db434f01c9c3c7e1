// The policy as RocksDB sees it.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engines/rocksdb/levels/level_bits.h"
#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// Called with every error in the text of a policy, if set. For programs that
// drop the Status and go on without a filter.
using ErrorReporter = void (*)(const std::string& line);
void SetErrorReporter(ErrorReporter reporter);

// Options as RocksDB configures them: one at a time, by name, also while the
// policy is in use.
struct LiveOptions {
  static const char* kName() { return "DeltabloomOptions"; }

  PolicyOptions Get() const {
    const std::lock_guard<std::mutex> lock(mutex);
    return options;
  }

  mutable std::mutex mutex;
  PolicyOptions options;  // guarded by mutex
  // The first error in the text that the policy is made from, and the options
  // in it that this version does not know, where RocksDB was told to ignore
  // such: "'name', 'name'". Neither changes once the policy is in use.
  std::string error;
  std::string ignored;
  // From now on an error has no effect but its Status.
  std::atomic<bool> in_use{false};
};

// The first filter that a policy found to be of another key transform, and
// whether the LOG has it. RocksDB gives a reader no LOG, so that builders write
// it. Thread-safe.
class MismatchLog {
 public:
  void Note(const TransformMismatch& mismatch);
  // The line for the LOG, the first time that there is one; else nothing.
  std::string TakeLine(const PolicyOptions& options);
  // The line was not written.
  void PutBack();

 private:
  std::mutex mutex_;
  TransformMismatch first_;
  bool written_ = false;
};

// Made only where LibraryProblem() is empty. Thread-safe. Once it is in use
// nothing throws: without memory there is no builder or reader, which RocksDB
// takes for no filter and "may match", and a Status is MemoryLimit.
class SealedFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  using ColumnFamilyOptions = rocksdb::ColumnFamilyOptions;
  using ConfigOptions = rocksdb::ConfigOptions;
  using FilterBuildingContext = rocksdb::FilterBuildingContext;
  using Logger = rocksdb::Logger;
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;

  // For RocksDB to configure, from a URI that may hold an error: RocksDB drops
  // such errors where it parses table options, so the policy is refused later,
  // when it is prepared or validated.
  explicit SealedFilterPolicy(const std::string& uri);
  // Ready for use. REQUIRES: options.Validate() is empty.
  explicit SealedFilterPolicy(const PolicyOptions& options);
  ~SealedFilterPolicy() override;

  static const char* kClassName() { return kPolicyName; }
  const char* Name() const override { return kPolicyName; }
  const char* CompatibilityName() const override;

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override;
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const Slice& filter) const override;

  // These return the error in the text that the policy was made from.
  Status PrepareOptions(const ConfigOptions& config) override;
  // Also called whenever a database is opened.
  Status ValidateOptions(const rocksdb::DBOptions& db,
                         const ColumnFamilyOptions& family) const override;

 protected:
  Status ConfigureOptions(const ConfigOptions& config, const OptionMap& options,
                          OptionMap* unused) override;

 private:
  // The last line of ours in a LOG, and the size the LOG had then or later.
  struct Logged {
    std::string line;
    size_t log_size = 0;
  };

  SealedFilterPolicy();
  Status Configure(const ConfigOptions& config, const OptionMap& options,
                   OptionMap* unused);
  void NoteIgnoredOptions(const OptionMap& options);
  void StartUse(const PolicyOptions& options);
  LevelBits ChooseBits(const PolicyOptions& options,
                       const FilterBuildingContext& context) const;
  bool IsNewConfiguration(Logger* log, const std::string& line) const;
  // `warning`, if it is not empty, is a second line.
  void LogConfiguration(const PolicyOptions& options, Logger* log,
                        const char* warning) const noexcept;
  void LogMismatch(const PolicyOptions& options, Logger* log) const noexcept;

  LiveOptions live_;
  bool configuring_ = false;  // before it is in use
  // Reads filters that are not Deltabloom's, and knows its name.
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_;
  const std::shared_ptr<SharedTally> tally_ = std::make_shared<SharedTally>();
  mutable MismatchLog mismatch_log_;
  const std::shared_ptr<PolicyStatistics> statistics_ =
      std::make_shared<PolicyStatistics>();
  mutable StatisticsLog statistics_log_;
  mutable std::mutex logged_mutex_;
  mutable std::map<const void*, Logged> logged_;  // by logger
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
