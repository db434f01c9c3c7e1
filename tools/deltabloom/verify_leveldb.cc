// Tables of LevelDB: their keys and their filter block.
#include <functional>
#include <memory>
#include <optional>

#include "deltabloom/filter_policy.h"
#include "table/filter_block.h"
#include "table/sst/sst.h"
#include "tools/deltabloom/verify.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::Cursor;
using internal::LoadFixed32;
using internal::LoadFixed64;

// The keys of a database end with 8 bytes, 256 times the sequence number plus 1
// for a value or 0 for a deletion, which its filters do not contain.
constexpr size_t kTagSize = 8;

bool MayHaveTag(std::string_view key) {
  return key.size() >= kTagSize &&
         static_cast<unsigned char>(key[key.size() - kTagSize]) <= 1;
}

uint64_t Tag(std::string_view key) {
  return LoadFixed64(key.data() + key.size() - kTagSize);
}

std::string_view WithoutTag(std::string_view key) {
  return key.substr(0, key.size() - kTagSize);
}

// The filter of a window, found by LevelDB's own rules (table/filter_block.cc
// there): with damaged bytes it may deny keys where FilterBlockReader does not.
class WindowFilter : public TableFilter {
 public:
  WindowFilter(std::string block, Hash hash) : block_(std::move(block)) {
    hash_ = hash;
    FilterOptions options;
    options.hash = hash;
    policy_ = NewFilterPolicy(options);  // one name, one way to read
    if (block_.size() < internal::kFilterBlockFooterSize) return;
    const size_t end = block_.size() - internal::kFilterBlockFooterSize;
    const uint32_t array = LoadFixed32(&block_[end]);
    base_lg_ = static_cast<unsigned char>(block_.back());
    if (array > end || base_lg_ > internal::kMaxBaseLg) return;
    array_ = array;
    windows_ = (end - array) / internal::kFilterOffsetSize;
  }

  // The window of the data block at this offset.
  uint64_t WindowOf(uint64_t block_offset) const {
    return windows_ == 0 ? 0 : block_offset >> base_lg_;
  }

  void Select(uint64_t window) {
    filter_.reset();  // every key may match
    begin_ = 0;
    if (window >= windows_) return;
    const uint64_t at = array_ + window * internal::kFilterOffsetSize;
    const uint32_t begin = LoadFixed32(&block_[at]);
    const uint32_t end = LoadFixed32(&block_[at + internal::kFilterOffsetSize]);
    begin_ = begin;
    if (begin <= end && end <= array_) {
      filter_ = std::string_view(block_).substr(begin, end - begin);
    } else if (begin == end) {
      filter_ = std::string_view();
    }
  }

  // Of the filter in the block.
  uint64_t begin() const { return begin_; }

  std::optional<double> ExpectedRate(uint64_t keys) const override {
    if (!filter_.has_value()) return 1;
    internal::ParsedFilter parsed;
    const internal::FilterKind kind = internal::ParseRaw(
        *filter_, hash_, internal::ActiveCpu(), &parsed, nullptr);
    return RateOfFilter(kind, parsed, *filter_, hash_, keys).value_or(1);
  }

  bool MayMatch(std::string_view key) override {
    return !filter_.has_value() || policy_->KeyMayMatch(key, *filter_);
  }
  using TableFilter::MayMatch;

 private:
  const std::string block_;
  Hash hash_ = Hash::kLevelDB;
  std::unique_ptr<const FilterPolicy> policy_;
  uint64_t array_ = 0;
  uint64_t windows_ = 0;
  unsigned base_lg_ = 0;
  uint64_t begin_ = 0;
  std::optional<std::string_view> filter_;
};

// The data blocks that the index names, in order.
using BlockFn = std::function<std::string(std::string_view index_key,
                                          const BlockHandle& handle)>;
