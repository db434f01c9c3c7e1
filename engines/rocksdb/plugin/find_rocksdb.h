/* Finds the RocksDB that this process runs with, without changing anything. In
 * C and without a C++ library, because it is loaded into programs of every
 * kind. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct dl_phdr_info;

/* Returns 1 if a constant segment of a program or shared object has the mark of
 * RocksDB, else 0. Any program headers will do, and any memory: what cannot be
 * read has no mark. */
int deltabloom_has_rocksdb(const struct dl_phdr_info* object);

/* A program or loaded shared object that contains RocksDB. */
struct deltabloom_host {
  const char* path; /* empty: the program itself */
  /* Its function GetRocksVersionAsString, or null where it exports none. */
  void* version_function;
  /* The _GLIBCXX_USE_CXX11_ABI that it was compiled with; 0 or 1. */
  int cxx11_abi;
};

/* Calls fn for each RocksDB that is loaded. The strings live as long as the
 * objects do. */
void deltabloom_for_each_host(void (*fn)(const struct deltabloom_host* host,
                                         void* argument),
                              void* argument);

/* Writes the version of the host's RocksDB, as in "7.8.3", to `text`. REQUIRES:
 * host->version_function is not null, and the host's static objects are
 * constructed. */
void deltabloom_host_version(const struct deltabloom_host* host, char* text,
                             unsigned long size);

#ifdef __cplusplus
}
#endif
