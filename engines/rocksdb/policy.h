// The policy as RocksDB sees it.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engines/rocksdb/private_abi.h"
#include "engines/rocksdb/settings.h"

namespace deltabloom::internal {

// Made only where LibraryProblem() is empty. Thread-safe.
class SealedFilterPolicy final : public ROCKSDB_NAMESPACE::FilterPolicy {
 public:
  SealedFilterPolicy();

  static const char* kClassName() { return kPolicyName; }
  const char* Name() const override { return kPolicyName; }
  const char* CompatibilityName() const override;

  ROCKSDB_NAMESPACE::FilterBitsBuilder* GetBuilderWithContext(
      const ROCKSDB_NAMESPACE::FilterBuildingContext& context) const override;
  ROCKSDB_NAMESPACE::FilterBitsReader* GetFilterBitsReader(
      const ROCKSDB_NAMESPACE::Slice& filter) const override;

  Settings& settings() { return settings_; }
  const Settings& settings() const { return settings_; }

 private:
  void LogConfiguration(ROCKSDB_NAMESPACE::Logger* log) const;

  Settings settings_;
  // Reads what is not ours, and knows its name.
  const std::unique_ptr<const ROCKSDB_NAMESPACE::FilterPolicy> builtin_;
  mutable std::atomic<int64_t> rounding_balance_{0};
  mutable std::atomic<bool> warned_of_many_keys_{false};
  mutable std::mutex logged_mutex_;
  mutable std::map<const void*, std::string> logged_;  // last line by logger
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_H_
