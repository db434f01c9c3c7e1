#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/range/shapes.h"

namespace deltabloom::internal::range {
namespace {

// Whether a key k < upper can have the prefix of `upper` at the first `bits`
// bits. Below `upper`, without the zero bytes at its end, no key has that
// prefix if its last bit set is one of those bits; between the two are only
// keys that are shorter than `upper`.
bool KeysBelowShare(std::string_view upper, unsigned bits, size_t least_size) {
  const size_t end = upper.find_last_not_of('\0') + 1;
  if (end < upper.size() && least_size < upper.size()) return true;
  if (end == 0) return false;
  const int zeros = __builtin_ctz(ByteAt(upper, end - 1));
  return 8 * end - static_cast<unsigned>(zeros) > bits;
}

// The difference of the bounds' first `bits` bits, padded with zeros, as
// numbers; capped.
uint64_t Distance(const KeyRange& range, unsigned bits) {
  constexpr uint64_t kFar = kMaxPrefixesPerRange + 1;
  uint64_t difference = 0;  // of the bytes so far
  const size_t size = (bits + 7) / 8;
  for (size_t i = range.equal; i < size; ++i) {
    const unsigned kept =
        i + 1 < size ? 0xff : 0xff << (8 * size - bits) & 0xff;
    const auto byte = [&](std::string_view bound) {
      return i < bound.size() ? ByteAt(bound, i) & kept : 0;
    };
    difference = (difference << 8) + byte(range.upper) - byte(range.lower);
    // From 2 on it only grows.
    if (difference > kFar << 8) return kFar;
  }
  return std::min(difference >> (8 * size - bits), kFar);
}

// Takes an integer of at most `most` and at least 1 from the beginning.
bool TakeInteger(std::string_view* text, unsigned most, unsigned* integer) {
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *integer);
  if (error != std::errc() || *integer == 0 || *integer > most) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool TakeByte(std::string_view* text, uint8_t* byte) {
  if (text->size() >= 3 && text->front() == '\'' && (*text)[2] == '\'') {
    *byte = static_cast<uint8_t>((*text)[1]);
    text->remove_prefix(3);
    return true;
  }
  if (text->size() < 4 || text->substr(0, 2) != "0x") return false;
  const char* const end = text->data() + 4;
  if (std::from_chars(text->data() + 2, end, *byte, 16).ptr != end) {
    return false;
  }
  text->remove_prefix(4);
  return true;
}

bool TakeCut(std::string_view* text, Cut* cut) {
  unsigned integer = 1;
  if (TakeByte(text, &cut->byte)) {
    if (!text->empty() && text->front() == 'x') {
      text->remove_prefix(1);
      if (!TakeInteger(text, 255, &integer)) return false;
    }
    cut->count = static_cast<uint8_t>(integer);
    return true;
  }
  if (!TakeInteger(text, kMaxCutBits, &integer)) return false;
  const bool bits = !text->empty() && text->front() == 'b';
  if (bits) text->remove_prefix(1);
  if (!bits && integer > kMaxCutBytes) return false;
  cut->bits = static_cast<uint16_t>(bits ? integer : 8 * integer);
  return true;
}

// The highest bit of each byte of the word that is `byte`.
uint64_t PlacesOf(uint8_t byte, uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const uint64_t other = word ^ (uint64_t{0x0101010101010101} * byte);
  return ~(((other & kLow) + kLow) | other | kLow);
}

}  // namespace

bool ParseCuts(std::string_view text, std::vector<Cut>* cuts) {
  cuts->clear();
  while (!text.empty()) {
    if (!TakeCut(&text, &cuts->emplace_back())) return false;
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return cuts->size() <= kMaxCuts;
}

std::string TextOf(const Cut& cut) {
  if (cut.count == 0) {
    return cut.bits % 8 == 0 ? std::to_string(cut.bits / 8)
                             : std::to_string(cut.bits) + "b";
  }
  char byte[8];
  // Not what separates options in the files of engines.
  const bool printable = cut.byte > ' ' && cut.byte < 0x7f &&
                         std::strchr(";={}#\\", cut.byte) == nullptr;
  std::snprintf(byte, sizeof(byte), printable ? "'%c'" : "0x%02x", cut.byte);
  return byte + ("x" + std::to_string(cut.count));
}

std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes) {
  if (cut.count == 0) {
    const size_t size = (cut.bits + 7u) / 8;
    if (cut.bits % 8 == 0 && key.size() >= size) return key.substr(0, size);
    std::fill(bytes + key.copy(bytes, size), bytes + size, '\0');
    if (cut.bits % 8 != 0) {
      bytes[size - 1] &= static_cast<char>(0xff00 >> cut.bits % 8);
    }
    return {bytes, size};
  }
  key = key.substr(0, kMaxCutBytes);
  unsigned left = cut.count;
  size_t at = 0;
  for (; at + 8 <= key.size(); at += 8) {
    uint64_t places = PlacesOf(cut.byte, LoadFixed64(key.data() + at));
    for (; places != 0; places &= places - 1) {
      const auto place = static_cast<size_t>(__builtin_ctzll(places)) / 8;
      if (--left == 0) return key.substr(0, at + place + 1);
    }
  }
  while (at < key.size()) {
    if (ByteAt(key, at++) == cut.byte && --left == 0) return key.substr(0, at);
  }
  return {};
}

KeyRange::KeyRange(std::string_view from, std::string_view to)
    : lower(from), upper(to), equal(CommonPrefix(from, to)), common(equal) {
  if (upper.size() != common + 1 || lower.size() <= common ||
      ByteAt(upper, common) != ByteAt(lower, common) + 1) {
    return;
  }
  // `upper` follows all keys that begin like `lower` up to here; after it only
  // the largest bytes are not below `lower`.
  ++common;
  while (common < lower.size() && ByteAt(lower, common) == 0xff) ++common;
}

PrefixesOfRange::PrefixesOfRange(const Cut& cut, const KeyRange& range,
                                 size_t least_size)
    : cut_(cut) {
  left_ = 1;
  if (8 * range.common < cut.bits) {
    left_ = Distance(range, cut.bits) +
            (KeysBelowShare(range.upper, cut.bits, least_size) ? 1 : 0);
    if (left_ > kMaxPrefixesPerRange) return;
  }
  // What a delimiter ends must be a part of all keys.
  const size_t size = cut.count > 0 ? range.common : range.lower.size();
  prefix_ = PrefixOf(cut, range.lower.substr(0, size), bytes_);
  known_ = !prefix_.empty();
}

void PrefixesOfRange::Next() {
  if (--left_ == 0) return;
  if (prefix_.data() != bytes_) {
    prefix_.copy(bytes_, prefix_.size());
    prefix_ = {bytes_, prefix_.size()};
  }
  unsigned add = 1u << (8 * prefix_.size() - cut_.bits);
  for (size_t i = prefix_.size(); i-- > 0 && add > 0;) {
    add += static_cast<unsigned char>(bytes_[i]);
    bytes_[i] = static_cast<char>(add);
    add >>= 8;
  }
}

bool Prefixes::Parse(std::string_view body) {
  const auto take = [&body](uint64_t size, std::string_view* part) {
    if (body.size() < size) return false;
    *part = body.substr(0, size);
    body.remove_prefix(size);
    return true;
  };
  std::string_view part;
  if (!take(2, &part)) return false;
  least_size_ = ByteAt(part, 0);
  if (!take(ByteAt(part, 1), &first_) || !take(1, &part) ||
      !take(ByteAt(part, 0), &last_) || !take(1, &part)) {
    return false;
  }
  cuts_count_ = ByteAt(part, 0) & (kLearned - 1);
  learned_ = ByteAt(part, 0) >= kLearned;
  if (cuts_count_ == 0 || cuts_count_ > kMaxCuts ||
      !take(kCutSize * cuts_count_, &part)) {
    return false;
  }
  for (size_t i = 0; i < cuts_count_; ++i) {
    CutFilter& cut = cuts_[i];
    cut.cut.count = ByteAt(part, kCutSize * i);
    cut.cut.byte = ByteAt(part, kCutSize * i + 1);
    cut.cut.bits = static_cast<uint16_t>(ByteAt(part, kCutSize * i + 2) |
                                         ByteAt(part, kCutSize * i + 3) << 8);
    const bool has_bits = cut.cut.bits >= 1 && cut.cut.bits <= kMaxCutBits;
    if (cut.cut.count == 0 ? !has_bits : cut.cut.bits != 0) return false;
    cut.size = LoadFixed32(part.data() + kCutSize * i + 4);
    std::string_view filter;
    if (!take(cut.size, &filter)) return false;
    if (filter.size() < 2) continue;
    const auto last_byte = ByteAt(filter, filter.size() - 1);
    const LayoutRow* row = FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2);
    if (row == nullptr || row->hash_size != 8) continue;
    cut.filter.payload = reinterpret_cast<const unsigned char*>(filter.data());
    cut.filter.payload_size = filter.size() - 1;
    cut.usable = row->parse(last_byte, ActiveCpu(), &cut.filter);
  }
  // Of the cuts that can reject a range the deepest is the most likely to.
  const auto depth = [](const CutFilter& cut) {
    return cut.cut.count > 0 ? kMaxCutBits + cut.cut.count : cut.cut.bits;
  };
  std::stable_sort(cuts_.begin(), cuts_.begin() + cuts_count_,
                   [&](const CutFilter& a, const CutFilter& b) {
                     return depth(a) > depth(b);
                   });
  return body.empty();
}

