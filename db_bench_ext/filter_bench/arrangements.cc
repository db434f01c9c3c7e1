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

struct DataBlock {
  uint64_t offset;  // in the file
  size_t first;     // keys first .. end - 1
  size_t end;
};

// A table as its filters see it: sorted keys, data blocks, an index.
struct SortedTable {
  static constexpr size_t kBlockSize = 4096;
  // Value, and the sizes of key and value.
  static constexpr size_t kEntryOverhead = 84;

  SortedTable(const KeyMaker& maker, uint64_t n)
      : keys(n, std::string(maker.size(), '\0')) {
    for (uint64_t i = 0; i < n; ++i) maker.Write(i, true, keys[i].data());
    std::sort(keys.begin(), keys.end());
    const size_t entry_size = maker.size() + kEntryOverhead;
    const size_t per_block = (kBlockSize + entry_size - 1) / entry_size;
    uint64_t offset = 0;
    for (size_t first = 0; first < keys.size(); first += per_block) {
      const size_t end = std::min(keys.size(), first + per_block);
      blocks.push_back({offset, first, end});
      index.push_back(keys[end - 1]);
      offset += (end - first) * entry_size;
    }
  }

  Keys keys;
  std::vector<DataBlock> blocks;
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
    return Find(table.index, key) < table.blocks.size();
  }};
}

// Filters of windows of 2^base_lg bytes of the file.
Built PerBlock(const SortedTable& table, const FilterOptions& options,
               unsigned base_lg) {
  struct State {
    std::unique_ptr<const FilterPolicy> policy;
    std::string bytes;
    std::unique_ptr<FilterBlockReader> reader;
  };
  const auto state = std::make_shared<State>();
  state->policy = NewFilterPolicy(options);
  FilterBlockBuilder builder(state->policy.get(), base_lg);
  for (const DataBlock& block : table.blocks) {
    builder.StartBlock(block.offset);
    for (size_t i = block.first; i < block.end; ++i) {
      builder.AddKey(table.keys[i]);
    }
  }
  state->bytes = builder.Finish();
  state->reader =
      std::make_unique<FilterBlockReader>(state->policy.get(), state->bytes);
  // A lookup needs a window's filter and its two offsets.
  constexpr uint64_t kOffsetBytes = 4;
  const auto file_bytes =
      static_cast<double>(table.blocks.back().offset + SortedTable::kBlockSize);
  const auto window = static_cast<double>(
      std::max<uint64_t>(SortedTable::kBlockSize, uint64_t{1} << base_lg));
  const auto filter_bytes = static_cast<double>(
      state->bytes.size() - kOffsetBytes * state->reader->NumWindows());
  return {[state, &table](std::string_view key) {
            const size_t i = Find(table.index, key);
            return i < table.blocks.size() &&
                   state->reader->KeyMayMatch(table.blocks[i].offset, key);
          },
          state->bytes.size(),
          filter_bytes / std::ceil(file_bytes / window) + 2 * kOffsetBytes};
}

Built Partitioned(const SortedTable& table, const FilterOptions& options) {
  constexpr double kPartitionBytes = 4096;
  constexpr uint64_t kHandleBytes = 8;  // in the index, after the key
  struct State {
    Keys index;
    std::vector<std::string> filters;
  };
  const auto state = std::make_shared<State>();
  const auto keys_per_partition =
      static_cast<size_t>(kPartitionBytes * 8 / options.bits_per_key);
  FilterBuilder builder(options);
  uint64_t bytes = 0;
  for (const std::string& key : table.keys) {
    builder.AddKey(key);
    if (builder.KeysAdded() < keys_per_partition &&
        &key != &table.keys.back()) {
      continue;
    }
    state->filters.emplace_back();
    builder.Finish(&state->filters.back());
    state->index.push_back(key);
    bytes += state->filters.back().size() + key.size() + kHandleBytes;
  }
  return {
      [state, hash = options.hash](std::string_view key) {
        const size_t i = Find(state->index, key);
        return i < state->filters.size() &&
               Filter(state->filters[i], hash).MayMatch(key);
      },
      bytes,
      static_cast<double>(bytes) / static_cast<double>(state->filters.size())};
}

Built Full(const SortedTable& table, FilterOptions options, Layout layout) {
  options.layout = layout;
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
  std::string name;
  std::function<Built()> build;
  std::vector<BuiltFilter> filters;  // one
};

std::vector<Arrangement> Arrangements(const SortedTable& table,
                                      const FilterOptions& options) {
  std::vector<Arrangement> all;
  const auto add = [&all](const char* name, std::function<Built()> build) {
    all.push_back({name, std::move(build), {}});
  };
  add("index alone", [&] { return IndexAlone(table); });
  add("per block, windows of 2 KiB",
      [&] { return PerBlock(table, options, 11); });
  add("per block, windows of 32 KiB",
      [&] { return PerBlock(table, options, 15); });
  add("partitioned, 4 KiB each", [&] { return Partitioned(table, options); });
  add("full, classic", [&] { return Full(table, options, Layout::kClassic); });
  add("full, local", [&] { return Full(table, options, Layout::kLocal); });
  return all;
}

// Builds one arrangement, counts, and registers its timings.
void Measure(const Options& options, const Setting& setting,
             const KeyMaker& maker, Arrangement* arrangement,
             Collector* collector) {
  const std::string& name = arrangement->name;
  const Built built = arrangement->build();
  arrangement->filters.emplace_back();
  arrangement->filters[0].keys = setting.keys;
  arrangement->filters[0].reader = std::make_unique<Reader>(built.may_match);
  if (CountFalseNegatives(arrangement->filters, maker, setting.keys) > 0) {
    throw std::runtime_error(name + " lost a key");
  }
  const auto keys = static_cast<double>(setting.keys);
  std::map<std::string, double> figures = FiguresOf(
      MeasureFalsePositives(arrangement->filters, maker, options.samples));
  figures["stored_bits_per_key"] = static_cast<double>(built.bytes) * 8 / keys;
  figures["lookup_bytes"] = built.lookup_bytes;
  collector->Add(setting.NameOf("counted", name), figures);
  for (const LookupKind& kind : AllLookupKinds()) {
    if (kind.choice != Choice::kSingle || kind.form != Form::kOneByOne)
      continue;
    RegisterLookups(setting.NameOf(kind.name, name), kind, arrangement->filters,
                    maker, options, true);
  }
  RegisterMeasurement(setting.NameOf("build_ns_per_key", name), setting.keys,
                      [arrangement, keys] {
                        const auto start = std::chrono::steady_clock::now();
                        arrangement->build();
                        return NanosecondsSince(start) / keys;
                      });
}

}  // namespace

void MeasureArrangements(const Options& options, Collector* collector) {
  if (options.only_list) return;
  for (const Setting& setting : options.Settings()) {
    const KeyMaker maker(options.key_kind, setting.key_bytes, options.seed);
    const SortedTable table(maker, setting.keys);
    FilterOptions filter_options;
    filter_options.bits_per_key = setting.bits_per_key;
    std::vector<Arrangement> arrangements = Arrangements(table, filter_options);
    for (Arrangement& arrangement : arrangements) {
      ShowProgress(WithThousands(setting.keys) +
                   " keys in a table: " + arrangement.name);
      Measure(options, setting, maker, &arrangement, collector);
    }
    if (options.rates_only) {
      benchmark::ClearRegisteredBenchmarks();
    } else {
      collector->RunRegistered();
    }
  }
}

}  // namespace deltabloom::bench
