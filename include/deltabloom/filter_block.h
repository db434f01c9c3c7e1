// The filters of one table in one block, each for the data blocks in one part
// of the file. The bytes are LevelDB's: docs/format.md, chapter "Filter block".
#ifndef DELTABLOOM_FILTER_BLOCK_H_
#define DELTABLOOM_FILTER_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/export.h"
#include "deltabloom/filter_policy.h"

namespace deltabloom {

namespace internal {

// Sizes of the format in bytes, and its largest base_lg (docs/format.md).
inline constexpr unsigned kMaxBaseLg = 63;
inline constexpr uint64_t kFilterOffsetSize = 4;
inline constexpr uint64_t kFilterBlockFooterSize = 5;  // array_offset, base_lg

}  // namespace internal

// Builds the filter block of one table. The calls must match
//      (StartBlock AddKey*)* Finish
// Not thread-safe. The first error is kept, later calls do nothing, and Finish
// returns no block. Any call may throw std::bad_alloc (or what the policy
// throws), after which the builder can only be destroyed.
class DELTABLOOM_EXPORT FilterBlockBuilder {
 public:
  // Windows of 2 KiB, the only size that LevelDB writes.
  static constexpr unsigned kDefaultBaseLg = 11;
  // Offsets in a block have 32 bits.
  static constexpr uint64_t kMaxSize = 0xffffffff;

  // Data blocks that start in the same window of 2^base_lg bytes share a
  // filter; base_lg is 0 to 63. A block of more than max_size bytes is an
  // error. The policy must outlive the builder. Store its Name() with the
  // block.
  explicit FilterBlockBuilder(const FilterPolicy* policy,
                              unsigned base_lg = kDefaultBaseLg,
                              uint64_t max_size = kMaxSize);
  FilterBlockBuilder(const FilterBlockBuilder&) = delete;
  FilterBlockBuilder& operator=(const FilterBlockBuilder&) = delete;

  // Says that the keys that follow are in the data block at `block_offset` in
  // the file, in bytes. REQUIRES: it is not smaller than in the previous call.
  // May be called once more with the position after the last data block, as
  // LevelDB does.
  void StartBlock(uint64_t block_offset);

  // Adds a copy of the key, which may have any bytes.
  void AddKey(std::string_view key);

  // Returns the filter block, which is valid as long as the builder. It is
  // empty after an error.
  std::string_view Finish();

  // Returns an empty string, or one line that says which call was wrong.
  const std::string& error() const { return error_; }

 private:
  void Fail(std::string text);
  // Returns whether the block can have `windows` windows; calls Fail() if not.
  bool CheckSize(uint64_t windows);
  void CloseWindow();

  const FilterPolicy* const policy_;
  const unsigned base_lg_;
  const uint64_t max_size_;
  bool started_ = false;
  bool finished_ = false;
  uint64_t block_offset_ = 0;
  std::string error_;

  std::string filters_;  // of closed windows; after Finish the whole block
  std::vector<uint32_t> offsets_;
  std::string keys_;  // of the open window, one after the other
  std::vector<size_t> key_ends_;
  std::vector<std::string_view> views_;
};

// Queries a filter block. Any bytes are safe: a malformed block answers "may
// match". Thread-safe; copies are cheap.
class DELTABLOOM_EXPORT FilterBlockReader {
 public:
  // The bytes and the policy must outlive the reader; the policy must have the
  // name of the one that built the block.
  FilterBlockReader(const FilterPolicy* policy, std::string_view block);

  // Returns false only if no data block that starts in the window of
  // `block_offset` holds the key.
  bool KeyMayMatch(uint64_t block_offset, std::string_view key) const;

  // Returns the number of windows, those without keys included; 0 for a
  // malformed block.
  uint64_t NumWindows() const { return num_windows_; }

  // Returns one line: "filter block, 3 windows of 2^11 bytes, 18 bytes of
  // filters", or the reason why every key may match.
  std::string Describe() const;

 private:
  const FilterPolicy* policy_;
  std::string_view block_;
  const char* error_ = nullptr;  // of a malformed block
  uint64_t array_offset_ = 0;
  uint64_t num_windows_ = 0;
  unsigned base_lg_ = 0;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_FILTER_BLOCK_H_
