// Policies by the texts that options have, and the texts of the policies that
// options and databases have. All functions throw std::runtime_error with a
// line for the caller. REQUIRES for all that make a policy: Register().
#pragma once

#include <memory>
#include <string>

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class FilterPolicy;
struct ColumnFamilyOptions;
}  // namespace rocksdb

namespace deltabloom::internal {

// Returns the policy of the text that an option filter_policy has. A text that
// RocksDB takes for another policy, or for none, is an error.
std::shared_ptr<const rocksdb::FilterPolicy> PolicyOfText(
    const std::string& text);

// Returns the text, with all options, of the policy or of the collector of
// range filters that `text` names.
std::string FullText(const std::string& text);

// Sets the policy in the table factory, whose other options stay.
void SetPolicy(const std::shared_ptr<const rocksdb::FilterPolicy>& policy,
               rocksdb::ColumnFamilyOptions* family);

// Returns the text of the policy. It is an error if there is none, or one that
// is not Deltabloom's.
std::string PolicyTextOf(const rocksdb::ColumnFamilyOptions& family);

}  // namespace deltabloom::internal
