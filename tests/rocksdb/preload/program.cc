// Prints which librocksdb is in the process. NO_ROCKSDB: none is linked into
// the program.
#include <link.h>

#include <cstdio>
#include <cstring>

#ifdef NO_ROCKSDB
extern "C" const char deltabloom_test_mark[] = "none";
#else
extern "C" const char deltabloom_test_mark[];
#endif

int main() {
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void*) {
        if (std::strstr(object->dlpi_name, "librocksdb.so") != nullptr) {
          std::printf("loaded: %s\n", object->dlpi_name);
        }
        return 0;
      },
      nullptr);
  std::printf("ran with %s\n", deltabloom_test_mark);
}
