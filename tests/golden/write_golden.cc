// Writes the golden file of a layout to standard output, from the naive
// reference:
//
//   write_golden classic > tests/golden/classic_murmurhash2.csv
//   write_golden local > tests/golden/local.csv
//   write_golden compact > tests/golden/compact.csv
//
// Only for a change of the format that is meant: the committed file is what
// keeps filters on disk readable.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/golden/golden.h"
#include "tests/reference/reference.h"

int main(int argc, char** argv) {
  using namespace deltabloom;
  const reference::Reference* layout =
      argc == 2 ? reference::FindReference(argv[1]) : nullptr;
  if (layout == nullptr || layout->build == nullptr) {
    std::fputs("usage: write_golden LAYOUT\n", stderr);
    return 2;
  }
  std::puts("millibits_per_key,keys,n,size,fnv1a64,bytes");
  for (const char* kind : {"le32", "user", "golden"}) {
    for (uint32_t millibits : {0u, 500u, 1000u, 3300u, 7000u, 9900u, 10000u,
                               16000u, 24000u, 44000u}) {
      for (size_t n :
           {0u, 1u, 2u, 3u, 7u, 8u, 9u, 64u, 100u, 1000u, 10000u, 100000u}) {
        std::vector<std::string> keys;
        for (size_t i = 0; i < n; ++i) keys.push_back(test::GoldenKey(kind, i));
        const std::string filter =
            layout->build(keys, millibits, layout->payload_size(n, millibits));
        if (filter.empty()) continue;  // the fallback's golden has it
        std::printf("%u,%s,%zu,%zu,%016llx,", millibits, kind, n, filter.size(),
                    static_cast<unsigned long long>(test::Fnv1a64(filter)));
        if (filter.size() <= 40) {
          for (char byte : filter) {
            std::printf("%02x", static_cast<unsigned char>(byte));
          }
        }
        std::putchar('\n');
      }
    }
  }
}
