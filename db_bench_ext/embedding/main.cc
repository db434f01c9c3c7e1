// Per-block, partitioned and full filters of the same table: bytes, false
// positives and time per lookup, as the table in docs/embedding.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "db_bench_ext/embedding/table.h"
#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"

namespace deltabloom::embedding {
namespace {

constexpr uint64_t kSeed = 20;
constexpr size_t kTimedLookups = 50000;
constexpr int kPasses = 25;

struct Setup {
  KeySets keys;
  std::vector<Block> blocks;
  Index index;
  Keys timed_absent;
  Keys timed_present;
  FilterOptions options;
};

struct Result {
  std::string name;
  double build_ns;      // per key
  uint64_t bytes;       // of the filters and what finds them
  double lookup_bytes;  // of them, what one lookup needs in memory
  double false_positives;
  double absent_ns;
  double present_ns;
};

// Of the processor, so that other programs on the machine disturb less.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Nanoseconds per key of the fastest pass.
template <typename Ask>
double Time(const Keys& keys, const Ask& ask) {
  double best = 1e9;
  size_t answers = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = Seconds();
    for (size_t i = 0; i < keys.size(); ++i) answers += ask(keys[i]) ? 1 : 0;
    best = std::min(best, Seconds() - start);
  }
  // Keeps the answers alive; false for no outcome.
  if (answers > keys.size() * kPasses) std::abort();
  return best * 1e9 / static_cast<double>(keys.size());
}

template <typename Ask>
void Measure(const Setup& setup, const Ask& ask, Result* result) {
  const Keys& present = setup.keys.present;
  const Keys& absent = setup.keys.absent;
  for (size_t i = 0; i < present.size(); ++i) {
    if (!ask(present[i])) {
      std::fprintf(stderr, "embedding_bench: %s lost a key\n",
                   result->name.c_str());
      std::exit(1);
    }
  }
  size_t positives = 0;
  for (size_t i = 0; i < absent.size(); ++i) positives += ask(absent[i]);
  result->false_positives =
      static_cast<double>(positives) / static_cast<double>(absent.size());
  result->absent_ns = Time(setup.timed_absent, ask);
  result->present_ns = Time(setup.timed_present, ask);
}

Result NoFilter(const Setup& setup) {
  Result result{"index alone", 0, 0, 0, 0, 0, 0};
  const size_t end = setup.blocks.size();
  Measure(
      setup, [&](std::string_view key) { return setup.index.Find(key) < end; },
      &result);
  return result;
}

Result PerBlock(const Setup& setup, unsigned base_lg) {
  const double start = Seconds();
  const auto policy = NewFilterPolicy(setup.options);
  FilterBlockBuilder builder(policy.get(), base_lg);
  for (const Block& block : setup.blocks) {
    builder.StartBlock(block.offset);
    for (size_t i = block.first; i < block.end; ++i) {
      builder.AddKey(setup.keys.present[i]);
    }
  }
  const std::string_view block = builder.Finish();
  const double seconds = Seconds() - start;
  const FilterBlockReader reader(policy.get(), block);

  // A window's filter and its two offsets.
  const double used =
      std::ceil(static_cast<double>(setup.blocks.back().offset + kBlockSize) /
                static_cast<double>(
                    std::max<uint64_t>(kBlockSize, uint64_t{1} << base_lg)));
  Result result{"per block, windows of " +
                    std::to_string((1u << base_lg) / 1024) + " KiB",
                seconds * 1e9 / static_cast<double>(setup.keys.present.size()),
                block.size(),
                (static_cast<double>(block.size()) -
                 4.0 * static_cast<double>(reader.NumWindows())) /
                        used +
                    8,
                0,
                0,
                0};
  Measure(
      setup,
      [&](std::string_view key) {
        const size_t i = setup.index.Find(key);
        return i < setup.blocks.size() &&
               reader.KeyMayMatch(setup.blocks[i].offset, key);
      },
      &result);
  return result;
}

Result Partitioned(const Setup& setup, size_t partition_bytes) {
  const double start = Seconds();
  const auto keys_per_partition = static_cast<size_t>(
      static_cast<double>(partition_bytes) * 8 / setup.options.bits_per_key);
  const Keys& keys = setup.keys.present;
  FilterBuilder builder(setup.options);
  Index index;
  std::vector<std::string> filters;
  uint64_t bytes = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    builder.AddKey(keys[i]);
    if (builder.KeysAdded() < keys_per_partition && i + 1 < keys.size())
      continue;
    filters.emplace_back();
    builder.Finish(&filters.back());
    index.Add(keys[i]);
    bytes += filters.back().size() + kKeySize + 8;  // its entry in the index
  }
  const double seconds = Seconds() - start;

