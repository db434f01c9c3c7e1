// The file system of the torture. It notes what was synced, so that a loss of
// power can be imitated once the process is dead; it fails or stops at a given
// operation; and its reads fail or return a flipped bit at a given place.
//
// RocksDB's FaultInjectionTestFS is not in its shared library. As there, what
// is lost is: bytes after the last sync of a file; and files made, and names
// given by a rename, since the last sync of their folder. A deletion is never
// lost.
#ifndef DELTABLOOM_TESTS_TORTURE_DISK_H_
#define DELTABLOOM_TESTS_TORTURE_DISK_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/torture/model.h"

namespace deltabloom::torture {

// What the reads of one file return instead of its content.
struct Fault {
  std::string file;     // without its folder
  std::string block;    // what the damage is in
  uint64_t offset = 0;  // of the byte, or of the bytes that cannot be read
  uint64_t size = 1;
  int bit = -1;  // to be flipped; -1: the bytes cannot be read

  std::string Describe() const;
};

struct DiskPlan {
  std::string database;  // the folder whose files are watched; empty: none
  std::string notes;     // the folder for what LosePower() needs
  // All operations stop forever at this operation that changes a file, and
  // journal->wants_to_die is set; 0: none.
  uint64_t stop_at = 0;
  // The first operation that fails, and how many do; 0: none.
  uint64_t fail_at = 0;
  uint64_t failures = 0;
  Fault fault;
};

std::unique_ptr<rocksdb::Env> NewDisk(const DiskPlan& plan, Journal* journal);

struct PowerLoss {
  // The share of unsynced bytes that reached the disk all the same, in the
  // first log that has any; elsewhere none did.
  double log_tail_kept = 0;
  bool forget_syncs = false;  // of logs: a broken disk
};

// What the loss of power does to the files, once its process is dead. Returns
// the number of files it changed. Throws std::filesystem::filesystem_error.
uint64_t LosePower(const DiskPlan& plan, const PowerLoss& loss);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_DISK_H_
