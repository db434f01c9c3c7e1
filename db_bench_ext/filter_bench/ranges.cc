#include "db_bench_ext/filter_bench/ranges.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/range_sets.h"
#include "deltabloom/filter.h"
#include "util/range/range_part.h"

namespace deltabloom::bench {
namespace {

// Asked one after the other for a time, so that processor and caches see other
// bytes each time.
constexpr size_t kQuestionsPerTime = 512;

double NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - start)
      .count();
}

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class RangeFilter {
 public:
  explicit RangeFilter(std::string name) : name_(std::move(name)) {}
  virtual ~RangeFilter() = default;
  const std::string& Name() const { return name_; }
  virtual void Build(const RangeSet& set) = 0;
  virtual bool MayMatch(const KeyRange& range) const = 0;
  virtual uint64_t Bytes() const = 0;
  // What the mathematics allow at most for ranges of so many numbers; NaN if
  // they say nothing.
  virtual double Bound(const RangeSet& set, uint64_t length) const = 0;

 private:
  const std::string name_;
};

class Part : public RangeFilter {
 public:
  Part(std::string name, double bits_per_key)
      : RangeFilter(std::move(name)), bits_per_key_(bits_per_key) {}

  void Build(const RangeSet& set) override {
    internal::RangePartBuilder builder(bits_per_key_);
    for (const std::string& key : set.keys) builder.AddKey(key);
    part_.reset();
    bytes_.clear();
    builder.Finish(&bytes_);
    part_.emplace(bytes_);
  }
  bool MayMatch(const KeyRange& range) const override {
    return part_->MayMatch(range.lower, range.upper);
  }
  uint64_t Bytes() const override { return bytes_.size(); }
  double Bound(const RangeSet& set, uint64_t length) const override {
    if (set.texts) return std::nan("");
    const double bits =
        static_cast<double>(Bytes()) * 8 / static_cast<double>(set.keys.size());
    return std::min(1.0, static_cast<double>(length) / std::exp2(bits - 2));
  }

 private:
  double bits_per_key_;
  std::string bytes_;
  std::optional<internal::RangePart> part_;
};

// As RocksDB uses one: a range is answered if both bounds, the upper one
// included, have the same prefix.
class PrefixBloom : public RangeFilter {
 public:
  PrefixBloom(size_t prefix, double bits_per_key)
      : RangeFilter("prefix Bloom, " + std::to_string(prefix) + " bytes"),
        prefix_(prefix) {
    options_.bits_per_key = bits_per_key;
    options_.layout = Layout::kLocal;
  }

  void Build(const RangeSet& set) override {
    FilterBuilder builder(options_);
    for (const std::string& key : set.keys) builder.AddKey(Prefix(key));
    filter_.reset();
    bytes_.clear();
    builder.Finish(&bytes_);
    filter_.emplace(bytes_);
  }
  bool MayMatch(const KeyRange& range) const override {
    const std::string_view prefix = Prefix(range.lower);
    return prefix != Prefix(range.upper) || filter_->MayMatch(prefix);
  }
  uint64_t Bytes() const override { return bytes_.size(); }
  double Bound(const RangeSet&, uint64_t) const override {
    return std::nan("");
  }

 private:
  std::string_view Prefix(std::string_view key) const {
    return key.substr(0, prefix_);
  }

  FilterOptions options_;
  size_t prefix_;
  std::string bytes_;
  std::optional<Filter> filter_;
};

// What building a filter for the same keys takes.
double CompactBuildTime(const RangeSet& set, double bits_per_key,
                        int repetitions) {
  FilterOptions options;
  options.layout = Layout::kCompact;
  options.bits_per_key = bits_per_key;
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    std::string bytes;
    const auto start = std::chrono::steady_clock::now();
    FilterBuilder builder(options);
    for (const std::string& key : set.keys) builder.AddKey(key);
    builder.Finish(&bytes);
    times.push_back(NanosecondsSince(start) /
                    static_cast<double>(set.keys.size()));
  }
  return Median(std::move(times));
}

// Empty ranges, or as many as a hundred times as many draws give.
std::vector<KeyRange> EmptyRanges(const RangeSet& set, uint64_t length,
                                  uint64_t count, MixedNumbers* random) {
  std::vector<KeyRange> ranges;
  for (uint64_t i = 0; i < 100 * count && ranges.size() < count; ++i) {
    KeyRange range = set.draw(random, length);
    if (!set.Holds(range)) ranges.push_back(std::move(range));
  }
  return ranges;
}

