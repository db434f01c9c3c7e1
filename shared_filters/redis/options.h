// From options to the descriptor of a filter.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_OPTIONS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_OPTIONS_H_

#include <string>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/descriptor.h"

namespace deltabloom::internal {

// Fills in all of *descriptor but the id. Empty, or what is wrong.
std::string Resolve(const RedisFilterOptions& options, Descriptor* descriptor);

// Looks the functions of scheme->hashes up. Empty, or what is wrong.
std::string FindHashes(Scheme* scheme);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_OPTIONS_H_
