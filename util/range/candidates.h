// The cuts that are considered.
#pragma once

#include <cstdint>
#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

struct Candidate {
  Cut cut;
  uint64_t prefixes = 0;  // distinct ones of the keys
  // For each sample the prefixes that it asks for here; 0 if the cut cannot
  // reject it: it does not apply, or a key around the sample has one of these
  // prefixes.
  std::vector<uint8_t> asks;
};

// Returns the cuts that can reject some of the samples: those from the
// beginning of a key before those from delimiters, and shallow ones before deep
// ones.
std::vector<Candidate> FindCandidates(const KeyStore& keys,
                                      const std::vector<Sample>& samples);

// Returns the given cuts at which keys have several prefixes, without samples.
std::vector<Candidate> FixedCandidates(const KeyStore& keys,
                                       const std::vector<Cut>& cuts);

}  // namespace deltabloom::internal::range
