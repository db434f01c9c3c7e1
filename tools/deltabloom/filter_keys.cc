#include "tools/deltabloom/filter_keys.h"

#include <rocksdb/convenience.h>
#include <rocksdb/iterator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "deltabloom/rocksdb.h"

namespace deltabloom::tools {
namespace {

using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;
using rocksdb::Slice;

std::string_view View(const Slice& slice) {
  return {slice.data(), slice.size()};
}

// The size of a key or prefix that is not there.
constexpr uint32_t kNone = UINT32_MAX;

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

// A feature is on unless the table says otherwise, as in RocksDB.
bool Has(const SstFile& file, const char* property) {
  std::string_view value;
  return !file.properties.Text(property, &value) || value != "0";
}

// Returns why the prefixes are not known, or nothing.
std::string FindPrefixes(const SstFile& file, FilterContent* content) {
  std::string_view name;
  if (!Has(file, "rocksdb.block.based.table.prefix.filtering") ||
      !file.properties.Text("rocksdb.prefix.extractor.name", &name) ||
      name.empty() || name == "nullptr") {
    return {};
  }
  // Adds the extractor of range=on. Who makes a policy sees the error again.
  std::string ignored;
  RegisterRocksDB(&ignored);
  const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
      rocksdb::ConfigOptions(), std::string(name), &content->prefixes);
  if (status.ok() && content->prefixes != nullptr) return {};
  content->prefixes = nullptr;
  return "prefixes: no prefix extractor known here has the name " +
         std::string(name);
}

}  // namespace

FilterContent FindContent(const SstFile& file, std::string* no_prefixes) {
  FilterContent content;
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
  *no_prefixes = FindPrefixes(file, &content);
  return content;
}

namespace {

// Goes through the entries and the partitions of a filter in parallel. A full
// filter is one partition.
class Walk {
 public:
  Walk(const SstSource& source, const SstFile& file, const SstFilter& filter,
       const FilterContent& content, FilterKeysVisitor* visitor)
      : source_(source),
        file_(file),
        filter_(filter),
        content_(content),
        visitor_(visitor) {}

  std::string Run() {
    const std::string& name = source_.Name();
    std::string error = FindPartitions();
    if (!error.empty()) return error;
    if (partitions_.empty()) {
      return name + ": expected a filter with partitions, found an empty index";
    }
    Entries entries;
    error = entries.Open(name, content_.comparator);
    if (error.empty()) {
      all_ = std::max<uint64_t>(entries.size(), 1);
      error =
          entries.ForEach([this](std::string_view key) { return Entry(key); });
    }
    Close();
    if (!error.empty()) return name + ": RocksDB reports: " + error;
    if (!stopped_ && !entries.IsComplete(entries_)) {
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
    if (filter_.scope == FilterScope::kFull) {
      partitions_.push_back({filter_.handle, {}});
      return {};
    }
    uint64_t user_keys = 0;
    file_.properties.Number("rocksdb.index.key.is.user.key", &user_keys);
    const size_t suffix =
        content_.timestamp_size + (user_keys != 0 ? 0 : kTagSize);
    // Keys share prefixes in the index: a few bytes could stand for gigabytes.
    uint64_t budget = source_.Size() + filter_.handle.size;
    return internal::ForEachPartition(
        source_, file_, filter_,
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
    ++entries_;
    if (!visitor_->CountEntry(all_)) return Stop();
    if (key.size() < content_.timestamp_size) {
      error_ = source_.Name() + ": expected keys with timestamps of " +
               std::to_string(content_.timestamp_size) +
               " bytes, found a key of " + std::to_string(key.size());
      return Stop();
    }
    key.remove_suffix(content_.timestamp_size);
    std::string_view prefix;
    const bool has_prefix = content_.prefixes != nullptr &&
                            content_.prefixes->InDomain(ToSlice(key));
    if (has_prefix) prefix = View(content_.prefixes->Transform(ToSlice(key)));
    while (!IsWithin(key)) {
      // An iterator that seeks to the prefix comes here first, and goes on to
      // the key only if the prefix may match.
      if (has_prefix && IsWithin(prefix)) {
        if (!Open()) return Stop();
        visitor_->Add(nullptr, &prefix);
      }
      Close();
      ++partition_;
    }
    if (!Open()) return Stop();
    if (!content_.whole_keys && !has_prefix) return true;
    visitor_->Add(content_.whole_keys ? &key : nullptr,
                  has_prefix ? &prefix : nullptr);
    return true;
  }

  bool Open() {
    if (!open_)
      open_ = visitor_->Begin(partition_, partitions_[partition_].handle);
    return open_;
  }
  void Close() {
    if (open_) visitor_->End();
    open_ = false;
  }
  bool Stop() {
    stopped_ = true;
    return false;
  }

  const SstSource& source_;
  const SstFile& file_;
  const SstFilter& filter_;
  const FilterContent& content_;
  FilterKeysVisitor* const visitor_;
  std::vector<Partition> partitions_;
  size_t partition_ = 0;
  bool open_ = false;  // partition_
  bool stopped_ = false;
  uint64_t entries_ = 0;
  uint64_t all_ = 1;
  std::string error_;
};

}  // namespace

std::string FilterContent::OrderProblem(const SstFilter& filter) const {
  if (order != nullptr || filter.partitions <= 1) return {};
  return "filter: the partition of a key depends on a comparator that is not "
         "known here, " +
         comparator;
}

bool FilterKeysRecord::Begin(size_t partition,
                             const internal::BlockHandle& handle) {
  if (IsComplete()) parts_.push_back({partition, bytes_.size()});
  return to_->Begin(partition, handle);
}

void FilterKeysRecord::Add(const std::string_view* key,
                           const std::string_view* prefix) {
  to_->Add(key, prefix);
  if (!IsComplete()) return;
  uint32_t sizes[2] = {kNone, kNone};
  if (key != nullptr) sizes[0] = static_cast<uint32_t>(key->size());
  if (prefix != nullptr) sizes[1] = static_cast<uint32_t>(prefix->size());
  bytes_.append(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  if (key != nullptr) bytes_.append(*key);
  if (prefix != nullptr) bytes_.append(*prefix);
}

bool FilterKeysRecord::Replay(
    const std::function<internal::BlockHandle(size_t partition)>& handle,
    FilterKeysVisitor* to) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const size_t end =
        i + 1 < parts_.size() ? parts_[i + 1].start : bytes_.size();
    if (!to->Begin(part.partition, handle(part.partition))) return false;
    for (size_t at = part.start; at < end;) {
      uint32_t sizes[2];
      std::memcpy(sizes, &bytes_[at], sizeof(sizes));
      at += sizeof(sizes);
      std::string_view views[2];
      for (int k = 0; k < 2; ++k) {
        if (sizes[k] == kNone) continue;
        views[k] = std::string_view(bytes_).substr(at, sizes[k]);
        at += sizes[k];
      }
      if (!to->CountEntry(1)) return false;
      to->Add(sizes[0] == kNone ? nullptr : &views[0],
              sizes[1] == kNone ? nullptr : &views[1]);
    }
    to->End();
  }
  return true;
}

std::string VisitFilterKeys(const SstSource& source, const SstFile& file,
                            const SstFilter& filter,
                            const FilterContent& content,
                            FilterKeysVisitor* visitor) {
  return Walk(source, file, filter, content, visitor).Run();
}

}  // namespace deltabloom::tools
