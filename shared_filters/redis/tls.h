// TLS on a connection, where hiredis can do it (1.0 or later, with its own
// library for it).
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_TLS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_TLS_H_

#include <string>

#include "deltabloom/redis_filter.h"

struct redisContext;

namespace deltabloom::internal {

// Empty if TLS can be had; else why not.
std::string WhyNoTls();

// Makes the handshake. Empty, or what went wrong.
std::string StartTls(const RedisTls& tls, const std::string& host,
                     redisContext* context);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_TLS_H_
