// Ranges without keys by which the cuts of a filter are chosen.
#pragma once

#include <string>

namespace deltabloom::internal::range {

// A range without keys that was looked up, or that the keys suggest. Cuts are
// chosen so that few samples pass.
struct Sample {
  std::string lower, upper;
  std::string before, after;  // the keys around it
  double weight = 1;
};

}  // namespace deltabloom::internal::range
