// Queries any bytes as a filter block: no read is out of bounds, and every
// malformed block answers "may match". Then builds a block from the same bytes,
// which must keep its keys.
//
// Input: 8 bytes of block offset, the filter block.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "tests/fuzz/harness.h"
#include "util/coding.h"

namespace deltabloom::fuzz {
namespace {

void Read(uint64_t offset, std::string_view block) {
  const auto policy = NewBloomFilterPolicy(10);
  const FilterBlockReader reader(policy.get(), block);
  const bool answer = reader.KeyMayMatch(offset, "key");
  const bool malformed = reader.Describe().find("every key may match") == 0;
  if (malformed || reader.NumWindows() == 0) Check(answer);
  for (uint64_t at = 0; at < 16; ++at) {
    reader.KeyMayMatch(at << 11, block.substr(0, at));
  }
  reader.KeyMayMatch(~uint64_t{0}, "");
}

// The bytes as steps: how far to the next block, and a key.
void BuildAndRead(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto policy = NewBloomFilterPolicy(10);
  FilterBlockBuilder builder(policy.get(), 8 + data[0] % 8);
  std::vector<std::pair<uint64_t, std::string>> keys;
  uint64_t offset = 0;
  for (size_t i = 0; i + 2 < bytes.size(); i += 3) {
    offset += uint64_t{data[i]} * data[i + 1];
    builder.StartBlock(offset);
    keys.emplace_back(
        offset, std::string(data[i + 2] % 9, 'k') + static_cast<char>(data[i]));
    builder.AddKey(keys.back().second);
  }
  const std::string block(builder.Finish());
  Check(builder.error().empty());
  const FilterBlockReader reader(policy.get(), block);
  for (const auto& [at, key] : keys) Check(reader.KeyMayMatch(at, key));
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.size() >= 8) {
    Read(internal::LoadFixed64(bytes.data()), bytes.substr(8));
  }
  BuildAndRead(bytes);
}

}  // namespace deltabloom::fuzz
