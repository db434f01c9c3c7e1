// Stands in for another version of RocksDB: has its mark, and one function that
// both versions have. Where two versions are in one process, the constructors
// of global objects in one call it in the other. With HAS_VERSION it also has
// the function that tells the version, as a RocksDB that hides none, and those
// that make a Bloom filter, in C++ and in C.
#include <unistd.h>
#ifdef HAS_VERSION
#include <cstdlib>
#include <string>
#endif

#pragma GCC visibility push(default)

extern "C" {

extern const char deltabloom_test_mark[];
const char deltabloom_test_mark[] = "rocksdb_build_git_tag:other";

void Destroy() __asm__("_ZN7rocksdb22BlockBasedTableOptionsD1Ev");
void DestroyBase() __asm__("_ZN7rocksdb22BlockBasedTableOptionsD2Ev");

// The process ends with a status that nothing else gives.
void Destroy() { _exit(99); }
void DestroyBase() { _exit(99); }

}  // extern "C"

#ifdef HAS_VERSION
namespace rocksdb {
std::string GetRocksVersionAsString(bool with_patch);
std::string GetRocksVersionAsString(bool with_patch) {
  const char* const asked = std::getenv("OTHER_VERSION");
  if (asked != nullptr) return asked;
  return with_patch ? "99.1.2" : "99.1";
}
class FilterPolicy;
const FilterPolicy* NewBloomFilterPolicy(double bits_per_key, bool ignored);
const FilterPolicy* NewBloomFilterPolicy(double /*bits_per_key*/,
                                         bool /*ignored*/) {
  return nullptr;
}
}  // namespace rocksdb

extern "C" const void* rocksdb_filterpolicy_create_bloom(double bits_per_key);
const void* rocksdb_filterpolicy_create_bloom(double bits_per_key) {
  return rocksdb::NewBloomFilterPolicy(bits_per_key, false);
}
#endif

#pragma GCC visibility pop
