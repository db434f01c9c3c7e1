#define _GNU_SOURCE

#include "engines/rocksdb/plugin/find_rocksdb.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Does what memmem would do. memmem cannot be used: sanitizers check the memory
 * that they keep around constants, and this function reads that memory too. */
__attribute__((no_sanitize("address", "thread"))) static bool contains_mark(
    const char* bytes, size_t size) {
  size_t matched = 0; /* of mark_rest, after its first character */
  bool first = false;
  for (size_t i = 0; i < size; ++i) {
    /* The mark's beginning, 'r', is not in it a second time. */
    if (first && bytes[i] == mark_rest[matched]) {
      if (++matched == sizeof(mark_rest) - 1) return true;
    } else {
      matched = 0;
      first = bytes[i] == MARK_FIRST;
    }
  }
  return false;
}

static bool has_mark(const struct dl_phdr_info* object) {
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
      return true;
    }
  }
  return false;
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
  if (objects->count < MOST_OBJECTS && has_mark(object)) {
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
