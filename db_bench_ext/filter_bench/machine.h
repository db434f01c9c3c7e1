// Where and with what the figures were made.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MACHINE_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MACHINE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace deltabloom::bench {

// Name and value: CPU, caches, level of the kernels, versions, date.
std::vector<std::pair<std::string, std::string>> DescribeMachine();

// Bytes of memory that can be had without swapping; UINT64_MAX if not known.
uint64_t AvailableMemory();

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MACHINE_H_