  Result result{
      "partitioned, " + std::to_string(partition_bytes / 1024) + " KiB each",
      seconds * 1e9 / static_cast<double>(keys.size()),
      bytes,
      static_cast<double>(bytes) / static_cast<double>(filters.size()),
      0,
      0,
      0};
  Measure(
      setup,
      [&](std::string_view key) {
        const size_t i = index.Find(key);
        return i < filters.size() &&
               Filter(filters[i], setup.options.hash).MayMatch(key);
      },
      &result);
  return result;
}

Result Full(const Setup& setup, const char* name, Layout layout) {
  const double start = Seconds();
  const Keys& keys = setup.keys.present;
  FilterOptions options = setup.options;
  options.layout = layout;
  FilterBuilder builder(options);
  for (size_t i = 0; i < keys.size(); ++i) builder.AddKey(keys[i]);
  std::string bytes;
  builder.Finish(&bytes);
  const double seconds = Seconds() - start;
  const Filter filter(bytes, setup.options.hash);
  Result result{name,
                seconds * 1e9 / static_cast<double>(keys.size()),
                bytes.size(),
                static_cast<double>(bytes.size()),
                0,
                0,
                0};
  Measure(
      setup, [&](std::string_view key) { return filter.MayMatch(key); },
      &result);
  return result;
}

void Print(const Setup& setup, const Result& result) {
  const auto n = static_cast<double>(setup.keys.absent.size());
  const double rate = result.false_positives;
  std::printf("| %zu | %s | %.2f | %.0f | %.3f ± %.3f | %.0f | %.0f | %.0f |\n",
              setup.keys.present.size(), result.name.c_str(),
              static_cast<double>(result.bytes) * 8 / n, result.lookup_bytes,
              rate * 100, 200 * std::sqrt(rate * (1 - rate) / n),
              result.absent_ns, result.present_ns, result.build_ns);
  std::fflush(stdout);
}

void Run(size_t keys, double bits_per_key) {
  Setup setup{
      MakeKeys(keys, kSeed), CutIntoBlocks(keys), {}, Keys(""), Keys(""), {}};
  setup.options.bits_per_key = bits_per_key;
  for (const Block& block : setup.blocks) {
    setup.index.Add(setup.keys.present[block.end - 1]);
  }
  setup.timed_absent = Shuffled(setup.keys.absent, kTimedLookups, kSeed);
  setup.timed_present = Shuffled(setup.keys.present, kTimedLookups, kSeed);
  Print(setup, NoFilter(setup));
  Print(setup, PerBlock(setup, 11));
  Print(setup, PerBlock(setup, 15));
  Print(setup, Partitioned(setup, 4096));
  Print(setup, Full(setup, "full, classic", Layout::kClassic));
  Print(setup, Full(setup, "full, local", Layout::kLocal));
}

// The number that `text` is, if it is one in [low, high].
std::optional<double> Number(const char* text, double low, double high) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= low && number <= high)) {
    return std::nullopt;
  }
  return number;
}

int Main(int argc, char** argv) {
  double bits_per_key = 10;
  std::vector<size_t> key_counts;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool bits = argument == "--bits-per-key";
    if (!bits && argument != "--keys") {
      std::printf("embedding_bench [--keys N]... [--bits-per-key B]\n");
      return argument == "--help" ? 0 : 2;
    }
    const char* text = i + 1 < argc ? argv[++i] : "";
    const auto number = bits ? Number(text, 1, 100) : Number(text, 100, 1e8);
    if (!number) {
      std::fprintf(stderr, "embedding_bench: %s '%s': give a number of %s\n",
                   argument.c_str(), text, bits ? "1 to 100" : "100 to 1e8");
      return 2;
    }
    if (bits) {
      bits_per_key = *number;
    } else {
      key_counts.push_back(static_cast<size_t>(*number));
    }
  }
  if (key_counts.empty()) key_counts = {10000, 100000, 1000000};
  std::printf(
      "| keys | filters | bits per key | bytes one lookup needs | false "
      "positives, %% | absent, ns | present, ns | build, ns per key |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (size_t keys : key_counts) Run(keys, bits_per_key);
  return 0;
}

}  // namespace
}  // namespace deltabloom::embedding

int main(int argc, char** argv) {
  return deltabloom::embedding::Main(argc, argv);
}
