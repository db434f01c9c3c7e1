#include "db_bench_ext/redis_bench/variants.h"

#include <algorithm>

#include "shared_filters/redis/request.h"

namespace deltabloom::bench {
namespace {

using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::Scheme;

// Answers 1 for each key of which all bits are set. ARGV: k, offsets.
constexpr internal::Script kCheckScript = {
    "check",
    "local k, out = tonumber(ARGV[1]), {} "
    "for i = 2, #ARGV, k do "
    "local all = 1 "
    "for j = i, i + k - 1 do "
    "if redis.call('GETBIT', KEYS[1], ARGV[j]) == 0 then all = 0 break end end "
    "out[#out + 1] = all end return out",
    "5de8ff77f5812637c6de1343761a4eeef3ba5dfc"};

struct Bits {
  uint64_t offsets[internal::kMaxProbes];
};

bool Send(const Subject& subject, const std::vector<Request>& requests,
          std::vector<Reply>* replies) {
  if (!subject.client->Run(requests, Retry::kSafe, replies).ok()) return false;
  return std::all_of(replies->begin(), replies->end(), [](const Reply& reply) {
    return reply->type != REDIS_REPLY_ERROR;
  });
}

Request BitRequest(const char* command, const std::string& key, uint64_t bit) {
  Request request(command);
  request.Key(key).Number(bit);
  if (command[0] == 'S') request.Number(1);
  return request;
}

// One GETBIT or SETBIT after the other, each with a round trip.
Operation RoundTrips(const Subject& subject, const char* command) {
  return
      [&subject, command](const std::string_view* keys, size_t n, bool* found) {
        Bits bits;
        std::vector<Reply> replies;
        for (size_t i = 0; i < n; ++i) {
          subject.go_scheme.Offsets(keys[i], bits.offsets);
          found[i] = true;
          for (uint32_t p = 0; p < subject.go_scheme.probes; ++p) {
            if (!Send(subject,
                      {BitRequest(command, subject.go_name, bits.offsets[p])},
                      &replies)) {
              return false;
            }
            if (replies[0]->integer == 0 && command[0] == 'G') {
              found[i] = false;
              break;
            }
          }
        }
        return true;
      };
}

// k GETBITs or SETBITs per key, all in one pipeline.
Operation Pipeline(const Subject& subject, const char* command) {
  return
      [&subject, command](const std::string_view* keys, size_t n, bool* found) {
        const uint32_t probes = subject.go_scheme.probes;
        Bits bits;
        std::vector<Request> requests;
        requests.reserve(n * probes);
        for (size_t i = 0; i < n; ++i) {
          subject.go_scheme.Offsets(keys[i], bits.offsets);
          for (uint32_t p = 0; p < probes; ++p) {
            requests.push_back(
                BitRequest(command, subject.go_name, bits.offsets[p]));
          }
        }
        std::vector<Reply> replies;
        if (!Send(subject, requests, &replies)) return false;
        std::fill(found, found + n, true);
        for (size_t i = 0; i < replies.size(); ++i) {
          if (replies[i]->integer == 0 && command[0] == 'G') {
            found[i / probes] = false;
          }
        }
        return true;
      };
}

Operation Script(const Subject& subject) {
  return [&subject](const std::string_view* keys, size_t n, bool* found) {
    Bits bits;
    Request request(kCheckScript, 1);
    request.Key(subject.go_name).Number(subject.go_scheme.probes);
    for (size_t i = 0; i < n; ++i) {
      subject.go_scheme.Offsets(keys[i], bits.offsets);
      for (uint32_t p = 0; p < subject.go_scheme.probes; ++p) {
        request.Number(bits.offsets[p]);
      }
    }
    std::vector<Reply> replies;
    if (!Send(subject, {request}, &replies)) return false;
    for (size_t i = 0; i < n; ++i) {
      found[i] = replies[0]->element[i]->integer != 0;
    }
    return true;
  };
}

// One command for each key.
Operation BitField(const Subject& subject, bool set) {
  return [&subject, set](const std::string_view* keys, size_t n, bool* found) {
    Bits bits;
    std::vector<Request> requests;
    for (size_t i = 0; i < n; ++i) {
      subject.go_scheme.Offsets(keys[i], bits.offsets);
      Request request(set ? "BITFIELD" : "BITFIELD_RO");
      request.Key(subject.go_name);
      for (uint32_t p = 0; p < subject.go_scheme.probes; ++p) {
        request.Word(set ? "SET" : "GET").Word("u1").Number(bits.offsets[p]);
        if (set) request.Number(1);
      }
      requests.push_back(std::move(request));
    }
    std::vector<Reply> replies;
    if (!Send(subject, requests, &replies)) return false;
    for (size_t i = 0; i < n; ++i) {
      found[i] = true;
      for (size_t p = 0; !set && p < replies[i]->elements; ++p) {
        if (replies[i]->element[p]->integer == 0) found[i] = false;
      }
    }
    return true;
  };
}

// The block of a local filter, and nothing else.
Operation GetRange(const Subject& subject) {
  return [&subject](const std::string_view* keys, size_t n, bool* found) {
    const Scheme& scheme = subject.local_scheme;
    std::vector<Bits> bits(n);
    std::vector<Request> requests;
    for (size_t i = 0; i < n; ++i) {
      scheme.Offsets(keys[i], bits[i].offsets);
      const uint64_t from =
          bits[i].offsets[0] / internal::kBlockBits * internal::kBlockBytes;
      requests.emplace_back("GETRANGE");
      requests.back().Key(subject.local_name).Number(from);
      requests.back().Number(from + internal::kBlockBytes - 1);
    }
    std::vector<Reply> replies;
    if (!Send(subject, requests, &replies)) return false;
    for (size_t i = 0; i < n; ++i) {
      found[i] = replies[i]->len == internal::kBlockBytes;
      for (uint32_t p = 0; found[i] && p < scheme.probes; ++p) {
        const uint64_t bit = bits[i].offsets[p] % internal::kBlockBits;
        found[i] = (replies[i]->str[bit / 8] >> (7 - bit % 8) & 1) != 0;
      }
    }
    return true;
  };
}

Operation Check(RedisFilter* filter) {
  return [filter](const std::string_view* keys, size_t n, bool* found) {
    return filter->Check(keys, n, found).ok();
  };
}

Operation Add(RedisFilter* filter) {
  return [filter](const std::string_view* keys, size_t n, bool* found) {
    std::fill(found, found + n, true);
    return filter->Add(keys, n).ok();
  };
}

}  // namespace

std::vector<Variant> Checks(const Subject& subject) {
  return {
      {"k GETBITs, k round trips", RoundTrips(subject, "GETBIT"), false},
      {"k GETBITs, one pipeline", Pipeline(subject, "GETBIT")},
      {"EVALSHA with k GETBITs", Script(subject)},
      {"BITFIELD_RO", BitField(subject, false)},
      {"GETRANGE of a block", GetRange(subject)},
      {"RedisFilter, go-murmur3", Check(subject.go.get())},
      {"RedisFilter, local", Check(subject.local.get())},
  };
}

std::vector<Variant> Adds(const Subject& subject) {
  return {
      {"k SETBITs, k round trips", RoundTrips(subject, "SETBIT"), false},
      {"k SETBITs, one pipeline", Pipeline(subject, "SETBIT")},
      {"BITFIELD", BitField(subject, true)},
      {"RedisFilter, go-murmur3", Add(subject.go.get())},
      {"RedisFilter, local", Add(subject.local.get())},
  };
}

}  // namespace deltabloom::bench
