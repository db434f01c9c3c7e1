// Writing texts.
#include <algorithm>
#include <utility>
#include <vector>

#include "util/coding.h"
#include "util/range/bits.h"
#include "util/range/prune.h"
#include "util/range/text_plan.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {
namespace {

constexpr uint64_t kMaxRecordsSize = 0xffffffff;
// That of cells, with a reserve for their suffixes.
constexpr unsigned kMaxBranch = kMaxDepth - 64;
// For the choice of cells, and the part by which it may be off.
constexpr Sampling kCellSampling{512, 8, 2048};
constexpr uint64_t kSampleError = 64;
constexpr Sampling kSuffixSampling{64, 16, 512};

// What stands in front of the blocks.
struct Header {
  std::string prefix;  // of all keys
  unsigned char alphabet[Alphabet::kSize] = {};

  uint64_t size() const {
    return 4 + prefix.size() + Alphabet::kSize + 1 + 1 + 1 + 4;
  }
};

Header HeaderFor(const KeyStore& keys) {
  Header header;
  KeyStore::Cursor cursor(keys);
  cursor.Next();
  header.prefix = cursor.key().substr(0, keys.SharedByAll());
  keys.MarkBytes(keys.SharedByAll(), header.alphabet);
  return header;
}

// The zeros among the first bits of texts that come in order. Bits that a text
// has in common with the one before are not counted again.
class ZerosOfTexts {
 public:
  explicit ZerosOfTexts(const Alphabet& alphabet)
      : width_(alphabet.width()), up_to_(kMaxDepth / width_ + 1) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      of_byte_[byte] = static_cast<uint16_t>(
          width_ - CountOnes(alphabet.CodeOf(static_cast<char>(byte))));
    }
  }

  // Of the first `bytes` bytes, which it shares with the text before.
  unsigned Count(std::string_view text, size_t bytes) {
    for (; counted_ < bytes; ++counted_) {
      up_to_[counted_ + 1] = static_cast<uint16_t>(
          up_to_[counted_] +
          of_byte_[static_cast<unsigned char>(text[counted_])]);
    }
    counted_ = bytes;
    return up_to_[bytes];
  }

 private:
  const unsigned width_;
  uint16_t of_byte_[256];
  std::vector<uint16_t> up_to_;  // so many bytes
  size_t counted_ = 0;           // bytes
};

// None if texts have more in common than cells can.
std::vector<Branch> BranchesOf(const KeyStore& keys, size_t prefix,
                               const Alphabet& alphabet) {
  const unsigned width = alphabet.width();
  ZerosOfTexts zeros(alphabet);
  std::vector<Branch> branches;
  branches.reserve(keys.size());
  KeyStore::Cursor cursor(keys);
  cursor.Next();
  branches.emplace_back();
  while (cursor.Next()) {
    const size_t at = cursor.shared() - prefix;
    if (at > kMaxBranch / width - 1) return {};
    const std::string_view key = cursor.key().substr(prefix);
    const unsigned code = alphabet.CodeOf(key[at]);
    const unsigned before =
        cursor.replaced() < 0
            ? 0
            : alphabet.CodeOf(static_cast<char>(cursor.replaced()));
    const auto other = 32 - static_cast<unsigned>(__builtin_clz(code ^ before));
    const unsigned same = width - other;
    branches.push_back({static_cast<uint16_t>(at * width + same),
                        static_cast<uint16_t>(zeros.Count(key, at) + same -
                                              CountOnes(code >> other))});
  }
  return branches;
}

// At the highest price at which it fits, nearly, which is set. None if it never
// does.
TextPlan BestPlan(const Pruning& pruning, unsigned width, unsigned suffix_bits,
                  uint64_t bytes, unsigned* price) {
  TextPlan best;
  unsigned fits = 0, too_high = Pruning::kPrices;  // from `fits` down
  unsigned next = pruning.PriceFor(8 * static_cast<double>(bytes));
  while (fits < too_high) {
    TextPlan plan = PlanTexts(pruning.Cells(next), width, suffix_bits, bytes);
    const double ratio =
        static_cast<double>(bytes) / static_cast<double>(plan.size);
    if (plan.size <= bytes) {
      best = std::move(plan);
      *price = next;
      fits = next + 1;
      if (best.size >= bytes - bytes / kSampleError) break;
    } else {
      too_high = next;
    }
    if (fits == too_high) break;
    next = std::clamp(pruning.PriceFor(pruning.BitsAt(next) * ratio), fits,
                      too_high - 1);
  }
  return best;
}

uint64_t BytesFor(size_t some, size_t all, uint64_t bytes) {
  return static_cast<uint64_t>(static_cast<double>(bytes) *
                               static_cast<double>(some) /
                               static_cast<double>(all));
}

