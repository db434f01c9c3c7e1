// A policy and a builder that hand everything on to others, for tests that
// change one thing of them.
#pragma once

#include <rocksdb/filter_policy.h>

#include <memory>
#include <utility>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::testing {

class __attribute__((visibility("hidden"))) DelegatingBuilder
    : public rocksdb::FilterBitsBuilder {
 public:
  using Slice = rocksdb::Slice;

  explicit DelegatingBuilder(std::unique_ptr<FilterBitsBuilder> builder)
      : builder_(std::move(builder)) {}

  void AddKey(const Slice& key) override { builder_->AddKey(key); }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    builder_->AddKeyAndAlt(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override {
    return builder_->EstimateEntriesAdded();
  }
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    return Finish(owner, nullptr);
  }
  Slice Finish(std::unique_ptr<const char[]>* owner,
               rocksdb::Status* status) override {
    return builder_->Finish(owner, status);
  }
  rocksdb::Status MaybePostVerify(const Slice& filter) override {
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
  const std::unique_ptr<FilterBitsBuilder> builder_;
};

// Builders are those of another policy, each in a Builder of the test's;
// readers and names that matter are the other policy's.
template <typename Builder>
class DelegatingPolicy : public rocksdb::FilterPolicy {
 public:
  explicit DelegatingPolicy(std::shared_ptr<const FilterPolicy> policy)
      : policy_(std::move(policy)) {}

  const char* Name() const override { return "delegating"; }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(context));
    return builder == nullptr ? nullptr : new Builder(std::move(builder));
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    return policy_->GetFilterBitsReader(filter);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
};

}  // namespace deltabloom::testing
