#include "shared_filters/redis/slots.h"

#include <hiredis.h>

#include <algorithm>
#include <charconv>

namespace deltabloom::internal {

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
  const size_t space = error.find(' ');
  if (space == error.npos) return false;
  const std::string_view word = error.substr(0, space);
  if (word != "MOVED" && word != "ASK") return false;
  redirection->ask = word == "ASK";
  error.remove_prefix(space + 1);
  const size_t next = error.find(' ');
  if (next == error.npos) return false;
  const auto parsed =
      std::from_chars(error.data(), error.data() + next, redirection->slot);
  if (parsed.ec != std::errc() || parsed.ptr != error.data() + next ||
      redirection->slot >= kSlots) {
    return false;
  }
  std::string target(error.substr(next + 1));
  target = target.substr(0, target.find(' '));
  if (target.rfind(':') == 0) target = from.host + target;
  return ParseEndpoint(target, &redirection->endpoint);
}

uint16_t SlotMap::Index(const Endpoint& endpoint) {
  const auto found = std::find(servers_.begin(), servers_.end(), endpoint);
  if (found == servers_.end()) {
    servers_.push_back(endpoint);
    return static_cast<uint16_t>(servers_.size() - 1);
  }
  return static_cast<uint16_t>(found - servers_.begin());
}

bool SlotMap::Load(const redisReply* reply, const Endpoint& from) {
  if (reply == nullptr || reply->type != REDIS_REPLY_ARRAY ||
      reply->elements == 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  std::vector<uint16_t> owner(kSlots, kNobody);
  servers_.clear();
  for (size_t i = 0; i < reply->elements; ++i) {
    // First slot, last slot, the master's [host, port, ...], replicas.
    const redisReply* range = reply->element[i];
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) continue;
    const redisReply* master = range->element[2];
    if (master->type != REDIS_REPLY_ARRAY || master->elements < 2 ||
        master->element[1]->type != REDIS_REPLY_INTEGER) {
      continue;
    }
    const redisReply* host = master->element[0];
    Endpoint endpoint;
    endpoint.host = host->type == REDIS_REPLY_STRING && host->len > 0
                        ? std::string(host->str, host->len)
                        : from.host;
    endpoint.port = static_cast<uint16_t>(master->element[1]->integer);
    const long long first = range->element[0]->integer;
    const long long last = range->element[1]->integer;
    if (first < 0 || last >= kSlots) continue;
    const uint16_t index = Index(endpoint);
    for (long long slot = first; slot <= last; ++slot) {
      owner[static_cast<size_t>(slot)] = index;
    }
  }
  owner_ = std::move(owner);
  return true;
}

void SlotMap::Set(uint32_t slot, const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  owner_[slot] = Index(endpoint);
}

bool SlotMap::Find(uint32_t slot, Endpoint* endpoint) const {
  const std::lock_guard lock(mutex_);
  if (owner_[slot] == kNobody) return false;
  *endpoint = servers_[owner_[slot]];
  return true;
}

std::vector<Endpoint> SlotMap::Servers() const {
  const std::lock_guard lock(mutex_);
  return servers_;
}

}  // namespace deltabloom::internal
