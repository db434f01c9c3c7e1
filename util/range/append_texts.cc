// Writing texts.
#include <algorithm>
#include <vector>

#include "util/coding.h"
#include "util/range/prune.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {
namespace {

// Blocks are as small as lets the directory be such a part of all bytes.
constexpr uint64_t kDirectoryPart = 4;
constexpr uint64_t kSmallestBlock = 16;
constexpr uint64_t kLargestBlock = 64;
// Of the bits for the cells, of all; and what each next guess is less.
constexpr double kFirstGuess = 0.85;
constexpr double kCaution = 0.03;
constexpr int kAttempts = 16;
constexpr size_t kMaxTextSize = 0xffff;
constexpr uint64_t kMaxRecordsSize = 0xffffffff;
// That of cells, with a reserve for what estimates miss.
constexpr unsigned kMaxBranch = kMaxDepth - 64;
constexpr uint32_t kNoBranch = 0xffffffff;

struct Survey {
  std::string prefix;  // of all keys
  unsigned char alphabet[Alphabet::kSize] = {};
};

void AddBytes(std::string_view text, unsigned char alphabet[]) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    alphabet[byte / 8] =
        static_cast<unsigned char>(alphabet[byte / 8] | 1 << byte % 8);
  }
}

Survey SurveyOf(const KeyStore& keys) {
  Survey survey;
  std::string first;
  size_t prefix = 0;
  bool is_first = true;
  for (KeyStore::Cursor cursor(keys); cursor.Next(); is_first = false) {
    if (is_first) {
      first = cursor.key();
      // A key alone may not be kept whole.
      prefix = keys.size() == 1 ? 0 : first.size();
    } else {
      prefix = std::min(prefix, cursor.shared());
      AddBytes(cursor.key().substr(cursor.shared()), survey.alphabet);
    }
  }
  AddBytes(std::string_view(first).substr(prefix), survey.alphabet);
  survey.prefix = first.substr(0, prefix);
  return survey;
}

// For each key the bits behind the common prefix that it has in common with the
// key before; none if they are too many for a cell.
std::vector<uint32_t> BranchesOf(const KeyStore& keys, size_t prefix,
                                 const Alphabet& alphabet) {
  std::vector<uint32_t> branches;
  branches.reserve(keys.size());
  std::string before;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const std::string_view key = cursor.key();
    const size_t at = cursor.shared();
    uint32_t branch = 0;
    if (!branches.empty()) {
      if (at - prefix > kMaxBranch / alphabet.width() - 1) return {};
      const unsigned code_before =
          at < before.size() ? alphabet.CodeOf(before[at]) : 0;
      const unsigned difference = code_before ^ alphabet.CodeOf(key[at]);
      const auto bits = 32 - static_cast<unsigned>(__builtin_clz(difference));
      branch = static_cast<uint32_t>((at - prefix) * alphabet.width() +
                                     alphabet.width() - bits);
    }
    branches.push_back(branch);
    before = key;
  }
  return branches;
}

// Of cells, by their number.
struct Block {
  size_t begin = 0;
  size_t end = 0;
  size_t prefix = 0;  // bytes of its keys, without the common prefix
  size_t first = 0;   // and of the key that it begins with
};

Block MakeBlock(const std::vector<CellStart>& cells, size_t begin, size_t end,
                unsigned width) {
  uint32_t shared = kNoBranch;
  for (size_t i = begin + 1; i < end; ++i) {
    shared = std::min(shared, cells[i].branch);
  }
  if (shared == kNoBranch) shared = cells[begin].branch;
  Block block{begin, end, shared / width, 0};
  if (begin > 0) block.first = cells[begin].branch / width + 1;
  block.first = std::max(block.first, block.prefix);
  return block;
}

// Blocks of half of `most` cells to `most`, cut where neighbours differ most.
std::vector<Block> CutBlocks(const std::vector<CellStart>& cells, size_t most,
                             unsigned width) {
  std::vector<Block> blocks;
  for (size_t begin = 0; begin < cells.size();) {
    size_t cut = cells.size();
    if (cut - begin > most) {
      cut = begin + most;
      for (size_t i = cut; i >= begin + most / 2; --i) {
        if (cells[i].branch < cells[cut].branch) cut = i;
      }
    }
    blocks.push_back(MakeBlock(cells, begin, cut, width));
    begin = cut;
  }
  return blocks;
}

