// Parses any bytes as a MANIFEST of RocksDB: as they are, and as changes in
// records whose checksums hold.
//
// Input: the bytes; the first is the size of the first record, and so on.
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/harness.h"
#include "tools/deltabloom/database/manifest.h"
#include "tools/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::fuzz {
namespace {

using tools::Manifest;

// A whole record of the log.
std::string Record(const std::vector<char>& change) {
  std::string record;
  record += static_cast<char>(change.size() & 0xff);
  record += static_cast<char>(change.size() >> 8);
  record += '\x01';
  record.append(change.data(), change.size());
  char checksum[4];
  internal::StoreFixed32(
      checksum, internal::BlockChecksum(internal::ChecksumType::kCrc32c,
                                        record.substr(2)));
  return std::string(checksum, 4) + record;
}

void Read(std::string_view log) {
  Manifest manifest;
  bool more = true;
  while (more && !log.empty()) {
    const std::string_view block = log.substr(0, Manifest::kBlockSize);
    more = manifest.Add(block);
    Check(more || !manifest.Error().empty());
    log.remove_prefix(block.size());
  }
  Check(manifest.Error().find('\n') == std::string::npos);
  for (const auto& [number, table] : manifest.tables()) {
    manifest.FamilyName(table.family);
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  Input input(bytes);
  std::string log;
  while (!input.empty() && log.size() <= Manifest::kBlockSize) {
    log += Record(input.Bytes(input.Byte()));
  }
  Read(log.substr(0, Manifest::kBlockSize));
  Read(bytes);
}

}  // namespace deltabloom::fuzz
