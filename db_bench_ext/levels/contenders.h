// What is compared: filters, and how their bits are spread over the runs.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_CONTENDERS_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_CONTENDERS_H_

#include <string>
#include <vector>

#include "db_bench_ext/levels/kinds.h"
#include "db_bench_ext/levels/rates.h"
#include "db_bench_ext/levels/tree.h"

namespace deltabloom::levels {

enum class Allocation {
  kNone,     // no filter
  kUniform,  // as many bits per key everywhere
  kByHand,   // the best for a tree that is known beforehand, set from outside
  kLevels,   // by the policy itself, which learns the tree
};

struct Contender {
  std::string name;
  std::string filter;  // a Kind, or "deltabloom-auto"
  Allocation allocation = Allocation::kNone;
};

// All of them, in the order in which they are shown; the first has no filter.
const std::vector<Contender>& Contenders();

// A policy and what it is asked for.
struct MadePolicy {
  PolicyPointer policy;            // null: no filter
  ListenerPointer listener;        // null: none
  std::vector<double> bits_asked;  // one, or of each run, newest first
};

// The policy with which the filters of `tree` have bits_per_key per entry,
// trailers included. `tree` need not have any yet.
MadePolicy MakePolicy(const Contender& contender, const Tree& tree,
                      double bits_per_key, Rates* rates);

// The sum of the rates of a lookup if each run of `tree` had filters of the
// contender's, all its filter bytes at their best, or equally, spread.
double RatesOfBest(const Contender& contender, const Tree& tree, Rates* rates);
double RatesOfUniform(const Contender& contender, const Tree& tree,
                      Rates* rates);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_CONTENDERS_H_