Answer Prefixes::Ask(std::string_view lower,
                     std::optional<std::string_view> upper) const {
  // What is larger than the beginning of the last key is larger than the key,
  // and the first key is not below its beginning.
  if (lower.substr(0, last_.size()) > last_) return Answer::kNo;
  if (!upper.has_value()) return Answer::kMayMatch;
  if (*upper <= first_) return Answer::kNo;
  const KeyRange range(lower, *upper);
  Answer answer = Answer::kNoCut;
  for (size_t i = 0; i < cuts_count_; ++i) {
    const CutFilter& cut = cuts_[i];
    if (!cut.usable) continue;
    PrefixesOfRange prefixes(cut.cut, range, least_size_);
    if (!prefixes.known()) continue;
    answer = Answer::kMayMatch;
    while (prefixes.left() > 0 &&
           !cut.filter.may_match(cut.filter, prefixes.prefix())) {
      prefixes.Next();
    }
    if (prefixes.left() == 0) return Answer::kNo;
  }
  return answer;
}

std::vector<Cut> Prefixes::LearnedCuts() const {
  std::vector<Cut> cuts;
  for (size_t i = 0; learned_ && i < cuts_count_; ++i) {
    cuts.push_back(cuts_[i].cut);
  }
  return cuts;
}

std::string Prefixes::Describe() const {
  std::string text = learned_ ? "learned prefixes" : "prefixes";
  for (size_t i = 0; i < cuts_count_; ++i) {
    const CutFilter& cut = cuts_[i];
    text += (i == 0 ? ": " : ", ") + TextOf(cut.cut) + " (" +
            std::to_string(cut.size) + " bytes)";
  }
  return text;
}

}  // namespace deltabloom::internal::range
