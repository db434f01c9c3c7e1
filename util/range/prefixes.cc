#include "util/range/prefixes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/range/answer.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {
// --- Reading ----------------------------------------------------------------

bool Prefixes::Parse(std::string_view body) {
  const auto take = [&body](uint64_t size, std::string_view* part) {
    if (body.size() < size) return false;
    *part = body.substr(0, size);
    body.remove_prefix(size);
    return true;
  };
  // A text with its size, in two bytes, before it.
  const auto take_text = [&take](std::string_view* text) {
    std::string_view size;
    return take(2, &size) &&
           take(ByteAt(size, 0) | size_t{ByteAt(size, 1)} << 8, text);
  };
  std::string_view part;
  if (!take(1, &part)) return false;
  least_size_ = ByteAt(part, 0);
  if (!take_text(&first_) || !take_text(&last_) || !take(2, &part)) {
    return false;
  }
  cuts_count_ = ByteAt(part, 0);
  learned_ = ByteAt(part, 1);
  if (cuts_count_ == 0 || cuts_count_ > kMaxCuts || learned_ > cuts_count_ ||
      !take(kCutSize * cuts_count_, &part)) {
    return false;
  }
  for (size_t i = 0; i < cuts_count_; ++i) {
    CutFilter& cut = cuts_[i];
    cut.cut.count = ByteAt(part, kCutSize * i);
    cut.cut.byte = ByteAt(part, kCutSize * i + 1);
    cut.cut.bits = static_cast<uint16_t>(ByteAt(part, kCutSize * i + 2) |
                                         ByteAt(part, kCutSize * i + 3) << 8);
    if (cut.cut.bits > kMaxCutBits ||
        (cut.cut.count == 0 && cut.cut.bits == 0)) {
      return false;
    }
    cut.size = LoadFixed32(part.data() + kCutSize * i + 4);
    std::string_view filter;
    if (!take(cut.size, &filter)) return false;
    cut.usable = false;
    if (filter.size() < 2) continue;
    const auto last_byte = ByteAt(filter, filter.size() - 1);
    const LayoutRow* row = FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2);
    if (row == nullptr || row->hash_size != 8) continue;
    cut.filter.payload = reinterpret_cast<const unsigned char*>(filter.data());
    cut.filter.payload_size = filter.size() - 1;
    cut.usable = row->parse(last_byte, ActiveCpu(), &cut.filter);
  }
  return body.empty();
}

Answer Prefixes::Ask(std::string_view lower,
                     std::optional<std::string_view> upper) const {
  // A bound that is larger than the beginning of the last key is larger than
  // the key, and the first key is not below its beginning.
  if (lower.substr(0, last_.size()) > last_) return Answer::kNo;
  if (!upper.has_value()) return Answer::kMayMatch;
  if (*upper <= first_) return Answer::kNo;
  const RangeView range(lower, *upper);
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
  for (size_t i = 0; i < learned_; ++i) cuts.push_back(cuts_[i].cut);
  return cuts;
}

std::string Prefixes::Describe() const {
  std::string text = learned_ > 0 ? "learned prefixes" : "prefixes";
  for (size_t i = 0; i < cuts_count_; ++i) {
    const CutFilter& cut = cuts_[i];
    text += (i == 0 ? ": " : ", ") + TextOf(cut.cut) + " (" +
            std::to_string(cut.size) + " bytes)";
  }
  return text;
}

// --- Writing ----------------------------------------------------------------

namespace {

// Bytes that are kept of the first and the last key, beyond those that all keys
// share.
constexpr size_t kBytesOfEnds = 16;
constexpr size_t kHeaderSize = 1 + 2 + 2 + 1 + 1;

const LayoutRow* CutLayout() { return FindLayout(Layout::kCompact); }

// Returns what is stored of the first or last key.
std::string_view EndOf(const KeyStore& keys, std::string_view key) {
  const size_t size = CommonPrefix(keys.First(), keys.Last()) + kBytesOfEnds;
  return key.substr(0, std::min(size, kMaxCutBytes));
}

// The hash of the prefix of a key at this depth.
uint64_t HashOfPrefix(const Cut& cut, std::string_view key, size_t bits) {
  // The prefix is not copied if the key has all its bits.
  if (8 * key.size() >= bits && key.size() >= 8) {
    return Hash64OfBits(key.data(), bits);
  }
  char bytes[kMaxCutBytes];
  return Hash64(PrefixOf(cut, key, bytes));
}

// The hashes of the distinct prefixes at the cut.
HashList HashPrefixes(const KeyStore& keys, const Cut& cut) {
  constexpr size_t kNone = ~size_t{0};
  HashList hashes(CutLayout()->hash_size);
  // Keys that share these bits with the last one have its prefix.
  size_t depth = kNone;
  uint64_t last = 0;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    if (cursor.shared_bits() >= depth) continue;
    depth = kNone;
    const size_t begin = BeginOf(cut, cursor.key());
    if (begin == std::string_view::npos) continue;
    const size_t bits = 8 * begin + cut.bits;
    if (bits > kMaxCutBits) continue;
    depth = bits;
    const uint64_t hash = HashOfPrefix(cut, cursor.key(), bits);
    if (hashes.size() == 0 || hash != last) hashes.Add(hash);
    last = hash;
  }
  return hashes;
}

}  // namespace

size_t BytesBeforeCuts(const KeyStore& keys) {
  return kHeaderSize + EndOf(keys, keys.First()).size() +
         EndOf(keys, keys.Last()).size();
}

uint64_t BytesOfCut(uint64_t prefixes, unsigned bits) {
  return PlanFilter(CutLayout(), prefixes, 1000 * bits).payload_size + 1 +
         kCutSize;
}

void AppendPrefixes(const KeyStore& keys, const Choice& choice,
                    std::string* dst) {
  const std::vector<ChosenCut>& cuts = choice.cuts;
  const auto append_size = [dst](size_t size) {
    dst->push_back(static_cast<char>(size & 255));
    dst->push_back(static_cast<char>(size >> 8));
  };
  dst->push_back(static_cast<char>(std::min<size_t>(keys.LeastSize(), 255)));
  for (const std::string_view key : {keys.First(), keys.Last()}) {
    const std::string_view end = EndOf(keys, key);
    append_size(end.size());
    dst->append(end);
  }
  dst->push_back(static_cast<char>(cuts.size()));
  dst->push_back(static_cast<char>(choice.learned));
  const size_t table = dst->size();
  dst->resize(table + kCutSize * cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    const size_t filter = dst->size();
    HashList hashes = HashPrefixes(keys, cuts[i].cut);
    AppendRawFilter(CutLayout(), 1000 * cuts[i].bits, &hashes, dst);
    char* const at = &(*dst)[table + kCutSize * i];
    const Cut& cut = cuts[i].cut;
    StoreFixed32(
        at, cut.count | uint32_t{cut.byte} << 8 | uint32_t{cut.bits} << 16);
    StoreFixed32(at + 4, static_cast<uint32_t>(dst->size() - filter));
  }
}

}  // namespace deltabloom::internal::range
