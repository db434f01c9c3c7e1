// RocksDB's table properties.
#ifndef DELTABLOOM_TABLE_SST_PROPERTIES_H_
#define DELTABLOOM_TABLE_SST_PROPERTIES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// Names and values in the block that stores them. Names share prefixes there,
// so that a copy of each could be far larger than the block.
class SstProperties {
 public:
  // Takes the block over. Returns what is wrong with it; then there are none.
  std::string Parse(std::string block);

  bool empty() const { return block_.empty(); }

  // False when there is no property of that name; Number also when its value is
  // not a varint64 and nothing else. *value lives as long as this.
  bool Text(std::string_view name, std::string_view* value) const;
  bool Number(std::string_view name, uint64_t* value) const;

 private:
  std::string block_;
};

// Where a properties block holds the sequence number of a file that RocksDB
// took in: it is written over zeros after the checksum of the block was. Empty
// when it is not there.
std::string_view FindGlobalSequenceNumber(std::string_view block);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_PROPERTIES_H_
