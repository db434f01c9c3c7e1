// What filters of a size let through, measured outside any database, on keys
// that no database has: the model that measurements of databases are held
// against.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_RATES_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_RATES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "db_bench_ext/levels/kinds.h"

namespace deltabloom::levels {

// The false-positive rate of filters of one size.
struct Rate {
  double mean = 1;    // over filters with different keys
  double error = 0;   // standard error of the mean
  double spread = 0;  // standard deviation from filter to filter
};

// A filter as a table has it.
struct BuiltFilter {
  const Kind* kind = nullptr;
  uint64_t keys = 0;
  uint64_t bytes = 0;
};

// A size and its rate.
struct CurvePoint {
  double bits_per_key;  // stored
  double rate;
};

class Rates {
 public:
  // How long to ask: until so many false positives were seen or so many keys
  // asked for; of several filters, for what they differ in, or of one.
  struct Effort {
    uint64_t false_positives;
    uint64_t queries;
    bool spread;
  };

  // `progress` is told what is being measured, and the empty text at the end.
  Rates(Effort effort, uint64_t seed,
        std::function<void(const std::string&)> progress);

  // The rate of a filter that was built: between the two nearest sizes of a
  // grid of quarters of a bit, measured when they are first needed, on a
  // logarithmic scale. A filter of no bytes has the rate 1.
  Rate Of(const BuiltFilter& filter);

  // Bytes of a filter of `keys` keys, trailer included.
  uint64_t Bytes(const Kind& kind, double bits_asked, uint64_t keys);

  // What to ask `kind` for so that filters of so many keys have so many bits
  // per key, trailer included. 0 where no filter is that small.
  double BitsToAsk(const Kind& kind, double bits_per_key, uint64_t keys);

  // Filters of about so many keys, from none (0 bits, rate 1) upwards: sizes
  // ascending, rates falling. Roughly: good enough to allocate bits by.
  const std::vector<CurvePoint>& Curve(const Kind& kind, uint64_t keys);

 private:
  struct Point {
    double bytes = 0;
    Rate rate;
  };
  using Place = std::tuple<std::string, int, uint64_t>;  // kind, quarters, keys

  // Filters of more keys have the rate of these.
  static constexpr uint64_t kManyKeys = 65536;

  const Point& Measured(const Kind& kind, int quarters, uint64_t keys);
  uint64_t GridBytes(const Kind& kind, int quarters, uint64_t keys);
  std::vector<CurvePoint> MeasureCurve(const Kind& kind, uint64_t keys);
  Rate Measure(const Kind& kind, double bits_asked, uint64_t keys,
               const Effort& effort);

  const Effort effort_;
  const uint64_t seed_;
  const std::function<void(const std::string&)> progress_;
  uint64_t next_key_;
  std::map<Place, Point> points_;
  std::map<Place, uint64_t> bytes_;
  std::map<std::pair<std::string, uint64_t>, std::vector<CurvePoint>> curves_;
};

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_RATES_H_
