// Range filters and, to compare, Bloom filters of prefixes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/modes.h"
#include "deltabloom/filter.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"
#include "util/range/range.h"

namespace deltabloom::bench {
namespace {

using internal::range::Range;

// A range of a length, which may hold keys.
using Draw = std::function<Range(MixedNumbers* random, uint64_t length)>;

// Keys and empty ranges.
struct RangeSet {
  std::string name;
  std::vector<std::string> keys;  // sorted, distinct
  // The integers in a range, or the bytes at the end of a text that are free.
  std::vector<uint64_t> lengths;
  bool texts;
  // Sizes of prefixes for the prefix Bloom filters.
  std::vector<size_t> prefix_bytes;
  Draw draw;

  bool Holds(const Range& range) const {
    const auto key = std::lower_bound(keys.begin(), keys.end(), range.lower);
    return key != keys.end() && *key < range.upper;
  }
};

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

Range RangeFrom(uint64_t first, uint64_t length) {
  first = std::min(first, ~uint64_t{0} - length);
  return {BigEndian(first), BigEndian(first + length)};
}

// All texts from `text` on that begin with `text` without its last `free`
// bytes.
Range RangeFrom(const std::string& text, uint64_t free) {
  Range range{text, text.substr(0, text.size() - std::min<uint64_t>(
                                                     free, text.size() - 1))};
  if (free == 0) {
    range.upper.push_back('\0');
  } else {
    ++range.upper.back();
  }
  return range;
}

void SortDistinct(std::vector<std::string>* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

RangeSet Numbers(const char* name, const std::vector<uint64_t>& numbers,
                 Draw draw) {
  RangeSet set{
      name,  {},        {1, 16, 64, 256, 1024, 16'384, 131'072, 1'048'576},
      false, {5, 6, 7}, std::move(draw)};
  for (const uint64_t number : numbers) set.keys.push_back(BigEndian(number));
  SortDistinct(&set.keys);
  return set;
}

// Every second of the distinct texts is a key; ranges begin at the others.
RangeSet Texts(const char* name, std::vector<std::string> texts,
               std::vector<size_t> prefix_bytes, MixedNumbers* random) {
  SortDistinct(&texts);
  std::vector<std::string> keys, absent;
  for (std::string& text : texts) {
    (random->Below(2) == 0 ? keys : absent).push_back(std::move(text));
  }
  return {name,
          std::move(keys),
          {0, 1, 2, 4},
          true,
          std::move(prefix_bytes),
          [absent = std::move(absent)](MixedNumbers* from, uint64_t length) {
            return RangeFrom(absent[from->Below(absent.size())], length);
          }};
}

// Composite keys: every second group, on average, has one to seven of them. A
// range is that of a group without any.
RangeSet Groups(const char* name, uint64_t keys, MixedNumbers* random,
                size_t prefix_bytes,
                const std::function<std::string(uint64_t)>& group,
                const std::function<std::string()>& rest) {
  std::vector<std::string> present, absent;
  for (uint64_t i = 0; present.size() < keys; ++i) {
    if (random->Below(2) == 0) {
      absent.push_back(group(i));
      continue;
    }
    for (uint64_t n = 1 + random->Below(7); n > 0; --n) {
      present.push_back(group(i) + rest());
    }
  }
  SortDistinct(&present);
  return {name,
          std::move(present),
          {1},
          true,
          {prefix_bytes},
          [absent = std::move(absent)](MixedNumbers* from, uint64_t) {
            const std::string& lower = absent[from->Below(absent.size())];
            std::string upper = lower;
            while (upper.back() == '\xff') upper.pop_back();
            ++upper.back();
            return Range{lower, upper};
          }};
}

// Addresses of pages. Few sites have many pages; names are made of syllables.
std::vector<std::string> Urls(uint64_t count, MixedNumbers* random) {
  const auto word = [random](uint64_t syllables) {
    std::string text;
    for (; syllables > 0; --syllables) {
      text += "bcdfghklmnprstvw"[random->Below(16)];
      text += "aeiou"[random->Below(5)];
    }
    return text;
  };
  std::vector<std::string> sites, folders;
  for (uint64_t i = 0; i < count / 40 + 1; ++i) {
    sites.push_back("https://www." + word(2 + random->Below(3)) +
                    (random->Below(2) == 0 ? ".org/" : ".com/"));
  }
  for (int i = 0; i < 2000; ++i) folders.push_back(word(1 + random->Below(4)));
  std::vector<std::string> urls;
  for (uint64_t i = 0; i < count; ++i) {
    // The n-th site has a share in proportion to 1 / n, nearly.
    const double share =
        static_cast<double>(random->Next() >> 11) / 9007199254740992.0;
    const auto site = static_cast<size_t>(
        std::pow(static_cast<double>(sites.size()), share) - 1);
    std::string url = sites[site];
    for (uint64_t depth = random->Below(3); depth > 0; --depth) {
      url += folders[random->Below(folders.size())] + "/";
    }
    url += word(2 + random->Below(3));
    if (random->Below(2) == 0) url += "-" + std::to_string(random->Below(5000));
    urls.push_back(url + ".html");
  }
  return urls;
}

// About `most` words of the package wamerican-huge, spread as in the whole
// list; none where it is not installed.
std::vector<std::string> Words(uint64_t most) {
  std::vector<std::string> words, some;
  std::ifstream file("/usr/share/dict/american-english-huge");
  for (std::string line; std::getline(file, line);) words.push_back(line);
  const size_t step = std::max<size_t>(1, words.size() / most);
  for (size_t i = 0; i < words.size(); i += step) some.push_back(words[i]);
  return some;
}

// About `keys` keys in each set.
std::vector<RangeSet> MakeRangeSets(uint64_t keys, uint64_t seed) {
  MixedNumbers random(seed);
  std::vector<uint64_t> uniform, clustered, starts;
  while (uniform.size() < keys) uniform.push_back(random.Next());
  // Series of a thousand keys with gaps of 1,000 to 100,000, like the events of
  // a source; ranges within the time of one series.
  constexpr uint64_t kSeries = 1000;
  while (clustered.size() < keys) {
    if (clustered.size() % kSeries == 0) {
      starts.push_back(random.Next());
      clustered.push_back(starts.back());
    } else {
      clustered.push_back(clustered.back() + 1000 + random.Below(99'000));
    }
  }
  std::vector<RangeSet> sets = {
      Numbers("uniform", uniform,
              [](MixedNumbers* from, uint64_t length) {
                return RangeFrom(from->Next(), length);
              }),
      // Ranges that begin 1 to 1,024 after one of the keys.
      Numbers("correlated", uniform,
              [uniform](MixedNumbers* from, uint64_t length) {
                const uint64_t key = uniform[from->Below(uniform.size())];
                return RangeFrom(key + 1 + from->Below(1024), length);
              }),
      Numbers("clustered", clustered,
              [starts](MixedNumbers* from, uint64_t length) {
                const uint64_t start = starts[from->Below(starts.size())];
                return RangeFrom(start + from->Below(kSeries * 50'000), length);
              }),
      Texts("urls", Urls(2 * keys, &random), {18, 24, 32}, &random),
      Texts("words", Words(2 * keys), {4, 6, 8}, &random)};
  if (sets.back().keys.empty()) sets.pop_back();
  const auto number = [&random] {
    return std::to_string(random.Below(1'000'000));
  };
  sets.push_back(Groups(
      "index", keys, &random, 12,
      [](uint64_t i) { return "idx1" + BigEndian(i * 0x9e3779b97f4a7c15); },
      [&random] { return BigEndian(random.Next()); }));
  sets.push_back(Groups(
      "orders", keys, &random, 10,
      [](uint64_t i) { return "user:" + std::to_string(i) + ":"; },
      [&] { return "order:" + number(); }));
  sets.push_back(Groups(
      "folders", keys, &random, 20,
      [](uint64_t i) {
        return "/home/" + std::to_string(i % 97) + "/mail/" +
               std::to_string(i) + "/";
      },
      number));
  return sets;
}

// Lookups per timing, so that processor and caches see other bytes each time.
constexpr size_t kLookupsPerTiming = 512;

using MayMatch = std::function<bool(const Range&)>;

struct RangeFilter {
  std::string name;
  std::function<std::string(const RangeSet&)> build;
  std::function<MayMatch(const std::string& bytes)> open;
  bool has_bound = false;  // Grafite's, for numbers
};

// `samples`: the ranges that it learns from.
RangeFilter OurFilter(const std::string& name, double bits_per_key,
                      const std::vector<Range>& samples = {}) {
  return {name,
          [bits_per_key, samples](const RangeSet& set) {
            internal::range::FilterBuilder builder(bits_per_key);
            for (const Range& range : samples) {
              builder.AddSample(range.lower, range.upper);
            }
            for (const std::string& key : set.keys) builder.AddKey(key);
            std::string bytes;
            builder.Finish(&bytes);
            return bytes;
          },
          [](const std::string& bytes) {
            return [ours = internal::range::Filter(bytes)](const Range& range) {
              return ours.MayMatch(range.lower, range.upper);
            };
          },
          samples.empty()};
}

// A filter of the first `size` bytes of the keys.
std::string BuildOfPrefixes(const RangeSet& set, Layout layout,
                            double bits_per_key, size_t size) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  options.layout = layout;
  FilterBuilder builder(options);
  for (const std::string_view key : set.keys) {
    builder.AddKey(key.substr(0, size));
  }
  std::string bytes;
  builder.Finish(&bytes);
  return bytes;
}

// A Bloom filter of prefixes, used as RocksDB uses one: it can answer a range
// if both bounds, the upper one included, have the same prefix.
RangeFilter PrefixBloom(size_t size, double bits_per_key) {
  return {"prefix Bloom, " + std::to_string(size) + " bytes",
          [bits_per_key, size](const RangeSet& set) {
            return BuildOfPrefixes(set, Layout::kLocal, bits_per_key, size);
          },
          [size](const std::string& bytes) {
            return [filter = Filter(bytes), size](const Range& range) {
              const auto prefix = std::string_view(range.lower).substr(0, size);
              return prefix != std::string_view(range.upper).substr(0, size) ||
                     filter.MayMatch(prefix);
            };
          }};
}

class Bench {
 public:
  Bench(const Options& options, const RangeSet& set, Collector* collector)
      : options_(options),
        set_(set),
        collector_(collector),
        random_(options.seed + 1) {
    for (const uint64_t length : set.lengths) {
      ShowProgress(set.name + ": ranges of length " + std::to_string(length));
      std::vector<Range>& empty = ranges_.emplace_back();
      // There may be fewer samples than wanted, if few of the ranges drawn are
      // empty.
      for (uint64_t draws = 100 * options.samples;
           draws > 0 && empty.size() < options.samples + kLearned; --draws) {
        Range range = set.draw(&random_, length);
        if (!set.Holds(range)) empty.push_back(std::move(range));
      }
      const auto learned =
          static_cast<ptrdiff_t>(std::min<size_t>(kLearned, empty.size() / 2));
      learned_.emplace_back(empty.end() - learned, empty.end());
      empty.erase(empty.end() - learned, empty.end());
    }
  }

  void Measure(double bits) {
    std::vector<RangeFilter> filters = {OurFilter("deltabloom", bits)};
    for (const size_t prefix : set_.prefix_bytes) {
      filters.push_back(PrefixBloom(prefix, bits));
    }
    for (const RangeFilter& filter : filters) {
      Measure(filter, bits, 0, ranges_.size());
    }
    for (size_t i = 0; i < ranges_.size(); ++i) {
      Measure(OurFilter("deltabloom, learned", bits, learned_[i]), bits, i,
              i + 1);
    }
  }

 private:
  // Ranges that a filter learns from.
  static constexpr uint64_t kLearned = 256;

  // Measures the filter with ranges of lengths [first, last).
  void Measure(const RangeFilter& filter, double bits, size_t first,
               size_t last) {
    ShowProgress(set_.name + ", " + Significant(bits, 4) +
                 " bits per key: " + filter.name);
    const std::string bytes = filter.build(set_);
    const double stored = static_cast<double>(bytes.size()) * 8 /
                          static_cast<double>(set_.keys.size());
    std::map<std::string, double> figures = {{"stored_bits_per_key", stored}};
    if (!options_.rates_only) {
      // The times are compared with those of a compact filter of the same keys,
      // in turns.
      std::vector<double> compact, own;
      for (int i = 0; i < options_.repetitions; ++i) {
        compact.push_back(BuildTime([&](const RangeSet& set) {
          return BuildOfPrefixes(set, Layout::kCompact, bits,
                                 std::string::npos);
        }));
        own.push_back(BuildTime(filter.build));
      }
      figures["compact_build_ns_per_key"] = Median(std::move(compact));
      figures["build_ns_per_key"] = Median(std::move(own));
    }
    const auto may_match = filter.open(bytes);
    for (const std::string& key : set_.keys) {
      if (may_match({key, key + '\0'})) continue;
      throw std::runtime_error(filter.name + " lost a key of " + set_.name);
    }
    for (size_t i = first; i < last; ++i) {
      if (ranges_[i].empty()) continue;
      const uint64_t length = set_.lengths[i];
      if (filter.has_bound && !set_.texts) {
        figures["bound"] =
            std::min(1.0, static_cast<double>(length) / std::exp2(stored - 2));
      }
      LookUp(may_match, ranges_[i], &figures);
      collector_->Add("range/" + set_.name + "/" + filter.name +
                          "/keys:" + std::to_string(set_.keys.size()) +
                          "/bits_per_key:" + Significant(bits, 10) +
                          "/length:" + std::to_string(length),
                      figures);
    }
  }

  // The median nanoseconds of `times` runs, divided by `parts`.
  template <typename Run>
  static double MedianTime(int times, size_t parts, const Run& run) {
    std::vector<double> taken;
    for (; times > 0; --times) {
      const auto start = std::chrono::steady_clock::now();
      run();
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - start;
      taken.push_back(time.count() / static_cast<double>(parts));
    }
    return Median(std::move(taken));
  }

  template <typename Build>
  double BuildTime(const Build& build) const {
    return MedianTime(1, set_.keys.size(),
                      [&] { benchmark::DoNotOptimize(build(set_)); });
  }

  void LookUp(const MayMatch& may_match, const std::vector<Range>& ranges,
              std::map<std::string, double>* figures) {
    const auto positives =
        std::count_if(ranges.begin(), ranges.end(), may_match);
    const auto samples = static_cast<double>(ranges.size());
    const double rate = static_cast<double>(positives) / samples;
    (*figures)["false_positive_rate"] = rate;
    (*figures)["false_positive_error"] = BinomialError(rate, ranges.size());
    (*figures)["samples"] = samples;
    if (options_.rates_only) return;
    (*figures)["lookup_ns"] =
        MedianTime(5 * options_.repetitions, kLookupsPerTiming, [&] {
          size_t at = random_.Below(ranges.size());
          for (size_t n = 0; n < kLookupsPerTiming; ++n) {
            benchmark::DoNotOptimize(may_match(ranges[at]));
            if (++at == ranges.size()) at = 0;
          }
        });
  }

  const Options& options_;
  const RangeSet& set_;
  Collector* const collector_;
  MixedNumbers random_;
  std::vector<std::vector<Range>> ranges_, learned_;  // by length
};

}  // namespace

void MeasureRanges(const Options& options, Collector* collector) {
  if (options.only_list) return;
  for (const uint64_t keys : options.keys) {
    for (const RangeSet& set : MakeRangeSets(keys, options.seed)) {
      Bench bench(options, set, collector);
      for (const double bits : options.bits_per_key) bench.Measure(bits);
    }
  }
}

}  // namespace deltabloom::bench
