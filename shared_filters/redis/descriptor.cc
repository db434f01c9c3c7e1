#include "shared_filters/redis/descriptor.h"

#include <hiredis.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <random>
#include <string_view>

#include "shared_filters/redis/options.h"

namespace deltabloom::internal {
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
  explicit StoredFields(const redisReply& reply) {
    for (size_t i = 0; i + 1 < reply.elements; i += 2) {
      const redisReply& name = *reply.element[i];
      const redisReply& value = *reply.element[i + 1];
      fields_[std::string(name.str, name.len)] =
          std::string(value.str, value.len);
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

std::chrono::milliseconds Milliseconds(uint64_t count) {
  return std::chrono::milliseconds(static_cast<int64_t>(count));
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
    if (spread) add("spread", 1);
  }
  if (generations > 1) {
    add("generations", generations);
    add("max_age_ms", static_cast<uint64_t>(max_age.count()));
  }
  if (expected_keys > 0) add("expected_keys", expected_keys);
  return fields;
}

std::string Descriptor::Parse(const std::string& filter_name,
                              const redisReply& reply) {
  StoredFields fields(reply);
  *this = {};
  name = filter_name;
  moved_to = fields.Text("moved_to");
  if (!moved_to.empty()) return CheckName(moved_to);
  const std::string version = fields.Text("version");
  if (version != kVersion) {
    return "its version is '" + version + "', and this reads 1";
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
  spread = fields.Number("spread", 0, 1) != 0;
  generations = static_cast<uint32_t>(fields.Number("generations", 1, 16));
  max_age = Milliseconds(fields.Number("max_age_ms", 0, kAny));
  expected_keys = fields.Number("expected_keys", 0, kAny);
  rebuilding = fields.Has("rebuild");
  rebuilds = fields.Number("rebuilds", 0, kAny);
  if (!fields.error().empty()) return fields.error();
  std::string error = FindHashes(&scheme);
  if (error.empty()) error = scheme.Validate();
  if (!error.empty()) return error;
  if (scheme.kind == SchemeKind::kPhpNamedHashes &&
      scheme.hashes.size() != scheme.probes) {
    return "hashes and probes do not fit";
  }
  if (shards == 0 || generations == 0) return "shards or generations is 0";
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

}  // namespace deltabloom::internal
