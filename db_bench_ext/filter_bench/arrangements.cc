#include "db_bench_ext/filter_bench/arrangements.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/keys.h"
#include "db_bench_ext/filter_bench/sorted_table.h"
#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"

namespace deltabloom::bench {
namespace {

double NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - start)
      .count();
}

// An arrangement has Build, MayMatch, the Bytes of its filters and of what
// finds them, and LookupBytes: of those, what one lookup needs in memory.

class IndexAlone {
 public:
  explicit IndexAlone(const SortedTable& table) : table_(table) {}

  std::string Name() const { return "index alone"; }
  void Build() {}
  bool MayMatch(std::string_view key) const {
    return table_.index.Find(key) < table_.blocks.size();
  }
  uint64_t Bytes() const { return 0; }
  double LookupBytes() const { return 0; }

 private:
  const SortedTable& table_;
};

class PerBlock {
 public:
  PerBlock(const SortedTable& table, const FilterOptions& options,
           unsigned base_lg)
      : table_(table), base_lg_(base_lg), policy_(NewFilterPolicy(options)) {}

  std::string Name() const {
    return "per block, windows of " + std::to_string((1u << base_lg_) / 1024) +
           " KiB";
  }

  void Build() {
    FilterBlockBuilder builder(policy_.get(), base_lg_);
    for (const DataBlock& block : table_.blocks) {
      builder.StartBlock(block.offset);
      for (size_t i = block.first; i < block.end; ++i) {
        builder.AddKey(table_.keys[i]);
      }
    }
    reader_.reset();
    bytes_ = builder.Finish();
    reader_.emplace(policy_.get(), bytes_);
  }

  bool MayMatch(std::string_view key) const {
    const size_t i = table_.index.Find(key);
    return i < table_.blocks.size() &&
           reader_->KeyMayMatch(table_.blocks[i].offset, key);
  }

  uint64_t Bytes() const { return bytes_.size(); }

  // A window's filter and its two offsets.
  double LookupBytes() const {
    constexpr uint64_t kOffsetBytes = 4;
    const uint64_t file_bytes =
        table_.blocks.back().offset + SortedTable::kBlockSize;
    const uint64_t window =
        std::max<uint64_t>(SortedTable::kBlockSize, uint64_t{1} << base_lg_);
    const double used = std::ceil(static_cast<double>(file_bytes) /
                                  static_cast<double>(window));
    const uint64_t filters =
        bytes_.size() - kOffsetBytes * reader_->NumWindows();
    return static_cast<double>(filters) / used + 2 * kOffsetBytes;
  }

 private:
  const SortedTable& table_;
  unsigned base_lg_;
  std::unique_ptr<const FilterPolicy> policy_;
  std::string bytes_;
  std::optional<FilterBlockReader> reader_;
};

class Partitioned {
 public:
  Partitioned(const SortedTable& table, const FilterOptions& options)
      : table_(table), options_(options), index_(table.keys.key_size()) {}

  std::string Name() const { return "partitioned, 4 KiB each"; }

  void Build() {
    const auto keys_per_partition =
        static_cast<size_t>(kPartitionBytes * 8 / options_.bits_per_key);
    FilterBuilder builder(options_);
    index_ = SortedKeys(table_.keys.key_size());
    filters_.clear();
    for (size_t i = 0; i < table_.keys.size(); ++i) {
      builder.AddKey(table_.keys[i]);
      if (builder.KeysAdded() < keys_per_partition &&
          i + 1 < table_.keys.size()) {
        continue;
      }
      filters_.emplace_back();
      builder.Finish(&filters_.back());
      index_.Append(table_.keys[i]);
    }
  }

  bool MayMatch(std::string_view key) const {
    const size_t i = index_.Find(key);
    return i < filters_.size() &&
           Filter(filters_[i], options_.hash).MayMatch(key);
  }

  uint64_t Bytes() const {
    constexpr uint64_t kHandleBytes = 8;  // in the index, behind the key
    uint64_t bytes = filters_.size() * (table_.keys.key_size() + kHandleBytes);
    for (const std::string& filter : filters_) bytes += filter.size();
    return bytes;
  }

  double LookupBytes() const {
    return static_cast<double>(Bytes()) / static_cast<double>(filters_.size());
  }

 private:
  static constexpr double kPartitionBytes = 4096;

  const SortedTable& table_;
  FilterOptions options_;
  SortedKeys index_;
  std::vector<std::string> filters_;
};

class Full {
 public:
  Full(const SortedTable& table, FilterOptions options, Layout layout,
       std::string name)
      : table_(table), options_(options), name_(std::move(name)) {
    options_.layout = layout;
  }

  std::string Name() const { return name_; }

  void Build() {
    FilterBuilder builder(options_);
    for (size_t i = 0; i < table_.keys.size(); ++i) {
      builder.AddKey(table_.keys[i]);
    }
    filter_.reset();
    bytes_.clear();
    builder.Finish(&bytes_);
    filter_.emplace(bytes_, options_.hash);
  }

  bool MayMatch(std::string_view key) const { return filter_->MayMatch(key); }
  uint64_t Bytes() const { return bytes_.size(); }
  double LookupBytes() const { return static_cast<double>(bytes_.size()); }

 private:
  const SortedTable& table_;
  FilterOptions options_;
  std::string name_;
  std::string bytes_;
  std::optional<Filter> filter_;
};

// Fresh keys, a chunk at a time.
class Asker {
 public:
  Asker(const KeyMaker& maker, uint64_t keys)
      : maker_(maker), keys_(keys), chunk_(maker) {}

