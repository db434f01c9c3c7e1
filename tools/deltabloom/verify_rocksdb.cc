#include "tools/deltabloom/verify_rocksdb.h"

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "deltabloom/rocksdb.h"
#include "table/sst/sst.h"
#include "tools/deltabloom/expected_rate.h"
#include "tools/deltabloom/rocksdb_entries.h"
#include "tools/deltabloom/rocksdb_filter.h"
#include "tools/deltabloom/rocksdb_partitions.h"
#include "tools/deltabloom/verify_questions.h"

namespace deltabloom::tools {
namespace {

using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;
using rocksdb::Slice;

Slice ToSlice(std::string_view key) { return {key.data(), key.size()}; }
std::string_view View(const Slice& slice) {
  return {slice.data(), slice.size()};
}

// What a table says about the keys in its filter.
struct Content {
  std::string comparator;
  const rocksdb::Comparator* order = nullptr;  // null if it is not known here
  size_t timestamp_size = 0;                   // in this file
  bool whole_keys = true;
  std::shared_ptr<const rocksdb::SliceTransform> prefixes;  // null for none
};

// Features are there unless the table denies them, as for RocksDB.
bool Has(const SstFile& file, const char* property) {
  std::string_view value;
  return !file.properties.Text(property, &value) || value != "0";
}

void FindPrefixes(const SstFile& file, Content* content, TableReport* report) {
  std::string_view name;
  if (!Has(file, "rocksdb.block.based.table.prefix.filtering") ||
      !file.properties.Text("rocksdb.prefix.extractor.name", &name) ||
      name.empty() || name == "nullptr") {
    return;
  }
  // With the extractor of range=on. An error comes again with the policy.
  std::string ignored;
  RegisterRocksDB(&ignored);
  const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
      rocksdb::ConfigOptions(), std::string(name), &content->prefixes);
  if (status.ok() && content->prefixes != nullptr) return;
  content->prefixes = nullptr;
  report->not_checked.push_back(
      "prefixes: no prefix extractor known here has "
      "the name " +
      std::string(name));
}

Content FindContent(const SstFile& file, TableReport* report) {
  Content content;
  std::string_view text;
  content.comparator = "leveldb.BytewiseComparator";
  if (file.properties.Text("rocksdb.comparator", &text)) {
    content.comparator = text;
  }
  if (!rocksdb::Comparator::CreateFromString(rocksdb::ConfigOptions(),
                                             content.comparator, &content.order)
           .ok()) {
    content.order = nullptr;
  }
  if (content.order != nullptr) {
    content.timestamp_size = content.order->timestamp_size();
  } else if (file.properties.Text("rocksdb.timestamp_min", &text)) {
    content.timestamp_size = text.size();  // RocksDB writes one with them only
  }
  uint64_t persisted = 1;
  file.properties.Number("rocksdb.user.defined.timestamps.persisted",
                         &persisted);
  if (persisted == 0) content.timestamp_size = 0;
  content.whole_keys =
      Has(file, "rocksdb.block.based.table.whole.key.filtering");
  FindPrefixes(file, &content, report);
  return content;
}

// Goes through the entries and the partitions side by side.
class Walk {
 public:
  Walk(const SstSource& source, const SstFile& file, const SstFilter& filter,
       const Content& content, VerifyListener* listener, TableReport* report)
      : source_(source),
        file_(file),
        content_(content),
        listener_(listener),
        report_(report),
        questions_(listener, report),
        filter_(filter.policy) {}

  RocksDBPartitions* partitions() { return &partitions_; }
  void set_entries(uint64_t entries) { all_ = entries; }
  uint64_t entries() const { return entries_; }
  const std::string& error() const { return error_; }
  // The filter cannot be asked, which the report tells.
  bool refused() const { return refused_; }

  // False: stop.
  bool Entry(std::string_view key) {
    ++report_->entries;
    if (++entries_ % 1024 == 0 &&
        !listener_->GoOn(static_cast<double>(entries_) /
                         static_cast<double>(std::max<uint64_t>(all_, 1)))) {
      report_->cut_short = true;
      return false;
    }
    if (key.size() < content_.timestamp_size) {
      return Fail("expected keys with timestamps of " +
                  std::to_string(content_.timestamp_size) +
                  " bytes, found a key of " + std::to_string(key.size()));
    }
    key.remove_suffix(content_.timestamp_size);
    if (partitions_.size() == 0) {
      return Fail("expected a filter with partitions, found an empty index");
    }
    if (has_last_ && key == last_) return true;
    if (!FindPartition(key)) return false;
    Ask(key);
    last_.assign(key);
    has_last_ = true;
    return true;
  }

