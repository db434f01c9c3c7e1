// The scans that keys alone suggest.
//
// The scans of tomorrow look for groups like those that exist today. So for
// some keys, spread evenly, each of their groups is taken away and then
// scanned: a group is what shares a component of the key and all before it.
#pragma once

#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

// Appends the scans that the keys suggest: of their groups, and of ranges
// between neighbouring keys.
void AppendSuggestedSamples(const KeyStore& keys, std::vector<Sample>* samples);

// Returns scans of the prefixes that some keys have at these cuts, without
// those cuts that are not for keys like most of these.
std::vector<Sample> SuggestSamplesAt(const KeyStore& keys,
                                     const std::vector<Cut>& cuts);

}  // namespace deltabloom::internal::range
