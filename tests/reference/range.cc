#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "tests/reference/reference.h"
#include "tests/reference/uint128.h"
#include "util/hash64.h"

namespace deltabloom::reference {
namespace {

unsigned ByteAt(const std::string& bytes, size_t at) {
  return static_cast<unsigned>(Byte(bytes, at));
}

// Bit p of byte p / 8, the lowest first.
bool LowBit(const std::string& bytes, uint64_t p) {
  return (ByteAt(bytes, p / 8) >> (p % 8) & 1) != 0;
}

uint64_t Ceiling(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

std::set<uint64_t> ReadCodes(const std::string& bytes, uint64_t* universe) {
  const unsigned low_bits = ByteAt(bytes, 0);
  const uint64_t count = Number(bytes, 1, 4), buckets = Number(bytes, 5, 4);
  *universe = buckets << low_bits;
  const size_t upper_at = 9 + 4 * Ceiling(buckets, 256);
  const size_t low_at = upper_at + 8 * Ceiling(count + buckets, 64);
  const std::string upper = bytes.substr(upper_at), low = bytes.substr(low_at);
  std::set<uint64_t> codes;
  uint64_t i = 0, bucket = 0;
  for (uint64_t place = 0; place < count + buckets; ++place) {
    if (!LowBit(upper, place)) {
      ++bucket;
      continue;
    }
    uint64_t code = bucket << low_bits;
    for (unsigned bit = 0; bit < low_bits; ++bit) {
      if (LowBit(low, i * low_bits + bit)) code |= uint64_t{1} << bit;
    }
    codes.insert(code);
    ++i;
  }
  return codes;
}

// The bits of `text` as characters, padded with '0' to `n`.
std::string Bits(const std::string& text, size_t n) {
  std::string bits;
  for (size_t i = 0; i < n; ++i) {
    const bool set =
        i / 8 < text.size() && (ByteAt(text, i / 8) >> (7 - i % 8) & 1) != 0;
    bits += set ? '1' : '0';
  }
  return bits;
}

// The bytes of such bits, padded with zeros.
std::string Bytes(const std::string& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] == '1') {
      bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << (7 - i % 8));
    }
  }
  return bytes;
}

// The next larger bits; nothing after the largest.
std::string NextBits(std::string bits) {
  const size_t zero = bits.rfind('0');
  if (zero == std::string::npos) return {};
  bits[zero] = '1';
  std::fill(bits.begin() + static_cast<std::ptrdiff_t>(zero) + 1, bits.end(),
            '0');
  return bits;
}

// Returns how many bytes of `lower` all keys k with lower <= k < upper begin
// with.
size_t CommonBytes(const std::string& lower, const std::string& upper) {
  size_t i = 0;
  while (i < lower.size() && i < upper.size() && lower[i] == upper[i]) ++i;
  if (upper.size() == i + 1 && lower.size() > i &&
      ByteAt(upper, i) == ByteAt(lower, i) + 1) {
    ++i;
    while (i < lower.size() && ByteAt(lower, i) == 255) ++i;
  }
  return i;
}

}  // namespace

RangeFilter::RangeFilter(const std::string& bytes) : shape_(bytes.at(1)) {
  const std::string body = bytes.substr(2, bytes.size() - 2 - 8);
  if (shape_ == 1) {
    ReadNumbers(body);
  } else {
    ReadPrefixes(body);
  }
}

bool RangeFilter::MayMatch(const std::string& lower,
                           const std::string& upper) const {
  if (lower >= upper) return true;
  if (shape_ == 1) return NumbersMayMatch(lower, upper);
  if (upper <= first_ || lower.substr(0, last_.size()) > last_) return false;
  return std::none_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
    return Rejects(cut, lower, upper);
  });
}

void RangeFilter::ReadNumbers(const std::string& body) {
  const size_t width = ByteAt(body, 0);
  least_ = body.substr(1, width);
  most_ = body.substr(1 + width, width);
  const size_t at = 1 + 2 * width;
  base_ = Number(body, at, 8);
  span_ = Number(body, at + 8, 8);
  unit_ = ByteAt(body, at + 16);
  codes_ = ReadCodes(body.substr(at + 17), &universe_);
}

