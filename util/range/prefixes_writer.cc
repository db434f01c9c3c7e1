#include "util/range/prefixes_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/range/bytes.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
namespace {

// The shortest key's size, two sizes of ends, the numbers of cuts and of
// learned ones.
constexpr size_t kHeaderSize = 1 + 2 + 2 + 1 + 1;
// Bytes that are kept of the first and the last key, beyond those that all keys
// share: with 8 a kind of scan passes 1 point more often at worst, with 64
// the means are the same (tests/ablation/range_cuts.py).
constexpr size_t kBytesOfEnds = 16;

const LayoutRow* CutLayout() { return FindLayout(Layout::kCompact); }

// Returns what is stored of the first or last key.
std::string_view EndOf(const KeyStore& keys, std::string_view key) {
  const size_t size = CommonPrefix(keys.First(), keys.Last()) + kBytesOfEnds;
  return key.substr(0, std::min(size, kMaxCutBytes));
}

// Returns the hash of the prefix of a key at this depth.
uint64_t HashOfPrefix(const Cut& cut, std::string_view key, size_t bits) {
  // The prefix is not copied if the key has all its bits.
  if (8 * key.size() >= bits && key.size() >= 8) {
    return Hash64OfBits(key.data(), bits);
  }
  char bytes[kMaxCutBytes];
  return Hash64(PrefixOf(cut, key, bytes));
}

// Returns the hashes of the distinct prefixes at the cut.
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
