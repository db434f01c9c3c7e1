// Filter blocks that LevelDB 1.23 wrote into real tables
// (tests/data/leveldb_filter_block.csv). A row has bits_per_key, the data
// blocks, and the filter block in hex. Data blocks are parted by '|'; each is
// its offset in the file and its entries, key=bytes of value. The last offset
// is the end of the last data block.
#pragma once

#include <cstdint>
#include <utility>

#include "tests/csv.h"

namespace deltabloom::test {

struct GoldenDataBlock {
  uint64_t offset;
  std::vector<std::pair<std::string, size_t>> entries;  // key, value size
};

struct GoldenFilterBlock {
  int bits_per_key;
  std::vector<GoldenDataBlock> blocks;
  std::string bytes;
};

inline std::vector<GoldenFilterBlock> ReadGoldenFilterBlocks() {
  std::vector<GoldenFilterBlock> goldens;
  for (const auto& row : ReadCsv("leveldb_filter_block.csv")) {
    GoldenFilterBlock golden{std::stoi(row.at(0)), {}, FromHex(row.at(2))};
    std::istringstream blocks(row.at(1));
    for (std::string text; std::getline(blocks, text, '|');) {
      std::istringstream words(text);
      GoldenDataBlock block{};
      words >> block.offset;
      for (std::string entry; words >> entry;) {
        const size_t equals = entry.find('=');
        block.entries.emplace_back(entry.substr(0, equals),
                                   std::stoul(entry.substr(equals + 1)));
      }
      golden.blocks.push_back(std::move(block));
    }
    goldens.push_back(std::move(golden));
  }
  return goldens;
}

}  // namespace deltabloom::test
