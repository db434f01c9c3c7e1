// One filter of one layout, built and read by the functions of its row at one
// CPU level.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/key_batch.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::test {

// The name of a row as a part of a test's name.
inline std::string NameOf(const internal::LayoutRow& row) {
  std::string name = row.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

#if !defined(DELTABLOOM_EMULATED_AVX512)

inline std::vector<const internal::LayoutRow*> AllRows() {
  return {internal::kLayouts.begin(), internal::kLayouts.end()};
}

// The levels this CPU can run.
inline std::vector<internal::Cpu> AllLevels() {
  std::vector<internal::Cpu> levels;
  for (internal::Cpu cpu : internal::kAllCpus) {
    if (cpu <= internal::DetectedCpu()) levels.push_back(cpu);
  }
  return levels;
}

#else

// The one that has kernels for AVX-512 (compact_avx512_test.cc).
inline std::vector<const internal::LayoutRow*> AllRows() {
  return {internal::FindLayoutOfName("compact")};
}

inline std::vector<internal::Cpu> AllLevels() {
  return {internal::Cpu::kAvx512};
}

#endif  // !defined(DELTABLOOM_EMULATED_AVX512)

// The raw filter, or nothing where the layout gives up and its fallback is to
// be built. extra_bytes: room beyond the plan for grow() to use.
inline std::optional<std::string> BuildFilter(
    const internal::LayoutRow& row, internal::Cpu level,
    const std::vector<std::string>& keys, uint32_t millibits,
    uint64_t extra_bytes = 0) {
  internal::HashList hashes(row.hash_size);
  for (const std::string& key : keys) hashes.Add(row.hash(key));
  internal::Plan plan = PlanFilter(&row, keys.size(), millibits);
  if (plan.layout != &row) return std::nullopt;
  if (extra_bytes > 0) row.grow(&plan, plan.payload_size + extra_bytes);
  // An exact allocation lets AddressSanitizer see the ends.
  const std::unique_ptr<unsigned char[]> payload(
      new unsigned char[plan.payload_size]());
  if (!row.build(&hashes, /*keep_hashes=*/false, plan, level, payload.get())) {
    return std::nullopt;
  }
  std::string filter(reinterpret_cast<const char*>(payload.get()),
                     plan.payload_size);
  filter.push_back(static_cast<char>(plan.last_byte));
  return filter;
}

// Reads a copy of the payload between two pages without access: parsing and
// lookups read nothing outside of the filter, whatever its bytes.
class Reader {
 public:
  static constexpr size_t kAtBegin = ~size_t{0};

  // Bytes between the payload and the page after it, or kAtBegin: the payload
  // follows the page before it.
  Reader(const internal::LayoutRow& row, internal::Cpu cpu,
         std::string_view filter, size_t bytes_after = 0)
      : row_(row), parsed_{} {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room =
        filter.size() + (bytes_after == kAtBegin ? 0 : bytes_after);
    const size_t size = (room + page - 1) / page * page;
    mapped_ = size + 2 * page;
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED ||
        mprotect(memory_ + page, size, PROT_READ | PROT_WRITE) != 0) {
      std::abort();
    }
    parsed_.payload_size = filter.size() - 1;
    unsigned char* const payload =
        memory_ + page +
        (bytes_after == kAtBegin ? 0
                                 : size - bytes_after - parsed_.payload_size);
    std::copy(filter.begin(), filter.end() - 1, payload);
    parsed_.payload = payload;
    valid_ = row.parse(static_cast<uint8_t>(filter.back()), cpu, &parsed_);
  }
  ~Reader() { munmap(memory_, mapped_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool valid() const { return valid_; }
  const internal::ParsedFilter& parsed() const { return parsed_; }

  bool MayMatch(std::string_view key) const {
    return parsed_.may_match(parsed_, key);
  }
  bool MayMatchHash(std::string_view key) const {
    return row_.may_match_hash(parsed_, row_.hash(key));
  }

  // May-match of keys[from .. from + n), each 0 or 1, and a 2 after the last
  // unless something wrote there.
  std::vector<int> MayMatchMany(const std::vector<std::string>& keys,
                                size_t from, size_t n) const {
    std::vector<internal::KeyBytes> refs;
    std::vector<const internal::KeyBytes*> pointers;
    refs.reserve(n);
    for (size_t i = from; i < from + n; ++i) {
      refs.push_back({keys[i].data(), keys[i].size()});
      pointers.push_back(&refs.back());
    }
    std::vector<unsigned char> answers(n + 1, 2);
    static_assert(sizeof(bool) == 1);
    parsed_.may_match_many(parsed_, internal::KeyBatch(pointers.data()), n,
                           reinterpret_cast<bool*>(answers.data()));
    return std::vector<int>(answers.begin(), answers.end());
  }

 private:
  const internal::LayoutRow& row_;
  unsigned char* memory_;
  size_t mapped_;
  internal::ParsedFilter parsed_;
  bool valid_;
};

}  // namespace deltabloom::test
