// Prints, for each workload and kind of scan, how many of the empty scans range
// filters let through, what they take and what building costs: the table that
// docs/design.md, "Ranges: which cuts", refers to.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/random.h"
#include "tests/range/workloads.h"
#include "util/range/cut.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom::test {
namespace {

size_t g_keys = 20'000;
constexpr int kLookups = 3000;
constexpr int kSamples = 256;

double g_bits = 8;
bool g_verbose = false;

struct Built {
  std::string bytes;
  double ns_per_key;
};

Built Build(const Table& table, const std::vector<Range>& samples,
            std::vector<internal::range::Cut> learned_cuts = {}) {
  const std::clock_t start = std::clock();
  internal::range::FilterBuilder builder(g_bits);
  builder.SetLearnedCuts(std::move(learned_cuts));
  for (const auto& [lower, upper] : samples) builder.AddSample(lower, upper);
  for (const std::string& key : table.keys) builder.AddKey(key);
  Built built;
  builder.Finish(&built.bytes);
  const auto taken = static_cast<double>(std::clock() - start);
  built.ns_per_key =
      taken * (1e9 / CLOCKS_PER_SEC) / static_cast<double>(table.keys.size());
  return built;
}

double Passing(const Built& built, const std::vector<Range>& scans) {
  const internal::range::Filter filter(built.bytes);
  const auto passed =
      std::count_if(scans.begin(), scans.end(), [&](const Range& scan) {
        return filter.MayMatch(scan.lower, scan.upper);
      });
  return static_cast<double>(passed) / static_cast<double>(scans.size());
}

double BitsPerKey(const Built& built, const Table& table) {
  return static_cast<double>(8 * built.bytes.size()) /
         static_cast<double>(table.keys.size());
}

// Sums over the levels of a database, one table each.
struct Row {
  double alone = 0, learned = 0, drifted = 0, restarted = 0;
  double bits_alone = 0, bits_learned = 0;
  double ns_alone = 0, ns_learned = 0;
};

void Measure(const Workload& workload, std::vector<std::string>* names,
             std::vector<Row>* rows) {
  for (const Density& level : kLevels) {
    Random random(SeedOr(1));
    const Table table = workload.Make(g_keys, level, &random);
    const size_t kinds = table.kinds.size();
    rows->resize(kinds);
    names->clear();
    std::vector<std::vector<Range>> scans(kinds), samples(kinds);
    for (size_t i = 0; i < kinds; ++i) {
      names->push_back(table.kinds[i].name);
      for (int n = 0; n < kLookups + kSamples; ++n) {
        Range scan = table.DrawEmpty(table.kinds[i], &random);
        if (scan.upper.empty()) break;
        (n < kSamples ? samples : scans)[i].push_back(std::move(scan));
      }
      if (scans[i].empty()) scans[i] = samples[i];
    }
    const Built alone = Build(table, {});
    std::vector<Built> learned;
    for (size_t i = 0; i < kinds; ++i) {
      learned.push_back(Build(table, samples[i]));
    }
    if (g_verbose) {
      std::printf("  %s, %zu keys: %s\n", level.name, table.keys.size(),
                  internal::range::Filter(alone.bytes).Describe().c_str());
    }
    for (size_t i = 0; i < kinds; ++i) {
      Row& row = (*rows)[i];
      row.alone += Passing(alone, scans[i]);
      row.learned += Passing(learned[i], scans[i]);
      double worst = 0;
      for (size_t j = 0; j < kinds; ++j) {
        if (j != i) worst = std::max(worst, Passing(learned[j], scans[i]));
      }
      row.drifted += worst;
      const internal::range::Filter filter(learned[i].bytes);
      row.restarted +=
          Passing(Build(table, {}, filter.LearnedCuts()), scans[i]);
      row.bits_alone += BitsPerKey(alone, table);
      row.bits_learned += BitsPerKey(learned[i], table);
      row.ns_alone += alone.ns_per_key;
      row.ns_learned += learned[i].ns_per_key;
      if (g_verbose) {
        std::printf(
            "    %s: %.4f %.4f %.4f %s\n", table.kinds[i].name,
            Passing(alone, scans[i]), Passing(learned[i], scans[i]), worst,
            internal::range::Filter(learned[i].bytes).Describe().c_str());
      }
    }
  }
}

void Print(int workloads, char** names_of_workloads) {
  std::printf(
      "| workload | scan | by keys, %% | learned, %% | drifted, %% | "
      "restarted, %% | bits by keys | bits learned | build by keys, ns | build "
      "learned, ns |\n|---|---|---|---|---|---|---|---|---|---|\n");
  int count = 0, alone_good = 0, learned_good = 0, drift_good = 0;
  Row sum;
  for (const Workload& workload : Workloads()) {
    bool asked = workloads == 0;
    for (int i = 0; i < workloads; ++i) {
      asked |= std::strcmp(names_of_workloads[i], workload.name) == 0;
    }
    if (!asked) continue;
    std::vector<Row> rows;
    std::vector<std::string> names;
    Measure(workload, &names, &rows);
    const auto levels = static_cast<double>(std::size(kLevels));
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      std::printf(
          "| %s | %s | %.2f | %.3f | %.2f | %.2f | %.1f | %.1f | %.0f | %.0f "
          "|\n",
          workload.name, names[i].c_str(), 100 * row.alone / levels,
          100 * row.learned / levels, 100 * row.drifted / levels,
          100 * row.restarted / levels, row.bits_alone / levels,
          row.bits_learned / levels, row.ns_alone / levels,
          row.ns_learned / levels);
      ++count;
      alone_good += row.alone / levels <= 0.1;
      learned_good += row.learned / levels <= 0.005;
      drift_good += row.drifted <= 1.5 * row.alone + 0.003;
      sum.alone += row.alone / levels;
      sum.learned += row.learned / levels;
      sum.drifted += row.drifted / levels;
      sum.restarted += row.restarted / levels;
      sum.bits_alone += row.bits_alone / levels;
      sum.bits_learned += row.bits_learned / levels;
      sum.ns_alone += row.ns_alone / levels;
      sum.ns_learned += row.ns_learned / levels;
    }
    std::fflush(stdout);
  }
  std::printf(
      "| all %d, mean | | %.2f | %.3f | %.2f | %.2f | %.1f | %.1f | %.0f | "
      "%.0f "
      "|\n"
      "goals met: by keys <= 10 %%: %d, learned <= 0.5 %%: %d, drifted <= 1.5 "
      "times: %d\n",
      count, 100 * sum.alone / count, 100 * sum.learned / count,
      100 * sum.drifted / count, 100 * sum.restarted / count,
      sum.bits_alone / count, sum.bits_learned / count, sum.ns_alone / count,
      sum.ns_learned / count, alone_good, learned_good, drift_good);
}

}  // namespace
}  // namespace deltabloom::test

int main(int argc, char** argv) {
  using namespace deltabloom::test;
  while (argc > 1 && argv[1][0] == '-') {
    if (std::strcmp(argv[1], "-v") == 0) g_verbose = true;
    if (std::strncmp(argv[1], "-b", 2) == 0) g_bits = std::atof(argv[1] + 2);
    if (std::strncmp(argv[1], "-n", 2) == 0) {
      g_keys = static_cast<size_t>(std::atol(argv[1] + 2));
    }
    --argc;
    ++argv;
  }
  Print(argc - 1, argv + 1);
}
