#include "db_bench_ext/levels/contenders.h"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "db_bench_ext/levels/allocation.h"
#include "deltabloom/rocksdb.h"

namespace deltabloom::levels {
namespace {

constexpr char kAuto[] = "deltabloom-auto";

// deltabloom-auto is local in level 0, compact below (docs/guide.md).
const Kind& KindAt(const std::string& filter, int level) {
  if (filter != kAuto) return *FindKind(filter);
  return *FindKind(level == 0 ? "deltabloom-local" : "deltabloom-compact");
}

double MeanEntries(const Run& run) {
  return static_cast<double>(run.Entries()) /
         static_cast<double>(run.tables.size());
}

std::vector<AllocationRun> RunsOf(const Contender& contender, const Tree& tree,
                                  Rates* rates) {
  std::vector<AllocationRun> runs;
  for (const Run& run : tree.runs) {
    runs.push_back({static_cast<double>(run.Entries()), run.Share(),
                    &rates->Curve(KindAt(contender.filter, run.level),
                                  static_cast<uint64_t>(MeanEntries(run)))});
  }
  return runs;
}

// Bytes that the filters of a run would have.
double BytesOf(const Kind& kind, double bits_asked, const Run& run,
               Rates* rates) {
  if (bits_asked < 0.5) return 0;
  const auto keys = static_cast<uint64_t>(MeanEntries(run));
  return static_cast<double>(rates->Bytes(kind, bits_asked, keys)) *
         static_cast<double>(run.tables.size());
}

// Halves an interval of sizes until the filters of all runs have so many bytes;
// `asked` says what each run is asked for at a size.
template <typename Asked>
std::vector<double> Fit(const Contender& contender, const Tree& tree,
                        double bits_per_key, Rates* rates, Asked asked) {
  const double want = bits_per_key * static_cast<double>(tree.Entries()) / 8;
  double low = 0.6 * bits_per_key, high = 1.2 * bits_per_key;
  std::vector<double> bits;
  for (int i = 0; i < 9; ++i) {
    const double middle = (low + high) / 2;
    bits = asked(middle);
    double bytes = 0;
    for (size_t run = 0; run < tree.runs.size(); ++run) {
      const Kind& kind = KindAt(contender.filter, tree.runs[run].level);
      bytes += BytesOf(kind, bits[run], tree.runs[run], rates);
    }
    (bytes < want ? low : high) = middle;
  }
  return bits;
}

MadePolicy MakeUniform(const Contender& contender, const Tree& tree,
                       double bits_per_key, Rates* rates) {
  const std::vector<double> bits =
      Fit(contender, tree, bits_per_key, rates, [&](double size) {
        return std::vector<double>(
            tree.runs.size(), size / KindAt(contender.filter, 1).stored_share);
      });
  MadePolicy made;
  made.bits_asked = {bits[0]};
  made.policy = FindKind(contender.filter)->make(bits[0]);
  return made;
}

MadePolicy MakeByHand(const Contender& contender, const Tree& tree,
                      double bits_per_key, Rates* rates) {
  const std::vector<AllocationRun> runs = RunsOf(contender, tree, rates);
  const auto entries = static_cast<double>(tree.Entries());
  MadePolicy made;
  made.bits_asked = Fit(contender, tree, bits_per_key, rates, [&](double size) {
    std::vector<double> bits = BestBitsPerKey(runs, size * entries);
    for (size_t run = 0; run < runs.size(); ++run) {
      const Run& at = tree.runs[run];
      bits[run] =
          rates->BitsToAsk(KindAt(contender.filter, at.level), bits[run],
                           static_cast<uint64_t>(MeanEntries(at)));
    }
    return bits;
  });
  // Tables of level 0 that are written later get what the newest one has.
  std::map<int, PolicyPointer> by_level;
  for (size_t run = 0; run < runs.size(); ++run) {
    const int level = tree.runs[run].level;
    if (by_level.count(level) != 0 || made.bits_asked[run] < 0.5) continue;
    by_level[level] =
        KindAt(contender.filter, level).make(made.bits_asked[run]);
  }
  const PolicyPointer reader = FindKind(contender.filter)->make(10);
  made.policy = DelegateByLevel(
      reader, [by_level](int level) -> const rocksdb::FilterPolicy* {
        const auto found = by_level.find(level);
        return found == by_level.end() ? nullptr : found->second.get();
      });
  return made;
}

MadePolicy MakeLevels(const Contender& contender, double bits_per_key) {
  MadePolicy made;
  made.bits_asked = {bits_per_key};
  made.policy = FindKind(contender.filter)->make_levels(bits_per_key);
  std::string error;
  made.listener = NewRocksDBFilterListener(&error);
  if (made.listener == nullptr) throw std::runtime_error(error);
  return made;
}

double SumOfRates(const std::vector<AllocationRun>& runs,
                  const std::vector<double>& bits) {
  double sum = 0;
  for (size_t run = 0; run < runs.size(); ++run) {
    sum += runs[run].share * RateAt(*runs[run].curve, bits[run]);
  }
  return sum;
}

}  // namespace

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender>* const all = [] {
    auto* list = new std::vector<Contender>{{"none", "", Allocation::kNone}};
    const std::string filters[] = {"rocksdb-bloom", "rocksdb-ribbon",
                                   "deltabloom-local", "deltabloom-compact",
                                   kAuto};
    for (const std::string& filter : filters) {
      list->push_back({filter, filter, Allocation::kUniform});
    }
    for (const std::string& filter : filters) {
      list->push_back({filter + "-by-hand", filter, Allocation::kByHand});
    }
    for (const std::string& filter : filters) {
      if (FindKind(filter)->make_levels == nullptr) continue;
      list->push_back({filter + "-levels", filter, Allocation::kLevels});
    }
    return list;
  }();
  return *all;
}

MadePolicy MakePolicy(const Contender& contender, const Tree& tree,
                      double bits_per_key, Rates* rates) {
  switch (contender.allocation) {
    case Allocation::kUniform:
      return MakeUniform(contender, tree, bits_per_key, rates);
    case Allocation::kByHand:
      return MakeByHand(contender, tree, bits_per_key, rates);
    case Allocation::kLevels:
      return MakeLevels(contender, bits_per_key);
    case Allocation::kNone:
      break;
  }
  return {};
}

double RatesOfBest(const Contender& contender, const Tree& tree, Rates* rates) {
  const std::vector<AllocationRun> runs = RunsOf(contender, tree, rates);
  const double bits = 8 * static_cast<double>(tree.FilterBytes());
  return SumOfRates(runs, BestBitsPerKey(runs, bits));
}

double RatesOfUniform(const Contender& contender, const Tree& tree,
                      Rates* rates) {
  const std::vector<AllocationRun> runs = RunsOf(contender, tree, rates);
  return SumOfRates(runs, std::vector<double>(runs.size(), tree.BitsPerKey()));
}

}  // namespace deltabloom::levels
