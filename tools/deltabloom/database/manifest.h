// The tables of a RocksDB database and their levels: its MANIFEST, a log
// (db/log_format.h there) of changes (db/version_edit.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deltabloom::tools {

struct LiveTable {
  uint32_t family = 0;
  uint32_t level = 0;
  uint64_t size = 0;          // of the file
  bool has_checksum = false;  // of the file: file_checksum_gen_factory
  // Its first and its last key.
  std::string first_key;
  std::string last_key;
};

class Manifest {
 public:
  static constexpr size_t kBlockSize = 32768;

  // Takes the next kBlockSize bytes of the file, or its last ones. Returns
  // false at bytes that RocksDB does not write; Error() then says what.
  bool Add(std::string_view block);

  // Returns what is wrong with all bytes so far; nothing if they can be the
  // whole file.
  std::string Error() const;

  // Live tables by file number.
  const std::map<uint64_t, LiveTable>& tables() const { return tables_; }
  // Empty if there is no such column family.
  std::string FamilyName(uint32_t family) const;

 private:
  // These return what is wrong.
  std::string TakeBlock(std::string_view block);
  std::string Record(uint8_t type, std::string_view payload);
  std::string Apply(std::string_view bytes);

  std::string record_;      // parts of one, so far
  bool is_open_ = false;    // there are such parts
  bool is_cut_ = false;     // the bytes end within a record
  bool is_padded_ = false;  // zeros follow, up to the end
  // The number of the next file, which each MANIFEST has from the start.
  bool has_next_file_ = false;
  std::string error_;
  std::map<uint64_t, LiveTable> tables_;
  std::map<uint32_t, std::string> families_ = {{0, "default"}};
};

// Reads the MANIFEST that the file CURRENT of the database names, to its end.
// Returns what is wrong. Tries again where a running database changes it
// meanwhile.
std::string ReadManifest(const std::string& database, Manifest* manifest);

}  // namespace deltabloom::tools