  size_t ChunkKeys() const { return chunk_.capacity(); }

  void SetKeys(bool present) {
    for (size_t i = 0; i < chunk_.capacity(); ++i) {
      const uint64_t number = present ? random_.Below(keys_) : TakeAbsent(1);
      chunk_.Set(i, maker_, number, present);
    }
  }

  template <typename Arrangement>
  uint64_t CountMatches(const Arrangement& arrangement) const {
    uint64_t matches = 0;
    for (size_t i = 0; i < chunk_.capacity(); ++i) {
      matches += arrangement.MayMatch(chunk_[i].ToStringView());
    }
    return matches;
  }

 private:
  const KeyMaker& maker_;
  uint64_t keys_;
  KeyChunk chunk_;
  MixedNumbers random_{1};
};

class Bench {
 public:
  Bench(const Options& options, const Setting& setting)
      : options_(options),
        setting_(setting),
        maker_(options.key_kind, setting.key_bytes, options.seed),
        table_(maker_, setting.keys),
        asker_(maker_, setting.keys) {}

  std::vector<ArrangementRow> Measure(Collector* collector) {
    FilterOptions filter_options;
    filter_options.bits_per_key = setting_.bits_per_key;
    Add(IndexAlone(table_));
    Add(PerBlock(table_, filter_options, 11));
    Add(PerBlock(table_, filter_options, 15));
    Add(Partitioned(table_, filter_options));
    Add(Full(table_, filter_options, Layout::kClassic, "full, classic"));
    Add(Full(table_, filter_options, Layout::kLocal, "full, local"));
    if (!options_.rates_only) {
      ShowProgress(WithThousands(setting_.keys) + " keys in a table: timing");
      benchmark::RunSpecifiedBenchmarks(collector);
    }
    benchmark::ClearRegisteredBenchmarks();
    ShowProgress("");
    const Medians medians = collector->TakeMedians();
    for (ArrangementRow& row : rows_) {
      for (const char* figure : {kMissTime, kHitTime, kBuildTime}) {
        const auto median = medians.find({NameOf(figure, row), 1});
        if (median != medians.end()) row.times[figure] = median->second;
      }
    }
    return rows_;
  }

 private:
  static std::string NameOf(const char* figure, const ArrangementRow& row) {
    return std::string(figure) + "/" + row.arrangement +
           "/keys:" + std::to_string(row.setting.keys) +
           "/bits_per_key:" + Significant(row.setting.bits_per_key, 10);
  }

  template <typename Arrangement>
  void Add(Arrangement made) {
    const auto arrangement = std::make_shared<Arrangement>(std::move(made));
    ArrangementRow row;
    row.arrangement = arrangement->Name();
    row.setting = setting_;
    ShowProgress(WithThousands(setting_.keys) +
                 " keys in a table: " + row.arrangement);
    arrangement->Build();
    for (size_t i = 0; i < table_.keys.size(); ++i) {
      if (!arrangement->MayMatch(table_.keys[i])) {
        throw std::runtime_error(row.arrangement + " lost a key");
      }
    }
    const auto keys = static_cast<double>(setting_.keys);
    row.stored_bits_per_key =
        static_cast<double>(arrangement->Bytes()) * 8 / keys;
    row.lookup_bytes = arrangement->LookupBytes();
    CountFalsePositives(*arrangement, &row);
    RegisterLookups(arrangement, row);
    RegisterMeasurement(NameOf(kBuildTime, row), setting_.keys,
                        [arrangement, keys] {
                          const auto start = std::chrono::steady_clock::now();
                          arrangement->Build();
                          return NanosecondsSince(start) / keys;
                        });
    rows_.push_back(std::move(row));
  }

  template <typename Arrangement>
  void CountFalsePositives(const Arrangement& arrangement,
                           ArrangementRow* row) {
    uint64_t samples = 0;
    uint64_t positives = 0;
    while (samples < options_.samples) {
      asker_.SetKeys(false);
      positives += asker_.CountMatches(arrangement);
      samples += asker_.ChunkKeys();
    }
    row->false_positive_rate =
        static_cast<double>(positives) / static_cast<double>(samples);
    row->false_positive_error =
        BinomialError(row->false_positive_rate, samples);
  }

  template <typename Arrangement>
  void RegisterLookups(const std::shared_ptr<Arrangement>& arrangement,
                       const ArrangementRow& row) {
    for (const bool present : {false, true}) {
      const auto measure = [this, arrangement, present] {
        asker_.SetKeys(present);
        const auto keys = static_cast<double>(asker_.ChunkKeys());
        const auto start = std::chrono::steady_clock::now();
        benchmark::DoNotOptimize(asker_.CountMatches(*arrangement));
        return NanosecondsSince(start) / keys;
      };
      RegisterMeasurement(NameOf(present ? kHitTime : kMissTime, row),
                          asker_.ChunkKeys(), measure);
    }
  }

  const Options& options_;
  const Setting setting_;
  const KeyMaker maker_;
  const SortedTable table_;
  Asker asker_;
  std::vector<ArrangementRow> rows_;
};

}  // namespace

std::vector<ArrangementRow> MeasureArrangements(const Options& options,
                                                Collector* collector) {
  std::vector<ArrangementRow> rows;
  for (const Setting& setting : SettingsOf(options)) {
    for (ArrangementRow& row : Bench(options, setting).Measure(collector)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace deltabloom::bench
