// Arrangements of the filters of one table: per data block, partitioned, full.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

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
  static constexpr size_t kEntryOverhead = 84;  // the value, and both sizes

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
  const std::shared_ptr<const FilterPolicy> policy =
      NewFilterPolicy(table.options);
  FilterBlockBuilder builder(policy.get(), kWindowLog2);
  for (size_t i = 0; i < table.keys.size(); ++i) {
    if (i % table.keys_per_block == 0) {
      builder.StartBlock(table.Offset(i / table.keys_per_block));
    }
    builder.AddKey(table.keys[i]);
  }
  const auto bytes = std::make_shared<const std::string>(builder.Finish());
  const FilterBlockReader reader(policy.get(), *bytes);
  // A lookup needs the filter of a block and its two offsets.
  const auto filter_bytes =
      static_cast<double>(bytes->size() - kOffsetBytes * reader.NumWindows());
  return {[policy, bytes, reader, &table](std::string_view key) {
            const size_t i = Find(table.index, key);
            return i < table.index.size() &&
                   reader.KeyMayMatch(table.Offset(i), key);
          },
          bytes->size(),
          filter_bytes / static_cast<double>(table.index.size()) +
              2 * kOffsetBytes};
}

Built Partitioned(const SortedTable& table) {
  constexpr double kPartitionBytes = 4096;
  constexpr uint64_t kHandleBytes = 8;  // in the index, after the key
  Keys index, filters;
  const auto keys_per_partition =
      static_cast<size_t>(kPartitionBytes * 8 / table.options.bits_per_key);
  FilterBuilder builder(table.options);
  uint64_t bytes = 0;
  for (const std::string& key : table.keys) {
    builder.AddKey(key);
    if (builder.KeysAdded() < keys_per_partition && &key != &table.keys.back())
      continue;
    builder.Finish(&filters.emplace_back());
    index.push_back(key);
    bytes += filters.back().size() + key.size() + kHandleBytes;
  }
  const auto partitions = static_cast<double>(filters.size());
  return {[index = std::move(index), filters = std::move(filters),
           hash = table.options.hash](std::string_view key) {
            const size_t i = Find(index, key);
            return i < filters.size() && Filter(filters[i], hash).MayMatch(key);
          },
          bytes, static_cast<double>(bytes) / partitions};
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

constexpr std::pair<const char*, Built (*)(const SortedTable&)>
    kArrangements[] = {{"index alone", IndexAlone},
                       {"per block, windows of 2 KiB", PerBlock},
                       {"partitioned, 4 KiB each", Partitioned},
                       {"full, classic", Full<Layout::kClassic>},
                       {"full, local", Full<Layout::kLocal>}};

}  // namespace

void MeasureArrangements(const Options& options, Collector* collector) {
  if (options.only_list) return;
  for (const Setting& setting : options.Settings()) {
    const KeyMaker maker(options.key_kind, setting.key_bytes, options.seed);
    FilterOptions filter_options;
    filter_options.bits_per_key = setting.bits_per_key;
    const SortedTable table(maker, setting.keys, filter_options);
    const auto keys = static_cast<double>(setting.keys);
    std::vector<BuiltFilter> all[std::size(kArrangements)];
    auto* filters = all;
    for (const auto& [name, build] : kArrangements) {
      ShowProgress(WithThousands(setting.keys) + " keys in a table: " + name);
      Built built = build(table);
      filters->emplace_back().keys = setting.keys;
      filters->back().reader =
          std::make_unique<Reader>(std::move(built.may_match));
      if (CountFalseNegatives(*filters, maker, 2 * setting.keys) > 0) {
        throw std::runtime_error(std::string(name) + " lost a key");
      }
      std::map<std::string, double> figures =
          FiguresOf(MeasureFalsePositives(*filters, maker, options.samples));
      figures["stored_bits_per_key"] =
          static_cast<double>(built.bytes) * 8 / keys;
      figures["lookup_bytes"] = built.lookup_bytes;
      collector->Add(setting.NameOf("counted", name), figures);
      for (const LookupKind& kind : AllLookupKinds()) {
        if (kind.many || kind.batch) continue;
        RegisterLookups(setting.NameOf(kind.name, name), kind, *filters, maker,
                        options);
      }
      ++filters;
      RegisterMeasurement(setting.NameOf("build_ns_per_key", name),
                          setting.keys, [&table, keys, run = build] {
                            const auto start = std::chrono::steady_clock::now();
                            run(table);
                            return NanosecondsSince(start) / keys;
                          });
    }
    collector->RunRegistered(options);
  }
}

}  // namespace deltabloom::bench
