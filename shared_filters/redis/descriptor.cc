#include "shared_filters/redis/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/connection.h"
#include "util/json.h"

namespace deltabloom {
namespace internal {
namespace {

constexpr std::string_view kDescriptorVersion = "1";
constexpr uint64_t kMaxShardBytes = uint64_t{512} << 20;
constexpr uint64_t kMaxShards = 65536;

// The fields that are numbers: name, value, what a missing one means, largest.
template <typename Descriptor, typename Visit>
void ForEachNumber(Descriptor& of, Visit visit) {
  constexpr uint64_t kAny = INT64_MAX;
  visit("bits", of.scheme.bits, 0, kAny);
  visit("probes", of.scheme.probes, 0, kMaxProbes);
  visit("doubled_string", of.scheme.doubled_string, 0, 1);
  visit("shards", of.shards, 1, kMaxShards);
  visit("shard_blocks", of.shard_blocks, 0, kAny);
  visit("own_writers_only", of.own_writers_only, 0, 1);
  visit("durable", of.durable, 0, 1);
  visit("expected_keys", of.expected_keys, 0, kAny);
  visit("rebuilds", of.rebuilds, 0, kAny);
}

std::string UnknownScheme(const std::string& name) {
  return "scheme is '" + name + "': known are " + SchemeNames();
}

std::string ResolveScheme(const RedisFilterOptions& options, Scheme* scheme) {
  scheme->row = FindScheme(options.scheme);
  if (scheme->row == nullptr) return UnknownScheme(options.scheme);
  const uint32_t fixed_probes = scheme->row->fixed_probes;
  const bool is_php = scheme->row->kind == SchemeKind::kPhpNamedHashes;
  if (options.doubled_string && scheme->row->kind != SchemeKind::kGuavaHelper) {
    return "doubled_string goes with scheme guava-helper only";
  }
  if (!options.hashes.empty() && !is_php) {
    return "hashes goes with scheme php-named-hashes only";
  }
  scheme->doubled_string = options.doubled_string;
  scheme->hashes = options.hashes;
  if (is_php) {
    if (scheme->hashes.empty()) scheme->hashes = {"BKDR", "SDBM", "JS"};
    scheme->SetSize(0, 1);
  } else if (options.expected_keys != 0) {
    if (options.bits != 0 || options.probes != 0) {
      return "expected_keys and bits or probes exclude each other";
    }
    const double rate = options.false_positive_rate;
    if (!(rate > 0 && rate < 1)) {
      return "false_positive_rate is " + NumberText(rate) +
             ": it must be above 0 and below 1";
    }
    if (!scheme->SetSize(options.expected_keys, rate)) {
      return "scheme " + scheme->Name() + " cannot hold " +
             std::to_string(options.expected_keys) + " keys at a rate of " +
             NumberText(rate);
    }
  } else if (options.bits == 0) {
    return "no size is set: use expected_keys, or bits and probes";
  }
  if (options.bits != 0) scheme->bits = options.bits;
  if (options.probes != 0) scheme->probes = options.probes;
  if (scheme->probes == 0) scheme->probes = fixed_probes;
  if (fixed_probes != 0 && scheme->probes != fixed_probes) {
    return "probes is " + std::to_string(scheme->probes) + ": scheme " +
           options.scheme + " has " + std::to_string(fixed_probes);
  }
  return scheme->Validate();
}

std::string ResolveShards(uint64_t shard_bytes, Descriptor* descriptor) {
  const uint64_t blocks = descriptor->BlocksOf(0);
  const uint64_t per_shard = shard_bytes / kBlockBytes;
  const bool is_legal = shard_bytes != 0 && shard_bytes % kBlockBytes == 0 &&
                        shard_bytes <= kMaxShardBytes;
  if (!is_legal || blocks > per_shard * kMaxShards) {
    return "shard_bytes is " + std::to_string(shard_bytes) +
           ": it must be a multiple of 64 up to 512 MiB, and make at most "
           "65536 shards";
  }
  if (blocks <= per_shard) return "";
  descriptor->shards =
      static_cast<uint32_t>((blocks + per_shard - 1) / per_shard);
  descriptor->shard_blocks = per_shard;
  return "";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Descriptor::Fields() const {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"version", std::string(kDescriptorVersion)},
      {"id", id},
      {"scheme", scheme.Name()}};
  ForEachNumber(*this, [&](const char* field, uint64_t value,
                           uint64_t otherwise, uint64_t) {
    if (value != otherwise) fields.emplace_back(field, std::to_string(value));
  });
  std::string hashes;
  for (const std::string& hash : scheme.hashes) {
    hashes += (hashes.empty() ? "" : ",") + hash;
  }
  if (!hashes.empty()) fields.emplace_back("hashes", hashes);
  return fields;
}

std::string Descriptor::Parse(const std::string& filter_name,
                              const RedisReply& reply) {
  std::map<std::string, std::string> fields;
  for (size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    fields[reply.elements[i].text] = reply.elements[i + 1].text;
  }
  *this = {};
  name = filter_name;
  moved_to = fields["moved_to"];
  if (!moved_to.empty()) return CheckName(moved_to);
  if (fields["version"] != kDescriptorVersion) {
    return "its version is '" + fields["version"] + "', and this reads 1";
  }
  id = fields["id"];
  if (id.empty()) return "it has no id";
  scheme.row = FindScheme(fields["scheme"]);
  if (scheme.row == nullptr) return UnknownScheme(fields["scheme"]);
  std::istringstream hashes(fields["hashes"]);
  for (std::string hash; std::getline(hashes, hash, ',');) {
    scheme.hashes.push_back(hash);
  }
  std::string error;
  ForEachNumber(*this, [&](const char* field, auto& value, uint64_t otherwise,
                           uint64_t most) {
    uint64_t number = otherwise;
    const auto found = fields.find(field);
    if (found != fields.end()) {
      const std::string& text = found->second;
      if (!ParseNumber(text, &number) || number > most) {
        error = std::string("field ") + field + " is '" + text + "'";
      }
    }
    value = static_cast<std::decay_t<decltype(value)>>(number);
  });
  if (error.empty()) error = scheme.Validate();
  if (!error.empty()) return error;
  const uint64_t blocks = scheme.bits / kBlockBits;
  if (shards != 1 && (!scheme.is_local() || shard_blocks == 0 ||
                      (blocks + shard_blocks - 1) / shard_blocks != shards)) {
    return "shards and shard_blocks do not fit";
  }
  return "";
}

std::string RandomId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 16; ++i) id += "0123456789abcdef"[device() & 15];
  return id;
}

std::string Resolve(const RedisFilterOptions& options, Descriptor* descriptor) {
  std::string error = CheckName(options.name);
  if (error.empty()) error = ResolveScheme(options, &descriptor->scheme);
  if (error.empty()) error = ResolveShards(options.shard_bytes, descriptor);
  if (error.empty() && options.expire_after.count() < 0) {
    error = "expire_after is negative";
  }
  if (!error.empty()) return error;
  descriptor->name = options.name;
  descriptor->expected_keys = options.expected_keys;
  descriptor->expire_after = options.expire_after;
  descriptor->own_writers_only =
      options.own_writers_only && !descriptor->scheme.is_local();
  descriptor->durable = options.durable;
  return "";
}

}  // namespace internal

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
  return "";
}

std::string RedisFilterOptions::Validate() const {
  internal::Descriptor descriptor;
  return internal::Resolve(*this, &descriptor);
}

}  // namespace deltabloom