uint64_t DirectorySize(const std::vector<Block>& blocks) {
  constexpr uint64_t kSizes = 4 + 3;  // with the offset
  uint64_t size = 0;
  for (const Block& block : blocks) {
    size += kSizes + block.first + (block.first >= kLongTextSize ? 4 : 0);
  }
  return size;
}

// The smallest blocks whose directory takes no more bytes, or the largest.
std::vector<Block> ChooseBlocks(const std::vector<CellStart>& cells,
                                uint64_t bytes, unsigned width) {
  for (uint64_t most = kSmallestBlock;; most *= 2) {
    std::vector<Block> blocks = CutBlocks(cells, most, width);
    if (most >= kLargestBlock || DirectorySize(blocks) <= bytes) return blocks;
  }
}

// The low bits with which Rice codes of these numbers are shortest.
unsigned LowBitsFor(const std::vector<uint64_t>& of_number) {
  unsigned best = 0;
  uint64_t least = ~uint64_t{0};
  for (unsigned low = 0; low <= kMaxRiceLowBits; ++low) {
    if ((of_number.size() - 1) >> low > kMaxRiceOnes) continue;
    uint64_t bits = 0;
    for (size_t i = 0; i < of_number.size(); ++i) {
      bits += of_number[i] * ((i >> low) + 1 + low);
    }
    if (bits < least) {
      least = bits;
      best = low;
    }
  }
  return best;
}

void Count(uint64_t number, std::vector<uint64_t>* of_number) {
  if (of_number->size() <= number) of_number->resize(number + 1);
  ++(*of_number)[number];
}

