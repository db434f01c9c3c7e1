#include "deltabloom/filter_block.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/filter_policy.h"
#include "util/coding.h"

namespace deltabloom {

using namespace internal;  // NOLINT

// A window that has keys but no filter for them holds two zero bytes. Filters
// of keys are never shorter, and none of this size has another meaning.
constexpr std::string_view kNoFilter("\0\0", 2);

FilterBlockBuilder::FilterBlockBuilder(const FilterPolicy *policy,
                                       unsigned base_lg, uint64_t max_size)
    : policy_(policy), base_lg_(base_lg), max_size_(max_size) {
  if (base_lg > kMaxBaseLg) {
    Fail("base_lg = " + std::to_string(base_lg) +
         " is out of range: use 0 to 63, LevelDB has 11");
  }
}

void FilterBlockBuilder::StartBlock(uint64_t block_offset) {
  if (finished_) Fail("StartBlock after Finish");
  if (started_ && block_offset < block_offset_) {
    Fail("StartBlock(" + std::to_string(block_offset) + ") after StartBlock(" +
         std::to_string(block_offset_) + "): offsets must not decrease");
  }
  if (!error_.empty()) return;

  started_ = true;
  block_offset_ = block_offset;
  const uint64_t window = block_offset >> base_lg_;
  if (!CheckSize(window)) return;
  while (offsets_.size() < window && error_.empty()) CloseWindow();
}

void FilterBlockBuilder::AddKey(std::string_view key) {
  if (finished_) Fail("AddKey after Finish");
  if (!started_) Fail("AddKey before the first StartBlock");
  if (!error_.empty()) return;

  keys_.append(key);
  key_ends_.push_back(keys_.size());
}

std::string_view FilterBlockBuilder::Finish() {
  if (finished_) Fail("Finish after Finish");
  finished_ = true;
  if (error_.empty() && !key_ends_.empty()) CloseWindow();
  if (!error_.empty()) return {};

  const auto array_offset = static_cast<uint32_t>(filters_.size());
  offsets_.push_back(array_offset);
  filters_.resize(array_offset + offsets_.size() * kFilterOffsetSize + 1);
  char *to = &filters_[array_offset];
  for (uint32_t offset : offsets_) {
    StoreFixed32(to, offset);
    to += kFilterOffsetSize;
  }
  *to = static_cast<char>(base_lg_);
  return filters_;
}

void FilterBlockBuilder::Fail(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

bool FilterBlockBuilder::CheckSize(uint64_t windows) {
  // The division keeps the sum from wrapping around.
  if (windows <= max_size_ / kFilterOffsetSize &&
      filters_.size() + windows * kFilterOffsetSize + kFilterBlockFooterSize <=
          max_size_) {
    return true;
  }
  Fail("the filter block would be larger than " + std::to_string(max_size_) +
       " bytes: use a larger base_lg, fewer bits per key or smaller tables");
  return false;
}

void FilterBlockBuilder::CloseWindow() {
  const size_t start = filters_.size();
  offsets_.push_back(static_cast<uint32_t>(start));
  if (key_ends_.empty()) return;

  views_.clear();
  size_t key_start = 0;
  for (size_t key_end : key_ends_) {
    views_.emplace_back(keys_.data() + key_start, key_end - key_start);
    key_start = key_end;
  }
  policy_->CreateFilter(views_.data(), views_.size(), &filters_);
  if (filters_.size() < start + kNoFilter.size()) {
    // No filter. Two zero bytes match every key; fewer bytes would match none.
    filters_.resize(start);
    filters_ += kNoFilter;
  }
  keys_.clear();
  key_ends_.clear();
  CheckSize(offsets_.size());
}

FilterBlockReader::FilterBlockReader(const FilterPolicy *policy,
                                     std::string_view block)
    : policy_(policy), block_(block) {
  if (block.size() < kFilterBlockFooterSize) {
    error_ = "the block is shorter than 5 bytes";
    return;
  }
  const uint64_t footer = block.size() - kFilterBlockFooterSize;
  base_lg_ = static_cast<unsigned char>(block.back());
  array_offset_ = LoadFixed32(block.data() + footer);
  if (base_lg_ > kMaxBaseLg) {
    error_ = "base_lg is above 63";
  } else if (array_offset_ > footer) {
    error_ = "the offsets start after the end of the block";
  } else if ((footer - array_offset_) % kFilterOffsetSize != 0) {
    error_ = "the offsets do not fill their place";
  } else {
    num_windows_ = (footer - array_offset_) / kFilterOffsetSize;
  }
}

bool FilterBlockReader::KeyMayMatch(uint64_t block_offset,
                                    std::string_view key) const {
  if (error_ != nullptr) return true;
  const uint64_t window = block_offset >> base_lg_;
  if (window >= num_windows_) return true;
  // array_offset follows the last offset and ends the last filter.
  const char *offset =
      block_.data() + array_offset_ + window * kFilterOffsetSize;
  const uint32_t start = LoadFixed32(offset);
  const uint32_t limit = LoadFixed32(offset + kFilterOffsetSize);
  if (start > limit || limit > array_offset_) return true;

  const std::string_view filter(block_.data() + start, limit - start);
  if (filter.empty()) return false;
  // The filter is too short, or it is the builder's "no filter". The policy
  // might misread either.
  if (filter.size() < kNoFilter.size() || filter == kNoFilter) return true;
  return policy_->KeyMayMatch(key, filter);
}

std::string FilterBlockReader::Describe() const {
  if (error_ != nullptr) return std::string("every key may match: ") + error_;
  return "filter block, " + std::to_string(num_windows_) + " windows of 2^" +
         std::to_string(base_lg_) + " bytes, " + std::to_string(array_offset_) +
         " bytes of filters";
}

}  // namespace deltabloom
