#define _GNU_SOURCE

#include "engines/rocksdb/plugin/find_rocksdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Among the constants of every RocksDB from 6.18 on, static or shared, stripped
 * or not (util/build_version.cc.in, and what Rust's crates put in its place).
 * Symbols would not show a RocksDB that is linked into a program, which need
 * not export them. The first character is missing here, so that a program with
 * this file in it does not have the mark. */
#define MARK_FIRST 'r'
static const char mark_rest[] = "ocksdb_build_git_tag:";

/* GetRocksVersionAsString(bool), whose name has the ABI of its result. */
static const char* const version_functions[2] = {
    "_ZN7rocksdb23GetRocksVersionAsStringEb",
    "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb"};

/* More than one is an error, so the others need not be found. */
#define MOST_OBJECTS 4

struct objects {
  struct dl_phdr_info found[MOST_OBJECTS];
  size_t count;
};

static bool is_loaded_as(const ElfW(Phdr) * segment, unsigned flags) {
  return segment->p_type == PT_LOAD &&
         (segment->p_flags & (PF_R | PF_W | PF_X)) == flags;
}

/* Copies the bytes, or as many as the pages of their file have: those of a file
 * that is shorter than its segments, as one that was cut off since, would end
 * the process. */
__attribute__((no_sanitize("address", "thread"))) static size_t copy_bytes(
    const char* from, size_t size, char* to) {
  const struct iovec local = {to, size};
  const struct iovec remote = {(void*)(uintptr_t)from, size};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (copied >= 0) return (size_t)copied;
  if (errno == EFAULT) return 0;
  /* Forbidden here. Not by memcpy: sanitizers check the memory that they keep
   * around constants. */
  for (size_t i = 0; i < size; ++i) to[i] = from[i];
  return size;
}

static bool contains_mark(const char* bytes, size_t size) {
  char part[1 << 15];
  const size_t length = sizeof(mark_rest); /* with the first character */
  while (size >= length) {
    const size_t wanted = size < sizeof(part) ? size : sizeof(part);
    const size_t copied = copy_bytes(bytes, wanted, part);
    const char* at = part;
    const char* const end = part + copied;
    while ((at = memmem(at, (size_t)(end - at), mark_rest,
                        sizeof(mark_rest) - 1)) != NULL) {
      if (at > part && at[-1] == MARK_FIRST) return true;
      ++at;
    }
    if (copied < wanted) return false;
    /* The mark may lie across the end of a part. */
    const size_t done = wanted - (length - 1);
    bytes += done;
    size -= done;
  }
  return false;
}

int deltabloom_has_rocksdb(const struct dl_phdr_info* object) {
  /* Constants lie with the code where the linker made no segment of their own.
   */
  unsigned flags = PF_R | PF_X;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    if (is_loaded_as(&object->dlpi_phdr[i], PF_R)) flags = PF_R;
  }
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &object->dlpi_phdr[i];
    if (is_loaded_as(segment, flags) &&
        contains_mark((const char*)(object->dlpi_addr + segment->p_vaddr),
                      segment->p_filesz)) {
      return 1;
    }
  }
  return 0;
}

static bool has_address(const struct dl_phdr_info* object,
                        const void* address) {
  const uintptr_t at = (uintptr_t)address - object->dlpi_addr;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &object->dlpi_phdr[i];
    /* Below the segment the difference wraps around. */
    if (segment->p_type == PT_LOAD &&
        at - segment->p_vaddr < segment->p_memsz) {
      return true;
    }
  }
  return false;
}

/* Sets host->version_function and the ABI. */
static void find_version_function(const struct dl_phdr_info* object,
                                  struct deltabloom_host* host) {
  /* Without RTLD_GLOBAL the symbols of the object stay as local as they are. */
  void* const handle = dlopen(*host->path == '\0' ? NULL : host->path,
                              RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == NULL) return;
  for (int abi = 0; abi < 2; ++abi) {
    void* const function = dlsym(handle, version_functions[abi]);
    /* dlsym also finds functions of other objects. */
    if (function == NULL || !has_address(object, function)) continue;
    host->version_function = function;
    host->cxx11_abi = abi;
  }
  dlclose(handle);
}

static int note_if_marked(struct dl_phdr_info* object, size_t size,
                          void* argument) {
  (void)size;
  struct objects* const objects = argument;
  if (objects->count < MOST_OBJECTS && deltabloom_has_rocksdb(object)) {
    objects->found[objects->count++] = *object;
  }
  return 0;
}

void deltabloom_for_each_host(void (*fn)(const struct deltabloom_host* host,
                                         void* argument),
                              void* argument) {
  struct objects objects;
  objects.count = 0;
  dl_iterate_phdr(note_if_marked, &objects);
  /* Outside dl_iterate_phdr, which holds a lock that dlopen needs. */
  for (size_t i = 0; i < objects.count; ++i) {
    struct deltabloom_host host = {objects.found[i].dlpi_name, NULL, 0};
    find_version_function(&objects.found[i], &host);
    fn(&host, argument);
  }
}

/* A std::string: before C++11's ABI it has only the first member. It is
 * returned in memory that the caller provides, as this struct is, because both
 * are not trivial or larger than two registers. */
struct returned_string {
  const char* data;
  size_t size;
  char more[16];
};

void deltabloom_host_version(const struct deltabloom_host* host, char* text,
                             unsigned long size) {
  struct returned_string (*function)(bool with_patch);
  __extension__ function =
      (struct returned_string(*)(bool))host->version_function;
  /* The string is leaked where it has memory of its own. */
  const struct returned_string version = function(true);
  snprintf(text, size, "%s", version.data);
}
