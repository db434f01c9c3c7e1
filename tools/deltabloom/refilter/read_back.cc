#include "tools/deltabloom/refilter/read_back.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/deltabloom/refilter/copy.h"
#include "tools/deltabloom/refilter/filter_maker.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::SstFile;
using internal::SstPatch;
using internal::SstSource;

}  // namespace

void Compare(const SstSource& old, const SstSource& now,
             const std::vector<SstPatch>& patches,
             const std::vector<BlockHandle>& parts) {
  std::string read;
  uint64_t not_compared = 0;  // bytes of the patches
  for (const SstPatch& patch : patches) not_compared += patch.bytes.size();
  const auto compare = [&](uint64_t at, std::string* bytes) {
    for (const SstPatch& patch : patches) {
      const uint64_t start = std::max(at, patch.offset);
      const uint64_t end =
          std::min(at + bytes->size(), patch.offset + patch.bytes.size());
      if (start >= end) continue;
      bytes->replace(start - at, end - start, patch.bytes, start - patch.offset,
                     end - start);
      not_compared -= end - start;
    }
    read.resize(bytes->size());
    Check(now.Read(at, read.size(), read.data()));
    if (read != *bytes) {
      Check(now.Name() + ": reads other bytes than were written, from offset " +
            std::to_string(at));
    }
  };
  for (const BlockHandle& part : parts) ForEachChunk(old, part, compare);
  // This happens with a crafted table whose filter is one of its data blocks.
  if (not_compared != 0) Check(now.Name() + ": has new bytes in data blocks");
}

void VerifyFilters(const SstSource& old, const SstFile& old_file,
                   const SstSource& now, const FilterMaker& maker) {
  const SstFile file = ReadSst(now);
  const auto blocks = FilterBlocks(now, file, file.filters.at(0));
  const auto old_blocks = FilterBlocks(old, old_file, old_file.filters[0]);
  bool good = blocks.size() == old_blocks.size();
  for (size_t i = 0; good && i < blocks.size(); ++i) {
    const std::string bytes = ReadBlock(now, file, blocks[i]);
    good = maker.IsFilter(i, bytes) ||
           bytes == ReadBlock(old, old_file, old_blocks[i]);
  }
  if (!good) Check(now.Name() + ": reads other filters than were written");
}

}  // namespace deltabloom::tools