bool RangeFilter::NumbersMayMatch(const std::string& lower,
                                  const std::string& upper) const {
  using Wide = Uint128;
  const auto below = [this](const std::string& x) {
    Wide n = 0;
    for (size_t i = 0; i < least_.size(); ++i) {
      Wide rest = 1;
      for (size_t j = i; j < least_.size(); ++j) {
        rest *= ByteAt(most_, j) - ByteAt(least_, j) + 1;
      }
      if (i == x.size() || ByteAt(x, i) < ByteAt(least_, i)) return n * rest;
      if (ByteAt(x, i) > ByteAt(most_, i)) return (n + 1) * rest;
      n = n * (ByteAt(most_, i) - ByteAt(least_, i) + 1) + ByteAt(x, i) -
          ByteAt(least_, i);
    }
    return x.size() > least_.size() ? n + 1 : n;
  };
  const Wide first = std::max<Wide>(below(lower), base_);
  const Wide end = std::min<Wide>(below(upper), Wide{base_} + span_ + 1);
  if (first >= end) return false;
  const auto a = static_cast<uint64_t>(first - base_) >> unit_;
  const auto b = static_cast<uint64_t>(end - 1 - base_) >> unit_;
  if (b - a >= universe_ - 1) return true;
  // Each block that the numbers touch is searched at the place that each code
  // would have in it.
  for (uint64_t block = a / universe_;; ++block) {
    const uint64_t q =
        block == 0 ? 0
                   : static_cast<uint64_t>(
                         Wide{internal::Remix64(block, 0)} * universe_ >> 64);
    for (const uint64_t code : codes_) {
      const Wide y =
          Wide{block} * universe_ + (Wide{code} + universe_ - q) % universe_;
      if (a <= y && y <= b) return true;
    }
    if (block == b / universe_) return false;
  }
}

void RangeFilter::ReadPrefixes(const std::string& body) {
  least_size_ = ByteAt(body, 0);
  size_t at = 1;
  for (std::string* key : {&first_, &last_}) {
    *key = body.substr(at + 2, Number(body, at, 2));
    at += 2 + key->size();
  }
  const unsigned cuts = ByteAt(body, at);
  at += 2;  // and how many of them were learned
  size_t filter = at + 8 * cuts;
  for (unsigned i = 0; i < cuts; ++i, at += 8) {
    const auto size = static_cast<size_t>(Number(body, at + 4, 4));
    cuts_.push_back({ByteAt(body, at), ByteAt(body, at + 1),
                     static_cast<unsigned>(Number(body, at + 2, 2)),
                     body.substr(filter, size)});
    filter += size;
  }
}

bool RangeFilter::Rejects(const Cut& cut, const std::string& lower,
                          const std::string& upper) const {
  constexpr size_t kMost = 8 * 1024;
  const Reference& layout =
      ByteAt(cut.filter, cut.filter.size() - 1) == 0x80 ? kCompact : kLocal;
  const auto may_match = [&](const std::string& prefix) {
    return layout.may_match(cut.filter, prefix);
  };
  const size_t common = CommonBytes(lower, upper);
  // Behind the delimiter, which all keys in the range share.
  size_t depth = cut.bits;
  unsigned found = 0;
  for (size_t i = 0; i < common && found < cut.count; ++i) {
    if (ByteAt(lower, i) != cut.byte) continue;
    if (++found == cut.count) depth += 8 * (i + 1);
  }
  if (found < cut.count || depth > kMost) return false;
  const std::string first = Bits(lower, depth);
  if (8 * common >= depth) return !may_match(Bytes(first));
  const std::string last = Bits(upper, depth);
  // Keys below `upper` with its prefix: those that it begins with, followed by
  // zeros alone, and all below it if a bit that is set lies beyond the cut.
  const size_t last_set = Bits(upper, 8 * upper.size()).rfind('1');
  const size_t set = last_set == std::string::npos ? 0 : last_set + 1;
  const bool shorter_keys = upper.back() == '\0' && least_size_ < upper.size();
  const bool with_last = shorter_keys || set > depth;
  int asked = 0;
  for (std::string bits = first; !bits.empty() && bits <= last;
       bits = NextBits(bits)) {
    if (bits == last && !with_last) break;
    if (++asked > 8) return false;
  }
  std::string bits = first;
  for (; asked > 0; --asked, bits = NextBits(bits)) {
    if (may_match(Bytes(bits))) return false;
  }
  return true;
}

}  // namespace deltabloom::reference
