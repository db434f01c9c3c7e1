// Writing texts.
#include <algorithm>
#include <vector>

#include "util/coding.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {
namespace {

// Of a key behind its block's prefix.
constexpr size_t kEndBytes = 2;
constexpr size_t kMaxPrefix = 255;
constexpr size_t kRecordSize = 4 + 2;  // with its offset, without texts
// Blocks are as small as lets the directory be such a part of all bytes.
constexpr uint64_t kDirectoryPart = 4;
constexpr uint64_t kSmallestBlock = 32;
constexpr uint64_t kMaxCells = 0xffffffff;
constexpr uint64_t kMaxRecordsSize = 0xffffffff;

// What the keys say before they are cut into blocks.
struct Survey {
  std::vector<uint32_t> shared;  // of each key with the one before
  size_t prefix = 0;             // of all keys
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
  constexpr size_t kMost = 0xffffffff;
  Survey survey;
  survey.shared.reserve(keys.size());
  std::string first;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const std::string_view key = cursor.key();
    if (survey.shared.empty()) {
      first = key;
      // A key alone may not be kept whole.
      survey.prefix = keys.size() == 1 ? 0 : std::min(key.size(), kMost);
    } else {
      survey.prefix = std::min(survey.prefix, cursor.shared());
      AddBytes(key.substr(cursor.shared()), survey.alphabet);
    }
    survey.shared.push_back(
        static_cast<uint32_t>(std::min(cursor.shared(), kMost)));
  }
  AddBytes(std::string_view(first).substr(survey.prefix), survey.alphabet);
  return survey;
}

struct Block {
  uint64_t begin = 0;  // keys, by number
  uint64_t end = 0;
  size_t prefix = 0;  // that all its keys share, the common one included
};

// Blocks of half of `most` keys to `most`, cut where neighbours differ most.
std::vector<Block> CutBlocks(const Survey& survey, uint64_t most) {
  const std::vector<uint32_t>& shared = survey.shared;
  std::vector<Block> blocks;
  for (uint64_t begin = 0; begin < shared.size();) {
    uint64_t cut = shared.size();
    if (cut - begin > most) {
      cut = begin + most;
      for (uint64_t i = cut; i >= begin + (most + 1) / 2; --i) {
        if (shared[i] < shared[cut]) cut = i;
      }
    }
    size_t prefix = survey.prefix + kMaxPrefix;
    for (uint64_t i = begin + 1; i < cut; ++i) {
      prefix = std::min<size_t>(prefix, shared[i]);
    }
    // A key alone has no more in common with itself than with its neighbour.
    if (cut == begin + 1) {
      prefix =
          std::min<size_t>(prefix, begin == 0 ? survey.prefix : shared[begin]);
    }
    blocks.push_back({begin, cut, prefix});
    begin = cut;
  }
  return blocks;
}

// Of the first key: enough to tell it from the key before.
size_t SizeOfFirst(const Survey& survey, const Block& block) {
  return std::max<size_t>(block.prefix + kEndBytes,
                          survey.shared[block.begin] + 1);
}

uint64_t DirectorySize(const Survey& survey, const std::vector<Block>& blocks) {
  uint64_t size = 0;
  for (const Block& block : blocks) {
    size +=
        kRecordSize + SizeOfFirst(survey, block) - survey.prefix + kEndBytes;
  }
  return size;
}

// The smallest blocks whose directory takes no more bytes, or a single one.
std::vector<Block> ChooseBlocks(const Survey& survey, uint64_t bytes) {
  for (uint64_t most = kSmallestBlock;; most *= 2) {
    std::vector<Block> blocks = CutBlocks(survey, most);
    if (blocks.size() == 1 || DirectorySize(survey, blocks) <= bytes) {
      return blocks;
    }
  }
}

void AppendNumber32(uint64_t number, std::string* dst) {
  char bytes[4];
  StoreFixed32(bytes, static_cast<uint32_t>(number));
  dst->append(bytes, sizeof(bytes));
}

