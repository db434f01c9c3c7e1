// Distributes filter memory over the sorted runs of an LSM tree.
//
// A lookup of an absent key queries one filter per run, and each false positive
// costs a read; the expected number of those reads is the sum of the rates. For
// n_i keys in run i and rates p_i(b) at b bits per key, that sum is least for a
// given memory where every run gains as much from one bit more:
//
//   -p_i'(b_i) / n_i = price        (Dayan, Athanassoulis, Idreos: "Monkey:
//                                    Optimal Navigable Key-Value Store", 2017)
//
// so that for rates that fall exponentially each p_i is in proportion to n_i. A
// run that only a part w_i of the lookups queries counts with w_i p_i.
// Measured rates have steps and dents. Only their lower convex hull counts:
// between two of its vertices no bits per key are better value.
//
// Rates come as functions. All functions here accept any number.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace deltabloom::internal {

// A kind of filter that a run may have, with the bits per key at which it is
// used.
struct RateOption {
  // Returns the rate of a filter, 0 to 1, at bits per key from min_bits to
  // max_bits. A NaN or a rate above 1 counts as 1, one below 0 as 0.
  std::function<double(double bits_per_key)> rate;
  double min_bits = 0;
  double max_bits = 1000;
};

// The filters of a run. A run without bits has no filters.
struct RunBits {
  double bits_per_key = 0;
  size_t option = 0;  // of the RateCurve's
  double rate = 1;
};

// The rates of all options together. Immutable and thread-safe, if the
// functions are.
class RateCurve {
 public:
  explicit RateCurve(std::vector<RateOption> options);

  // Returns the option with the lowest rate at exactly these bits; the first if
  // several have it.
  // There is no filter for NaN and below kMinBitsPerKey; more than
  // kMaxBitsPerKey counts as kMaxBitsPerKey.
  RunBits At(double bits_per_key) const;

  // Returns the bits of the vertex of the hull that minimises rate + slope *
  // bits_per_key, and of several the one with the fewest bits. Returns
  // MostUsefulBits() for slopes of 0 or less, and 0 for NaN.
  double BestBitsAtSlope(double slope) const;

  // Returns the mean of BestBitsAtSlope() over the slopes within half an
  // octave: a small change of the slope is then a small one of the bits, even
  // for compact, whose curve has a vertex at each whole bit.
  double BitsAtSlope(double slope) const;

  // Returns the bits above which more of them gain nothing.
  double MostUsefulBits() const { return hull_.back().bits; }

 private:
  struct Vertex {
    double bits;
    double rate;
    double slope;  // of the side that ends here, as a logarithm to base 2
  };

  // Returns the first vertex after which the hull falls no more steeply than
  // the slope, a logarithm to base 2.
  size_t VertexAtSlope(double log_slope) const;

  std::vector<RateOption> options_;
  std::vector<Vertex> hull_;  // from 0 bits on; rates fall ever less steeply
};

// One sorted run or several, all with the same bits per key.
struct SortedRun {
  double keys = 0;
  // The number of its filters that a lookup queries: 1 for a run over the whole
  // key space, less for a part of one, 5 for five runs.
  double weight = 1;
  // The rates of its filters; if null, the curve given to the functions below.
  const RateCurve* curve = nullptr;
  // Its bits per key at any price, even if the budget does not pay for them.
  double min_bits = 0;
};

struct Allocation {
  std::vector<RunBits> runs;  // in the order given
  double rates = 0;           // the sum of weight times rate
  double keys = 0;
  double bits = 0;  // of all keys together
};

// Returns the bits per key of a run at a price: BitsAtSlope(price * keys /
// weight).
double BitsAtPrice(const RateCurve& curve, const SortedRun& run, double price);

// Returns the price at which BitsAtPrice() gives the runs bits_per_key on
// average, or a little less at a step. Returns 0 if they have no use for that
// many bits, and infinity for no bits, NaN and no keys.
double PriceOfBits(const RateCurve& curve, const std::vector<SortedRun>& runs,
                   double bits_per_key);

// Returns the allocation with the least sum of rates at bits_per_key on average
// over all keys. More bits on average give no run less. Of runs that differ in
// their keys only, larger ones get no more bits per key than smaller ones, and
// runs of one size get the same. A run that would get less than kMinBitsPerKey
// gets none, and its bits are left over.
// Runs without keys (0, negative, NaN) or without weight get no bits and count
// for nothing.
Allocation AllocateBits(const RateCurve& curve,
                        const std::vector<SortedRun>& runs,
                        double bits_per_key);

// Returns the allocation that gives each run bits_per_key.
Allocation UniformBits(const RateCurve& curve,
                       const std::vector<SortedRun>& runs, double bits_per_key);

// Returns the allocation with the fewest bits whose sum of rates is `rates` or
// less; the one with all useful bits if there is none, and no bits for NaN.
Allocation AllocateForRates(const RateCurve& curve,
                            const std::vector<SortedRun>& runs, double rates);

}  // namespace deltabloom::internal
