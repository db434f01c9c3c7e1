// Builds the new filters of a table.
#pragma once

#include <rocksdb/filter_policy.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/filter_keys.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {

// Builds the new filters from the keys of the table, in which each key is
// found. What cannot be done is thrown as std::runtime_error or std::bad_alloc.
class FilterMaker : public FilterKeysVisitor {
 public:
  // The arguments must outlive it.
  FilterMaker(const RefilterOptions& options, const RefilterTable& table,
              const internal::SstSource& source, const internal::SstFile& file,
              const std::atomic<bool>& stop);

  bool GoOn(const internal::BlockHandle& data_block) override;
  bool Begin(size_t partition, const internal::BlockHandle& handle) override;
  void Add(const std::string_view* key,
           const std::string_view* prefix) override;
  void AddNeighbour(std::string_view prefix, bool is_there) override;
  void End() override;

  // Sets what is now known of the filters, and decides again.
  void Report(RefilterTable* table) const;

  // The new filters, by partition; empty where the old one stays.
  const std::vector<std::string>& filters() const { return filters_; }

  // The parts of the table, now read to its end, that are not data blocks whose
  // checksums held.
  std::vector<internal::BlockHandle> Unchecked();

  // Returns whether the bytes are those of the filter in which all keys were
  // found, and name the seed and the transform by which the keys were hashed.
  bool IsFilter(size_t partition, std::string_view bytes) const;

 private:
  void ExpectInOld(std::initializer_list<const std::string_view*> keys) const;
  void TakeUnchecked(uint64_t end);

  const RefilterOptions& options_;
  const RefilterTable& table_;
  const internal::SstSource& source_;
  const internal::SstFile& file_;
  const std::atomic<bool>& stop_;
  internal::KeyMapping mapping_;
  std::vector<std::string> filters_;
  size_t partition_ = 0;
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_{
      rocksdb::NewBloomFilterPolicy(10)};
  std::string old_;  // the filter that is replaced
  std::unique_ptr<rocksdb::FilterBitsReader> old_reader_;
  uint64_t added_ = 0;
  std::unique_ptr<internal::BitsBuilder> builder_;
  uint64_t keys_ = 0;
  RateSum before_;
  RateSum after_;
  bool all_have_seeds_ = true;  // all that are replaced; OldFilter::has_seed
  std::string kind_;
  uint64_t checked_ = 0;  // the end of the last data block
  std::vector<internal::BlockHandle> unchecked_;
};

}  // namespace deltabloom::tools
