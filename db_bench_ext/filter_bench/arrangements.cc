// Arrangements of the filters of one table: per data block, partitioned, full.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/filter_bench/modes.h"
#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"

namespace deltabloom::bench {
namespace {

using Keys = std::vector<std::string>;

// The first key that is not smaller, as the index of a table finds a block by
// its last key.
size_t Find(const Keys& keys, std::string_view key) {
  return static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), key) -
                             keys.begin());
}

// A table as its filters see it: sorted keys in data blocks, and an index.
struct SortedTable {
  static constexpr size_t kBlockSize = 4096;
  // Value, and the sizes of key and value.
  static constexpr size_t kEntryOverhead = 84;

  SortedTable(const KeyMaker& maker, uint64_t n, const FilterOptions& filters)
      : options(filters),
        entry_size(maker.size() + kEntryOverhead),
        keys_per_block((kBlockSize + entry_size - 1) / entry_size),
        keys(n, std::string(maker.size(), '\0')) {
    for (uint64_t i = 0; i < n; ++i) maker.Write(i, true, keys[i].data());
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < n; i += keys_per_block) {
      index.push_back(keys[std::min(n, i + keys_per_block) - 1]);
    }
  }

  // Of data block i.
  uint64_t Offset(size_t i) const { return i * keys_per_block * entry_size; }

  const FilterOptions options;
  const size_t entry_size;
  const size_t keys_per_block;
  Keys keys;
  Keys index;  // the last key of every block
};

// The filters of a table.
struct Built {
  std::function<bool(std::string_view)> may_match;
  uint64_t bytes = 0;       // of the filters and of what finds them
  double lookup_bytes = 0;  // of those, what one lookup needs in memory
};

Built IndexAlone(const SortedTable& table) {
  return {[&table](std::string_view key) {
    return Find(table.index, key) < table.index.size();
  }};
}

// A filter for each window of the file, as LevelDB has them.
Built PerBlock(const SortedTable& table) {
  constexpr unsigned kWindowLog2 = 11;
  constexpr uint64_t kOffsetBytes = 4;
  struct State {
    explicit State(const FilterOptions& options)
        : policy(NewFilterPolicy(options)) {}
    const std::unique_ptr<const FilterPolicy> policy;
    std::string bytes;
    std::unique_ptr<FilterBlockReader> reader;
  };
  const auto state = std::make_shared<State>(table.options);
  FilterBlockBuilder builder(state->policy.get(), kWindowLog2);
  for (size_t i = 0; i < table.keys.size(); ++i) {
    if (i % table.keys_per_block == 0) {
      builder.StartBlock(table.Offset(i / table.keys_per_block));
    }
    builder.AddKey(table.keys[i]);
  }
  state->bytes = builder.Finish();
  state->reader =
      std::make_unique<FilterBlockReader>(state->policy.get(), state->bytes);
  // A lookup needs the filter of a block and its two offsets.
  const auto filter_bytes = static_cast<double>(
      state->bytes.size() - kOffsetBytes * state->reader->NumWindows());
  return {[state, &table](std::string_view key) {
            const size_t i = Find(table.index, key);
            return i < table.index.size() &&
                   state->reader->KeyMayMatch(table.Offset(i), key);
          },
          state->bytes.size(),
          filter_bytes / static_cast<double>(table.index.size()) +
              2 * kOffsetBytes};
}

Built Partitioned(const SortedTable& table) {
  constexpr double kPartitionBytes = 4096;
  constexpr uint64_t kHandleBytes = 8;  // in the index, after the key
  struct State {
    Keys index;
    Keys filters;
  };
  const auto state = std::make_shared<State>();
  const auto keys_per_partition =
      static_cast<size_t>(kPartitionBytes * 8 / table.options.bits_per_key);
  FilterBuilder builder(table.options);
  uint64_t bytes = 0;
  for (const std::string& key : table.keys) {
    builder.AddKey(key);
    if (builder.KeysAdded() < keys_per_partition && &key != &table.keys.back())
      continue;
    state->filters.emplace_back();
    builder.Finish(&state->filters.back());
    state->index.push_back(key);
    bytes += state->filters.back().size() + key.size() + kHandleBytes;
  }
  return {
      [state, hash = table.options.hash](std::string_view key) {
        const size_t i = Find(state->index, key);
        return i < state->filters.size() &&
               Filter(state->filters[i], hash).MayMatch(key);
      },
      bytes,
      static_cast<double>(bytes) / static_cast<double>(state->filters.size())};
}

