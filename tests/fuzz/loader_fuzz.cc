// The loader's search for RocksDB in what is loaded. Any program headers: it
// reads no memory that is not there, and finds the mark wherever a segment that
// it searches has it.
//
// Input: where the mark is, then program headers.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "tests/fuzz/harness.h"

namespace deltabloom::fuzz {
namespace {

// More than the loader reads at a time.
constexpr size_t kBytes = 80 << 10;
constexpr size_t kGap = 64 << 10;

// Bytes between two gaps that cannot be read.
char* NewMemory() {
  void* const all = mmap(nullptr, kBytes + 2 * kGap, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Check(all != MAP_FAILED);
  char* const memory = static_cast<char*>(all) + kGap;
  Check(mprotect(memory, kBytes, PROT_READ | PROT_WRITE) == 0);
  return memory;
}

ElfW(Phdr) TakeHeader(Input* input) {
  ElfW(Phdr) header = {};
  const uint8_t kind = input->Byte();
  header.p_type = kind < 0xf0 ? PT_LOAD : kind & 7u;
  header.p_flags = kind & 7u;
  // From the gap in front on; some far away.
  header.p_vaddr = input->Number() << (input->Byte() % 2);
  header.p_vaddr -= kGap / 2;
  const uint8_t shift = input->Byte();
  header.p_filesz = ElfW(Xword){input->Number()}
                    << (shift < 0xe0 ? shift % 2 : shift % 48);
  return header;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  static char* const memory = NewMemory();
  // Not a constant of this program, which would then have the mark, too.
  static const std::string& mark =
      *new std::string(std::string("rocksdb_build_") + "git_tag:");
  Input input(bytes);
  const size_t at = (input.Number() << (input.Byte() % 2)) % kBytes;
  const size_t length = std::min(mark.size(), kBytes - at);
  mark.copy(memory + at, length);

  std::vector<ElfW(Phdr)> headers;
  while (!input.empty() && headers.size() < 20) {
    headers.push_back(TakeHeader(&input));
  }
  struct dl_phdr_info object = {};
  object.dlpi_addr = reinterpret_cast<uintptr_t>(memory);
  object.dlpi_phdr = headers.data();
  object.dlpi_phnum = static_cast<ElfW(Half)>(headers.size());
  const bool found = deltabloom_has_rocksdb(&object) == 1;

  const auto is_loaded_as = [](const ElfW(Phdr) & header, unsigned flags) {
    return header.p_type == PT_LOAD && (header.p_flags & 7) == flags;
  };
  const bool has_constants = std::any_of(
      headers.begin(), headers.end(),
      [&](const auto& header) { return is_loaded_as(header, PF_R); });
  for (const ElfW(Phdr) & header : headers) {
    if (is_loaded_as(header, has_constants ? PF_R : PF_R | PF_X) &&
        header.p_vaddr <= at && header.p_filesz <= kBytes - header.p_vaddr &&
        at + mark.size() <= header.p_vaddr + header.p_filesz) {
      Check(found);
    }
  }
  std::memset(memory + at, 0, length);
}

}  // namespace deltabloom::fuzz