// The bits behind what tells keys apart with which fewest ranges match: the
// more they are, the fewer cells fit. By a sample.
unsigned BestSuffixBits(const std::vector<Branch>& branches, unsigned width,
                        uint64_t bytes) {
  const std::vector<Branch> some = SampleOf(branches, kSuffixSampling);
  const uint64_t bytes_of_some = BytesFor(some.size(), branches.size(), bytes);
  unsigned best = 0;
  double least = 2;
  for (unsigned bits = 0; bits <= width + 1; bits += 2) {
    unsigned price = 0;
    const TextPlan plan =
        BestPlan(Pruning(some, bits), width, bits, bytes_of_some, &price);
    if (plan.blocks.empty()) break;
    const double rate = RateOfPlan(plan, some.size());
    if (rate > least) break;
    least = rate;
    best = bits;
  }
  return best;
}

// A cell for each key.
TextPlan PlanForAll(const std::vector<Branch>& branches, unsigned width,
                    unsigned suffix_bits, uint64_t bytes) {
  std::vector<CellStart> cells(branches.size());
  for (uint32_t i = 0; i < cells.size(); ++i) cells[i] = {i, branches[i]};
  return PlanTexts(std::move(cells), width, suffix_bits, bytes);
}

// As many cells with so many bits of suffix as fit; none if not even one does.
TextPlan PrunedPlan(const std::vector<Branch>& branches, unsigned width,
                    unsigned suffix_bits, uint64_t bytes) {
  const Pruning pruning(branches, suffix_bits);
  const Pruning some = pruning.Sample(kCellSampling);
  unsigned price = 0;
  BestPlan(some, width, suffix_bits,
           BytesFor(some.size(), branches.size(), bytes), &price);
  for (;;) {
    TextPlan plan = PlanTexts(pruning.Cells(price), width, suffix_bits, bytes);
    if (plan.size <= bytes) return plan;
    if (price == 0) return {};
    const double ratio =
        static_cast<double>(bytes) / static_cast<double>(plan.size);
    price =
        std::min(price - 1, pruning.PriceFor(pruning.BitsAt(price) * ratio));
  }
}

// Cells for all keys, with bits of a character behind what tells them apart or
// more, or the best of fewer; none if not even one fits.
TextPlan LargestPlan(const std::vector<Branch>& branches, unsigned width,
                     uint64_t bytes) {
  const std::vector<Branch> some = SampleOf(branches, kCellSampling);
  const uint64_t bytes_of_some = BytesFor(some.size(), branches.size(), bytes);
  const uint64_t size_of_some =
      PlanForAll(some, width, width, bytes_of_some).size;
  if (size_of_some <= bytes_of_some + bytes_of_some / kSampleError) {
    TextPlan plan = PlanForAll(branches, width, width, bytes);
    if (plan.size <= bytes) {
      AddSuffixes(width, bytes, &plan);
      return plan;
    }
  }
  const unsigned suffix_bits = BestSuffixBits(branches, width, bytes);
  TextPlan plan = PrunedPlan(branches, width, suffix_bits, bytes);
  if (plan.blocks.empty() && suffix_bits > 0) {
    plan = PrunedPlan(branches, width, 0, bytes);
  }
  if (plan.cells.size() == branches.size()) AddSuffixes(width, bytes, &plan);
  return plan;
}

void AppendNumber32(uint64_t number, std::string* dst) {
  char bytes[4];
  StoreFixed32(bytes, static_cast<uint32_t>(number));
  dst->append(bytes, sizeof(bytes));
}

void AppendTextSize(size_t size, std::string* dst) {
  dst->push_back(static_cast<char>(std::min(size, kLongTextSize)));
  if (size < kLongTextSize) return;
  dst->push_back(static_cast<char>(size));
  dst->push_back(static_cast<char>(size >> 8));
}

// The bits of keys in order, made as far as they are asked for.
class BitsOfKeys {
 public:
  BitsOfKeys(const KeyStore& keys, size_t prefix, const Alphabet& alphabet)
      : cursor_(keys), prefix_(prefix), alphabet_(alphabet) {}

  // REQUIRES: not in front of the one before.
  void GoTo(uint32_t key) {
    for (; next_key_ <= key; ++next_key_) {
      cursor_.Next();
      made_ = std::min(made_, std::max(cursor_.shared(), prefix_) - prefix_);
    }
  }
  std::string_view key() const { return cursor_.key().substr(prefix_); }

  // REQUIRES: 0 < n <= 64.
  uint64_t Take(unsigned from, unsigned n) {
    Make(from + n);
    const unsigned word = from / 64, offset = from % 64;
    uint64_t bits = words_[word] << offset;
    if (offset + n > 64) bits |= words_[word + 1] >> (64 - offset);
    return bits >> (64 - n);
  }

