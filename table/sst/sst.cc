#include "table/sst/sst.h"

#include "table/sst/block.h"
#include "table/sst/footer.h"
#include "table/sst/read_block.h"

namespace deltabloom::internal {
namespace {

constexpr char kPropertiesName[] = "rocksdb.properties";
constexpr char kIndexName[] = "rocksdb.index";

// What may still be found. Filters do not overlap, so that all of them fit into
// the file; and their names, which share prefixes in the metaindex, must not
// become more than the two are long. Both bound the memory and the time that a
// file can cost.
struct Budget {
  uint64_t filter_bytes = 0;
  uint64_t name_bytes = 0;
};

std::string Take(uint64_t bytes, const char* what, uint64_t* left) {
  if (bytes > *left) {
    return std::string("expected ") + what + " of at most " +
           std::to_string(*left) + " more bytes in this file, found " +
           std::to_string(bytes);
  }
  *left -= bytes;
  return {};
}

std::string TakeFilter(const BlockHandle& handle, Budget* budget) {
  return Take(handle.size + kBlockTrailerSize, "filters",
              &budget->filter_bytes);
}

bool TakePrefix(std::string_view prefix, std::string_view* name) {
  if (name->substr(0, prefix.size()) != prefix) return false;
  name->remove_prefix(prefix.size());
  return true;
}

bool ScopeOfName(std::string_view* name, FilterScope* scope) {
  if (TakePrefix("filter.", name)) {
    *scope = FilterScope::kPerBlock;
  } else if (TakePrefix("fullfilter.", name)) {
    *scope = FilterScope::kFull;
  } else if (TakePrefix("partitionedfilter.", name)) {
    *scope = FilterScope::kPartitioned;
  } else {
    return false;
  }
  return true;
}

// Where the metaindex says that blocks are, other than filters.
struct OtherBlocks {
  BlockHandle properties;
  bool has_properties = false;
  bool has_index = false;
};

std::string TakeEntry(std::string_view name, Cursor* value, SstFile* file,
                      OtherBlocks* others, Budget* budget) {
  SstFilter filter;
  if (!TakeHandle(value, &filter.handle) || value->Left() > 0) {
    return "expected a handle, found other bytes";
  }
  std::string error = CheckHandle(*file, filter.handle);
  if (!error.empty()) return error;
  if (name == kPropertiesName) {
    others->properties = filter.handle;
    others->has_properties = true;
  } else if (name == kIndexName && IndexIsInMetaindex(*file)) {
    file->index = filter.handle;
    others->has_index = true;
  } else if (ScopeOfName(&name, &filter.scope)) {
    error = TakeFilter(filter.handle, budget);
    if (error.empty()) {
      error = Take(name.size(), "names of filters", &budget->name_bytes);
    }
    if (!error.empty()) return error;
    filter.policy = name;
    filter.bytes = filter.handle.size;
    file->filters.push_back(std::move(filter));
  }
  return {};
}

// Fills in file->filters, without partitions.
std::string ReadMetaindex(const SstSource& source, SstFile* file,
                          OtherBlocks* others, Budget* budget) {
  std::string metaindex;
  std::string error = ReadBlock(source, *file, file->metaindex, &metaindex);
  if (!error.empty()) return error;
  budget->name_bytes = source.Size() + metaindex.size();
  error = ForEachEntry(metaindex, true,
                       [&](std::string_view name, bool, Cursor* value) {
                         return TakeEntry(name, value, file, others, budget);
                       });
  if (error.empty() && IndexIsInMetaindex(*file) && !others->has_index) {
    error = std::string("expected the name ") + kIndexName + ", found none";
  }
  if (!error.empty()) {
    return At(source, file->metaindex.offset) + "metaindex: " + error;
  }
  return {};
}

std::string ReadProperties(const SstSource& source, const BlockHandle& handle,
                           SstFile* file) {
  std::string stored;
  std::string error = ReadStored(source, *file, handle, &stored);
  if (!error.empty()) return error;
  if (!ChecksumHolds(*file, handle.offset, stored)) {
    const std::string_view number = FindGlobalSequenceNumber(
        std::string_view(stored).substr(0, handle.size));
    std::string as_written = stored;
    if (!number.empty()) {
      as_written.replace(static_cast<size_t>(number.data() - stored.data()),
                         number.size(), number.size(), '\0');
    }
    if (!ChecksumHolds(*file, handle.offset, as_written)) {
      return ChecksumError(source, *file, handle);
    }
  }
  error = Unpack(source, handle, &stored);
  if (!error.empty()) return error;
  error = file->properties.Parse(std::move(stored));
  if (!error.empty()) {
    return At(source, handle.offset) + "properties: " + error;
  }
  return {};
}

std::string CountPartitions(const SstSource& source, const SstFile& file,
                            SstFilter* filter, Budget* budget) {
  filter->bytes = 0;
  return ForEachPartition(source, file, *filter,
                          [&](std::string_view, const BlockHandle& handle) {
                            ++filter->partitions;
                            filter->bytes += handle.size;
                            return TakeFilter(handle, budget);
                          });
}

}  // namespace

const char* ScopeName(FilterScope scope) {
  switch (scope) {
    case FilterScope::kPerBlock:
      return "per-block";
    case FilterScope::kFull:
      return "full";
    case FilterScope::kPartitioned:
      return "partitioned";
  }
  return "unknown";
}

std::string FindFilters(const SstSource& source, SstFile* file) {
  *file = {};
  std::string error = ReadFooter(source, file);
  if (!error.empty()) return error;

  OtherBlocks others;
  Budget budget;
  budget.filter_bytes = file->footer_offset;
  error = ReadMetaindex(source, file, &others, &budget);
  if (!error.empty()) return error;
  if (others.has_properties) {
    error = ReadProperties(source, others.properties, file);
    if (!error.empty()) return error;
  }
  for (SstFilter& filter : file->filters) {
    if (filter.scope != FilterScope::kPartitioned) continue;
    error = CountPartitions(source, *file, &filter, &budget);
    if (!error.empty()) return error;
  }
  return {};
}

std::string WalkSst(const SstSource& source, SstFile* file) {
  std::string error = FindFilters(source, file);
  if (!error.empty()) return error;
  std::string index;
  error = ReadStored(source, *file, file->index, &index);
  if (error.empty() && !ChecksumHolds(*file, file->index.offset, index)) {
    error = ChecksumError(source, *file, file->index);
  }
  return error;
}

}  // namespace deltabloom::internal
