#include "shared_filters/redis/keys.h"

#include <sstream>

namespace deltabloom::internal {
namespace {

constexpr size_t kMaxName = 1024;  // bytes
constexpr std::string_view kDescriptor = ":deltabloom";

bool HasHashTag(std::string_view key) {
  return HashTag(key).size() != key.size();
}

}  // namespace

uint16_t Crc16(std::string_view data) {
  constexpr uint32_t kPolynomial = 0x1021;
  uint32_t crc = 0;
  for (const char c : data) {
    crc ^= uint32_t{static_cast<unsigned char>(c)} << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1 ^ (crc >> 15 & 1) * kPolynomial) & 0xffff;
    }
  }
  return static_cast<uint16_t>(crc);
}

std::string_view HashTag(std::string_view key) {
  const size_t open = key.find('{');
  if (open == key.npos) return key;
  const size_t close = key.find('}', open + 1);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

bool ParseRedirection(std::string_view error, const Endpoint& from,
                      Redirection* redirection) {
  std::istringstream words{std::string(error)};
  std::string word, target;
  if (!(words >> word >> redirection->slot >> target)) return false;
  if (target.rfind(':') == 0) target = from.host + target;
  redirection->ask = word == "ASK";
  return (redirection->ask || word == "MOVED") && redirection->slot < kSlots &&
         ParseEndpoint(target, &redirection->endpoint);
}

bool ParseSlots(const RedisReply& reply, const Endpoint& from, uint32_t slot,
                Endpoint* owner, std::vector<Endpoint>* servers) {
  if (reply.kind != RedisReply::Kind::kArray || reply.elements.empty()) {
    return false;
  }
  *owner = {};
  servers->clear();
  for (const RedisReply& range : reply.elements) {
    // First slot, last slot, the master's [host, port, ...], its replicas.
    for (size_t i = 2; i < range.elements.size(); ++i) {
      const std::vector<RedisReply>& server = range.elements[i].elements;
      if (server.size() < 2 || server[1].integer < 1 ||
          server[1].integer > UINT16_MAX) {
        continue;
      }
      const Endpoint endpoint{
          server[0].text.empty() ? from.host : server[0].text,
          static_cast<uint16_t>(server[1].integer), ""};
      servers->push_back(endpoint);
      if (i == 2 && range.elements[0].integer <= slot &&
          slot <= range.elements[1].integer) {
        *owner = endpoint;
      }
    }
  }
  return true;
}

std::string CheckName(std::string_view name) {
  if (name.empty()) return "name is empty";
  if (name.size() > kMaxName) {
    return "name has " + std::to_string(name.size()) +
           " bytes: at most 1024 are allowed";
  }
  if (!HasHashTag(name) && name.find('}') != name.npos) {
    return "name is '" + Printable(name) +
           "': without a hash tag it must have no '}', or its other keys could "
           "not be in the same slot";
  }
  if (name.front() == '{' && HashTag(name).size() + 2 == name.size()) {
    return "name is '" + Printable(name) +
           "': a hash tag alone shares its other keys with the filter named "
           "like the tag";
  }
  return "";
}

std::string Companion(std::string_view key, std::string_view suffix) {
  std::string name(key);
  if (!HasHashTag(key)) name = '{' + name + '}';
  name += suffix;
  return name;
}

ShardKeys::ShardKeys(std::string_view name, uint32_t shard, uint32_t shards)
    : live(shards == 1 ? std::string(name)
                       : Companion(name, ":shard" + std::to_string(shard))),
      descriptor(Companion(live, kDescriptor)),
      rebuild(Companion(live, ":rebuild")) {}

std::string RootDescriptor(std::string_view name) {
  return Companion(name, kDescriptor);
}

}  // namespace deltabloom::internal
