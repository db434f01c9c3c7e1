// What RedisOptions and RedisFilterOptions allow.
#include "shared_filters/redis/options.h"

#include "shared_filters/redis/keys.h"
#include "shared_filters/redis/slots.h"
#include "shared_filters/redis/tls.h"
#include "util/number_text.h"

namespace deltabloom {

std::string RedisOptions::Validate() const {
  if (unix_socket.empty() && host.empty()) return "host is empty";
  if (unix_socket.empty() && port == 0) return "port is 0";
  if (cluster && !unix_socket.empty()) {
    return "cluster does not go with unix_socket: nodes name each other by "
           "host and port";
  }
  if (cluster && database != 0) {
    return "database is " + std::to_string(database) +
           ": a cluster has database 0 only";
  }
  for (const std::string& node : more_nodes) {
    internal::Endpoint endpoint;
    if (!internal::ParseEndpoint(node, &endpoint)) {
      return "more_nodes has '" + node + "': it must be host:port";
    }
  }
  if (!username.empty() && password.empty()) {
    return "username without a password";
  }
  if (connect_timeout.count() < 1 || command_timeout.count() < 1) {
    return "timeouts must be 1 ms or more";
  }
  if (circuit_open_for.count() < 0 || replica_timeout.count() < 0) {
    return "times must not be negative";
  }
  // WAIT 0 of Redis means for ever.
  if (wait_replicas > 0 &&
      (replica_timeout.count() < 1 || replica_timeout >= command_timeout)) {
    return "replica_timeout must be at least 1 ms and less than "
           "command_timeout";
  }
  if (tls.enabled) {
    if (!unix_socket.empty()) return "TLS does not go with unix_socket";
    if (tls.certificate.empty() != tls.key.empty()) {
      return "tls.certificate and tls.key need each other";
    }
    return internal::WhyNoTls();
  }
  return "";
}

std::string RedisFilterOptions::Validate() const {
  internal::Descriptor descriptor;
  return internal::Resolve(*this, &descriptor);
}

namespace internal {
namespace {

constexpr uint32_t kMaxGenerations = 16;
constexpr uint64_t kMaxShardBytes = uint64_t{512} << 20;
constexpr uint64_t kMaxShards = 65536;

std::string ResolveScheme(const RedisFilterOptions& options, Scheme* scheme) {
  uint32_t fixed_probes = 0;
  if (!FindScheme(options.scheme, &scheme->kind, &fixed_probes)) {
    return "scheme is '" + options.scheme + "': known are " + SchemeNames();
  }
  const bool is_php = scheme->kind == SchemeKind::kPhpNamedHashes;
  if (options.doubled_string && scheme->kind != SchemeKind::kGuavaHelper) {
    return "doubled_string goes with scheme guava-helper only";
  }
  if (!options.hashes.empty() && !is_php) {
    return "hashes goes with scheme php-named-hashes only";
  }
  scheme->doubled_string = options.doubled_string;
  scheme->bits = options.bits;
  scheme->probes = options.probes;
  if (is_php) {
    scheme->hashes = options.hashes;
    if (scheme->hashes.empty()) scheme->hashes = {"BKDR", "SDBM", "JS"};
    const auto count = static_cast<uint32_t>(scheme->hashes.size());
    if (options.probes != 0 && options.probes != count) {
      return "probes is " + std::to_string(options.probes) +
             ": with scheme php-named-hashes it follows from hashes (0 says "
             "so)";
    }
    scheme->probes = count;
    if (scheme->bits == 0) SizeScheme(0, 1, 0, scheme);
    return FindHashes(scheme);
  }
  if (options.expected_keys == 0) {
    if (scheme->probes == 0) scheme->probes = fixed_probes;
  } else {
    if (options.bits != 0 || options.probes != 0) {
      return "expected_keys and bits or probes exclude each other";
    }
    const double rate = options.false_positive_rate;
    if (!(rate > 0 && rate < 1)) {
      return "false_positive_rate is " + internal::NumberText(rate) +
             ": it must be above 0 and below 1";
    }
    if (!SizeScheme(options.expected_keys, rate, fixed_probes, scheme)) {
      return "scheme " + scheme->Name() + " cannot hold " +
             std::to_string(options.expected_keys) + " keys at a rate of " +
             internal::NumberText(rate);
    }
  }
  if (fixed_probes != 0 && scheme->probes != fixed_probes) {
    return "probes is " + std::to_string(scheme->probes) + ": scheme " +
           options.scheme + " has " + std::to_string(fixed_probes);
  }
  return "";
}

std::string ResolveShards(const RedisFilterOptions& options,
                          Descriptor* descriptor) {
  const uint64_t shard_bytes = options.shard_bytes;
  if (shard_bytes == 0 || shard_bytes % kBlockBytes != 0 ||
      shard_bytes > kMaxShardBytes) {
    return "shard_bytes is " + std::to_string(shard_bytes) +
           ": it must be a multiple of 64 up to 512 MiB";
  }
  const Scheme& scheme = descriptor->scheme;
  descriptor->spread = options.spread;
  if (!scheme.is_local()) {
    if (options.spread) return "spread goes with scheme local only";
    return "";
  }
  const uint64_t blocks = scheme.bits / kBlockBits;
  const uint64_t per_shard = shard_bytes / kBlockBytes;
  const uint64_t shards = (blocks + per_shard - 1) / per_shard;
  if (shards > kMaxShards) {
    return "shard_bytes is " + std::to_string(shard_bytes) +
           ": that makes more than 65536 shards";
  }
  descriptor->shards = static_cast<uint32_t>(shards);
  descriptor->shard_blocks = shards == 1 ? blocks : per_shard;
  if (options.spread && HashTag(options.name).size() != options.name.size()) {
    return "spread does not go with a hash tag in the name, which keeps all "
           "on one slot";
  }
  return "";
}

}  // namespace

std::string FindHashes(Scheme* scheme) {
  scheme->hash_functions.clear();
  for (const std::string& name : scheme->hashes) {
    const PhpHash hash = FindPhpHash(name);
    if (hash == nullptr) {
      return "hashes has '" + name + "': known are " + PhpHashNames();
    }
    scheme->hash_functions.push_back(hash);
  }
  return "";
}

std::string Resolve(const RedisFilterOptions& options, Descriptor* descriptor) {
  std::string error = CheckName(options.name);
  if (!error.empty()) return error;
  descriptor->name = options.name;
  error = ResolveScheme(options, &descriptor->scheme);
  if (error.empty()) error = descriptor->scheme.Validate();
  if (error.empty()) error = ResolveShards(options, descriptor);
  if (!error.empty()) return error;
  descriptor->expected_keys = options.expected_keys;
  if (options.expire_after.count() < 0) return "expire_after is negative";
  descriptor->expire_after = options.expire_after;
  if (options.generations == 0 || options.generations > kMaxGenerations) {
    return "generations is " + std::to_string(options.generations) +
           ": it must be 1 to 16";
  }
  descriptor->generations = options.generations;
  if ((options.generations > 1) != (options.max_age.count() > 0)) {
    return "generations beyond 1 and max_age need each other";
  }
  descriptor->max_age = options.max_age;
  if (options.filled_by_rebuild && options.generations > 1) {
    return "filled_by_rebuild does not go with generations: they are not "
           "rebuilt";
  }
  return "";
}

}  // namespace internal
}  // namespace deltabloom
