// Which cuts a range filter of prefixes has, and with how many bits each
// (docs/design.md, "Ranges: which cuts").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// A range without keys that was looked up, or that the keys suggest: the cuts
// are chosen so that few samples pass.
struct Sample {
  std::string lower, upper;
  std::string before, after;  // the keys around it
  double weight = 1;
};

// --- Suggested samples (suggested_samples.cc) -------------------------------

// Appends the scans that the keys alone suggest.
void SuggestSamples(const KeyStore& keys, std::vector<Sample>* samples);

// Appends for some keys the scans of the prefix that each has at these cuts,
// without the cuts that are not for keys like most of these.
void SuggestSamplesAt(const KeyStore& keys, const std::vector<Cut>& cuts,
                      std::vector<Sample>* samples);

// --- Candidates (candidates.cc) ---------------------------------------------

struct Candidate {
  Cut cut;
  uint64_t prefixes = 0;  // distinct ones of the keys
  // For each sample the prefixes that it asks for here; 0 if the cut cannot
  // reject it: it does not apply, or a key around the sample has one of these
  // prefixes.
  std::vector<uint8_t> asks;
};

// The cuts that can reject some of the samples: those from the beginning of a
// key before those from delimiters, and shallow ones before deep ones.
std::vector<Candidate> FindCandidates(const KeyStore& keys,
                                      const std::vector<Sample>& samples);

// The given cuts at which keys have several prefixes, without samples.
std::vector<Candidate> FixedCandidates(const KeyStore& keys,
                                       const std::vector<Cut>& cuts);

// --- Choosing (choose_cuts.cc) ----------------------------------------------

struct ChosenCut {
  Cut cut;
  unsigned bits = 0;  // per prefix
};

struct Choice {
  std::vector<ChosenCut> cuts;  // none if there is no use for any
  size_t learned = 0;  // how many of them samples chose: the first ones
  // The expected weights of those samples that pass.
  double looked_up_passing = 0, suggested_passing = 0;
};

// Chooses cuts for a body of no more than `bytes`, by samples of ranges that
// were looked up, if there are any, and by those that the keys suggest. The
// same arguments give the same choice.
Choice ChooseCuts(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Sample>& looked_up,
                  const std::vector<Sample>& suggested);

// The given cuts, as far as the bytes reach.
Choice ChooseBits(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Cut>& cuts);

}  // namespace deltabloom::internal::range
