// Which tables a database of RocksDB has, and in which levels: its MANIFEST, a
// log (db/log_format.h there) of changes (db/version_edit.h).
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_MANIFEST_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deltabloom::tools {

struct LiveTable {
  uint32_t family = 0;
  uint32_t level = 0;
};

class Manifest {
 public:
  static constexpr size_t kBlockSize = 32768;

  // Takes the next kBlockSize bytes of the file, or its last ones. False: there
  // is no more to read, for the end was reached, or something that is none of
  // what RocksDB writes; error() says what.
  bool Add(std::string_view block);

  // Empty at a good end, and where the last record is there in part, as in
  // the file of a database that runs.
  const std::string& error() const { return error_; }

  // By file number.
  const std::map<uint64_t, LiveTable>& tables() const { return tables_; }
  // Of a column family that is not dropped; else empty.
  std::string FamilyName(uint32_t family) const;

 private:
  bool Record(uint8_t type, std::string_view payload);
  bool Apply(std::string_view edit);

  std::string record_;  // parts of one, so far
  std::string error_;
  std::map<uint64_t, LiveTable> tables_;
  std::map<uint32_t, std::string> families_ = {{0, "default"}};
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_MANIFEST_H_
