#include "tools/deltabloom/database/block_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tools/sst/sst.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

// A LOG begins with the options, also one that was begun while the database was
// open. They take 8 KB for each column family.
constexpr uint64_t kMostOfLog = 4 << 20;

// Returns whether `line` has `mark`, and sets *rest to what follows it.
bool Follows(std::string_view line, std::string_view mark,
             std::string_view* rest) {
  const size_t found = line.find(mark);
  if (found == line.npos) return false;
  *rest = line.substr(found + mark.size());
  return true;
}

}  // namespace

BlockCaches ParseBlockCaches(std::string_view log) {
  BlockCaches caches;
  std::string family;
  std::string address;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    if (end == log.npos) break;  // the end of the line may be missing
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end + 1);
    std::string_view value;
    uint64_t capacity = 0;
    if (Follows(line, "--- Options for column family [", &value)) {
      family = value.substr(0, value.rfind("]:"));
      caches.erase(family);
      address.clear();
    } else if (Follows(line, "  block_cache: ", &value)) {
      address = value;
    } else if (!address.empty() && Follows(line, "    capacity : ", &value) &&
               internal::ParseNumber(value, &capacity)) {
      caches[family] = {address, capacity};
      address.clear();  // of a second cache behind the first one
    }
  }
  return caches;
}

std::string ReadBlockCaches(const std::string& database, BlockCaches* caches) {
  caches->clear();
  const std::string path = std::filesystem::path(database) / "LOG";
  struct stat status;
  if (stat(path.c_str(), &status) != 0 && errno == ENOENT) return {};
  std::string problem;
  const auto source = internal::OpenSstFile(path, &problem);
  if (source == nullptr) return problem;
  std::string log(std::min(source->Size(), kMostOfLog), '\0');
  problem = source->Read(0, log.size(), log.data());
  if (problem.empty()) *caches = ParseBlockCaches(log);
  return problem;
}

}  // namespace deltabloom::tools
