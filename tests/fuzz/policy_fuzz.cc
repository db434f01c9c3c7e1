// Parses any text as a policy of RocksDB's: as a URI, as options by name,
// within the options of a table, or as a change of an existing policy. It is
// rejected with one line, or gives a policy that RocksDB can write down and
// read again, and whose filters hold every key.
//
// Input: a byte that chooses among these, the text, a zero byte, a byte of the
// table's options, and keys: a size of 1 byte and the bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "tests/fuzz/harness.h"

namespace deltabloom::fuzz {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;
using PolicyPtr = std::shared_ptr<const FilterPolicy>;

ConfigOptions Strict() {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

// An error is one line, if the text was one.
bool Ok(const Status& status, const std::string& text) {
  if (status.ok()) return true;
  Check(status.ToString().size() > 5);
  Check(text.find('\n') != std::string::npos ||
        status.ToString().find('\n') == std::string::npos);
  return false;
}

PolicyPtr FromString(const std::string& text) {
  PolicyPtr policy;
  return Ok(FilterPolicy::CreateFromString(Strict(), text, &policy), text)
             ? policy
             : nullptr;
}

PolicyPtr FromTableOptions(const std::string& text, bool ignore_unknown) {
  ConfigOptions config = Strict();
  config.ignore_unknown_options = ignore_unknown;
  rocksdb::BlockBasedTableOptions table;
  const Status status = rocksdb::GetBlockBasedTableOptionsFromString(
      config, {}, "filter_policy={id=deltabloom;" + text + "}", &table);
  return Ok(status, text) ? table.filter_policy : nullptr;
}

// Refused or not, the policy stays one that works.
PolicyPtr Changed(const std::string& text) {
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy({}, &error);
  Check(policy != nullptr && error.empty());
  Ok(const_cast<FilterPolicy*>(policy.get())
         ->ConfigureFromString(Strict(), text),
     text);
  return policy;
}

double BitsPerKey(const FilterPolicy& policy) {
  std::string text;
  Check(policy.GetOption(Strict(), "bits_per_key", &text).ok());
  return std::stod(text);
}

// Checks that the text that RocksDB writes into an OPTIONS file gives the same
// policy when it is read.
void WriteAndRead(const FilterPolicy& policy) {
  const std::string text = policy.ToString(Strict());
  const PolicyPtr again = FromString(text);
  Check(again != nullptr && again->ToString(Strict()) == text);
  std::string mismatch;
  Check(policy.AreEquivalent(Strict(), again.get(), &mismatch));
}

void BuildAndAsk(const FilterPolicy& policy, unsigned flags,
                 const std::vector<std::string>& keys) {
  rocksdb::BlockBasedTableOptions table;
  table.optimize_filters_for_memory = (flags & 1) != 0;
  table.detect_filter_construct_corruption = (flags & 2) != 0;
  const auto builder = internal::NewBitsBuilder(policy, table);
  Check((builder == nullptr) == (BitsPerKey(policy) < 0.5));
  if (builder == nullptr) return;
  // One builder makes many filters.
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::string& key : keys) builder->AddKey(key);
    std::unique_ptr<const char[]> owner;
    Status status;
    const Slice filter = builder->Finish(&owner, &status);
    Check(status.ok() && builder->MaybePostVerify(filter).ok());
    const auto reader = internal::NewBitsReader(policy, filter);
    std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) pointers.push_back(&slice);
    const auto batch = std::make_unique<bool[]>(keys.size());
    reader->MayMatch(static_cast<int>(keys.size()), pointers.data(),
                     batch.get());
    for (size_t i = 0; i < keys.size(); ++i) {
      Check(batch[i] && reader->MayMatch(slices[i]));
    }
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  static const bool registered = RegisterRocksDB();
  Check(registered);
  const unsigned kind = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]) % 5;
  bytes.remove_prefix(std::min<size_t>(1, bytes.size()));
  const std::string text(bytes.substr(0, bytes.find('\0')));
  Input input(bytes.substr(std::min(text.size() + 1, bytes.size())));
  const PolicyPtr policy = kind == 0   ? FromString("deltabloom" + text)
                           : kind == 1 ? FromString("id=deltabloom;" + text)
                           : kind < 4  ? FromTableOptions(text, kind == 3)
                                       : Changed(text);
  if (policy == nullptr || std::string(policy->Name()) != "deltabloom") return;
  const double bits_per_key = BitsPerKey(*policy);
  Check(bits_per_key >= 0 && bits_per_key <= 1000);
  // An error that RocksDB drops stays in the policy.
  const bool may_be_unsound = kind == 2 || kind == 3;
  if (!may_be_unsound || policy
                             ->ValidateOptions(rocksdb::DBOptions(),
                                               rocksdb::ColumnFamilyOptions())
                             .ok()) {
    WriteAndRead(*policy);
  }
  const unsigned flags = input.Byte();
  std::vector<std::string> keys;
  while (!input.empty()) keys.push_back(input.Key(32));
  for (unsigned i = 0; i < flags; ++i) keys.push_back(std::to_string(i));
  BuildAndAsk(*policy, flags, keys);
}

}  // namespace deltabloom::fuzz
