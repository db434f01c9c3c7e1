// Parses any answer of a Redis server: any fields as a descriptor, any text as
// a redirection, any tree as a map of slots. Each is rejected, or understood
// and then safe to use.
//
// Input: a byte that chooses among these, then the fields, each ended by a zero
// byte; the text; or the tree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "tests/fuzz/harness.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;
using Kind = RedisReply::Kind;

void SetText(std::string_view bytes, RedisReply* reply) {
  reply->kind = Kind::kText;
  reply->text = bytes;
}

RedisReply* AddChild(RedisReply* reply) {
  reply->kind = Kind::kArray;
  return &reply->elements.emplace_back();
}

const Endpoint kFrom = {"127.0.0.1", 6379};

void ReadDescriptor(std::string_view fields) {
  RedisReply hash;
  while (!fields.empty()) {
    const size_t end = std::min(fields.find('\0'), fields.size());
    SetText(fields.substr(0, end), AddChild(&hash));
    fields.remove_prefix(std::min(end + 1, fields.size()));
  }
  Descriptor descriptor;
  if (!descriptor.Parse("name", hash).empty()) return;
  if (!descriptor.moved_to.empty()) return;  // names another filter, no more
  for (const uint64_t offset : {uint64_t{0}, descriptor.scheme.bits - 1}) {
    const uint32_t shard = descriptor.ShardOf(offset);
    Check(shard < descriptor.shards);
    Check(descriptor.OffsetInShard(offset) / 8 < descriptor.StringBytes(shard));
    descriptor.ShardAt(shard);
  }
  // A descriptor that is written and read again is the same.
  RedisReply copy;
  for (const auto& [name, value] : descriptor.Fields()) {
    SetText(name, AddChild(&copy));
    SetText(value, AddChild(&copy));
  }
  Descriptor again;
  Check(again.Parse("name", copy).empty());
  Check(again.Fields() == descriptor.Fields());
}

void ReadRedirection(std::string_view text) {
  bool ask = false;
  Endpoint to;
  if (ParseRedirection(text, kFrom, &ask, &to)) Check(to.exists());
}

// Takes one node off the input.
void MakeTree(Input* input, int depth, RedisReply* node) {
  const uint8_t kind = input->Byte();
  if (kind % 4 == 0 && depth < 4) {
    node->kind = Kind::kArray;
    for (int n = kind / 4; n > 0 && !input->empty(); --n) {
      MakeTree(input, depth + 1, AddChild(node));
    }
  } else if (kind % 4 == 1) {
    node->kind = Kind::kInteger;
    node->integer = input->Number();
    if (kind >= 128) node->integer = -node->integer;
  } else if (kind % 4 == 2) {
    SetText(input->Key(20), node);
  }
}

void ReadSlots(std::string_view bytes) {
  Input input(bytes);
  RedisReply root;
  MakeTree(&input, 0, &root);
  for (uint32_t slot = 0; slot < kSlots; slot += 17) {
    Endpoint owner;
    const std::vector<Endpoint> servers = ParseSlots(root, kFrom, slot, &owner);
    Check(!owner.exists() || !servers.empty());
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.empty()) return;
  const int kind = static_cast<uint8_t>(bytes[0]) % 3;
  bytes.remove_prefix(1);
  if (kind == 0) return ReadDescriptor(bytes);
  if (kind == 1) return ReadRedirection(bytes);
  ReadSlots(bytes);
}

}  // namespace deltabloom::fuzz
