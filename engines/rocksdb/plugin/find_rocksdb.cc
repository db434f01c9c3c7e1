#include "engines/rocksdb/plugin/find_rocksdb.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace deltabloom::internal {
namespace {

// Among the constants of every RocksDB from 6.18 on, static or shared, stripped
// or not (util/build_version.cc.in). Symbols would not show a RocksDB that is
// linked into a program, which need not export them.
constexpr char kMark[] = "rocksdb_build_git_sha:";

struct Search {
  void (*fn)(const LoadedRocksDB& rocksdb, void* argument);
  void* argument;
};

const char* At(const dl_phdr_info& object, ElfW(Addr) address) {
  return reinterpret_cast<const char*>(object.dlpi_addr + address);
}

bool IsLoadedAs(const ElfW(Phdr) & segment, unsigned flags) {
  return segment.p_type == PT_LOAD &&
         (segment.p_flags & (PF_R | PF_W | PF_X)) == flags;
}

template <typename Fn>
bool AnySegment(const dl_phdr_info& object, Fn fn) {
  const ElfW(Phdr)* const first = object.dlpi_phdr;
  return std::any_of(first, first + object.dlpi_phnum, fn);
}

// Does what memmem would do. memmem cannot be used: sanitizers check the memory
// that they keep around constants, and this function reads that memory too.
__attribute__((no_sanitize("address", "thread"))) bool Contains(
    const char* bytes, size_t size) {
  size_t matched = 0;
  for (size_t i = 0; i < size; ++i) {
    // The mark's beginning, 'r', is not in it a second time.
    if (bytes[i] != kMark[matched]) matched = 0;
    if (bytes[i] == kMark[matched]) ++matched;
    if (matched == sizeof(kMark) - 1) return true;
  }
  return false;
}

bool HasMark(const dl_phdr_info& object) {
  // Constants lie with the code where the linker made no segment of their own.
  const auto is_constant = [](const auto& segment) {
    return IsLoadedAs(segment, PF_R);
  };
  const unsigned flags = AnySegment(object, is_constant) ? PF_R : PF_R | PF_X;
  return AnySegment(object, [&](const auto& segment) {
    return IsLoadedAs(segment, flags) &&
           Contains(At(object, segment.p_vaddr), segment.p_filesz);
  });
}

bool HasAddress(const dl_phdr_info& object, const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address) - object.dlpi_addr;
  return AnySegment(object, [at](const auto& segment) {
    // Below the segment the difference wraps around.
    return segment.p_type == PT_LOAD && at - segment.p_vaddr < segment.p_memsz;
  });
}

const char* SonameOf(const dl_phdr_info& object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    const char* strings = nullptr;
    ElfW(Xword) soname = 0;
    for (const auto* entry =
             reinterpret_cast<const ElfW(Dyn)*>(At(object, segment.p_vaddr));
         entry->d_tag != DT_NULL; ++entry) {
      // The C library has relocated this address.
      if (entry->d_tag == DT_STRTAB) {
        strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      }
      if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val;
    }
    if (strings != nullptr && soname != 0) return strings + soname;
  }
  return nullptr;
}

int Visit(dl_phdr_info* object, size_t /*size*/, void* argument) {
  const auto& search = *static_cast<const Search*>(argument);
  if (HasAddress(*object, kMark) || !HasMark(*object)) return 0;
  search.fn({object->dlpi_name, SonameOf(*object)}, search.argument);
  return 0;
}

}  // namespace

void ForEachRocksDB(void (*fn)(const LoadedRocksDB& rocksdb, void* argument),
                    void* argument) {
  Search search = {fn, argument};
  dl_iterate_phdr(Visit, &search);
}

}  // namespace deltabloom::internal
