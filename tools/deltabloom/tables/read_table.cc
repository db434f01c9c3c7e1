#include "tools/deltabloom/tables/read_table.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

void Check(const std::string& error) {
  if (!error.empty()) throw std::runtime_error(error);
}

std::string ReadTable(
    const std::string& path,
    const std::function<void(const internal::SstSource&)>& fn) {
  std::string error;
  try {
    const auto source = internal::OpenSstFile(path, &error);
    if (source != nullptr) fn(*source);
  } catch (const std::bad_alloc&) {
    error = path + ": no memory for what this file claims to hold";
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  return error;
}

std::string TextOf(const internal::SstFile& file, const char* name,
                   const char* otherwise) {
  std::string_view text = otherwise;
  file.properties.Text(name, &text);
  return std::string(text);
}

uint64_t NumberOf(const internal::SstFile& file, const char* name,
                  uint64_t otherwise) {
  uint64_t number;
  return file.properties.Number(name, &number) ? number : otherwise;
}

uint64_t FilterKeysOf(const internal::SstFile& file) {
  const uint64_t keys = NumberOf(file, "rocksdb.num.filter_entries");
  // Older releases of RocksDB count entries only.
  return keys > 0 ? keys : NumberOf(file, "rocksdb.num.entries");
}

internal::SstFile ReadSst(const internal::SstSource& source, bool* damaged) {
  internal::SstFile file;
  const std::string error = internal::WalkSst(source, &file);
  if (!error.empty() && damaged != nullptr) {
    std::string index;
    *damaged = std::any_of(
        file.filters.begin(), file.filters.end(), [&](const auto& filter) {
          return filter.scope == internal::FilterScope::kPartitioned &&
                 !internal::ReadBlock(source, file, filter.handle, &index)
                      .empty();
        });
  }
  Check(error);
  return file;
}

std::string ReadBlock(const internal::SstSource& source,
                      const internal::SstFile& file,
                      const internal::BlockHandle& handle, bool* damaged) {
  std::string bytes;
  const std::string error = internal::ReadBlock(source, file, handle, &bytes);
  if (!error.empty() && damaged != nullptr) *damaged = true;
  Check(error);
  return bytes;
}

std::vector<internal::BlockHandle> FilterBlocks(
    const internal::SstSource& source, const internal::SstFile& file,
    const internal::SstFilter& filter) {
  if (filter.scope != internal::FilterScope::kPartitioned) {
    return {filter.handle};
  }
  std::vector<internal::BlockHandle> blocks;
  Check(internal::ForEachPartition(
      source, file, filter,
      [&](std::string_view, const internal::BlockHandle& handle) {
        blocks.push_back(handle);
        return std::string();
      }));
  return blocks;
}

}  // namespace deltabloom::tools
