// Arrangements of the filters of one table: per data block, partitioned, full.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
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
      : key_size(maker.size()), keys(n, std::string(maker.size(), '\0')) {
    for (uint64_t i = 0; i < n; ++i) maker.Write(i, true, keys[i].data());
    std::sort(keys.begin(), keys.end());
    const size_t entry_size = key_size + kEntryOverhead;
    const size_t per_block = (kBlockSize + entry_size - 1) / entry_size;
    uint64_t offset = 0;
    for (size_t first = 0; first < keys.size(); first += per_block) {
      const size_t end = std::min(keys.size(), first + per_block);
      blocks.push_back({offset, first, end});
      index.push_back(keys[end - 1]);
      offset += (end - first) * entry_size;
    }
  }

  size_t key_size;
  Keys keys;
  std::vector<DataBlock> blocks;
  Keys index;  // the last key of every block
};

class Arrangement {
 public:
  Arrangement(const SortedTable& table, const FilterOptions& options,
              std::string name)
      : table_(table), options_(options), name_(std::move(name)) {}
  virtual ~Arrangement() = default;

  const std::string& Name() const { return name_; }
  virtual void Build() = 0;
  virtual bool MayMatch(std::string_view key) const = 0;
  // Of the filters and of what finds them.
  virtual uint64_t Bytes() const = 0;
  // Of those, what one lookup needs in memory.
  virtual double LookupBytes() const = 0;

 protected:
  const SortedTable& table_;
  const FilterOptions options_;

 private:
  const std::string name_;
};

class IndexAlone final : public Arrangement {
 public:
  IndexAlone(const SortedTable& table, const FilterOptions& options)
      : Arrangement(table, options, "index alone") {}

  void Build() override {}
  bool MayMatch(std::string_view key) const override {
    return Find(table_.index, key) < table_.blocks.size();
  }
  uint64_t Bytes() const override { return 0; }
  double LookupBytes() const override { return 0; }
};

class PerBlock final : public Arrangement {
 public:
  PerBlock(const SortedTable& table, const FilterOptions& options,
           unsigned base_lg)
      : Arrangement(table, options,
                    "per block, windows of " +
                        std::to_string((1u << base_lg) / 1024) + " KiB"),
        base_lg_(base_lg),
        policy_(NewFilterPolicy(options)) {}

  void Build() override {
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

  bool MayMatch(std::string_view key) const override {
    const size_t i = Find(table_.index, key);
    return i < table_.blocks.size() &&
           reader_->KeyMayMatch(table_.blocks[i].offset, key);
  }

  uint64_t Bytes() const override { return bytes_.size(); }

  // A window's filter and its two offsets.
  double LookupBytes() const override {
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
  const unsigned base_lg_;
  std::unique_ptr<const FilterPolicy> policy_;
  std::string bytes_;
  std::optional<FilterBlockReader> reader_;
};

class Partitioned final : public Arrangement {
 public:
  Partitioned(const SortedTable& table, const FilterOptions& options)
      : Arrangement(table, options, "partitioned, 4 KiB each") {}

  void Build() override {
    const auto keys_per_partition =
        static_cast<size_t>(kPartitionBytes * 8 / options_.bits_per_key);
    FilterBuilder builder(options_);
    index_.clear();
    filters_.clear();
    for (size_t i = 0; i < table_.keys.size(); ++i) {
      builder.AddKey(table_.keys[i]);
      if (builder.KeysAdded() < keys_per_partition &&
          i + 1 < table_.keys.size()) {
        continue;
      }
      filters_.emplace_back();
      builder.Finish(&filters_.back());
      index_.push_back(table_.keys[i]);
    }
  }

  bool MayMatch(std::string_view key) const override {
    const size_t i = Find(index_, key);
    return i < filters_.size() &&
           Filter(filters_[i], options_.hash).MayMatch(key);
  }

  uint64_t Bytes() const override {
    constexpr uint64_t kHandleBytes = 8;  // in the index, after the key
    uint64_t bytes = filters_.size() * (table_.key_size + kHandleBytes);
    for (const std::string& filter : filters_) bytes += filter.size();
    return bytes;
  }

  double LookupBytes() const override {
    return static_cast<double>(Bytes()) / static_cast<double>(filters_.size());
  }

 private:
  static constexpr double kPartitionBytes = 4096;

  Keys index_;
  std::vector<std::string> filters_;
};

class Full final : public Arrangement {
 public:
  using Arrangement::Arrangement;

  void Build() override {
    FilterBuilder builder(options_);
    for (const std::string& key : table_.keys) builder.AddKey(key);
    filter_.reset();
    bytes_.clear();
    builder.Finish(&bytes_);
    filter_.emplace(bytes_, options_.hash);
  }

  bool MayMatch(std::string_view key) const override {
    return filter_->MayMatch(key);
  }
  uint64_t Bytes() const override { return bytes_.size(); }
  double LookupBytes() const override {
    return static_cast<double>(bytes_.size());
  }

 private:
  std::string bytes_;
  std::optional<Filter> filter_;
};

std::vector<std::unique_ptr<Arrangement>> Arrangements(const SortedTable& table,
                                                       double bits_per_key) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  std::vector<std::unique_ptr<Arrangement>> all;
  all.push_back(std::make_unique<IndexAlone>(table, options));
  for (const unsigned base_lg : {11u, 15u}) {
    all.push_back(std::make_unique<PerBlock>(table, options, base_lg));
  }
  all.push_back(std::make_unique<Partitioned>(table, options));
  options.layout = Layout::kClassic;
  all.push_back(std::make_unique<Full>(table, options, "full, classic"));
  options.layout = Layout::kLocal;
  all.push_back(std::make_unique<Full>(table, options, "full, local"));
  return all;
}

// Fresh keys, a chunk at a time.
class KeyStream {
 public:
  KeyStream(const KeyMaker& maker, uint64_t keys)
      : maker_(maker), keys_(keys), chunk_(maker) {}

