// Prints what is known of a filter, as JSON and as text.
#pragma once

#include "deltabloom/redis_filter.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Throws if Redis does not tell.
RedisFilterInfo InfoOf(RedisFilter* filter);

Json InfoAsJson(const RedisFilterInfo& info);
void InfoAsText(const RedisFilterInfo& info, Console* console);

}  // namespace deltabloom::tools
