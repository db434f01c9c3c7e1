#include "shared_filters/redis/tls.h"

#include <hiredis.h>

#if defined(DELTABLOOM_REDIS_TLS)
#include <hiredis_ssl.h>

#include <memory>
#include <mutex>
#endif

namespace deltabloom::internal {

#if defined(DELTABLOOM_REDIS_TLS)

std::string WhyNoTls() { return ""; }

std::string StartTls(const RedisTls& tls, const std::string& host,
                     redisContext* context) {
  static std::once_flag once;
  std::call_once(once, [] { redisInitOpenSSL(); });
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  // hiredis itself takes the system's certificates from a directory only.
  const char* directory = tls.ca_file.empty() ? "/etc/ssl/certs" : nullptr;
  const std::string& name = tls.server_name.empty() ? host : tls.server_name;
  redisSSLContextError error = REDIS_SSL_CTX_NONE;
  const std::unique_ptr<redisSSLContext, void (*)(redisSSLContext*)> ssl(
      redisCreateSSLContext(or_null(tls.ca_file), directory,
                            or_null(tls.certificate), or_null(tls.key),
                            name.c_str(), &error),
      redisFreeSSLContext);
  if (ssl == nullptr) return redisSSLContextGetError(error);
  if (redisInitiateSSLWithContext(context, ssl.get()) != REDIS_OK) {
    return context->errstr;
  }
  return "";
}

#else

std::string WhyNoTls() {
  return "TLS needs hiredis 1.0 or later with libhiredis-ssl (Debian 13); this "
         "build has hiredis " +
         std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR);
}

std::string StartTls(const RedisTls&, const std::string&, redisContext*) {
  return WhyNoTls();
}

#endif

}  // namespace deltabloom::internal
