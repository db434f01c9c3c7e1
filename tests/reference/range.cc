#include "tests/reference/range.h"

#include <algorithm>

#include "util/hash64.h"

namespace deltabloom::reference {
namespace {

unsigned ByteAt(const std::string& bytes, size_t at) {
  return static_cast<unsigned char>(bytes.at(at));
}

uint64_t Number(const std::string& bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | ByteAt(bytes, at + i);
  return number;
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

// The bits of a stream, taken from its front.
class Stream {
 public:
  explicit Stream(const std::string& bytes) : bytes_(bytes) {}
  char Bit() {
    const char bit =
        (ByteAt(bytes_, at_ / 8) >> (7 - at_ % 8) & 1) != 0 ? '1' : '0';
    ++at_;
    return bit;
  }
  std::string Bits(uint64_t n) {
    std::string bits;
    while (n-- > 0) bits += Bit();
    return bits;
  }
  uint64_t Rice(unsigned low_bits) {
    uint64_t number = 0;
    while (Bit() == '1') ++number;
    for (const char bit : Bits(low_bits)) number = 2 * number + (bit == '1');
    return number;
  }

 private:
  const std::string bytes_;
  uint64_t at_ = 0;
};

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

Range::Range(const std::string& part) : shape_(part.at(1)) {
  const std::string body = part.substr(2, part.size() - 2 - 8);
  if (shape_ == 1) {
    ReadNumbers(body);
  } else {
    ReadTexts(body);
  }
}

uint64_t Range::entries() const {
  if (shape_ == 1) return codes_.size();
  uint64_t cells = 0;
  for (const Block& block : blocks_) cells += block.cells.size();
  return cells;
}

bool Range::MayMatch(const std::string& lower, const std::string& upper) const {
  if (lower >= upper) return true;
  return shape_ == 1 ? NumbersMayMatch(lower, upper)
                     : TextsMayMatch(lower, upper);
}

void Range::ReadNumbers(const std::string& body) {
  const size_t width = ByteAt(body, 0);
  least_ = body.substr(1, width);
  most_ = body.substr(1 + width, width);
  const size_t at = 1 + 2 * width;
  base_ = Number(body, at, 8);
  span_ = Number(body, at + 8, 8);
  unit_ = ByteAt(body, at + 16);
  codes_ = ReadCodes(body.substr(at + 17), &universe_);
}

bool Range::NumbersMayMatch(const std::string& lower,
                            const std::string& upper) const {
  __extension__ using Wide = unsigned __int128;
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
  // Of each block that the numbers touch, where in it each code would be.
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

void Range::ReadTexts(const std::string& body) {
  size_t at = 4 + Number(body, 0, 4);
  prefix_ = body.substr(4, at - 4);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (LowBit(body.substr(at, 32), byte)) alphabet_.insert(byte);
  }
  at += 32;
  const std::string parameters = body.substr(at, 3);
  const uint64_t blocks = Number(body, at + 3, 4);
  at += 7;
  const std::string records = body.substr(at + 4 * blocks);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t begin = Number(body, at + 4 * i, 4);
    const uint64_t end =
        i + 1 < blocks ? Number(body, at + 4 * i + 4, 4) : records.size();
    ReadBlock(records.substr(begin, end - begin), parameters);
  }
}

void Range::ReadBlock(const std::string& record,
                      const std::string& parameters) {
  size_t at = 0;
  const auto size = [&] {
    const uint64_t byte = ByteAt(record, at++);
    if (byte < 255) return byte;
    at += 2;
    return Number(record, at - 2, 2);
  };
  const uint64_t prefix = size(), tail = size(), cells = size();
  Block block{record.substr(at, prefix), record.substr(at, prefix + tail), {}};
  Stream stream(record.substr(at + prefix + tail));
  const unsigned suffix = ByteAt(parameters, 0);
  // The known bits of the cell, then with the branch of the next.
  std::string known;
  if (tail > 0) {
    known = Bits(block.first.substr(prefix), false);
    known.resize(tail * Width() - (Width() - 1));
  }
  for (uint64_t i = 0; i < cells; ++i) {
    uint64_t branch = 0;
    if (i + 1 < cells) {
      if (stream.Bit() == '1') {
        known += stream.Bits(stream.Rice(ByteAt(parameters, 1)));
        branch = known.size();
        known += '0';
      } else {
        uint64_t zeros = stream.Rice(ByteAt(parameters, 2));
        branch = known.size();
        do {
          branch = known.rfind('0', branch - 1);
        } while (zeros-- > 0);
      }
    }
    block.cells.push_back(known + stream.Bits(suffix));
    if (i + 1 < cells) known = known.substr(0, branch) + '1';
  }
  blocks_.push_back(block);
}

unsigned Range::Width() const {
  unsigned width = 1;
  while (alphabet_.size() >> width != 0) ++width;
  return width;
}

// Followed by enough of what comes behind it to compare cells with.
std::string Range::Bits(const std::string& text, bool upper) const {
  const auto width = static_cast<int>(Width());
  const size_t most = (size_t{1} << width) - 1;
  std::string bits;
  const auto add = [&](size_t code) {
    for (int bit = width - 1; bit >= 0; --bit) {
      bits += (code >> bit & 1) != 0 ? '1' : '0';
    }
  };
  char behind = '0';
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    const auto smaller = static_cast<size_t>(
        std::distance(alphabet_.begin(), alphabet_.lower_bound(byte)));
    if (alphabet_.count(byte) > 0) {
      add(smaller + 1);
      continue;
    }
    add(upper ? smaller : std::min(smaller + 1, most));
    if (upper || smaller + 1 > most) behind = '1';
    break;
  }
  return bits + std::string(16'384, behind);
}

bool Range::TextsMayMatch(const std::string& lower,
                          const std::string& upper) const {
  // The least key is behind the lower bound if that is in front of the prefix.
  if (!StartsWith(upper, prefix_) && upper < prefix_) return false;
  if (!StartsWith(lower, prefix_) && lower > prefix_) return false;
  const bool all_above = !StartsWith(upper, prefix_);
  const std::string from =
      StartsWith(lower, prefix_) ? lower.substr(prefix_.size()) : "";
  const std::string to = all_above ? "" : upper.substr(prefix_.size());
  size_t i = 0;
  while (i + 1 < blocks_.size() && blocks_[i + 1].first <= from) ++i;
  for (size_t b = i; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const std::string begin = std::max(from, block.first);
    if (b == i && !StartsWith(begin, block.prefix)) continue;
    for (const std::string& cell : block.cells) {
      if (b == i) {
        const std::string bits = Bits(begin.substr(block.prefix.size()), false);
        if (cell < bits.substr(0, cell.size())) continue;
      }
      if (all_above) return true;
      if (b > i && to <= block.first) return false;
      if (!StartsWith(to, block.prefix)) return to > block.prefix;
      return cell <=
             Bits(to.substr(block.prefix.size()), true).substr(0, cell.size());
    }
  }
  return false;
}

}  // namespace deltabloom::reference
