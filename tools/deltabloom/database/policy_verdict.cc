#include "tools/deltabloom/database/policy_verdict.h"

#include <rocksdb/convenience.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/options_file.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {
namespace {

// Builds a filter of some keys, as a flush does: no table has more bits.
// Returns what is wrong with it.
std::string TryToBuild(const rocksdb::FilterPolicy& policy) {
  const rocksdb::BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.level_at_creation = 0;
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      policy.GetBuilderWithContext(context));
  if (builder == nullptr) return "it builds no filter";
  for (int i = 0; i < 1000; ++i) {
    builder->AddKey("user" + std::to_string(10000000 + 2 * i));
  }
  std::unique_ptr<const char[]> owner;
  rocksdb::Status status;
  const rocksdb::Slice filter = builder->Finish(&owner, &status);
  if (!status.ok()) return status.ToString();
  const std::string_view bytes(filter.data(), filter.size());
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  if (internal::ParseSealed(bytes, internal::ActiveCpu(), &keys, &parsed,
                            nullptr) != internal::FilterKind::kFilter) {
    return "its filter of 1000 keys matches every key";
  }
  return {};
}

// The prefix extractor of an OPTIONS file; null if there is none or it is not
// known here.
std::shared_ptr<const rocksdb::SliceTransform> ExtractorOf(
    const FamilyOptions& family) {
  std::shared_ptr<const rocksdb::SliceTransform> extractor;
  const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
      rocksdb::ConfigOptions(), family.prefix_extractor, &extractor);
  return status.ok() ? extractor : nullptr;
}

class Reader : public PolicyReader {
 public:
  Reader(std::shared_ptr<const rocksdb::FilterPolicy> policy,
         const FamilyOptions& family)
      : policy_(std::move(policy)), whole_keys_(family.whole_key_filtering) {
    const auto extractor = ExtractorOf(family);
    // Tables name their extractors in this way.
    if (extractor != nullptr) {
      extractor_ = extractor->AsString();
    } else if (family.prefix_extractor != "nullptr") {
      extractor_ = family.prefix_extractor;  // of the program's own
    }
  }

  bool Opens(const std::string& compatibility_name) const override {
    return compatibility_name == policy_->CompatibilityName();
  }

  bool MatchesEverything(std::string_view filter) const override {
    const auto reader = internal::NewBitsReader(*policy_, filter);
    constexpr int kKeys = 100;
    for (int i = 0; reader != nullptr && i < kKeys; ++i) {
      if (!reader->MayMatch("deltabloom doctor " + std::to_string(i))) {
        return false;
      }
    }
    return true;
  }

  bool LooksUpWholeKeys() const override { return whole_keys_; }
  const std::string& PrefixExtractor() const override { return extractor_; }

 private:
  const std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  const bool whole_keys_;
  std::string extractor_;
};

}  // namespace

PolicyVerdict JudgePolicy(const FamilyOptions& family) {
  PolicyVerdict verdict;
  std::string ignored;
  if (!RegisterRocksDB(&ignored)) return verdict;  // reported for the process
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  config.invoke_prepare_options = true;
  std::string text = family.policy;
  if (text.size() > 1 && text.front() == '{' && text.back() == '}') {
    text = text.substr(1, text.size() - 2);
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::Status status =
      rocksdb::FilterPolicy::CreateFromString(config, text, &policy);
  if (status.ok() && policy != nullptr) {
    verdict.reader = std::make_shared<Reader>(policy, family);
  }
  if (!family.NamesDeltabloom()) {
    verdict.unknown = verdict.reader == nullptr;
    return verdict;
  }
  internal::PolicyOptions parsed;
  internal::ParsePolicyOptions(family.policy, &parsed);
  verdict.unknown_transform = parsed.TransformIsUnknown();
  if (verdict.unknown_transform) return verdict;
  if (status.ok() && policy != nullptr) {
    status = policy->ValidateOptions(rocksdb::DBOptions(),
                                     rocksdb::ColumnFamilyOptions());
  }
  verdict.to_do =
      "correct filter_policy where the program sets it (docs/guide.md lists "
      "the options) and open the database with it";
  if (!status.ok() || policy == nullptr) {
    verdict.problem = status.ToString();
    return verdict;
  }
  verdict.builds_filters =
      parsed.UpperMillibitsPerKey() >= internal::kMinMillibitsPerKey;
  verdict.builds_in_last_level =
      parsed.MillibitsPerKey() >= internal::kMinMillibitsPerKey;
  if (!verdict.builds_filters) return verdict;
  verdict.problem = TryToBuild(*policy);
  if (parsed.max_filter_bytes == kUnlimited) {
    verdict.bits_per_key = parsed.bits_per_key;
  }
  return verdict;
}

}  // namespace deltabloom::tools
