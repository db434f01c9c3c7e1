// Writes the tables of tests/data/sst anew: to be built against RocksDB 9.10,
// whose default is format_version 6.
//
//   write_tables DIRECTORY
#include <rocksdb/filter_policy.h>
#include <rocksdb/version.h>

#include <cstdio>

#include "tests/sst/real_tables.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_tables DIRECTORY\n");
    return 2;
  }
  const std::string prefix = std::string(argv[1]) + "/rocksdb_" +
                             std::to_string(ROCKSDB_MAJOR) + "." +
                             std::to_string(ROCKSDB_MINOR) + "_";
  deltabloom::test::RocksTable table;
  table.format_version = 6;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.keys = 100;
  table.Write(prefix + "full_xxh3.sst");
  table.checksum = rocksdb::kNoChecksum;
  table.Write(prefix + "full_none.sst");
  table.partitioned = true;
  table.metadata_block_size = 64;
  table.checksum = rocksdb::kXXH3;
  table.Write(prefix + "partitioned_xxh3.sst");
  table.checksum = rocksdb::kCRC32c;
  table.Write(prefix + "partitioned_crc32c.sst");
}