class Bench {
 public:
  Bench(const Options& options, const RangeSet& set)
      : options_(options), set_(set), random_(options.seed + 1) {
    for (const uint64_t length : set.lengths) {
      ShowProgress(set.name + ": ranges of length " + std::to_string(length));
      ranges_.push_back(EmptyRanges(set, length, options.samples, &random_));
    }
  }

  void Measure(double bits, std::vector<RangeRow>* rows) {
    const double point = internal::PointBitsPerKey(bits);
    const double compact =
        options_.rates_only
            ? 0
            : CompactBuildTime(set_, point, options_.repetitions);
    std::vector<std::unique_ptr<RangeFilter>> filters;
    filters.push_back(
        std::make_unique<Part>("deltabloom", internal::RangeBitsPerKey(bits)));
    filters.push_back(std::make_unique<Part>("deltabloom, ranges alone", bits));
    for (const size_t prefix : set_.prefix_bytes) {
      filters.push_back(std::make_unique<PrefixBloom>(prefix, bits));
    }
    for (const auto& filter : filters) {
      ShowProgress(set_.name + ", " + Significant(bits, 4) +
                   " bits per key: " + filter->Name());
      RangeRow row;
      row.set = set_.name;
      row.keys = set_.keys.size();
      row.bits_per_key = bits;
      row.filter = filter->Name();
      row.build_ns_per_key = BuildTime(filter.get());
      row.compact_build_ns_per_key = compact;
      row.stored_bits_per_key = static_cast<double>(filter->Bytes()) * 8 /
                                static_cast<double>(set_.keys.size());
      CheckKeys(*filter);
      for (size_t i = 0; i < ranges_.size(); ++i) {
        if (ranges_[i].empty()) continue;
        AskEmpty(*filter, i, &row);
        rows->push_back(row);
      }
    }
    ShowProgress("");
  }

 private:
  double BuildTime(RangeFilter* filter) const {
    std::vector<double> times;
    for (int i = 0; i < (options_.rates_only ? 1 : options_.repetitions); ++i) {
      const auto start = std::chrono::steady_clock::now();
      filter->Build(set_);
      times.push_back(NanosecondsSince(start) /
                      static_cast<double>(set_.keys.size()));
    }
    return options_.rates_only ? 0 : Median(std::move(times));
  }

  void CheckKeys(const RangeFilter& filter) const {
    for (const std::string& key : set_.keys) {
      if (filter.MayMatch({key, key + '\0'})) continue;
      throw std::runtime_error(filter.Name() + " lost a key of " + set_.name);
    }
  }

  void AskEmpty(const RangeFilter& filter, size_t i, RangeRow* row) {
    const std::vector<KeyRange>& ranges = ranges_[i];
    row->length = set_.lengths[i];
    row->bound = filter.Bound(set_, row->length);
    uint64_t positives = 0;
    for (const KeyRange& range : ranges) positives += filter.MayMatch(range);
    row->samples = ranges.size();
    row->false_positive_rate =
        static_cast<double>(positives) / static_cast<double>(ranges.size());
    row->false_positive_error =
        BinomialError(row->false_positive_rate, ranges.size());
    row->question_ns = 0;
    if (options_.rates_only) return;
    std::vector<double> times;
    for (int repetition = 0; repetition < 5 * options_.repetitions;
         ++repetition) {
      size_t at = random_.Below(ranges.size());
      const auto start = std::chrono::steady_clock::now();
      for (size_t n = 0; n < kQuestionsPerTime; ++n) {
        benchmark::DoNotOptimize(filter.MayMatch(ranges[at]));
        if (++at == ranges.size()) at = 0;
      }
      times.push_back(NanosecondsSince(start) / kQuestionsPerTime);
    }
    row->question_ns = Median(std::move(times));
  }

  const Options& options_;
  const RangeSet& set_;
  MixedNumbers random_;
  std::vector<std::vector<KeyRange>> ranges_;
};

}  // namespace

std::vector<RangeRow> MeasureRanges(const Options& options) {
  std::vector<RangeRow> rows;
  for (const uint64_t keys : options.keys) {
    for (const RangeSet& set : MakeRangeSets(keys, options.seed)) {
      Bench bench(options, set);
      for (const double bits : options.bits_per_key) bench.Measure(bits, &rows);
    }
  }
  return rows;
}

}  // namespace deltabloom::bench
