#include <limits>
#include <vector>

#include "deltabloom/filter_block.h"
#include "table/filter_block_format.h"
#include "util/coding.h"

namespace deltabloom {
namespace {

using internal::kFilterBlockFooterSize;
using internal::kFilterOffsetSize;
using internal::kNoFilterSize;

constexpr uint64_t kMaxBlockSize = std::numeric_limits<uint32_t>::max();

}  // namespace

struct FilterBlockBuilder::Rep {
  Rep(const FilterPolicy* the_policy, unsigned the_base_lg)
      : policy(the_policy), base_lg(the_base_lg) {}

  void Fail(std::string text) {
    if (error.empty()) error = std::move(text);
  }

  // Whether the block can have `windows` windows; fails if not.
  bool CheckSize(uint64_t windows) {
    // The division keeps the sum from wrapping around.
    if (windows <= max_block_size / kFilterOffsetSize &&
        filters.size() + windows * kFilterOffsetSize + kFilterBlockFooterSize <=
            max_block_size) {
      return true;
    }
    Fail("the filter block would be larger than " +
         std::to_string(max_block_size) +
         " bytes: use a larger base_lg, fewer bits per key or smaller tables");
    return false;
  }

  void CloseWindow() {
    const size_t start = filters.size();
    offsets.push_back(static_cast<uint32_t>(start));
    if (key_ends.empty()) return;

    views.clear();
    size_t key_start = 0;
    for (size_t key_end : key_ends) {
      views.emplace_back(keys.data() + key_start, key_end - key_start);
      key_start = key_end;
    }
    policy->CreateFilter(views.data(), views.size(), &filters);
    if (filters.size() < start + kNoFilterSize) {
      // No filter: as two zero bytes it matches every key; as fewer it would
      // match none.
      filters.resize(start);
      filters.append(kNoFilterSize, '\0');
    }
    keys.clear();
    key_ends.clear();
    CheckSize(offsets.size());
  }

  const FilterPolicy* policy;
  const unsigned base_lg;
  uint64_t max_block_size = kMaxBlockSize;
  bool started = false;
  bool finished = false;
  uint64_t block_offset = 0;
  std::string error;

  std::string filters;  // of closed windows; in the end the whole block
  std::vector<uint32_t> offsets;
  std::string keys;  // of the open window, one behind the other
  std::vector<size_t> key_ends;
  std::vector<std::string_view> views;
};

FilterBlockBuilder::FilterBlockBuilder(const FilterPolicy* policy,
                                       unsigned base_lg)
    : rep_(std::make_unique<Rep>(policy, base_lg)) {
  if (base_lg > internal::kMaxBaseLg) {
    rep_->Fail("base_lg = " + std::to_string(base_lg) +
               " is out of range: use 0 to 63, LevelDB has 11");
  }
}

FilterBlockBuilder::~FilterBlockBuilder() = default;

void FilterBlockBuilder::StartBlock(uint64_t block_offset) {
  Rep& rep = *rep_;
  if (rep.finished) rep.Fail("StartBlock after Finish");
  if (rep.started && block_offset < rep.block_offset) {
    rep.Fail("StartBlock(" + std::to_string(block_offset) +
             ") after StartBlock(" + std::to_string(rep.block_offset) +
             "): offsets must not decrease");
  }
  if (!rep.error.empty()) return;

  rep.started = true;
  rep.block_offset = block_offset;
  const uint64_t window = block_offset >> rep.base_lg;
  if (!rep.CheckSize(window)) return;
  while (rep.offsets.size() < window && rep.error.empty()) rep.CloseWindow();
}

void FilterBlockBuilder::AddKey(std::string_view key) {
  Rep& rep = *rep_;
  if (rep.finished) {
    rep.Fail("AddKey after Finish");
  } else if (!rep.started) {
    rep.Fail("AddKey before the first StartBlock");
  }
  if (!rep.error.empty()) return;

  rep.keys.append(key);
  rep.key_ends.push_back(rep.keys.size());
}

std::string_view FilterBlockBuilder::Finish() {
  Rep& rep = *rep_;
  if (rep.finished) rep.Fail("Finish after Finish");
  rep.finished = true;
  if (rep.error.empty() && !rep.key_ends.empty()) rep.CloseWindow();
  if (!rep.error.empty()) return {};

  const auto array_offset = static_cast<uint32_t>(rep.filters.size());
  rep.offsets.push_back(array_offset);
  rep.filters.resize(array_offset + rep.offsets.size() * kFilterOffsetSize + 1);
  char* to = &rep.filters[array_offset];
  for (uint32_t offset : rep.offsets) {
    internal::StoreFixed32(to, offset);
    to += kFilterOffsetSize;
  }
  *to = static_cast<char>(rep.base_lg);
  return rep.filters;
}

void FilterBlockBuilder::SetMaxBlockSize(uint64_t size) {
  rep_->max_block_size = size;
}

const std::string& FilterBlockBuilder::error() const { return rep_->error; }

}  // namespace deltabloom
