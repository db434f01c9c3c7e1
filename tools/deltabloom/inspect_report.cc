#include "tools/deltabloom/inspect_report.h"

#include <new>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "table/framing.h"
#include "table/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::FilterKind;

// RocksDB's own filters: the five bytes at the end tell which
// (table/block_based/filter_policy.cc there).
std::string DescribeRocksDBFilter(std::string_view filter) {
  constexpr size_t kTrailerSize = 5;
  if (filter.size() <= kTrailerSize) return "RocksDB, holds no key";
  const auto byte = [end = filter.data() + filter.size()](int from_end) {
    return static_cast<unsigned>(static_cast<unsigned char>(end[-from_end]));
  };
  const std::string bits =
      ", " + std::to_string((filter.size() - kTrailerSize) * 8) + " bits";
  switch (byte(5)) {
    case 0:
      return "RocksDB, always matches";
    case 0xff:
      if (byte(4) != 0 || byte(3) >> 5 != 0) return "RocksDB Bloom, reserved";
      return "RocksDB Bloom, " + std::to_string(byte(3) & 31) + " probes" +
             bits;
    case 0xfe:
      return "RocksDB Ribbon" + bits;
    default:
      if (byte(5) > 127) return "RocksDB, reserved";
      return "RocksDB legacy Bloom, " + std::to_string(byte(5)) + " probes" +
             bits;
  }
}

std::string DescribeTableFilter(const std::string& policy,
                                std::string_view filter) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  std::string why;
  const FilterKind kind = internal::ParseSealed(filter, internal::ActiveCpu(),
                                                &keys, &parsed, &why);
  if (kind != FilterKind::kForeign) {
    const internal::LevelAtCreation made =
        internal::ParseLevelByte(internal::SealedLevel(filter));
    return "Deltabloom " + why +
           (made.level < 0 ? std::string()
                           : ", for level " + std::to_string(made.level)) +
           (made.bottommost ? ", nothing older below" : "");
  }
  if (policy.compare(0, 8, "rocksdb.") == 0) {
    return DescribeRocksDBFilter(filter);
  }
  return "not recognised";
}

// The first window's filter stands for all: a policy writes one kind.
std::string DescribeFilterBlock(std::string_view block) {
  const auto policy = NewBloomFilterPolicy(10);  // only keys would need it
  const FilterBlockReader reader(policy.get(), block);
  std::string text = reader.Describe();
  if (reader.NumWindows() == 0) return text;
  const uint32_t array = internal::LoadFixed32(&block[block.size() - 5]);
  for (uint64_t i = 0; i < reader.NumWindows(); ++i) {
    const uint32_t start = internal::LoadFixed32(&block[array + 4 * i]);
    const uint32_t end = internal::LoadFixed32(&block[array + 4 * i + 4]);
    if (start >= end || end > array) continue;
    return text + "; first filter: " +
           DescribeFilter(block.substr(start, end - start));
  }
  return text;
}

FilterPart InspectPart(const internal::SstSource& source,
                       const internal::SstFile& file,
                       const internal::SstFilter& filter,
                       const internal::BlockHandle& handle) {
  FilterPart part;
  part.offset = handle.offset;
  part.bytes = handle.size;
  try {
    std::string bytes;
    part.error = internal::ReadBlock(source, file, handle, &bytes);
    if (part.error.empty()) {
      part.layout = filter.scope == internal::FilterScope::kPerBlock
                        ? DescribeFilterBlock(bytes)
                        : DescribeTableFilter(filter.policy, bytes);
    }
  } catch (const std::bad_alloc&) {
    part.error = source.Name() + ": offset " + std::to_string(handle.offset) +
                 ": no memory for a filter of " + std::to_string(handle.size) +
                 " bytes";
  }
  return part;
}

std::string InspectFilter(const internal::SstSource& source,
                          const internal::SstFile& file,
                          const internal::SstFilter& filter,
                          std::optional<uint64_t> keys,
                          InspectListener* listener) {
  FilterReport report;
  report.kind = internal::ScopeName(filter.scope);
  report.policy = filter.policy;
  report.bytes = filter.bytes;
  report.partitioned = filter.scope == internal::FilterScope::kPartitioned;
  if (report.partitioned) {
    report.index_offset = filter.handle.offset;
    report.index_bytes = filter.handle.size;
    report.parts = filter.partitions;
  }
  if (keys.has_value() && *keys > 0) {
    report.bits_per_key =
        static_cast<double>(report.bytes) * 8 / static_cast<double>(*keys);
  }
  listener->Filter(report);
  std::string error;
  if (report.partitioned) {
    error = internal::ForEachPartition(
        source, file, filter,
        [&](std::string_view, const internal::BlockHandle& handle) {
          listener->Part(InspectPart(source, file, filter, handle));
          return std::string();
        });
  } else {
    listener->Part(InspectPart(source, file, filter, filter.handle));
  }
  listener->EndFilter();
  return error;
}

std::string InspectFile(const std::string& path, InspectListener* listener) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  internal::SstFile file;
  error = internal::WalkSst(*source, &file);
  if (!error.empty()) return error;

  FileReport report;
  report.engine = file.format_version > 0 || !file.properties.empty()
                      ? "RocksDB"
                      : "LevelDB";
  report.format_version = file.format_version;
  report.checksum = internal::ChecksumName(file.checksum);
  report.has_checksums = file.checksum != internal::ChecksumType::kNone;
  uint64_t keys;
  if (file.properties.Number("rocksdb.num.filter_entries", &keys)) {
    report.keys = keys;
  }
  report.filters = file.filters.size();
  listener->File(report);
  for (const internal::SstFilter& filter : file.filters) {
    error = InspectFilter(*source, file, filter, report.keys, listener);
    if (!error.empty()) return error;
  }
  return {};
}

}  // namespace

std::string Inspect(const std::string& path, InspectListener* listener) {
  try {
    return InspectFile(path, listener);
  } catch (const std::bad_alloc&) {
    return path + ": no memory for what this file claims to hold";
  }
}

}  // namespace deltabloom::tools
