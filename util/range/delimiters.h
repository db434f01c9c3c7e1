// The delimiters from which cuts are tried.
#pragma once

#include <vector>

#include "util/range/cut.h"
#include "util/range/reach.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

// Returns the delimiters, as cuts without bits, that occur in the common
// beginnings of the samples; those of most samples come first. `reaches`: those
// of the samples.
std::vector<Cut> FindDelimiters(const std::vector<Sample>& samples,
                                const std::vector<Reach>& reaches);

}  // namespace deltabloom::internal::range