  void End() {
    if (!open_) return;
    questions_.End(
        ExpectedRateInRocksDB(filter_.bytes(), questions_.keys_in_filter()));
    open_ = false;
  }

 private:
  bool Fail(const std::string& what) {
    error_ = source_.Name() + ": " + what;
    return false;
  }

  bool HasPrefix(std::string_view key) const {
    return content_.prefixes != nullptr &&
           content_.prefixes->InDomain(ToSlice(key));
  }

  // Opens the partition of the key.
  bool FindPartition(std::string_view key) {
    while (!partitions_.IsWithin(key, partition_)) {
      // An iterator that seeks to the prefix comes here first, and goes on to
      // the key only if the prefix may match.
      if (HasPrefix(key)) {
        const Slice prefix = content_.prefixes->Transform(ToSlice(key));
        if (partitions_.IsWithin(View(prefix), partition_)) {
          if (!OpenPartition()) return false;
          AskPrefix(View(prefix));
        }
      }
      End();
      ++partition_;
    }
    return OpenPartition();
  }

  bool OpenPartition() {
    if (open_) return true;
    const internal::BlockHandle& handle = partitions_.handle(partition_);
    std::string bytes;
    error_ = internal::ReadBlock(source_, file_, handle, &bytes);
    if (!error_.empty()) return false;
    const std::string why = filter_.Open(std::move(bytes));
    if (!why.empty()) {
      report_->not_checked.push_back("filter: " + why);
      refused_ = true;
      return false;
    }
    questions_.Begin(&filter_, handle.offset);
    open_ = true;
    in_partition_ = false;
    prefix_asked_ = false;
    return true;
  }

  void AskPrefix(std::string_view prefix) {
    if (prefix_asked_ && prefix == last_prefix_) return;
    if (prefix_asked_ && !content_.whole_keys && content_.order != nullptr &&
        absent_keys_.BetweenPrefixes(last_prefix_, prefix, &absent_)) {
      questions_.Absent(absent_);
    }
    questions_.Prefix(prefix);
    last_prefix_.assign(prefix);
    prefix_asked_ = true;
  }

  void Ask(std::string_view key) {
    if (content_.whole_keys) {
      questions_.Key(key);
      if (in_partition_ && absent_keys_.Between(last_, key, &absent_)) {
        questions_.Absent(absent_);
      }
    }
    if (HasPrefix(key)) {
      AskPrefix(View(content_.prefixes->Transform(ToSlice(key))));
    }
    in_partition_ = true;
  }

  const SstSource& source_;
  const SstFile& file_;
  const Content& content_;
  VerifyListener* const listener_;
  TableReport* const report_;
  Questions questions_;
  AbsentKeys absent_keys_;
  RocksDBPartitions partitions_;
  RocksDBFilter filter_;
  uint64_t entries_ = 0;
  uint64_t all_ = 0;
  std::string error_;
  bool refused_ = false;
  size_t partition_ = 0;
  bool open_ = false;          // the filter of partition_
  bool in_partition_ = false;  // the last key is
  bool prefix_asked_ = false;  // last_prefix_, of the filter that is open
  bool has_last_ = false;
  std::string last_;
  std::string last_prefix_;
  std::string absent_;
};

}  // namespace

std::string VerifyRocksDB(const SstSource& source, const SstFile& file,
                          const SstFilter& filter, VerifyListener* listener,
                          TableReport* report) {
  if (filter.scope == FilterScope::kPerBlock) {
    report->not_checked.push_back(
        "filter: RocksDB 7.0 and later does not ask filters of data blocks");
    return {};
  }
  const Content content = FindContent(file, report);
  if (content.order == nullptr && filter.partitions > 1) {
    report->not_checked.push_back(
        "filter: which partition has a key is up to a comparator that is not "
        "known here, " +
        content.comparator);
    return {};
  }
  Walk walk(source, file, filter, content, listener, report);
  std::string error = walk.partitions()->Open(
      source, file, filter, content.timestamp_size, content.order);
  if (!error.empty()) return error;
  RocksDBEntries entries;
  error = entries.Open(source.Name(), content.comparator);
  if (error.empty()) {
    walk.set_entries(entries.size());
    error = entries.ForEach(
        [&walk](std::string_view key) { return walk.Entry(key); });
  }
  walk.End();
  if (!error.empty()) return source.Name() + ": RocksDB says: " + error;
  if (!walk.error().empty()) return walk.error();
  if (!report->cut_short && !walk.refused() &&
      !entries.IsComplete(walk.entries())) {
    return source.Name() + ": expected " + std::to_string(entries.size()) +
           " entries, as its properties tell, found " +
           std::to_string(walk.entries());
  }
  return {};
}

}  // namespace deltabloom::tools
