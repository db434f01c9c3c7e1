// The format of filter blocks (docs/format.md), and the work of a
// FilterBlockBuilder with the size limit as a parameter.
#ifndef DELTABLOOM_TABLE_FILTER_BLOCK_H_
#define DELTABLOOM_TABLE_FILTER_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"

namespace deltabloom::internal {

inline constexpr unsigned kMaxBaseLg = 63;
inline constexpr uint64_t kFilterOffsetSize = 4;
inline constexpr uint64_t kFilterBlockFooterSize = 5;  // array_offset, base_lg

// A window that has keys but no filter for them holds this many zero bytes.
// Filters of keys are never shorter, and none of this size has another meaning.
inline constexpr size_t kNoFilterSize = 2;

// The calls are those of FilterBlockBuilder, whose contract holds here.
class FilterBlockAssembly {
 public:
  // Offsets in a block have 32 bits.
  static constexpr uint64_t kMaxSize = std::numeric_limits<uint32_t>::max();

  FilterBlockAssembly(const FilterPolicy *policy, unsigned base_lg,
                      uint64_t max_size = kMaxSize);

  void StartBlock(uint64_t block_offset);
  void AddKey(std::string_view key);
  std::string_view Finish();
  const std::string &error() const { return error_; }

 private:
  void Fail(std::string text);
  // Whether the block can have `windows` windows; fails if not.
  bool CheckSize(uint64_t windows);
  void CloseWindow();

  const FilterPolicy *const policy_;
  const unsigned base_lg_;
  const uint64_t max_size_;
  bool started_ = false;
  bool finished_ = false;
  uint64_t block_offset_ = 0;
  std::string error_;

  std::string filters_;  // of closed windows; in the end the whole block
  std::vector<uint32_t> offsets_;
  std::string keys_;  // of the open window, one after the other
  std::vector<size_t> key_ends_;
  std::vector<std::string_view> views_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_FILTER_BLOCK_H_