std::string ForEachBlock(const internal::SstSource& source,
                         const internal::SstFile& file, const BlockFn& fn) {
  std::string index;
  std::string error = internal::ReadBlock(source, file, file.index, &index);
  if (!error.empty()) return error;
  uint64_t end = 0;  // of the block before
  std::string of_block;
  error = internal::ForEachEntry(
      index, true, [&](std::string_view key, bool, Cursor* value) {
        BlockHandle handle;
        if (!internal::TakeHandle(value, &handle) || value->Left() > 0) {
          return std::string("expected a handle, found other bytes");
        }
        std::string wrong = internal::CheckHandle(file, handle);
        if (wrong.empty() && handle.offset < end) {
          // Else a few bytes could name the same block thousands of times.
          wrong = "expected a block from " + std::to_string(end) +
                  " on, found one at " + std::to_string(handle.offset);
        }
        if (!wrong.empty()) return wrong;
        end = handle.offset + handle.size + internal::kBlockTrailerSize;
        of_block = fn(key, handle);
        return of_block.empty() ? std::string() : std::string("stop");
      });
  if (!of_block.empty()) return of_block;
  if (error.empty()) return {};
  return internal::At(source, file.index.offset) + "index: " + error;
}

using KeyFn = std::function<void(std::string_view key)>;
std::string ForEachKey(const internal::SstSource& source,
                       const internal::SstFile& file, const BlockHandle& handle,
                       const KeyFn& fn) {
  std::string block;
  std::string error = internal::ReadBlock(source, file, handle, &block);
  if (!error.empty()) return error;
  error = internal::ForEachEntry(block, true,
                                 [&](std::string_view key, bool, Cursor*) {
                                   fn(key);
                                   return std::string();
                                 });
  if (error.empty()) return {};
  return internal::At(source, handle.offset) + "data block: " + error;
}

// Whether the keys end with tags, judged by all keys of the index and of the
// first data block. Tables that TableBuilder wrote without a database have keys
// without tags.
std::string FindTags(const internal::SstSource& source,
                     const internal::SstFile& file, bool* tags) {
  bool all = true;
  BlockHandle first;
  std::string error = ForEachBlock(
      source, file, [&](std::string_view key, const BlockHandle& handle) {
        all = all && MayHaveTag(key);
        if (first.size == 0) first = handle;
        return std::string();
      });
  std::string last;
  if (error.empty() && all && first.size > 0) {
    error = ForEachKey(source, file, first, [&](std::string_view key) {
      all = all && MayHaveTag(key);
      // The newest version of a key comes first.
      if (all && !last.empty() && WithoutTag(key) == WithoutTag(last)) {
        all = Tag(key) < Tag(last);
      }
      last.assign(key);
    });
  }
  *tags = all;
  return error;
}

}  // namespace

std::string VerifyLevelDB(const VerifyTask& task) {
  const internal::SstSource& source = task.source;
  const internal::SstFile& file = task.file;
  const internal::SstFilter& filter = task.filter;
  TableReport* const report = task.report;
  Hash hash = Hash::kLevelDB;
  if (filter.policy == "deltabloom.Filter.MurmurHash2") {
    hash = Hash::kMurmurHash2;
  } else if (filter.policy != "leveldb.BuiltinBloomFilter2") {
    report->not_checked.push_back("filter: no policy known here has the name " +
                                  filter.policy);
    return {};
  }
  std::string block;
  std::string error = ReadFilterBlock(task, filter.handle, &block);
  bool tags = true;
  if (error.empty()) error = FindTags(source, file, &tags);
  if (!error.empty()) return error;

  WindowFilter windows(std::move(block), hash);
  std::optional<uint64_t> window;  // that is open
  Lookups lookups(report);
  const auto look_up = [&](std::string_view, const BlockHandle& handle) {
    report->cut_short = report->cut_short ||
                        !task.go_on(static_cast<double>(handle.offset) /
                                    static_cast<double>(file.footer_offset));
    if (report->cut_short) return std::string();
    if (window != windows.WindowOf(handle.offset)) {
      lookups.End();
      window = windows.WindowOf(handle.offset);
      windows.Select(*window);
      lookups.Begin(&windows, filter.handle.offset + windows.begin());
    }
    bool untagged = false;
    std::string wrong =
        ForEachKey(source, file, handle, [&](std::string_view key) {
          ++report->entries;
          untagged = untagged || (tags && !MayHaveTag(key));
          if (!untagged) lookups.Key(tags ? WithoutTag(key) : key);
        });
    if (wrong.empty() && untagged) {
      wrong = internal::At(source, handle.offset) +
              "data block: expected keys with the sequence numbers of a "
              "database, as in the first block, found others";
    }
    return wrong;
  };
  error = ForEachBlock(source, file, look_up);
  lookups.End();
  return error;
}

}  // namespace deltabloom::tools
