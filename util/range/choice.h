// Which cuts a range filter of prefixes has, and with how many bits each
// (docs/design.md, "Ranges: which cuts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

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
// were looked up, which are the first `looked_up` ones, and by those that the
// keys suggest, the others. The same arguments give the same choice.
Choice ChooseCuts(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Sample>& samples, size_t looked_up);

// Divides a body of no more than `bytes` among the given cuts. One that the
// bytes do not reach is left out.
Choice ChooseBits(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Cut>& cuts);

}  // namespace deltabloom::internal::range
