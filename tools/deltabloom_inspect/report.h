// What there is to say about the filters of one table file.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deltabloom::tools {

// A block of filter bytes: a whole filter, a partition, or a filter block.
struct FilterPart {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string layout;  // "Deltabloom classic, 6 probes, 800 bits"
  std::string error;   // empty when it could be read and its checksum holds
};

struct IndexPart {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct FilterReport {
  std::string kind;  // per-block, full or partitioned
  std::string policy;
  std::optional<IndexPart> index;  // of a partitioned filter
  std::vector<FilterPart> parts;
  std::optional<double> bits_per_key;

  uint64_t Bytes() const;  // of all parts
};

struct FileReport {
  std::string file;
  // Why the file could not be walked, in one line; then nothing below is set.
  std::string error;
  std::string engine;  // LevelDB or RocksDB
  uint32_t format_version = 0;
  std::string checksum;
  bool has_checksums = false;
  std::optional<uint64_t> keys;  // added to the filter, where the file tells
  std::vector<FilterReport> filters;

  bool Sound() const;
};

FileReport Inspect(const std::string& path);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_
