// Runs a fuzz harness over the files of a corpus, with any compiler:
//
//   <harness>_replay FOLDER
//
// Each input is also given cut short at every length, and with every byte
// changed; a harness with a mutator of its own gets these a second time as the
// mutator leaves them, checksums repaired for instance.
#include <dirent.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                                                size_t size,
                                                                size_t max_size,
                                                                unsigned seed);

// libFuzzer's changes, which a mutator starts from: here they are made already.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerMutate(uint8_t*, size_t size, size_t) { return size; }

namespace {

void Run(const std::vector<uint8_t>& input, size_t size) {
  LLVMFuzzerTestOneInput(input.data(), size);
  if (LLVMFuzzerCustomMutator == nullptr) return;
  constexpr unsigned kSeed = 1;  // lets a mutator do its work
  std::vector<uint8_t> copy(input.data(), input.data() + size);
  size = LLVMFuzzerCustomMutator(copy.data(), size, size, kSeed);
  LLVMFuzzerTestOneInput(copy.data(), size);
}

void RunAround(std::vector<uint8_t> input) {
  for (size_t size = 0; size <= input.size(); ++size) Run(input, size);
  for (uint8_t& byte : input) {
    const uint8_t before = byte;
    for (unsigned change : {1u, 0x80u, 0xffu, unsigned{before}}) {
      byte = static_cast<uint8_t>(before ^ change);
      Run(input, input.size());
    }
    byte = before;
  }
}

}  // namespace

// Does not use std::filesystem: its functions are in the library and so are not
// instrumented for MemorySanitizer.
int main(int argc, char** argv) {
  DIR* folder = argc == 2 ? opendir(argv[1]) : nullptr;
  if (folder == nullptr) {
    std::fprintf(stderr, "%s: give the folder of a corpus\n", argv[0]);
    return 2;
  }
  int files = 0;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    std::ifstream file(argv[1] + ("/" + name), std::ios::binary);
    RunAround({std::istreambuf_iterator<char>(file), {}});
    ++files;
  }
  closedir(folder);
  std::printf("%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
