// What payload_check costs: bytes, opening, and lookups, which it leaves alone.
#include <algorithm>
#include <chrono>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/filter_kinds.h"
#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kWith = ", payload_check";

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// One of a pair, measured in turns with the other.
struct Side {
  const FilterKind* kind;
  std::string filter;
  std::vector<double> open_ns;
  std::vector<double> lookup_ns;
};

// The time of a chunk is far below that of a time slice, so that the median of
// chunks does not see what else the machine does.
constexpr size_t kChunk = 1000;         // lookups
constexpr size_t kBytesOpened = 50000;  // by the openings of a chunk

void MeasureOpening(Side* side) {
  const size_t opens = kBytesOpened / side->filter.size() + 1;
  const auto start = Clock::now();
  for (size_t i = 0; i < opens; ++i) side->kind->open(side->filter);
  side->open_ns.push_back(NanosecondsSince(start) / static_cast<double>(opens));
}

void MeasureLookups(const std::vector<std::string>& absent, Side* side) {
  const MayMatch may_match = side->kind->open(side->filter);
  for (size_t from = 0; from + kChunk <= absent.size(); from += kChunk) {
    uint64_t matches = 0;
    const auto start = Clock::now();
    for (size_t i = from; i < from + kChunk; ++i) {
      matches += may_match(absent[i]);
    }
    const double ns = NanosecondsSince(start) / static_cast<double>(kChunk);
    // The answers are used: no filter says yes to every absent key.
    if (matches < kChunk) side->lookup_ns.push_back(ns);
  }
}

void Measure(const std::vector<std::string>& absent, Side* side) {
  for (int i = 0; i < 20; ++i) MeasureOpening(side);
  MeasureLookups(absent, side);
}

const FilterKind& KindOfName(const std::vector<FilterKind>& kinds,
                             const std::string& name) {
  return *std::find_if(
      kinds.begin(), kinds.end(),
      [&name](const FilterKind& kind) { return kind.name == name; });
}

Rows StudyPair(Side without, Side with, const std::vector<std::string>& keys,
               int repetitions) {
  const std::vector<std::string> absent = StudyKeys(100000, keys.size() + 1);
  for (Side* side : {&without, &with}) side->filter = side->kind->build(keys);
  for (int i = 0; i < repetitions; ++i) {
    // Whoever comes second finds warmer caches.
    Side* first = i % 2 == 0 ? &without : &with;
    Side* second = i % 2 == 0 ? &with : &without;
    Measure(absent, first);
    Measure(absent, second);
  }
  return {{"filter", without.kind->name},
          {"keys", keys.size()},
          {"bytes", without.filter.size()},
          {"bytes_with", with.filter.size()},
          {"open_ns", bench::Median(without.open_ns)},
          {"open_ns_with", bench::Median(with.open_ns)},
          {"lookup_ns", bench::Median(without.lookup_ns)},
          {"lookup_ns_with", bench::Median(with.lookup_ns)}};
}

}  // namespace

Rows StudyPayloadCheck(uint64_t max_keys, uint64_t seed, int repetitions,
                       const Progress& progress) {
  const std::vector<FilterKind> kinds = FilterKinds();
  Rows rows = Rows::array();
  for (const FilterKind& kind : kinds) {
    if (kind.name.size() <= kWith.size() ||
        kind.name.substr(kind.name.size() - kWith.size()) != kWith) {
      continue;
    }
    const std::string name =
        kind.name.substr(0, kind.name.size() - kWith.size());
    for (const uint64_t n : {1000u, 10000u, 100000u, 1000000u}) {
      if (n > max_keys) continue;
      progress("payload_check, " + name + ", " + std::to_string(n) + " keys");
      rows.push_back(StudyPair({&KindOfName(kinds, name), {}, {}, {}},
                               {&kind, {}, {}, {}}, StudyKeys(n, seed),
                               repetitions));
    }
  }
  return rows;
}

}  // namespace deltabloom::study
