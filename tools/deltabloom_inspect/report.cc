#include "tools/deltabloom_inspect/report.h"

#include <algorithm>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "table/framing.h"
#include "table/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::FilterKind;
using internal::FilterScope;

const char* KindName(FilterScope scope) {
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
  std::string why;
  const FilterKind kind =
      internal::ParseSealed(filter, internal::ActiveCpu(), &parsed, &why);
  if (kind != FilterKind::kForeign) {
    const uint8_t level = internal::SealedLevel(filter);
    return "Deltabloom " + why +
           (level == internal::kUnknownLevel
                ? std::string()
                : ", for level " + std::to_string(level));
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
  std::string bytes;
  part.error = internal::ReadBlock(source, file, handle, &bytes);
  if (!part.error.empty()) return part;
  part.layout = filter.scope == FilterScope::kPerBlock
                    ? DescribeFilterBlock(bytes)
                    : DescribeTableFilter(filter.policy, bytes);
  return part;
}

FilterReport InspectFilter(const internal::SstSource& source,
                           const internal::SstFile& file,
                           const internal::SstFilter& filter,
                           std::optional<uint64_t> keys) {
  FilterReport report;
  report.kind = KindName(filter.scope);
  report.policy = filter.policy;
  if (filter.scope == FilterScope::kPartitioned) {
    report.index = IndexPart{filter.handle.offset, filter.handle.size};
    internal::ForEachPartition(
        source, file, filter,
        [&](std::string_view, const internal::BlockHandle& handle) {
          report.parts.push_back(InspectPart(source, file, filter, handle));
          return std::string();
        });
  } else {
    report.parts.push_back(InspectPart(source, file, filter, filter.handle));
  }
  if (keys.has_value() && *keys > 0) {
    report.bits_per_key =
        static_cast<double>(report.Bytes()) * 8 / static_cast<double>(*keys);
  }
  return report;
}

}  // namespace

uint64_t FilterReport::Bytes() const {
  uint64_t bytes = 0;
  for (const FilterPart& part : parts) bytes += part.bytes;
  return bytes;
}

bool FileReport::Sound() const {
  return error.empty() &&
         std::all_of(filters.begin(), filters.end(), [](const auto& filter) {
           return std::all_of(
               filter.parts.begin(), filter.parts.end(),
               [](const FilterPart& part) { return part.error.empty(); });
         });
}

FileReport Inspect(const std::string& path) {
  FileReport report;
  report.file = path;
  const auto source = internal::OpenSstFile(path, &report.error);
  if (source == nullptr) return report;
  internal::SstFile file;
  report.error = internal::WalkSst(*source, &file);
  if (!report.error.empty()) return report;

  report.engine = file.format_version > 0 || !file.properties.empty()
                      ? "RocksDB"
                      : "LevelDB";
  report.format_version = file.format_version;
  report.checksum = internal::ChecksumName(file.checksum);
  report.has_checksums = file.checksum != internal::ChecksumType::kNone;
  uint64_t keys;
  if (file.properties.Number("rocksdb.num.filter_entries", &keys)) report.keys = keys;
  for (const internal::SstFilter& filter : file.filters) {
    report.filters.push_back(InspectFilter(*source, file, filter, report.keys));
  }
  return report;
}

}  // namespace deltabloom::tools
