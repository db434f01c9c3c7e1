// Tables of RocksDB: their keys and their full or partitioned filters.
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "table/sst/sst.h"
#include "tools/deltabloom/verify.h"
#include "util/range/range_part.h"
#include "util/rates/rates.h"

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

// Sequence number and type at the end of a key.
constexpr size_t kTagSize = 8;

// The iterator over all entries that SstFileReader has since RocksDB 9.2; null
// before.
template <typename Reader>
auto TableIterator(Reader* reader, int)
    -> decltype(reader->NewTableIterator()) {
  return reader->NewTableIterator();
}
template <typename Reader>
std::unique_ptr<rocksdb::Iterator> TableIterator(Reader*, long) {
  return nullptr;
}

// Merges any operands into an empty value: only keys are needed.
class MergeToNothing : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "deltabloom.verify"; }
  bool Merge(const Slice&, const Slice*, const Slice&, std::string* value,
             rocksdb::Logger*) const override {
    value->clear();
    return true;
  }
};

// Has the name of the table's comparator, and the order of bytes. Nothing else
// depends on the order when a table is read forwards, nor on timestamps, which
// stay part of the keys.
class AnyOrder : public rocksdb::Comparator {
 public:
  explicit AnyOrder(std::string name) : name_(std::move(name)) {}
  const char* Name() const override { return name_.c_str(); }
  int Compare(const Slice& a, const Slice& b) const override {
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const std::string name_;
};

using KeyFn = std::function<bool(std::string_view key)>;

// SstFileReader::NewIterator returns the visible keys, and hides deletions.
// With prefix_same_as_start it passes every entry to the prefix extractor
// before it looks at its kind: this extractor sees them all, and ends the scan
// by a prefix other than that of the start.
class Watcher : public rocksdb::SliceTransform {
 public:
  static constexpr char kStart[] = "";

  const char* Name() const override { return "deltabloom.verify"; }
  bool InDomain(const Slice&) const override { return true; }
  Slice Transform(const Slice& key) const override {
    if (key.data() == kStart || fn_ == nullptr) return Slice();
    return Slice("stop", Call(key) ? 0 : 4);
  }

  void Watch(const KeyFn* fn) {
    fn_ = fn;
    stopped_ = false;
  }
  bool stopped() const { return stopped_; }
  // Exceptions must not pass through RocksDB.
  void Rethrow() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  bool Call(const Slice& key) const {
    if (stopped_) return false;
    try {
      stopped_ = !(*fn_)(View(key));
    } catch (...) {
      exception_ = std::current_exception();
      stopped_ = true;
    }
    return !stopped_;
  }

  const KeyFn* fn_ = nullptr;
  mutable bool stopped_ = false;
  mutable std::exception_ptr exception_;
};

// All entries of a table, read through RocksDB in the order of the table.
// Neither the comparator nor the merge operator of its database is needed.
class Entries {
 public:
  // Returns RocksDB's error or nothing. `comparator`: its name in the table.
  std::string Open(const std::string& path, const std::string& comparator) {
    order_ = std::make_unique<AnyOrder>(comparator);
    watcher_ = std::make_shared<Watcher>();
    rocksdb::BlockBasedTableOptions table;
    table.no_block_cache = true;
    rocksdb::Options options;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.comparator = order_.get();
    options.prefix_extractor = watcher_;
    options.merge_operator = std::make_shared<MergeToNothing>();
    // Else it would seek past the versions of a key, which needs the order.
    options.max_sequential_skip_in_iterations =
        std::numeric_limits<uint64_t>::max();
    reader_ = std::make_unique<rocksdb::SstFileReader>(options);
    return ErrorOf(reader_->Open(path));
  }

  // Calls fn with the key of each put, merge and deletion until it returns
  // false: the user's key with its timestamp, if any, without sequence number.
  // RocksDB before 9.2 leaves out entries that follow a merge of the same key.
  // Returns RocksDB's error or nothing. fn may throw.
  std::string ForEach(const KeyFn& fn) {
    const auto all = TableIterator(reader_.get(), 0);
    leaves_out_ = all == nullptr;
    if (!leaves_out_) {
      for (all->SeekToFirst(); all->Valid(); all->Next()) {
        const std::string_view key = View(all->key());
        if (key.size() < kTagSize) return "a key without a sequence number";
        if (!fn(key.substr(0, key.size() - kTagSize))) return {};
      }
      return ErrorOf(all->status());
    }
    rocksdb::ReadOptions read;
    read.verify_checksums = true;
    read.fill_cache = false;
    read.readahead_size = 2 << 20;
    read.total_order_seek = true;
    read.prefix_same_as_start = true;
    const std::unique_ptr<rocksdb::Iterator> visible(
        reader_->NewIterator(read));
    watcher_->Watch(&fn);
    visible->Seek(Slice(Watcher::kStart, 0));
    while (visible->Valid() && !watcher_->stopped()) visible->Next();
    const bool stopped = watcher_->stopped();
    watcher_->Watch(nullptr);
    watcher_->Rethrow();
    return stopped ? std::string() : ErrorOf(visible->status());
  }

