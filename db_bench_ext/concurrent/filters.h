// The filters that concurrent_bench compares: each sized alike, filled and
// asked by several threads.
#ifndef DELTABLOOM_DB_BENCH_EXT_CONCURRENT_FILTERS_H_
#define DELTABLOOM_DB_BENCH_EXT_CONCURRENT_FILTERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::concurrent_bench {

class SharedFilter {
 public:
  virtual ~SharedFilter() = default;
  virtual void Add(std::string_view key) = 0;
  virtual bool MayMatch(std::string_view key) const = 0;
};

struct Contender {
  std::string name;
  std::unique_ptr<SharedFilter> (*make)(uint64_t keys, double rate);
};

// The first is what the others are compared with.
const std::vector<Contender>& Contenders();

}  // namespace deltabloom::concurrent_bench

#endif  // DELTABLOOM_DB_BENCH_EXT_CONCURRENT_FILTERS_H_
