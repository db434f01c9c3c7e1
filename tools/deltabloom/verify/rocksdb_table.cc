// Tables of RocksDB: their keys and their full or partitioned filters.
#include <rocksdb/filter_policy.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/filter_keys.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/verify/lookups.h"
#include "tools/deltabloom/verify/tables.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {
namespace {

using rocksdb::Slice;

// A filter, read as RocksDB reads it: through its policy's reader.
class RocksDBFilter : public TableFilter {
 public:
  explicit RocksDBFilter(std::string compatibility_name)
      : compatibility_name_(std::move(compatibility_name)) {}

  // Takes other bytes. Returns why they cannot be read, or nothing; throws
  // std::bad_alloc.
  std::string Open(std::string bytes) {
    internal::ParsedFilter parsed;
    internal::HashedKeys keys;
    internal::ParseSealed(bytes, internal::ActiveCpu(), &keys, &parsed,
                          nullptr);
    std::string key_transform = internal::kNoTransform;
    if (keys.transformed) {
      const auto* transform = internal::FindKeyTransform(keys.transform_id);
      if (transform == nullptr) {
        return "no key transform known here has the id " +
               std::to_string(keys.transform_id);
      }
      key_transform = transform->text;
    }
    std::string error = FindPolicy(key_transform);
    if (!error.empty()) return error;
    reader_.reset();  // has a view of the bytes
    bytes_ = std::move(bytes);
    reader_ = internal::NewBitsReader(*policy_, bytes_);
    if (reader_ == nullptr) throw std::bad_alloc();
    return {};
  }

  std::optional<double> ExpectedRate(uint64_t keys) const override {
    return RateOfSealedFilter(bytes_, keys);
  }

  bool MayMatch(std::string_view key) override {
    return reader_->MayMatch(ToSlice(key));
  }

  bool MayMatch(const std::string_view* keys, size_t n,
                bool* may_match) override {
    std::array<Slice, Lookups::kBatch> slices;
    std::array<Slice*, Lookups::kBatch> pointers;
    for (size_t i = 0; i < n; ++i) {
      slices[i] = ToSlice(keys[i]);
      pointers[i] = &slices[i];
    }
    reader_->MayMatch(static_cast<int>(n), pointers.data(), may_match);
    return true;
  }

 private:
  std::string FindPolicy(const std::string& key_transform) {
    if (policy_ != nullptr && key_transform == key_transform_) return {};
    key_transform_ = key_transform;
    for (const auto compatibility :
         {RocksDBCompatibility::kBuiltin, RocksDBCompatibility::kOwn}) {
      RocksDBFilterOptions options;
      options.compatibility = compatibility;
      options.key_transform = key_transform;
      std::string error;
      policy_ = NewRocksDBFilterPolicy(options, &error);
      if (policy_ == nullptr) return error;
      if (policy_->CompatibilityName() == compatibility_name_) return {};
    }
    policy_ = nullptr;
    return "no policy known here has the compatibility name " +
           compatibility_name_;
  }

  const std::string compatibility_name_;
  std::string key_transform_;  // of policy_
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  std::string bytes_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

// Counts and looks up what VisitFilterKeys passes.
class Verifier : public FilterKeysVisitor {
 public:
  Verifier(const VerifyTask& task, const FilterContent& content)
      : task_(task),
        whole_keys_(content.whole_keys),
        absent_prefixes_(!content.whole_keys && content.order != nullptr),
        lookups_(task.report),
        filter_(task.filter.policy) {}

  bool GoOn(const internal::BlockHandle& data_block) override {
    task_.report->cut_short =
        !task_.go_on(static_cast<double>(data_block.offset) /
                     static_cast<double>(task_.source.Size()));
    return !task_.report->cut_short;
  }

  bool Begin(size_t, const internal::BlockHandle& handle) override {
    const std::string why = filter_.Open(
        ReadBlock(task_.source, task_.file, handle, &task_.report->damaged));
    if (!why.empty()) {
      task_.report->not_checked.push_back("filter: " + why);
      return false;
    }
    lookups_.Begin(&filter_, handle.offset);
    return true;
  }
  void Add(const std::string_view* key,
           const std::string_view* prefix) override {
    if (key != nullptr) lookups_.Key(*key);
    if (prefix != nullptr) lookups_.Prefix(*prefix, absent_prefixes_);
  }
  void AddNeighbour(std::string_view prefix, bool is_there) override {
    if (whole_keys_ && is_there) lookups_.Prefix(prefix, false);
  }
  void End() override { lookups_.End(); }

 private:
  const VerifyTask& task_;
  const bool whole_keys_;
  const bool absent_prefixes_;
  Lookups lookups_;
  RocksDBFilter filter_;
};

}  // namespace

void VerifyRocksDB(const VerifyTask& task) {
  std::vector<std::string>& not_checked = task.report->not_checked;
  if (task.filter.scope == internal::FilterScope::kPerBlock) {
    not_checked.push_back(
        "filter: RocksDB 7.0 and later does not read filters of data blocks");
    return;
  }
  std::string no_prefixes;
  const FilterContent content = FindContent(task.file, &no_prefixes);
  const std::string problem = content.OrderProblem(task.filter);
  if (!no_prefixes.empty()) not_checked.push_back(no_prefixes);
  if (!problem.empty()) {
    not_checked.push_back(problem);
    return;
  }
  Verifier verifier(task, content);
  VisitFilterKeys(task.source, task.file, task.filter, content,
                  &task.report->entries, &verifier);
}

}  // namespace deltabloom::tools
