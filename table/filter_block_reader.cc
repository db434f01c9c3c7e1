#include "deltabloom/filter_block.h"
#include "table/filter_block_format.h"
#include "util/coding.h"

namespace deltabloom {
namespace {

using internal::kFilterBlockFooterSize;
using internal::kFilterOffsetSize;
using internal::LoadFixed32;

constexpr char kZeros[internal::kNoFilterSize] = {};
constexpr std::string_view kNoFilter(kZeros, sizeof(kZeros));

struct Header {
  uint64_t array_offset;
  uint64_t num_windows;
  unsigned base_lg;
};

// Null if the block is well-formed, its offsets aside; else what is wrong.
const char* ParseHeader(std::string_view block, Header* header) {
  if (block.size() < kFilterBlockFooterSize)
    return "the block is shorter than 5 bytes";
  header->base_lg = static_cast<unsigned char>(block.back());
  if (header->base_lg > internal::kMaxBaseLg) return "base_lg is above 63";
  const uint64_t footer = block.size() - kFilterBlockFooterSize;
  header->array_offset = LoadFixed32(block.data() + footer);
  if (header->array_offset > footer) {
    return "the offsets start behind the end of the block";
  }
  if ((footer - header->array_offset) % kFilterOffsetSize != 0) {
    return "the offsets do not fill their place";
  }
  header->num_windows = (footer - header->array_offset) / kFilterOffsetSize;
  return nullptr;
}

}  // namespace

FilterBlockReader::FilterBlockReader(const FilterPolicy* policy,
                                     std::string_view block)
    : policy_(policy), block_(block) {
  Header header;
  if (ParseHeader(block, &header) != nullptr) return;
  array_offset_ = header.array_offset;
  num_windows_ = header.num_windows;
  base_lg_ = header.base_lg;
}

bool FilterBlockReader::KeyMayMatch(uint64_t block_offset,
                                    std::string_view key) const {
  const uint64_t window = block_offset >> base_lg_;
  if (window >= num_windows_) return true;
  // array_offset stands behind the last offset and ends the last filter.
  const char* offset =
      block_.data() + array_offset_ + window * kFilterOffsetSize;
  const uint32_t start = LoadFixed32(offset);
  const uint32_t limit = LoadFixed32(offset + kFilterOffsetSize);
  if (start > limit || limit > array_offset_) return true;

  const std::string_view filter(block_.data() + start, limit - start);
  if (filter.empty()) return false;
  // Too short for a filter, or what the builder writes for none: the policy
  // might take either for a filter of its own.
  if (filter.size() < internal::kNoFilterSize) return true;
  if (filter == kNoFilter) return true;
  return policy_->KeyMayMatch(key, filter);
}

std::string FilterBlockReader::Describe() const {
  Header header;
  if (const char* wrong = ParseHeader(block_, &header)) {
    return std::string("every key may match: ") + wrong;
  }
  return "filter block, " + std::to_string(header.num_windows) +
         " windows of 2^" + std::to_string(header.base_lg) + " bytes, " +
         std::to_string(header.array_offset) + " bytes of filters";
}

}  // namespace deltabloom