  // Whether this is the number of entries of an undamaged table.
  bool IsComplete(uint64_t entries) const {
    const uint64_t left_out =
        leaves_out_ ? reader_->GetTableProperties()->num_merge_operands : 0;
    return entries <= size() && entries + left_out >= size();
  }

  // The number of entries without range deletions, by the table's properties.
  uint64_t size() const {
    const auto properties = reader_->GetTableProperties();
    return properties->num_entries < properties->num_range_deletions
               ? 0
               : properties->num_entries - properties->num_range_deletions;
  }

 private:
  static std::string ErrorOf(const rocksdb::Status& status) {
    return status.ok() ? std::string() : status.ToString();
  }

  std::unique_ptr<AnyOrder> order_;
  std::shared_ptr<Watcher> watcher_;
  std::unique_ptr<rocksdb::SstFileReader> reader_;
  bool leaves_out_ = false;
};

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
    const internal::FilterKind kind = internal::ParseSealed(
        bytes, internal::ActiveCpu(), &keys, &parsed, nullptr);
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
    range_part_.reset();
    if (kind == internal::FilterKind::kFilter) {
      const std::string_view range_part = internal::RangePartOf(bytes_);
      if (!range_part.empty()) {
        range_part_.emplace(range_part, keys.seeded ? &keys.seed : nullptr);
      }
    }
    return {};
  }

  std::optional<double> ExpectedRate(uint64_t keys) const override {
    internal::ParsedFilter parsed;
    internal::HashedKeys hashed;
    const auto rate =
        RateOfFilter(internal::ParseSealed(bytes_, internal::ActiveCpu(),
                                           &hashed, &parsed, nullptr),
                     parsed, bytes_, Hash::kMurmurHash2, keys);
    return rate.has_value() || keys == 0
               ? rate
               : internal::RocksDBFilterRate(bytes_, keys);
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

  bool RangeOfKeyMayMatch(std::string_view key) override {
    if (!range_part_.has_value()) return true;
    std::string upper(key);
    upper.push_back('\0');
    // The empty key counts as present, as for the policy's reader.
    return key.empty() || range_part_->MayMatch(key, upper);
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
  std::optional<internal::RangePart> range_part_;
};

// The properties of a table that concern the keys in its filter.
struct Content {
  std::string comparator;
  const rocksdb::Comparator* order = nullptr;  // null if it is not known here
  size_t timestamp_size = 0;                   // in this file
  bool whole_keys = true;
  std::shared_ptr<const rocksdb::SliceTransform> prefixes;  // null for none
};

// A feature is on unless the table says otherwise, as in RocksDB.
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
  // Adds the extractor of range=on. FindPolicy reports the error again.
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
    content.timestamp_size = text.size();  // only tables with them have it
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

// Goes through the entries and the partitions of a filter in parallel. A full
// filter is one partition.
class Walk {
 public:
  Walk(const VerifyTask& task, const Content& content)
      : task_(task),
        content_(content),
        lookups_(task.report),
        filter_(task.filter.policy) {}

  std::string Run() {
    const std::string name = task_.source.Name();
    std::string error = FindPartitions();
    if (!error.empty()) return error;
    Entries entries;
    error = entries.Open(name, content_.comparator);
    if (error.empty()) {
      all_ = std::max<uint64_t>(entries.size(), 1);
      error =
          entries.ForEach([this](std::string_view key) { return Entry(key); });
    }
    lookups_.End();
    if (!error.empty()) return name + ": RocksDB reports: " + error;
    if (error_.empty() && !task_.report->cut_short && !refused_ &&
        !entries.IsComplete(entries_)) {
      return name + ": expected " + std::to_string(entries.size()) +
             " entries by its properties, found " + std::to_string(entries_);
    }
    return error_;
  }

 private:
  struct Partition {
    internal::BlockHandle handle;
    std::string last_key;  // of the user, without timestamp
  };

  // Returns the index's error.
  std::string FindPartitions() {
    const SstFilter& filter = task_.filter;
    if (filter.scope == FilterScope::kFull) {
      partitions_.push_back({filter.handle, {}});
      return {};
    }
    uint64_t user_keys = 0;
    task_.file.properties.Number("rocksdb.index.key.is.user.key", &user_keys);
    const size_t suffix =
        content_.timestamp_size + (user_keys != 0 ? 0 : kTagSize);
    // Keys share prefixes in the index: a few bytes could stand for gigabytes.
    uint64_t budget = task_.source.Size() + filter.handle.size;
    return internal::ForEachPartition(
        task_.source, task_.file, filter,
        [&](std::string_view last_key, const internal::BlockHandle& handle) {
          if (last_key.size() < suffix || last_key.size() > budget) {
            return "expected a key of " + std::to_string(suffix) + " to " +
                   std::to_string(budget) + " bytes, found " +
                   std::to_string(last_key.size());
          }
          budget -= last_key.size();
          last_key.remove_suffix(suffix);
          partitions_.push_back({handle, std::string(last_key)});
          return std::string();
        });
  }

  // Whether a lookup of the key or prefix (without timestamp) goes to the
  // current partition or to one before it. RocksDB looks up what follows all of
  // them in the last one.
  bool IsWithin(std::string_view key) const {
    return partition_ + 1 >= partitions_.size() ||
           content_.order->CompareWithoutTimestamp(
               ToSlice(key), /*a_has_ts=*/false,
               ToSlice(partitions_[partition_].last_key),
               /*b_has_ts=*/false) <= 0;
  }

  // False: stop.
  bool Entry(std::string_view key) {
    ++task_.report->entries;
    if (++entries_ % 1024 == 0 && !task_.go_on(static_cast<double>(entries_) /
                                               static_cast<double>(all_))) {
      task_.report->cut_short = true;
      return false;
    }
    if (key.size() < content_.timestamp_size) {
      return Fail("expected keys with timestamps of " +
                  std::to_string(content_.timestamp_size) +
                  " bytes, found a key of " + std::to_string(key.size()));
    }
    key.remove_suffix(content_.timestamp_size);
    if (partitions_.empty()) {
      return Fail("expected a filter with partitions, found an empty index");
    }
    std::optional<std::string_view> prefix;
    if (content_.prefixes != nullptr &&
        content_.prefixes->InDomain(ToSlice(key))) {
      prefix = View(content_.prefixes->Transform(ToSlice(key)));
    }
    while (!IsWithin(key)) {
      // An iterator that seeks to the prefix comes here first, and goes on to
      // the key only if the prefix may match.
      if (prefix.has_value() && IsWithin(*prefix)) {
        if (!OpenPartition()) return false;
        LookUpPrefix(*prefix);
      }
      lookups_.End();
      open_ = false;
      ++partition_;
    }
    if (!OpenPartition()) return false;
    if (content_.whole_keys) lookups_.Key(key);
    if (prefix.has_value()) LookUpPrefix(*prefix);
    return true;
  }

  bool OpenPartition() {
    if (open_) return true;
    const internal::BlockHandle& handle = partitions_[partition_].handle;
    std::string bytes;
    error_ = ReadFilterBlock(task_, handle, &bytes);
    if (!error_.empty()) return false;
    const std::string why = filter_.Open(std::move(bytes));
    if (!why.empty()) {
      task_.report->not_checked.push_back("filter: " + why);
      refused_ = true;
      return false;
    }
    lookups_.Begin(&filter_, handle.offset);
    return open_ = true;
  }

  void LookUpPrefix(std::string_view prefix) {
    lookups_.Prefix(prefix, !content_.whole_keys && content_.order != nullptr);
  }

  bool Fail(const std::string& what) {
    error_ = task_.source.Name() + ": " + what;
    return false;
  }

  const VerifyTask& task_;
  const Content& content_;
  std::vector<Partition> partitions_;
  size_t partition_ = 0;
  bool open_ = false;  // the filter of partition_
  Lookups lookups_;
  RocksDBFilter filter_;
  uint64_t entries_ = 0;
  uint64_t all_ = 1;
  std::string error_;
  bool refused_ = false;  // the filter cannot be read, as the report says
};

}  // namespace

std::string VerifyRocksDB(const VerifyTask& task) {
  TableReport* const report = task.report;
  if (task.filter.scope == FilterScope::kPerBlock) {
    report->not_checked.push_back(
        "filter: RocksDB 7.0 and later does not read filters of data blocks");
    return {};
  }
  const Content content = FindContent(task.file, report);
  if (content.order == nullptr && task.filter.partitions > 1) {
    report->not_checked.push_back(
        "filter: the partition of a key depends on a comparator that is not "
        "known here, " +
        content.comparator);
    return {};
  }
  return Walk(task, content).Run();
}

}  // namespace deltabloom::tools