// The directory, and of each key its cell.
class Writer {
 public:
  Writer(const KeyStore& keys, const Survey& survey,
         const std::vector<Block>& blocks)
      : keys_(keys),
        survey_(survey),
        blocks_(blocks),
        alphabet_(survey.alphabet) {}

  // The numbers of the keys become cells when it is known how many there are.
  void Read() {
    offsets_.reserve(blocks_.size());
    numbers_.reserve(keys_.size());
    KeyStore::Cursor cursor(keys_);
    for (const Block& block : blocks_) {
      std::string first;
      for (uint64_t i = block.begin; i < block.end; ++i) {
        cursor.Next();
        if (i == block.begin) first = cursor.key();
        numbers_.push_back(
            alphabet_.NumberFrom(cursor.key().substr(block.prefix)));
      }
      AppendRecord(block, first, cursor.key());
    }
  }

  uint64_t DirectorySize() const {
    return 4 * offsets_.size() + records_.size();
  }

  std::vector<uint64_t> TakeCells(uint64_t cells) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (uint64_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
        numbers_[i] = b * cells +
                      CellOf(numbers_[i], ends_[b].first, ends_[b].last, cells);
      }
    }
    return std::move(numbers_);
  }

  void AppendDirectory(std::string* dst) const {
    AppendNumber32(records_.size(), dst);
    for (const uint64_t offset : offsets_) AppendNumber32(offset, dst);
    dst->append(records_);
  }

 private:
  struct Ends {
    uint64_t first, last;
  };

  void AppendRecord(const Block& block, std::string_view first,
                    std::string_view last) {
    const size_t prefix = block.prefix - survey_.prefix;
    first = first.substr(0, SizeOfFirst(survey_, block));
    last = last.substr(block.prefix, kEndBytes);
    ends_.push_back({alphabet_.NumberFrom(first.substr(block.prefix)),
                     alphabet_.NumberBehind(last) - 1});
    offsets_.push_back(records_.size());
    records_.push_back(static_cast<char>(prefix));
    records_.push_back(static_cast<char>(last.size()));
    records_.append(first.substr(survey_.prefix));
    records_.append(last);
  }

  const KeyStore& keys_;
  const Survey& survey_;
  const std::vector<Block>& blocks_;
  const Alphabet alphabet_;
  std::vector<uint64_t> offsets_;
  std::string records_;
  std::vector<Ends> ends_;
  std::vector<uint64_t> numbers_;
};

}  // namespace

bool AppendTexts(const KeyStore& keys, uint64_t bytes, std::string* dst) {
  const Survey survey = SurveyOf(keys);
  const std::vector<Block> blocks =
      ChooseBlocks(survey, bytes / kDirectoryPart);
  Writer writer(keys, survey, blocks);
  writer.Read();
  const uint64_t header =
      4 + survey.prefix + Alphabet::kSize + 12 + writer.DirectorySize();
  if (bytes < header || writer.DirectorySize() > kMaxRecordsSize) return false;
  CodesShape shape = LargestShape(keys.size(), bytes - header);
  if (shape.buckets == 0) return false;
  const uint64_t cells = std::min(shape.Universe() / blocks.size(), kMaxCells);
  shape = ShapeForUniverse(keys.size(), cells * blocks.size());
  std::vector<uint64_t> codes = writer.TakeCells(cells);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());

  KeyStore::Cursor cursor(keys);
  cursor.Next();
  AppendNumber32(survey.prefix, dst);
  dst->append(cursor.key().substr(0, survey.prefix));
  dst->append(reinterpret_cast<const char*>(survey.alphabet), Alphabet::kSize);
  AppendNumber32(blocks.size(), dst);
  AppendNumber32(cells, dst);
  writer.AppendDirectory(dst);
  AppendCodes(codes, shape, dst);
  return true;
}

}  // namespace deltabloom::internal::range