template <Layout kLayout>
Built Full(const SortedTable& table) {
  FilterOptions options = table.options;
  options.layout = kLayout;
  FilterBuilder builder(options);
  for (const std::string& key : table.keys) builder.AddKey(key);
  const auto bytes = std::make_shared<std::string>();
  builder.Finish(bytes.get());
  return {[bytes, filter = Filter(*bytes, options.hash)](std::string_view key) {
            return filter.MayMatch(key);
          },
          bytes->size(), static_cast<double>(bytes->size())};
}

class Reader : public FilterBitsReader {
 public:
  explicit Reader(std::function<bool(std::string_view)> may_match)
      : may_match_(std::move(may_match)) {}

  bool MayMatch(const Slice& key) override {
    return may_match_(key.ToStringView());
  }
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    for (int i = 0; i < n; ++i) may_match[i] = MayMatch(*keys[i]);
  }

 private:
  const std::function<bool(std::string_view)> may_match_;
};

struct Arrangement {
  const char* name;
  Built (*build)(const SortedTable& table);
};

constexpr Arrangement kArrangements[] = {
    {"index alone", IndexAlone},
    {"per block, windows of 2 KiB", PerBlock},
    {"partitioned, 4 KiB each", Partitioned},
    {"full, classic", Full<Layout::kClassic>},
    {"full, local", Full<Layout::kLocal>}};

// Builds one arrangement, counts, and registers its timings.
std::vector<BuiltFilter> Measure(const Arrangement& arrangement,
                                 const Options& options, const Setting& setting,
                                 const KeyMaker& maker,
                                 const SortedTable& table,
                                 Collector* collector) {
  const Built built = arrangement.build(table);
  std::vector<BuiltFilter> filters(1);
  filters[0].keys = setting.keys;
  filters[0].reader = std::make_unique<Reader>(built.may_match);
  if (CountFalseNegatives(filters, maker, 2 * setting.keys) > 0) {
    throw std::runtime_error(std::string(arrangement.name) + " lost a key");
  }
  const auto keys = static_cast<double>(setting.keys);
  std::map<std::string, double> figures =
      FiguresOf(MeasureFalsePositives(filters, maker, options.samples));
  figures["stored_bits_per_key"] = static_cast<double>(built.bytes) * 8 / keys;
  figures["lookup_bytes"] = built.lookup_bytes;
  collector->Add(setting.NameOf("counted", arrangement.name), figures);
  return filters;
}

}  // namespace

void MeasureArrangements(const Options& options, Collector* collector) {
  if (options.only_list) return;
  for (const Setting& setting : options.Settings()) {
    const KeyMaker maker(options.key_kind, setting.key_bytes, options.seed);
    FilterOptions filter_options;
    filter_options.bits_per_key = setting.bits_per_key;
    const SortedTable table(maker, setting.keys, filter_options);
    std::vector<std::vector<BuiltFilter>> built;
    built.reserve(std::size(kArrangements));
    for (const Arrangement& arrangement : kArrangements) {
      ShowProgress(WithThousands(setting.keys) +
                   " keys in a table: " + arrangement.name);
      built.push_back(
          Measure(arrangement, options, setting, maker, table, collector));
      for (const LookupKind& kind : AllLookupKinds()) {
        if (kind.many || kind.batch) continue;
        RegisterLookups(setting.NameOf(kind.name, arrangement.name), kind,
                        built.back(), maker, options);
      }
      RegisterMeasurement(setting.NameOf("build_ns_per_key", arrangement.name),
                          setting.keys, [&table, &arrangement] {
                            const auto start = std::chrono::steady_clock::now();
                            arrangement.build(table);
                            return NanosecondsSince(start) /
                                   static_cast<double>(table.keys.size());
                          });
    }
    collector->RunRegistered(options);
  }
}

}  // namespace deltabloom::bench
