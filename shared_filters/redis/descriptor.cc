#include "shared_filters/redis/descriptor.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <random>
#include <string_view>

#include "util/json.h"

namespace deltabloom {
namespace internal {
namespace {

constexpr std::string_view kVersion = "1";

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ',';
    text += word;
  }
  return text;
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

// The fields of a hash, with what was wrong with those that were read.
class StoredFields {
 public:
  explicit StoredFields(const RedisReply& reply) {
    for (size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
      fields_[reply.elements[i].text] = reply.elements[i + 1].text;
    }
  }

  bool Has(const std::string& name) const { return fields_.count(name) != 0; }

  std::string Text(const std::string& name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? "" : found->second;
  }

  // A missing field is `otherwise`.
  uint64_t Number(const std::string& name, uint64_t otherwise, uint64_t most) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return otherwise;
    const std::string& text = found->second;
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || stop != end || value > most) {
      if (error_.empty()) {
        error_ = "field " + name + " is '" + text + "'";
      }
      return otherwise;
    }
    return value;
  }

  const std::string& error() const { return error_; }

 private:
  std::map<std::string, std::string> fields_;
  std::string error_;
};

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
    return scheme->FindHashes();
  }
  if (options.expected_keys == 0) {
    if (scheme->probes == 0) scheme->probes = fixed_probes;
  } else {
    if (options.bits != 0 || options.probes != 0) {
      return "expected_keys and bits or probes exclude each other";
    }
    const double rate = options.false_positive_rate;
    if (!(rate > 0 && rate < 1)) {
      return "false_positive_rate is " + NumberText(rate) +
             ": it must be above 0 and below 1";
    }
    if (!SizeScheme(options.expected_keys, rate, fixed_probes, scheme)) {
      return "scheme " + scheme->Name() + " cannot hold " +
             std::to_string(options.expected_keys) + " keys at a rate of " +
             NumberText(rate);
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
  if (!scheme.is_local()) return "";
  const uint64_t blocks = scheme.bits / kBlockBits;
  const uint64_t per_shard = shard_bytes / kBlockBytes;
  const uint64_t shards = (blocks + per_shard - 1) / per_shard;
  if (shards > kMaxShards) {
    return "shard_bytes is " + std::to_string(shard_bytes) +
           ": that makes more than 65536 shards";
  }
  descriptor->shards = static_cast<uint32_t>(shards);
  descriptor->shard_blocks = shards == 1 ? blocks : per_shard;
  return "";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Descriptor::Fields() const {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"version", std::string(kVersion)},
      {"id", id},
      {"scheme", scheme.Name()},
      {"bits", std::to_string(scheme.bits)},
      {"probes", std::to_string(scheme.probes)},
  };
  const auto add = [&](const char* field, uint64_t value) {
    fields.emplace_back(field, std::to_string(value));
  };
  if (scheme.doubled_string) add("doubled_string", 1);
  if (!scheme.hashes.empty()) {
    fields.emplace_back("hashes", Join(scheme.hashes));
  }
  if (shards > 1) {
    add("shards", shards);
    add("shard_blocks", shard_blocks);
  }
  if (own_writers_only) add("own_writers_only", 1);
  if (durable) add("durable", 1);
  if (expected_keys > 0) add("expected_keys", expected_keys);
  return fields;
}

std::string Descriptor::Parse(const std::string& filter_name,
                              const RedisReply& reply) {
  StoredFields fields(reply);
  *this = {};
  name = filter_name;
  moved_to = fields.Text("moved_to");
  if (!moved_to.empty()) return CheckName(moved_to);
  const std::string version = fields.Text("version");
  if (version != kVersion) {
    return "its version is '" + version + "', and this reads 1";
  }
  if (fields.Has("generations") || fields.Has("spread")) {
    return "it has generations or spread shards, which only development "
           "versions had";
  }
  id = fields.Text("id");
  if (id.empty()) return "it has no id";
  uint32_t fixed_probes = 0;
  if (!FindScheme(fields.Text("scheme"), &scheme.kind, &fixed_probes)) {
    return "its scheme is '" + fields.Text("scheme") + "': known are " +
           SchemeNames();
  }
  constexpr uint64_t kAny = INT64_MAX;
  scheme.bits = fields.Number("bits", 0, kAny);
  scheme.probes = static_cast<uint32_t>(fields.Number("probes", 0, kMaxProbes));
  scheme.doubled_string = fields.Number("doubled_string", 0, 1) != 0;
  scheme.hashes = Split(fields.Text("hashes"));
  shards = static_cast<uint32_t>(fields.Number("shards", 1, 65536));
  shard_blocks = fields.Number("shard_blocks", 0, kAny);
  own_writers_only = fields.Number("own_writers_only", 0, 1) != 0;
  durable = fields.Number("durable", 0, 1) != 0;
  expected_keys = fields.Number("expected_keys", 0, kAny);
  rebuilding = fields.Has("rebuild");
  rebuilds = fields.Number("rebuilds", 0, kAny);
  if (!fields.error().empty()) return fields.error();
  std::string error = scheme.FindHashes();
  if (error.empty()) error = scheme.Validate();
  if (!error.empty()) return error;
  if (scheme.kind == SchemeKind::kPhpNamedHashes &&
      scheme.hashes.size() != scheme.probes) {
    return "hashes and probes do not fit";
  }
  if (shards == 0) return "shards is 0";
  if (shards > 1) {
    const uint64_t blocks = scheme.bits / kBlockBits;
    if (!scheme.is_local() || shard_blocks == 0 ||
        (blocks + shard_blocks - 1) / shard_blocks != shards) {
      return "shards and shard_blocks do not fit";
    }
  }
  return "";
}

uint64_t Descriptor::BlocksOf(uint32_t shard) const {
  if (!scheme.is_local()) return 0;
  const uint64_t blocks = scheme.bits / kBlockBits;
  if (shards == 1) return blocks;
  return std::min(shard_blocks, blocks - shard * shard_blocks);
}

uint64_t Descriptor::StringBytes(uint32_t shard) const {
  if (scheme.is_local()) return BlocksOf(shard) * kBlockBytes;
  return MarkerOf(0) / 8 + 1;
}

std::string RandomId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 16; ++i) id += "0123456789abcdef"[device() & 15];
  return id;
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
  if (circuit_open_for.count() < 0) return "circuit_open_for is negative";
  return "";
}

std::string RedisFilterOptions::Validate() const {
  internal::Descriptor descriptor;
  return internal::Resolve(*this, &descriptor);
}

}  // namespace deltabloom