CellCoding CodingFor(const std::vector<CellStart>& cells,
                     unsigned suffix_bits) {
  std::vector<uint64_t> paths(1), zeros(1);
  for (size_t i = 1; i < cells.size(); ++i) {
    const uint32_t known = i == 1 ? 0 : cells[i - 1].branch + 1;
    if (cells[i].branch >= known) {
      Count(cells[i].branch - known, &paths);
    } else {
      // Of the bits from the end on about a half are zeros, at most all.
      const uint32_t passed = known - 1 - cells[i].branch;
      Count(passed / 2, &zeros);
      if (zeros.size() <= passed + 16) zeros.resize(passed + 16);
    }
  }
  // In the first cell of a block less is known, by the bits of a byte.
  paths.resize(paths.size() + 16);
  return {suffix_bits, LowBitsFor(paths), LowBitsFor(zeros)};
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

class Writer {
 public:
  Writer(const KeyStore& keys, size_t prefix, const Alphabet& alphabet,
         const CellCoding& coding)
      : cursor_(keys), prefix_(prefix), alphabet_(alphabet), coding_(coding) {}

  // False if a number in it has no code.
  bool AppendBlock(const std::vector<CellStart>& cells, const Block& block,
                   std::string* dst) {
    stream_.Clear();
    const size_t origin = block.prefix * alphabet_.width();
    std::string first;
    size_t known = (block.first - block.prefix) * alphabet_.width();
    if (known > 0) known -= alphabet_.width() - 1;
    for (size_t i = block.begin; i < block.end; ++i) {
      while (next_key_ <= cells[i].key) {
        cursor_.Next();
        ++next_key_;
      }
      const std::string_view key = cursor_.key().substr(prefix_);
      if (i == block.begin) {
        first = key.substr(0, block.first);
      } else {
        known = cells[i].branch + 1 - origin;
      }
      TextBits bits(alphabet_, key.substr(block.prefix), TextBits::Side::kFrom);
      if (i + 1 < block.end &&
          !PutBranch(cells[i + 1].branch - origin, &known, &bits)) {
        return false;
      }
      if (known + kMaxSuffixBits >= kMaxDepth) return false;
      PutBits(known, coding_.suffix_bits, &bits);
    }
    if (block.first > kMaxTextSize) return false;
    AppendTextSize(block.prefix, dst);
    AppendTextSize(first.size() - block.prefix, dst);
    AppendTextSize(block.end - block.begin, dst);
    dst->append(first);
    dst->append(stream_.bytes());
    return true;
  }

 private:
  static bool BitAt(size_t at, TextBits* bits) {
    return (bits->Word(static_cast<unsigned>(at / 64)) >> (63 - at % 64) & 1) !=
           0;
  }

  void PutBits(size_t from, size_t n, TextBits* bits) {
    for (size_t i = from; i < from + n; ++i) {
      stream_.Put(BitAt(i, bits) ? 1 : 0, 1);
    }
  }

  // Where the next cell branches off.
  bool PutBranch(size_t branch, size_t* known, TextBits* bits) {
    if (branch >= *known) {
      const size_t path = branch - *known;
      if (path >> coding_.rise_bits > kMaxRiceOnes) return false;
      stream_.Put(1, 1);
      stream_.PutRice(path, coding_.rise_bits);
      PutBits(*known, path, bits);
      *known = branch + 1;
      return true;
    }
    uint64_t zeros = 0;
    for (size_t i = branch + 1; i < *known; ++i) {
      if (!BitAt(i, bits)) ++zeros;
    }
    if (zeros >> coding_.zeros_bits > kMaxRiceOnes) return false;
    stream_.Put(0, 1);
    stream_.PutRice(zeros, coding_.zeros_bits);
    return true;
  }

  KeyStore::Cursor cursor_;
  uint64_t next_key_ = 0;
  const size_t prefix_;
  const Alphabet& alphabet_;
  const CellCoding coding_;
  BitWriter stream_;
};

// Cells for about so many bits. False if they cannot be written.
bool AppendCells(const KeyStore& keys, const Survey& survey,
                 const std::vector<uint32_t>& branches, uint64_t bits,
                 uint64_t bytes, std::string* dst) {
  const Alphabet alphabet(survey.alphabet);
  const unsigned width = alphabet.width();
  const uint64_t cost = CostOfAllCells(branches);
  const uint64_t left = (bits > cost ? bits - cost : 0) / branches.size();
  const unsigned most = std::min(kMaxSuffixBits, 14 * width);
  const auto suffix_bits =
      static_cast<unsigned>(std::min<uint64_t>(left, most));
  const std::vector<CellStart> cells = ChooseCells(branches, suffix_bits, bits);
  const std::vector<Block> blocks =
      ChooseBlocks(cells, bytes / kDirectoryPart, width);
  const CellCoding coding = CodingFor(cells, suffix_bits);

  AppendNumber32(survey.prefix.size(), dst);
  dst->append(survey.prefix);
  dst->append(reinterpret_cast<const char*>(survey.alphabet), Alphabet::kSize);
  dst->push_back(static_cast<char>(coding.suffix_bits));
  dst->push_back(static_cast<char>(coding.rise_bits));
  dst->push_back(static_cast<char>(coding.zeros_bits));
  AppendNumber32(blocks.size(), dst);
  const size_t offsets = dst->size();
  dst->resize(offsets + 4 * blocks.size());
  const size_t records = dst->size();
  Writer writer(keys, survey.prefix.size(), alphabet, coding);
  for (size_t i = 0; i < blocks.size(); ++i) {
    StoreFixed32(&(*dst)[offsets + 4 * i],
                 static_cast<uint32_t>(dst->size() - records));
    if (!writer.AppendBlock(cells, blocks[i], dst) ||
        dst->size() - records > kMaxRecordsSize) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool AppendTexts(const KeyStore& keys, uint64_t bytes, std::string* dst) {
  const Survey survey = SurveyOf(keys);
  const std::vector<uint32_t> branches =
      BranchesOf(keys, survey.prefix.size(), Alphabet(survey.alphabet));
  if (branches.empty()) return false;
  // What cells and directory take is known only when they are written.
  const size_t start = dst->size();
  double bits = kFirstGuess * 8 * static_cast<double>(bytes);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!AppendCells(keys, survey, branches, static_cast<uint64_t>(bits), bytes,
                     dst)) {
      break;
    }
    const uint64_t size = dst->size() - start;
    if (size <= bytes) return true;
    dst->resize(start);
    bits *= (1 - kCaution * (attempt + 1)) * static_cast<double>(bytes) /
            static_cast<double>(size);
  }
  dst->resize(start);
  return false;
}

}  // namespace deltabloom::internal::range
