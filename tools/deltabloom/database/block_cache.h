// The size of the block cache that a database was last opened with. OPTIONS
// files do not have it; RocksDB writes it into the LOG.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deltabloom::tools {

struct BlockCache {
  // Column families that share a cache have the same address, as text.
  std::string address;
  uint64_t capacity = 0;
};

// Block caches by column family. Families are missing if their cache does not
// print its capacity, as caches of programs' own may not.
using BlockCaches = std::map<std::string, BlockCache>;

// Parses a LOG, whose end may be missing. Any bytes are safe.
BlockCaches ParseBlockCaches(std::string_view log);

// Parses the file LOG in the directory of a database; finds none if there is no
// such file. Returns what is wrong, in a line, or nothing.
std::string ReadBlockCaches(const std::string& database, BlockCaches* caches);

}  // namespace deltabloom::tools
