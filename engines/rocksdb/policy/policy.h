// The policy as RocksDB sees it.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engines/rocksdb/levels/level_bits.h"
#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/settings.h"
#include "engines/rocksdb/policy/unasked_filters.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "engines/rocksdb/statistics/statistics_log.h"

namespace deltabloom::internal {

// Made only where LibraryProblem() is empty. Thread-safe. Once made nothing
// throws: without memory there is no builder or reader, which is no filter and
// "may match" for RocksDB, and a Status is MemoryLimit.
class SealedFilterPolicy final : public ROCKSDB_NAMESPACE::FilterPolicy {
 public:
  SealedFilterPolicy();
  ~SealedFilterPolicy() override;

  static const char* kClassName() { return kPolicyName; }
  const char* Name() const override { return kPolicyName; }
  const char* CompatibilityName() const override;

  ROCKSDB_NAMESPACE::FilterBitsBuilder* GetBuilderWithContext(
      const ROCKSDB_NAMESPACE::FilterBuildingContext& context) const override;
  ROCKSDB_NAMESPACE::FilterBitsReader* GetFilterBitsReader(
      const ROCKSDB_NAMESPACE::Slice& filter) const override;

  // Return what was wrong with the text the policy was made from. RocksDB drops
  // errors in that text where it parses table options.
  ROCKSDB_NAMESPACE::Status PrepareOptions(
      const ROCKSDB_NAMESPACE::ConfigOptions& config) override;
  // Also called whenever a database is opened.
  ROCKSDB_NAMESPACE::Status ValidateOptions(
      const ROCKSDB_NAMESPACE::DBOptions& db,
      const ROCKSDB_NAMESPACE::ColumnFamilyOptions& family) const override;

  Settings& settings() { return settings_; }
  const Settings& settings() const { return settings_; }

 protected:
  ROCKSDB_NAMESPACE::Status ConfigureOptions(
      const ROCKSDB_NAMESPACE::ConfigOptions& config,
      const std::unordered_map<std::string, std::string>& options,
      std::unordered_map<std::string, std::string>* unused) override;

 private:
  // The last line that a LOG got from us, and the size it had then or later.
  struct Logged {
    std::string line;
    size_t log_size = 0;
  };

  ROCKSDB_NAMESPACE::Status Configure(
      const ROCKSDB_NAMESPACE::ConfigOptions& config,
      const std::unordered_map<std::string, std::string>& options,
      std::unordered_map<std::string, std::string>* unused);
  void NoteIgnored(const std::unordered_map<std::string, std::string>& options);
  ROCKSDB_NAMESPACE::Status Problem(
      const ROCKSDB_NAMESPACE::ColumnFamilyOptions* family) const;
  bool AnswersRanges() const;
  LevelBits ChooseBits(
      const ROCKSDB_NAMESPACE::FilterBuildingContext& context) const;
  bool NewConfiguration(ROCKSDB_NAMESPACE::Logger* log,
                        const std::string& line) const;
  // With a warning behind it, if that is not empty.
  void LogConfiguration(ROCKSDB_NAMESPACE::Logger* log,
                        const char* warning) const noexcept;
  void LogUnaskedFilters(ROCKSDB_NAMESPACE::Logger* log) const noexcept;
  void LogStatistics(ROCKSDB_NAMESPACE::Logger* log) const noexcept;
  bool MapKeys(ROCKSDB_NAMESPACE::Logger* log, KeyMapping* mapping) const;

  Settings settings_;
  bool configuring_ = false;  // for the first time
  // Reads what is not ours, and knows its name.
  const std::unique_ptr<const ROCKSDB_NAMESPACE::FilterPolicy> builtin_;
  const std::shared_ptr<SharedTally> tally_ = std::make_shared<SharedTally>();
  mutable UnaskedFilters unasked_;
  const std::shared_ptr<PolicyStatistics> statistics_ =
      std::make_shared<PolicyStatistics>();
  mutable StatisticsLog statistics_log_;
  mutable std::mutex logged_mutex_;
  mutable std::map<const void*, Logged> logged_;  // by logger
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
