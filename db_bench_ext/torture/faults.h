// A file system for reading that flips a bit of a file, or fails to read a part
// of it.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_FAULTS_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_FAULTS_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

namespace deltabloom::torture {

struct Fault {
  enum class Kind { kBitFlip, kReadError };

  Kind kind = Kind::kBitFlip;
  std::string file;     // without its folder
  std::string block;    // what it is in
  uint64_t offset = 0;  // of the byte, or of the bytes that cannot be read
  uint64_t size = 1;
  int bit = 0;

  std::string Describe() const;
};

// Everything but the fault is as on the disk.
std::shared_ptr<rocksdb::FileSystem> NewFaultyFileSystem(const Fault& fault);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_FAULTS_H_
