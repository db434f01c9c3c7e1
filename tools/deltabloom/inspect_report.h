// What there is to say about the filters of one table file.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace deltabloom::tools {

struct FileReport {
  std::string engine;  // LevelDB or RocksDB
  uint32_t format_version = 0;
  std::string checksum;
  bool has_checksums = false;
  std::optional<uint64_t> keys;  // added to the filter, where the file tells
  uint64_t filters = 0;
};

struct FilterReport {
  std::string kind;  // per-block, full or partitioned
  std::string policy;
  bool partitioned = false;  // then of the index:
  uint64_t index_offset = 0;
  uint64_t index_bytes = 0;
  uint64_t parts = 1;
  uint64_t bytes = 0;  // of all parts
  std::optional<double> bits_per_key;
};

// A block of filter bytes: a whole filter, a partition, or a filter block.
struct FilterPart {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string layout;  // "Deltabloom classic, 6 probes, 800 bits"
  std::string error;   // empty when it could be read and its checksum holds
};

// Receives what Inspect finds while it finds it, so that a file of many filters
// takes no more memory than one of few:
//      File (Filter Part* EndFilter)*
class InspectListener {
 public:
  virtual ~InspectListener() = default;
  virtual void File(const FileReport& file) = 0;
  virtual void Filter(const FilterReport& filter) = 0;
  virtual void Part(const FilterPart& part) = 0;
  virtual void EndFilter() = 0;
};

// Returns why the file could not be walked to its end, in one line; the
// listener may have been told a part of it then. An error of a single part is
// told to the listener alone. Never throws std::bad_alloc of its own: that is
// an error of the file, or of the part, too.
std::string Inspect(const std::string& path, InspectListener* listener);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_REPORT_H_
