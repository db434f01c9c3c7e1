// Runs a fuzz harness over the files of a corpus, with any compiler:
//
//   <harness>_replay FOLDER
//
// Each input is also given cut short at every length, and with every byte
// changed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void RunAround(std::vector<uint8_t> input) {
  for (size_t size = 0; size <= input.size(); ++size) {
    LLVMFuzzerTestOneInput(input.data(), size);
  }
  for (size_t i = 0; i < input.size(); ++i) {
    const uint8_t before = input[i];
    for (unsigned change : {1u, 0x80u, 0xffu, unsigned{before}}) {
      input[i] = static_cast<uint8_t>(before ^ change);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    input[i] = before;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "%s: give the folder of a corpus\n", argv[0]);
    return 2;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    RunAround({std::istreambuf_iterator<char>(file), {}});
    ++files;
  }
  std::printf("%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
