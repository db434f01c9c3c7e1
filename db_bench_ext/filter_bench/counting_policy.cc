#include "db_bench_ext/filter_bench/counting_policy.h"

#include <utility>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::bench {
namespace {

class CountingReader : public rocksdb::FilterBitsReader {
 public:
  CountingReader(std::unique_ptr<rocksdb::FilterBitsReader> reader,
                 FilterCalls* calls)
      : reader_(std::move(reader)), calls_(calls) {}

  bool MayMatch(const rocksdb::Slice& key) override {
    ++calls_->single_keys;
    return reader_->MayMatch(key);
  }

  void MayMatch(int n, rocksdb::Slice** keys, bool* may_match) override {
    ++calls_->batches;
    calls_->batch_keys += static_cast<uint64_t>(n);
    reader_->MayMatch(n, keys, may_match);
  }

 private:
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
  FilterCalls* calls_;
};

class CountingPolicy : public rocksdb::FilterPolicy {
 public:
  CountingPolicy(std::shared_ptr<const rocksdb::FilterPolicy> policy,
                 FilterCalls* calls)
      : policy_(std::move(policy)), calls_(calls) {}

  const char* Name() const override { return policy_->Name(); }

  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return policy_->GetBuilderWithContext(context);
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    return new CountingReader(internal::NewBitsReader(*policy_, filter),
                              calls_);
  }

 private:
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  FilterCalls* calls_;
};

}  // namespace

std::shared_ptr<const rocksdb::FilterPolicy> NewCountingPolicy(
    std::shared_ptr<const rocksdb::FilterPolicy> policy, FilterCalls* calls) {
  return std::make_shared<CountingPolicy>(std::move(policy), calls);
}

}  // namespace deltabloom::bench