  uint64_t ChunkKeys() const { return chunk_.capacity(); }

  void SetKeys(bool present) {
    for (size_t i = 0; i < chunk_.capacity(); ++i) {
      const uint64_t number = present ? random_.Below(keys_) : TakeAbsent(1);
      chunk_.Set(i, maker_, number, present);
    }
  }

  uint64_t CountMatches(const Arrangement& arrangement) const {
    uint64_t matches = 0;
    for (size_t i = 0; i < chunk_.capacity(); ++i) {
      matches += arrangement.MayMatch(chunk_[i].ToStringView());
    }
    return matches;
  }

 private:
  const KeyMaker& maker_;
  const uint64_t keys_;
  KeyChunk chunk_;
  MixedNumbers random_{1};
};

// Builds one arrangement, counts, and registers its timings.
void Measure(const Options& options, const Setting& setting,
             Arrangement* arrangement, const SortedTable& table,
             KeyStream* stream, Collector* collector) {
  const std::string& name = arrangement->Name();
  arrangement->Build();
  for (const std::string& key : table.keys) {
    if (!arrangement->MayMatch(key)) {
      throw std::runtime_error(name + " lost a key");
    }
  }
  uint64_t samples = 0;
  uint64_t positives = 0;
  for (; samples < options.samples; samples += stream->ChunkKeys()) {
    stream->SetKeys(false);
    positives += stream->CountMatches(*arrangement);
  }
  const double rate =
      static_cast<double>(positives) / static_cast<double>(samples);
  const auto keys = static_cast<double>(setting.keys);
  collector->Add(setting.NameOf("counted", name),
                 {{"stored_bits_per_key",
                   static_cast<double>(arrangement->Bytes()) * 8 / keys},
                  {"lookup_bytes", arrangement->LookupBytes()},
                  {"false_positive_rate", rate},
                  {"false_positive_error", BinomialError(rate, samples)}});
  for (const bool present : {false, true}) {
    RegisterMeasurement(
        setting.NameOf(present ? "hit_ns" : "miss_ns", name),
        stream->ChunkKeys(), [=] {
          stream->SetKeys(present);
          const auto start = std::chrono::steady_clock::now();
          benchmark::DoNotOptimize(stream->CountMatches(*arrangement));
          return NanosecondsSince(start) /
                 static_cast<double>(stream->ChunkKeys());
        });
  }
  RegisterMeasurement(setting.NameOf("build_ns_per_key", name), setting.keys,
                      [arrangement, keys] {
                        const auto start = std::chrono::steady_clock::now();
                        arrangement->Build();
                        return NanosecondsSince(start) / keys;
                      });
}

}  // namespace

void MeasureArrangements(const Options& options, Collector* collector) {
  if (options.only_list) return;
  for (const Setting& setting : options.Settings()) {
    const KeyMaker maker(options.key_kind, setting.key_bytes, options.seed);
    const SortedTable table(maker, setting.keys);
    KeyStream stream(maker, setting.keys);
    const auto arrangements = Arrangements(table, setting.bits_per_key);
    for (const auto& arrangement : arrangements) {
      ShowProgress(WithThousands(setting.keys) +
                   " keys in a table: " + arrangement->Name());
      Measure(options, setting, arrangement.get(), table, &stream, collector);
    }
    if (options.rates_only) {
      benchmark::ClearRegisteredBenchmarks();
    } else {
      collector->RunRegistered();
    }
  }
}

}  // namespace deltabloom::bench
