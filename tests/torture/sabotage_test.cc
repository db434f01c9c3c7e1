// The torture finds a filter that loses keys, and a disk that loses what was
// synced.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "db_bench_ext/common/interrupt.h"
#include "db_bench_ext/torture/run.h"
#include "engines/rocksdb/private_abi.h"
#include "tests/random.h"

namespace deltabloom::torture {
namespace {

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;

// Leaves out one key of forty.
class __attribute__((visibility("hidden"))) LosingBuilder
    : public FilterBitsBuilder {
 public:
  explicit LosingBuilder(FilterBitsBuilder* builder) : builder_(builder) {}

  void AddKey(const Slice& key) override {
    if (!Loses(key)) builder_->AddKey(key);
  }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    if (!Loses(key)) builder_->AddKeyAndAlt(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override {
    return builder_->EstimateEntriesAdded();
  }
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    return builder_->Finish(owner);
  }
  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override {
    return builder_->Finish(owner, status);
  }
  Status MaybePostVerify(const Slice& filter) override {
    return builder_->MaybePostVerify(filter);
  }
  size_t ApproximateNumEntries(size_t bytes) override {
    return builder_->ApproximateNumEntries(bytes);
  }
  size_t CalculateSpace(size_t entries) override {
    return builder_->CalculateSpace(entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    return builder_->EstimatedFpRate(entries, bytes);
  }

 private:
  // By the digits at the end of its number and what follows.
  static bool Loses(const Slice& key) {
    uint64_t sum = 0;
    for (const char byte : key.ToString()) {
      sum = sum * 31 + static_cast<unsigned char>(byte);
    }
    return sum % 40 == 0;
  }

  const std::unique_ptr<FilterBitsBuilder> builder_;
};

class LosingPolicy : public FilterPolicy {
 public:
  explicit LosingPolicy(std::shared_ptr<const FilterPolicy> policy)
      : policy_(std::move(policy)) {}

  const char* Name() const override { return "losing"; }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    FilterBitsBuilder* const builder = policy_->GetBuilderWithContext(context);
    return builder == nullptr ? nullptr : new LosingBuilder(builder);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const Slice& filter) const override {
    return policy_->GetFilterBitsReader(filter);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
};

Failure RunWith(const Sabotage& sabotage) {
  const bench::ScratchDirectory folder("torture-test");
  RunOptions options;
  options.seed = test::SeedOr(3);
  options.cycles = 20;
  options.folder = folder.path();
  options.sabotage = sabotage;
  Journal* const journal = Journal::Create();
  const Failure failure = Run(options, journal);
  EXPECT_EQ(journal->totals.failures, failure.what.empty() ? 0u : 1u);
  return failure;
}

TEST(SabotageTest, AFilterThatLosesKeysIsFound) {
  Sabotage sabotage;
  sabotage.policy = [](std::shared_ptr<const FilterPolicy> policy) {
    return std::make_shared<LosingPolicy>(std::move(policy));
  };
  const Failure failure = RunWith(sabotage);
  // Says which key, whoever comes upon it first.
  EXPECT_NE(failure.what.find("'k"), std::string::npos) << failure.what;
}

TEST(SabotageTest, ADiskThatLosesWhatWasSyncedIsFound) {
  Sabotage sabotage;
  sabotage.forget_syncs = true;
  const Failure failure = RunWith(sabotage);
  // Whoever comes upon it first: the model finds a key that must be there, a
  // transaction that was committed, or RocksDB itself what its tables tell of.
  EXPECT_NE(failure.what.find("then power is lost"), std::string::npos)
      << failure.what;
}

}  // namespace
}  // namespace deltabloom::torture
