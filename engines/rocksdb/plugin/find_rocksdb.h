// Finds the RocksDB that this process runs with, without calling it.
#pragma once

namespace deltabloom::internal {

// A program or loaded shared object that contains RocksDB.
struct LoadedRocksDB {
  const char* path;    // empty: the program itself
  const char* soname;  // null: it has none
};

// Calls fn for each RocksDB that is loaded, the caller's own shared object
// aside. Allocates nothing; the strings live as long as the objects do.
void ForEachRocksDB(void (*fn)(const LoadedRocksDB& rocksdb, void* argument),
                    void* argument);

}  // namespace deltabloom::internal
