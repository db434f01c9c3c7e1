#include "tools/deltabloom/rocksdb_entries.h"

#include <rocksdb/comparator.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <exception>
#include <limits>
#include <utility>

namespace deltabloom::tools {
namespace {

// Sequence number and type behind a key.
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

// A merge of anything is nothing: only keys are wanted.
class MergeToNothing : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "deltabloom.verify"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*,
             const rocksdb::Slice&, std::string* value,
             rocksdb::Logger*) const override {
    value->clear();
    return true;
  }
};

}  // namespace

// The name of the table's comparator, and an order in which the key of no bytes
// is the first. Reading forwards nothing else depends on the order, nor on
// timestamps, which stay part of the keys.
class RocksDBEntries::Order : public rocksdb::Comparator {
 public:
  explicit Order(std::string name) : name_(std::move(name)) {}
  const char* Name() const override { return name_.c_str(); }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const std::string name_;
};

// SstFileReader::NewIterator gives the keys that are visible, and hides what is
// deleted. With prefix_same_as_start it has the prefix extractor look at every
// entry before it looks at its kind: an extractor of ours sees them all, and
// ends the scan by a prefix other than that of the start.
class RocksDBEntries::Watcher : public rocksdb::SliceTransform {
 public:
  static constexpr char kStart[] = "";

  const char* Name() const override { return "deltabloom.verify"; }
  bool InDomain(const rocksdb::Slice&) const override { return true; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    if (key.data() == kStart || fn_ == nullptr) return rocksdb::Slice();
    return rocksdb::Slice("stop", Call(key) ? 0 : 4);
  }

  void Watch(const KeyFn* fn) {
    fn_ = fn;
    stopped_ = false;
  }
  bool stopped() const { return stopped_; }
  // RocksDB cannot be left by an exception.
  void Rethrow() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  bool Call(const rocksdb::Slice& key) const {
    if (stopped_) return false;
    try {
      stopped_ = !(*fn_)({key.data(), key.size()});
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

RocksDBEntries::RocksDBEntries() = default;
RocksDBEntries::~RocksDBEntries() = default;

std::string RocksDBEntries::Open(const std::string& path,
                                 const std::string& comparator) {
  order_ = std::make_unique<Order>(comparator);
  watcher_ = std::make_shared<Watcher>();
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.comparator = order_.get();
  options.prefix_extractor = watcher_;
  options.merge_operator = std::make_shared<MergeToNothing>();
  // Nor does it seek past the versions of a key: that would need the order.
  options.max_sequential_skip_in_iterations =
      std::numeric_limits<uint64_t>::max();
  reader_ = std::make_unique<rocksdb::SstFileReader>(options);
  const rocksdb::Status status = reader_->Open(path);
  return status.ok() ? std::string() : status.ToString();
}

std::string RocksDBEntries::ForEach(const KeyFn& fn) {
  std::unique_ptr<rocksdb::Iterator> all = TableIterator(reader_.get(), 0);
  leaves_out_ = all == nullptr;
  if (!leaves_out_) {
    for (all->SeekToFirst(); all->Valid(); all->Next()) {
      const rocksdb::Slice key = all->key();
      if (key.size() < kTagSize) return "a key without a sequence number";
      if (!fn({key.data(), key.size() - kTagSize})) return {};
    }
    return all->status().ok() ? std::string() : all->status().ToString();
  }
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  read.readahead_size = 2 << 20;
  read.total_order_seek = true;
  read.prefix_same_as_start = true;
  const std::unique_ptr<rocksdb::Iterator> visible(reader_->NewIterator(read));
  watcher_->Watch(&fn);
  visible->Seek(rocksdb::Slice(Watcher::kStart, 0));
  while (visible->Valid() && !watcher_->stopped()) visible->Next();
  const bool stopped = watcher_->stopped();
  watcher_->Watch(nullptr);
  watcher_->Rethrow();
  if (stopped || visible->status().ok()) return {};
  return visible->status().ToString();
}

bool RocksDBEntries::IsComplete(uint64_t calls) const {
  const uint64_t left_out =
      leaves_out_ ? reader_->GetTableProperties()->num_merge_operands : 0;
  return calls <= size() && calls + left_out >= size();
}

uint64_t RocksDBEntries::size() const {
  const auto properties = reader_->GetTableProperties();
  return properties->num_entries < properties->num_range_deletions
             ? 0
             : properties->num_entries - properties->num_range_deletions;
}

}  // namespace deltabloom::tools
