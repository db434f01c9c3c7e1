// Filters of RocksDB's tables, asked as RocksDB asks them: through the reader
// that their policy gives it.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_FILTER_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_FILTER_H_

#include <memory>
#include <optional>
#include <string>

#include "engines/rocksdb/policy/private_abi.h"
#include "tools/deltabloom/verify_questions.h"
#include "util/range/range_part.h"

namespace deltabloom::tools {

class RocksDBFilter : public AskedFilter {
 public:
  // `compatibility_name`: under which the filter is in the table.
  explicit RocksDBFilter(std::string compatibility_name)
      : compatibility_name_(std::move(compatibility_name)) {}

  // Takes other bytes. Returns why they cannot be asked, or nothing; an error
  // of memory is thrown.
  std::string Open(std::string bytes);
  const std::string& bytes() const { return bytes_; }

  bool MayMatch(std::string_view key) override;
  bool MayMatch(const std::string_view* keys, size_t n,
                bool* may_match) override;
  bool RangeOfKeyMayMatch(std::string_view key) override;

 private:
  std::string FindPolicy(const std::string& key_transform);

  const std::string compatibility_name_;
  std::string key_transform_;  // of policy_
  std::shared_ptr<const ROCKSDB_NAMESPACE::FilterPolicy> policy_;
  std::string bytes_;
  std::unique_ptr<ROCKSDB_NAMESPACE::FilterBitsReader> reader_;
  std::optional<internal::RangePart> range_part_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_FILTER_H_