 private:
  void Make(unsigned bits) {
    const unsigned width = alphabet_.width();
    const std::string_view key = this->key();
    for (; made_ * width < bits; ++made_) {
      const uint64_t code =
          made_ < key.size() ? alphabet_.CodeOf(key[made_]) : 0;
      const size_t at = made_ * width;
      const size_t word = at / 64;
      const auto offset = static_cast<unsigned>(at % 64);
      const uint64_t kept =
          offset == 0 ? 0 : words_[word] & ~(~uint64_t{0} >> offset);
      const uint64_t first = code << (64 - width);
      words_[word] = kept | first >> offset;
      if (offset + width > 64) words_[word + 1] = first << (64 - offset);
    }
  }

  KeyStore::Cursor cursor_;
  uint32_t next_key_ = 0;
  const size_t prefix_;
  const Alphabet& alphabet_;
  size_t made_ = 0;  // of bytes
  uint64_t words_[kMaxDepth / 64 + 2];
};

class Writer {
 public:
  Writer(const TextPlan& plan, unsigned width, BitsOfKeys* keys)
      : plan_(plan), width_(width), keys_(keys) {}

  void AppendBlock(const CellBlock& block, std::string* dst) {
    keys_->GoTo(plan_.cells[block.begin].key);
    AppendTextSize(block.prefix, dst);
    AppendTextSize(block.first - block.prefix, dst);
    AppendTextSize(block.cells(), dst);
    dst->append(keys_->key(), 0, block.first);
    BitWriter stream(dst);
    unsigned known = KnownAtStart(block, width_);
    for (uint32_t i = block.begin; i < block.end; ++i) {
      keys_->GoTo(plan_.cells[i].key);
      if (i > block.begin) known = plan_.cells[i].branch.bits + 1u;
      if (i + 1 < block.end) {
        PutBranch(plan_.cells[i + 1].branch.bits, &known, &stream);
      }
      PutBits(known, plan_.coding.suffix_bits, &stream);
    }
    stream.Finish();
  }

 private:
  void PutBits(unsigned from, unsigned n, BitWriter* stream) {
    while (n > 0) {
      const unsigned some = std::min(n, 56u);
      stream->Put(keys_->Take(from, some), some);
      from += some;
      n -= some;
    }
  }

  // Where the next cell branches off.
  void PutBranch(unsigned branch, unsigned* known, BitWriter* stream) {
    if (branch >= *known) {
      const unsigned path = branch - *known;
      stream->Put(1, 1);
      stream->PutRice(path, plan_.coding.rise_bits);
      PutBits(*known, path, stream);
      *known = branch + 1;
      return;
    }
    unsigned zeros = *known - (branch + 1);
    for (unsigned i = branch + 1; i < *known;) {
      const unsigned some = std::min(*known - i, 64u);
      zeros -= CountOnes(keys_->Take(i, some));
      i += some;
    }
    stream->Put(0, 1);
    stream->PutRice(zeros, plan_.coding.zeros_bits);
  }

  const TextPlan& plan_;
  const unsigned width_;
  BitsOfKeys* const keys_;
};

void AppendPlan(const Header& header, const TextPlan& plan, unsigned width,
                BitsOfKeys* keys, std::string* dst) {
  AppendNumber32(header.prefix.size(), dst);
  dst->append(header.prefix);
  dst->append(reinterpret_cast<const char*>(header.alphabet), Alphabet::kSize);
  dst->push_back(static_cast<char>(plan.coding.suffix_bits));
  dst->push_back(static_cast<char>(plan.coding.rise_bits));
  dst->push_back(static_cast<char>(plan.coding.zeros_bits));
  AppendNumber32(plan.blocks.size(), dst);
  const size_t offsets = dst->size();
  dst->resize(offsets + 4 * plan.blocks.size());
  const size_t records = dst->size();
  Writer writer(plan, width, keys);
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    StoreFixed32(&(*dst)[offsets + 4 * i],
                 static_cast<uint32_t>(dst->size() - records));
    writer.AppendBlock(plan.blocks[i], dst);
  }
}

}  // namespace

bool AppendTexts(const KeyStore& keys, uint64_t bytes, std::string* dst) {
  if (keys.size() > kMaxTexts) return false;
  const Header header = HeaderFor(keys);
  if (header.size() > bytes) return false;
  const Alphabet alphabet(header.alphabet);
  const std::vector<Branch> branches =
      BranchesOf(keys, header.prefix.size(), alphabet);
  if (branches.empty()) return false;
  const uint64_t left = std::min(bytes - header.size(), kMaxRecordsSize);
  const TextPlan plan = LargestPlan(branches, alphabet.width(), left);
  if (plan.blocks.empty()) return false;
  dst->reserve(dst->size() + header.size() + plan.size);
  BitsOfKeys bits(keys, header.prefix.size(), alphabet);
  AppendPlan(header, plan, alphabet.width(), &bits, dst);
  return true;
}

}  // namespace deltabloom::internal::range
