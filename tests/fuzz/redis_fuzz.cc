// What a Redis server may answer: any fields as a descriptor, any text as a
// redirection, any tree as a map of slots. Each is refused, or understood and
// then safe to use.
//
// Input: a byte that chooses among these, then the fields, each ended by a zero
// byte; the text; or the tree.
#include <hiredis.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/slots.h"
#include "tests/fuzz/harness.h"

namespace {

using namespace deltabloom::internal;
using deltabloom::fuzz::Check;

// A reply with all that it points to.
struct Node {
  redisReply reply{};
  std::string text;
  std::vector<std::unique_ptr<Node>> children;
  std::vector<redisReply*> elements;

  void SetText(int type, std::string_view bytes) {
    text = bytes;
    reply.type = type;
    reply.str = text.data();
    reply.len = text.size();
  }
  Node* AddChild() {
    children.push_back(std::make_unique<Node>());
    elements.push_back(&children.back()->reply);
    reply.type = REDIS_REPLY_ARRAY;
    reply.element = elements.data();
    reply.elements = elements.size();
    return children.back().get();
  }
};

const Endpoint kFrom = {"127.0.0.1", 6379, ""};

void ReadDescriptor(std::string_view fields) {
  Node hash;
  hash.reply.type = REDIS_REPLY_ARRAY;
  while (!fields.empty()) {
    const size_t end = std::min(fields.find('\0'), fields.size());
    hash.AddChild()->SetText(REDIS_REPLY_STRING, fields.substr(0, end));
    fields.remove_prefix(std::min(end + 1, fields.size()));
  }
  Descriptor descriptor;
  if (!descriptor.Parse("name", hash.reply).empty()) return;
  if (!descriptor.moved_to.empty()) return;  // names another filter, no more
  for (const uint64_t offset : {uint64_t{0}, descriptor.scheme.bits - 1}) {
    const uint32_t shard = descriptor.ShardOf(offset);
    Check(shard < descriptor.shards);
    Check(descriptor.OffsetInShard(offset) / 8 < descriptor.StringBytes(shard));
    descriptor.KeysOf(shard);
  }
  // What is written again is read as the same.
  Node copy;
  copy.reply.type = REDIS_REPLY_ARRAY;
  for (const auto& [name, value] : descriptor.Fields()) {
    copy.AddChild()->SetText(REDIS_REPLY_STRING, name);
    copy.AddChild()->SetText(REDIS_REPLY_STRING, value);
  }
  Descriptor again;
  Check(again.Parse("name", copy.reply).empty());
  Check(again.Fields() == descriptor.Fields());
}

void ReadRedirection(std::string_view text) {
  Redirection redirection;
  if (!ParseRedirection(text, kFrom, &redirection)) return;
  Check(redirection.slot < kSlots);
  Check(!redirection.endpoint.host.empty());
}

// Takes one node off the bytes.
void MakeTree(std::string_view* bytes, int depth, Node* node) {
  const auto take = [bytes] {
    if (bytes->empty()) return uint8_t{0};
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    return byte;
  };
  const uint8_t kind = take();
  if (kind % 4 == 0 && depth < 4) {
    node->reply.type = REDIS_REPLY_ARRAY;
    for (int n = kind / 4; n > 0 && !bytes->empty(); --n) {
      MakeTree(bytes, depth + 1, node->AddChild());
    }
  } else if (kind % 4 == 1) {
    node->reply.type = REDIS_REPLY_INTEGER;
    const int low = take();
    node->reply.integer = low | take() << 8;
    if (kind >= 128) node->reply.integer = -node->reply.integer;
  } else if (kind % 4 == 2) {
    const size_t wish = take() % 20;
    const size_t size = std::min(wish, bytes->size());
    node->SetText(REDIS_REPLY_STRING, bytes->substr(0, size));
    bytes->remove_prefix(size);
  } else {
    node->reply.type = REDIS_REPLY_NIL;
  }
}

void ReadSlots(std::string_view bytes) {
  Node root;
  MakeTree(&bytes, 0, &root);
  SlotMap map;
  map.Load(&root.reply, kFrom);
  Endpoint endpoint;
  for (uint32_t slot = 0; slot < kSlots; slot += 17) map.Find(slot, &endpoint);
  map.Servers();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // A copy of its own, so that ASan sees its end.
  const std::vector<char> copy(data + 1, data + size);
  const std::string_view bytes(copy.data(), copy.size());
  switch (data[0] % 3) {
    case 0:
      ReadDescriptor(bytes);
      break;
    case 1:
      ReadRedirection(bytes);
      break;
    default:
      ReadSlots(bytes);
  }
  return 0;
}
