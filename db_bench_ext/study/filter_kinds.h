// Filters as their users hold them: bytes that are built of keys, and opened to
// be asked. Deltabloom's raw and sealed ones, and RocksDB's own.
#ifndef DELTABLOOM_DB_BENCH_EXT_STUDY_FILTER_KINDS_H_
#define DELTABLOOM_DB_BENCH_EXT_STUDY_FILTER_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::study {

using MayMatch = std::function<bool(std::string_view key)>;

struct FilterKind {
  // "sealed local, payload_check"
  std::string name;
  // Bytes behind the payload: trailer, last byte.
  size_t framing_size = 0;
  // At 10 bits per key.
  std::function<std::string(const std::vector<std::string>& keys)> build;
  // The bytes must outlive what is returned.
  std::function<MayMatch(std::string_view filter)> open;
};

// Raw and sealed, with payload_check and without, of every layout; RocksDB's
// Bloom and Ribbon from the library that is linked. Sealed ones are built and
// opened by the policy: bytes that are not taken for Deltabloom's go to
// RocksDB's own reader, as in a database, except with compatibility=own.
std::vector<FilterKind> FilterKinds();

// Random keys of 16 bytes, the same for the same seed and number.
std::vector<std::string> StudyKeys(size_t n, uint64_t seed);

}  // namespace deltabloom::study

#endif  // DELTABLOOM_DB_BENCH_EXT_STUDY_FILTER_KINDS_H_
