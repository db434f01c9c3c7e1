#include "tools/deltabloom/tables/filter_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/deltabloom/tables/data_blocks.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;

// Goes through the entries and the partitions of a filter in parallel. A full
// filter is one partition.
class Walk {
 public:
  Walk(const SstSource& source, const SstFile& file, const SstFilter& filter,
       const FilterContent& content, uint64_t* entries,
       FilterKeysVisitor* visitor)
      : source_(source),
        file_(file),
        filter_(filter),
        content_(content),
        entries_(entries),
        visitor_(visitor) {}

  void Run() {
    FindPartitions();
    if (partitions_.empty()) {
      Check(source_.Name() +
            ": expected a filter with partitions, found an empty index");
    }
    uint64_t all = NumberOf(file_, "rocksdb.num.entries");
    // Deletions of ranges are elsewhere.
    all -= std::min(all, NumberOf(file_, "rocksdb.num.range-deletions"));
    *entries_ = 0;
    bool stopped = false;
    std::string error;
    try {
      DataBlocks blocks(source_, file_);
      blocks.ForEach([&](std::string_view, const BlockHandle& handle) {
        GoOnIf(visitor_->GoOn(handle));
        blocks.ForEachKey(handle, [this](std::string_view key) { Entry(key); });
      });
    } catch (const Stop&) {
      stopped = true;
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    Close();
    if (error.empty() && !stopped && *entries_ != all) {
      error = source_.Name() + ": expected " + std::to_string(all) +
              " entries by its properties, found " + std::to_string(*entries_);
    }
    Check(error);
  }

 private:
  struct Stop {};
  static void GoOnIf(bool go_on) {
    if (!go_on) throw Stop();
  }

  struct Partition {
    BlockHandle handle;
    std::string last_key;  // of the user, without timestamp
    std::string bound;     // the same with timestamp and tag, as it is stored
  };

  void FindPartitions() {
    if (filter_.scope == FilterScope::kFull) {
      partitions_.push_back({filter_.handle, {}, {}});
      return;
    }
    const bool tags = NumberOf(file_, "rocksdb.index.key.is.user.key") == 0;
    const size_t suffix = content_.timestamp_size + (tags ? kTagSize : 0);
    // Keys share prefixes in the index: a few bytes could stand for gigabytes.
    uint64_t budget = source_.Size() + filter_.handle.size;
    Check(internal::ForEachPartition(
        source_, file_, filter_,
        [&](std::string_view last_key, const BlockHandle& handle) {
          if (last_key.size() < suffix || last_key.size() > budget) {
            return "expected a key of " + std::to_string(suffix) + " to " +
                   std::to_string(budget) + " bytes, found " +
                   std::to_string(last_key.size());
          }
          budget -= last_key.size();
          const std::string bound(last_key);
          last_key.remove_suffix(suffix);
          partitions_.push_back({handle, std::string(last_key), bound});
          return std::string();
        }));
  }

  // Returns whether a lookup of the key or prefix (without timestamp) goes to
  // the current partition or to one before it. RocksDB looks up keys beyond all
  // partitions in the last one.
  bool IsWithin(std::string_view key) const {
    return partition_ + 1 >= partitions_.size() ||
           content_.order->CompareWithoutTimestamp(
               ToSlice(key), /*a_has_ts=*/false,
               ToSlice(partitions_[partition_].last_key),
               /*b_has_ts=*/false) <= 0;
  }

  // Returns whether the entry comes after the current partition. The partition
  // may have other versions of its key, but a lookup at an older time or
  // snapshot goes to the next one.
  bool IsBeyond(std::string_view entry) const {
    if (partition_ + 1 >= partitions_.size()) return false;
    std::string_view bound = partitions_[partition_].bound;
    const size_t tag = bound.size() - partitions_[partition_].last_key.size() -
                       content_.timestamp_size;
    const std::string_view entry_tag = entry.substr(entry.size() - kTagSize);
    const std::string_view bound_tag = bound.substr(bound.size() - tag);
    entry.remove_suffix(kTagSize);
    bound.remove_suffix(tag);
    // A comparator of timestamps expects them, which the table may not have.
    const int order =
        content_.timestamp_size > 0
            ? content_.order->Compare(ToSlice(entry), ToSlice(bound))
            : content_.order->CompareWithoutTimestamp(ToSlice(entry), false,
                                                      ToSlice(bound), false);
    if (order != 0 || tag == 0) return order > 0;
    // Later versions come first.
    return internal::LoadFixed64(entry_tag.data()) <
           internal::LoadFixed64(bound_tag.data());
  }

  void Entry(std::string_view key) {
    const std::string_view entry = key;
    ++*entries_;
    const size_t suffix = content_.timestamp_size + kTagSize;
    if (key.size() < suffix) {
      Check(source_.Name() + ": expected keys with " + std::to_string(suffix) +
            " bytes of timestamp and sequence number, found a key of " +
            std::to_string(key.size()));
    }
    key.remove_suffix(suffix);
    std::string_view prefix;
    const bool has_prefix = content_.prefixes != nullptr &&
                            content_.prefixes->InDomain(ToSlice(key));
    if (has_prefix) {
      prefix = content_.prefixes->Transform(ToSlice(key)).ToStringView();
    }
    const size_t last_partition = partition_;
    while (!IsWithin(key)) {
      // An iterator that seeks to the prefix comes here first, and goes on to
      // the key only if the prefix may match.
      if (has_prefix && IsWithin(prefix)) {
        Open();
        visitor_->Add(nullptr, &prefix);
      }
      if (has_prefix && open_) visitor_->AddNeighbour(prefix, !at_end_);
      Close();
      ++partition_;
    }
    if (partition_ != last_partition && last_prefix_.has_value()) {
      Open();
      visitor_->AddNeighbour(*last_prefix_, true);
    }
    for (;;) {
      Open();
      if (content_.whole_keys || has_prefix) {
        visitor_->Add(content_.whole_keys ? &key : nullptr,
                      has_prefix ? &prefix : nullptr);
      }
      if (!IsBeyond(entry)) break;
      Close();
      ++partition_;
    }
    at_end_ = key == partitions_[partition_].last_key;
    if (!has_prefix) {
      last_prefix_.reset();
    } else if (partitions_.size() > 1) {
      last_prefix_ = prefix;
    }
  }

  void Open() {
    if (open_) return;
    GoOnIf(visitor_->Begin(partition_, partitions_[partition_].handle));
    open_ = true;
  }
  void Close() {
    if (open_) visitor_->End();
    open_ = false;
  }

  const SstSource& source_;
  const SstFile& file_;
  const SstFilter& filter_;
  const FilterContent& content_;
  uint64_t* const entries_;
  FilterKeysVisitor* const visitor_;
  std::vector<Partition> partitions_;
  size_t partition_ = 0;
  bool open_ = false;                       // partition_
  bool at_end_ = false;                     // the last key was its end
  std::optional<std::string> last_prefix_;  // of the last key
};

}  // namespace

void VisitFilterKeys(const SstSource& source, const SstFile& file,
                     const SstFilter& filter, const FilterContent& content,
                     uint64_t* entries, FilterKeysVisitor* visitor) {
  Walk(source, file, filter, content, entries, visitor).Run();
}

}  // namespace deltabloom::tools
