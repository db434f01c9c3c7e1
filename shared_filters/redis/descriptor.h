// The definition of a filter: which bits belong to a key, for each scheme by
// name, and the fields of the descriptor, a hash in Redis beside the bitmap
// (docs/format.md).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/connection.h"

namespace deltabloom::internal {

// A named string hash of PHP programs that keep Bloom filters in Redis, with
// PHP's arithmetic on 64-bit machines. Frozen.
using PhpHash = uint32_t (*)(std::string_view key);

// The hash of that name: JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV; "JSHash" and
// the like are the same. Null if there is none.
PhpHash FindPhpHash(std::string_view name);

enum class SchemeKind : uint8_t {
  kLocal,
  kGoMurmur3,
  kGuavaHelper,
  kPhpNamedHashes,
};

inline constexpr uint32_t kMaxProbes = 255;
inline constexpr uint64_t kBlockBits = 512;  // of local
inline constexpr uint64_t kBlockBytes = 64;
// Beyond this offset Redis has no bit.
inline constexpr uint64_t kMaxRedisOffset = UINT32_MAX;

// A name of a scheme, and what is legal with it.
struct SchemeRow {
  std::string_view name;
  SchemeKind kind;
  uint32_t fixed_probes;  // 0: any number
  uint32_t most_probes;
  uint64_t least, most, multiple_of;  // bits
  const char* legal;                  // the same in words
};

// Null if there is none.
const SchemeRow* FindScheme(std::string_view name);
std::string SchemeNames();

// A scheme with all its numbers: a plain value.
struct Scheme {
  const SchemeRow* row = nullptr;
  uint64_t bits = 0;
  uint32_t probes = 0;
  bool doubled_string = false;
  std::vector<std::string> hashes;      // their names
  std::vector<PhpHash> hash_functions;  // the same, found

  bool is_local() const { return row->kind == SchemeKind::kLocal; }

  // The name in descriptors, which have the number of probes themselves.
  std::string Name() const;

  // offsets[0 .. probes): bits of the key, each in [0, bits).
  void Offsets(std::string_view key, uint64_t* offsets) const;

  // Sets bits and probes for that many keys at this rate. False: the scheme
  // cannot reach it.
  bool SetSize(uint64_t keys, double rate);

  // Sets hash_functions. Empty if all fits; else what is wrong.
  std::string Validate();

  // Returns the number of keys that explains this share of set bits: infinite
  // if all are set.
  double KeysOfOccupancy(double occupancy) const;
  // Returns the false-positive rate at this share of set bits.
  double RateOfOccupancy(double occupancy) const;
};

// A bitmap of a filter, and the names of its keys.
struct Shard {
  std::string Upload(std::string_view token) const {
    return Companion(live, ":upload:" + std::string(token));
  }

  std::string live;
  std::string descriptor;
  std::string rebuild;
  uint64_t blocks;  // 0 if not local
  uint64_t begin;   // of its bytes in those of the filter, markers apart
  uint64_t size;
};

struct Descriptor {
  std::string name;
  std::string id;  // 16 hexadecimal digits; empty: adopted, has no descriptor
  Scheme scheme;
  uint32_t shards = 1;
  uint64_t shard_blocks = 0;  // of each shard but the last, if several
  bool own_writers_only = false;
  bool durable = false;
  std::chrono::milliseconds expire_after{0};
  uint64_t expected_keys = 0;

  // Set by scripts only.
  uint64_t rebuilds = 0;
  std::string moved_to;

  bool adopted() const { return id.empty(); }

  // Programs without Deltabloom may write the bitmap.
  bool has_other_writers() const {
    return adopted() || (!own_writers_only && !scheme.is_local());
  }

  // Fields and values to store.
  std::vector<std::pair<std::string, std::string>> Fields() const;

  // Takes the reply to HGETALL. Empty, or what is wrong with it.
  std::string Parse(const std::string& filter_name, const RedisReply& reply);

  // Blocks of a shard; 0 if not local.
  uint64_t BlocksOf(uint32_t shard) const {
    const uint64_t blocks = scheme.is_local() ? scheme.bits / kBlockBits : 0;
    if (shards == 1) return blocks;
    return std::min(shard_blocks, blocks - shard * shard_blocks);
  }

  // The shard of a bit, and the bit's offset there.
  uint32_t ShardOf(uint64_t offset) const {
    if (shards == 1) return 0;
    return static_cast<uint32_t>(offset / kBlockBits / shard_blocks);
  }
  uint64_t OffsetInShard(uint64_t offset) const {
    if (shards == 1) return offset;
    return offset % (shard_blocks * kBlockBits);
  }

  // The marker that vouches for the bit at `offset` of a bitmap: it is clear if
  // the bitmap was lost.
  uint64_t MarkerOf(uint64_t offset) const {
    if (scheme.is_local()) return offset / kBlockBits * kBlockBits;
    return std::min(scheme.bits, kMaxRedisOffset);
  }

  // The size of a shard's bitmap as a string, markers included.
  uint64_t StringBytes(uint32_t shard) const {
    return scheme.is_local() ? BlocksOf(shard) * kBlockBytes
                             : MarkerOf(0) / 8 + 1;
  }

  Shard ShardAt(uint32_t n) const {
    const std::string live =
        shards == 1 ? name : Companion(name, ":shard" + std::to_string(n));
    return {live,
            DescriptorOf(live),
            Companion(live, ":rebuild"),
            BlocksOf(n),
            n * shard_blocks * kBlockBytes,
            shards == 1 ? (scheme.bits + 7) / 8 : StringBytes(n)};
  }
  std::vector<Shard> Shards() const {
    std::vector<Shard> all;
    for (uint32_t n = 0; n < shards; ++n) all.push_back(ShardAt(n));
    return all;
  }
};

using DescriptorRef = std::shared_ptr<const Descriptor>;

// Sets all of *descriptor but the id. Empty, or what is wrong.
std::string Resolve(const RedisFilterOptions& options, Descriptor* descriptor);

// 16 random hexadecimal digits.
std::string RandomId();

}  // namespace deltabloom::internal
