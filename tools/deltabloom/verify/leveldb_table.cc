// Tables of LevelDB: their keys and their filter block.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"
#include "tools/deltabloom/tables/data_blocks.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/verify/lookups.h"
#include "tools/deltabloom/verify/report.h"
#include "tools/deltabloom/verify/tables.h"
#include "tools/sst/sst.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::LoadFixed32;
using internal::LoadFixed64;

// The tag at the end of a database's keys, which its filters do not contain, is
// 256 times the sequence number plus 1 for a value or 0 for a deletion.
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

  // The position of the filter in the block.
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

// Returns whether the keys end with tags, judged by all keys of the index and
// of the first data block. Tables that TableBuilder wrote without a database
// have keys without tags.
bool FindTags(DataBlocks* blocks) {
  bool tags = true;
  std::optional<BlockHandle> first;
  blocks->ForEach([&](std::string_view key, const BlockHandle& handle) {
    tags = tags && MayHaveTag(key);
    if (!first.has_value()) first = handle;
  });
  if (!first.has_value()) return tags;
  std::string last;
  blocks->ForEachKey(*first, [&](std::string_view key) {
    tags = tags && MayHaveTag(key);
    // The newest version of a key comes first.
    if (tags && !last.empty() && WithoutTag(key) == WithoutTag(last)) {
      tags = Tag(key) < Tag(last);
    }
    last.assign(key);
  });
  return tags;
}

}  // namespace

void VerifyLevelDB(const VerifyTask& task) {
  const internal::SstFile& file = task.file;
  const internal::SstFilter& filter = task.filter;
  TableReport* const report = task.report;
  Hash hash = Hash::kLevelDB;
  if (filter.policy == "deltabloom.Filter.MurmurHash2") {
    hash = Hash::kMurmurHash2;
  } else if (filter.policy != "leveldb.BuiltinBloomFilter2") {
    report->not_checked.push_back("filter: no policy known here has the name " +
                                  filter.policy);
    return;
  }
  WindowFilter windows(
      ReadBlock(task.source, file, filter.handle, &report->damaged), hash);
  DataBlocks blocks(task.source, file);
  const bool tags = FindTags(&blocks);
  std::optional<uint64_t> window;  // that is open
  Lookups lookups(report);
  std::string error;
  try {
    blocks.ForEach([&](std::string_view, const BlockHandle& handle) {
      report->cut_short = report->cut_short ||
                          !task.go_on(static_cast<double>(handle.offset) /
                                      static_cast<double>(file.footer_offset));
      if (report->cut_short) return;
      if (window != windows.WindowOf(handle.offset)) {
        lookups.End();
        window = windows.WindowOf(handle.offset);
        windows.Select(*window);
        lookups.Begin(&windows, filter.handle.offset + windows.begin());
      }
      blocks.ForEachKey(handle, [&](std::string_view key) {
        ++report->entries;
        if (tags && !MayHaveTag(key)) {
          Check(internal::At(task.source, handle.offset) +
                "data block: expected keys with the sequence numbers of a "
                "database, as in the first block, found others");
        }
        lookups.Key(tags ? WithoutTag(key) : key);
      });
    });
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  lookups.End();
  Check(error);
}

}  // namespace deltabloom::tools
