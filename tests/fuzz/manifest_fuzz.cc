// Any bytes as a MANIFEST of RocksDB: as they are, and as changes in records
// whose checksums hold.
//
// Input: the bytes; the first is the size of the first record, and so on.
#include <string>
#include <string_view>

#include "table/sst/block.h"
#include "tests/fuzz/harness.h"
#include "tools/deltabloom/manifest.h"

namespace {

using deltabloom::fuzz::Check;
using deltabloom::tools::Manifest;

// A whole record of the log.
std::string Record(std::string_view change) {
  std::string record;
  record += static_cast<char>(change.size() & 0xff);
  record += static_cast<char>(change.size() >> 8);
  record += '\x01';
  record += change;
  const uint32_t checksum = deltabloom::internal::BlockChecksum(
      deltabloom::internal::ChecksumType::kCrc32c,
      std::string_view(record).substr(2));
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(checksum >> 8 * i);
  return bytes + record;
}

void Read(std::string_view log) {
  Manifest manifest;
  bool more = true;
  while (more && !log.empty()) {
    const std::string_view block = log.substr(0, Manifest::kBlockSize);
    more = manifest.Add(block);
    Check(!more || manifest.error().empty());
    log.remove_prefix(block.size());
  }
  Check(manifest.error().find('\n') == std::string::npos);
  for (const auto& [number, table] : manifest.tables()) {
    manifest.FamilyName(table.family);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  deltabloom::fuzz::Input input(data, size);
  std::string log;
  while (!input.empty()) {
    const auto change = input.Bytes(input.Byte());
    log += Record(deltabloom::fuzz::View(change));
    if (log.size() > Manifest::kBlockSize) break;
  }
  Read(log.substr(0, Manifest::kBlockSize));
  const std::string raw(reinterpret_cast<const char*>(data), size);
  Read(raw);
  return 0;
}
