#include "shared_filters/redis/errors.h"

#include <charconv>
#include <iterator>

namespace deltabloom {

const char* RedisErrorName(RedisError error) {
  static constexpr const char* kNames[] = {
      "none",       "invalid argument", "unsupported",    "unavailable",
      "timeout",    "circuit open",     "authentication", "no permission",
      "read only",  "out of memory",    "cluster down",   "wrong type",
      "wrong size", "missing",          "exists",         "mismatch",
      "busy",       "server error",     "cancelled",      "unverified"};
  const auto i = static_cast<size_t>(error);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

namespace internal {
namespace {

struct Code {
  const char* word;
  RedisError error;
};
constexpr Code kCodes[] = {
    {"WRONGTYPE", RedisError::kWrongType},
    {"OOM", RedisError::kOutOfMemory},
    {"READONLY", RedisError::kReadOnly},
    {"NOAUTH", RedisError::kAuthentication},
    {"WRONGPASS", RedisError::kAuthentication},
    {"NOPERM", RedisError::kNoPermission},
    {"LOADING", RedisError::kUnavailable},
    {"BUSY", RedisError::kUnavailable},
    {"MASTERDOWN", RedisError::kUnavailable},
    {"MISCONF", RedisError::kServer},
    {"CLUSTERDOWN", RedisError::kClusterDown},
    {"TRYAGAIN", RedisError::kClusterDown},
    {"MOVED", RedisError::kClusterDown},
    {"ASK", RedisError::kClusterDown},
};

// Is `word` a word of its own in `text`?
bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '-';
    const size_t end = at + word.size();
    if (begins && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

std::string Endpoint::Text() const {
  if (!unix_socket.empty()) return unix_socket;
  const bool is_v6 = host.find(':') != host.npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ParseEndpoint(std::string_view text, Endpoint* endpoint) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  std::string_view host = text.substr(0, colon);
  std::string_view digits = text.substr(colon + 1);
  // "host:port@bus" of CLUSTER NODES.
  digits = digits.substr(0, digits.find('@'));
  uint16_t port = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      port == 0) {
    return false;
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  endpoint->host = host;
  endpoint->port = port;
  endpoint->unix_socket.clear();
  return true;
}

RedisError ClassifyError(std::string_view reply) {
  const std::string_view first = reply.substr(0, reply.find(' '));
  for (const Code& code : kCodes) {
    if (first == code.word) return code.error;
  }
  // Before Redis 7, what a script's command answers stands inside its error.
  for (const Code& code : kCodes) {
    if (code.error != RedisError::kUnavailable && HasWord(reply, code.word)) {
      return code.error;
    }
  }
  if (reply.find("invalid password") != reply.npos ||
      reply.find("without any password configured") != reply.npos ||
      reply.find("unauthenticated ") != reply.npos) {
    return RedisError::kAuthentication;
  }
  return RedisError::kServer;
}

std::string Printable(std::string_view key) {
  constexpr size_t kMost = 100;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : key.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text.push_back(c);
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  if (key.size() > kMost) text += "...";
  return text;
}

RedisStatus MakeStatus(RedisError error, const Endpoint& endpoint,
                       std::string_view key, std::string_view what) {
  std::string message = "redis " + endpoint.Text();
  if (!key.empty()) message += ", key '" + Printable(key) + "'";
  message += ": ";
  message += what;
  return {error, message};
}

RedisStatus MakeStatus(RedisError error, std::string_view name,
                       std::string_view what) {
  std::string message = "filter '" + Printable(name) + "': ";
  message += what;
  return {error, message};
}

}  // namespace internal
}  // namespace deltabloom
