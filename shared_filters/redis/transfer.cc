#include "shared_filters/redis/transfer.h"

#include <algorithm>
#include <cstring>

#include "shared_filters/redis/filter_rep.h"
#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes in one command
constexpr size_t kPiecesAtOnce = 8;

bool IsZero(const unsigned char* bytes, size_t size) {
  return size == 0 ||
         (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

RedisStatus RunAll(Client* client, const std::vector<Request>& requests,
                   std::vector<Reply>* replies) {
  RedisStatus status = client->Run(requests, Retry::kSafe,
                                   LongTimeout(client->options()), replies);
  for (size_t i = 0; status.ok() && i < requests.size(); ++i) {
    status = client->ErrorOf(requests[i], *(*replies)[i]);
  }
  return status;
}

}  // namespace

unsigned char ReverseBits(unsigned char byte) {
  unsigned reversed = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    reversed = reversed << 1 | (byte >> bit & 1u);
  }
  return static_cast<unsigned char>(reversed);
}

uint64_t CountBits(const unsigned char* bytes, size_t size) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    count +=
        static_cast<uint64_t>(__builtin_popcountll(LoadFixed64(bytes + i)));
  }
  for (; i < size; ++i) {
    count += static_cast<uint64_t>(__builtin_popcount(bytes[i]));
  }
  return count;
}

RedisStatus Upload(Client* client, const std::string& key,
                   const unsigned char* bytes, size_t size,
                   std::chrono::milliseconds lease,
                   const std::function<RedisStatus(uint64_t)>& between,
                   uint64_t* sent) {
  const auto lease_ms = static_cast<uint64_t>(lease.count());
  std::vector<Request> requests;
  std::vector<Reply> replies;
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t piece = std::min(kPiece, size - at);
    if (!IsZero(bytes + at, piece)) {
      Request request("SETRANGE");
      request.Key(key).Number(at).Word(
          {reinterpret_cast<const char*>(bytes + at), piece});
      requests.push_back(std::move(request));
      *sent += piece;
    }
    const bool last = at + piece == size;
    if (requests.size() < kPiecesAtOnce && !(last && !requests.empty())) {
      continue;
    }
    requests.emplace_back("PEXPIRE");
    requests.back().Key(key).Number(lease_ms);
    RedisStatus status = RunAll(client, requests, &replies);
    if (status.ok()) status = between(at + piece);
    if (!status.ok()) return status;
    requests.clear();
  }
  return {};
}

RedisStatus Download(Client* client, const std::string& key, size_t size,
                     unsigned char* bytes) {
  std::memset(bytes, 0, size);
  std::vector<Reply> replies;
  for (size_t at = 0; at < size;) {
    std::vector<Request> requests;
    const size_t begin = at;
    while (at < size && requests.size() < kPiecesAtOnce) {
      const size_t piece = std::min(kPiece, size - at);
      requests.emplace_back("GETRANGE");
      requests.back().Key(key).Number(at).Number(at + piece - 1);
      at += piece;
    }
    const RedisStatus status = RunAll(client, requests, &replies);
    if (!status.ok()) return status;
    for (size_t i = 0; i < replies.size(); ++i) {
      const size_t to = begin + i * kPiece;
      const std::string_view text = TextOf(*replies[i]);
      std::memcpy(bytes + to, text.data(), std::min(text.size(), size - to));
    }
  }
  return {};
}

}  // namespace deltabloom::internal
