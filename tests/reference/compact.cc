#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/reference/reference.h"
#include "tests/reference/uint128.h"

namespace deltabloom::reference {
namespace {

constexpr uint64_t kLimits[] = {0, 16, 40, 128};

uint64_t Remix64(uint64_t hash, uint64_t stream) {
  uint64_t x = hash + (stream + 1) * 0xbb67ae8584caa73b;
  for (int i = 0; i < 2; ++i) x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

void Append(uint64_t number, size_t size, std::string* to) {
  for (size_t i = 0; i < size; ++i) {
    to->push_back(static_cast<char>(number % 256));
    number /= 256;
  }
}

// The numbers that follow from the sizes of the layers and the payload's size.
struct Shape {
  std::vector<uint64_t> starts, first_row, buckets, first_bucket;  // per layer
  uint64_t blocks = 1, thresholds_size = 0, words = 0, columns = 0, narrow = 0;

  uint64_t layers() const { return starts.size(); }
  uint64_t Width(uint64_t block) const {
    return block < narrow ? columns - 1 : columns;
  }
  uint64_t Word(uint64_t block, uint64_t column) const {
    return block * columns - std::min(block, narrow) + column;
  }
};

Shape ShapeOf(const CompactBlocks& blocks) {
  Shape shape;
  const size_t layers = blocks[1] == 0 ? 1 : blocks[2] == 0 ? 2 : 3;
  uint64_t before = 0;
  for (size_t i = 0; i < layers; ++i) {
    shape.first_row.push_back(64 * (shape.blocks - 1));
    shape.starts.push_back(64 * blocks[i]);
    shape.first_bucket.push_back(before);
    shape.buckets.push_back(i + 1 == layers ? 0 : (blocks[i] + 1) / 2);
    before += shape.buckets[i];
    shape.blocks += blocks[i];
  }
  shape.thresholds_size = (before + 3) / 4;
  return shape;
}

std::optional<Shape> ShapeOf(const CompactBlocks& blocks,
                             uint64_t payload_size) {
  Shape shape = ShapeOf(blocks);
  const uint64_t fixed = 8 + shape.thresholds_size;
  if (blocks[0] == 0 || (blocks[1] == 0 && blocks[2] != 0) ||
      payload_size < fixed || (payload_size - fixed) % 8 != 0) {
    return std::nullopt;
  }
  shape.words = (payload_size - fixed) / 8;
  if (shape.words < shape.blocks || shape.words > 32 * shape.blocks) {
    return std::nullopt;
  }
  shape.columns = (shape.words + shape.blocks - 1) / shape.blocks;
  shape.narrow = shape.blocks * shape.columns - shape.words;
  return shape;
}

struct Equation {
  std::bitset<64> coefficients;
  uint64_t fingerprint = 0;
};

// The place of a key in one layer.
struct Place {
  uint64_t start;
  Equation equation;
};

Place PlaceOf(uint64_t hash, uint64_t seed, uint64_t layer, uint64_t starts) {
  const uint64_t stream = 4 * seed + layer;
  const uint64_t g = stream == 0 ? hash : Remix64(hash, stream);
  const Uint128 product = Uint128{g} * 0x9e3779b97f4a7c15;
  const auto start = static_cast<uint64_t>(Uint128{g} * starts >> 64);
  return {start,
          {static_cast<uint64_t>(product) | 1,
           static_cast<uint64_t>(product >> 64) & 0xffffffff}};
}

// Accepted equations by their first row; a free row has no coefficients.
class System {
 public:
  explicit System(uint64_t rows) : rows_(rows) {}

  // Adds all of the equations or, if there is no solution then, none.
  bool Add(const std::vector<std::pair<uint64_t, Equation>>& equations) {
    std::vector<uint64_t> added;
    for (auto [row, equation] : equations) {
      while (equation.coefficients.any()) {
        if (!equation.coefficients[0]) {
          equation.coefficients >>= 1;
          ++row;
          continue;
        }
        if (rows_[row].coefficients.none()) {
          rows_[row] = equation;
          added.push_back(row);
          break;
        }
        equation.coefficients ^= rows_[row].coefficients;
        equation.fingerprint ^= rows_[row].fingerprint;
      }
      if (equation.coefficients.none() && equation.fingerprint != 0) {
        for (uint64_t taken : added) rows_[taken] = {};
        return false;
      }
    }
    return true;
  }

  // Rows of the table, free ones 0.
  std::vector<uint64_t> Solve() const {
    std::vector<uint64_t> table(rows_.size() + 64, 0);
    for (size_t row = rows_.size(); row-- > 0;) {
      table[row] = rows_[row].fingerprint;
      for (size_t i = 1; i < 64; ++i) {
        if (rows_[row].coefficients[i]) table[row] ^= table[row + i];
      }
    }
    return table;
  }

 private:
  std::vector<Equation> rows_;
};

// Inserts the hashes with one seed; gives thresholds by bucket.
bool Insert(const std::vector<uint64_t>& hashes, const Shape& shape,
            uint64_t seed, System* system, std::vector<uint64_t>* thresholds) {
  const uint64_t mask = (uint64_t{1} << shape.columns) - 1;
  std::vector<uint64_t> keys = hashes;
  for (uint64_t i = 0; i < shape.layers(); ++i) {
    std::vector<std::vector<uint64_t>> buckets(shape.starts[i] / 128 + 1);
    for (uint64_t hash : keys) {
      const Place place = PlaceOf(hash, seed, i, shape.starts[i]);
      buckets[place.start / 128].push_back(hash);
    }
    keys.clear();
    const bool last = i + 1 == shape.layers();
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      for (uint64_t t = 0;; ++t) {
        if (last && t > 0) return false;
        std::vector<std::pair<uint64_t, Equation>> staying;
        std::vector<uint64_t> leaving;
        for (uint64_t hash : buckets[bucket]) {
          Place place = PlaceOf(hash, seed, i, shape.starts[i]);
          place.equation.fingerprint &= mask;
          if (place.start % 128 < kLimits[t]) {
            leaving.push_back(hash);
          } else {
            staying.emplace_back(shape.first_row[i] + place.start,
                                 place.equation);
          }
        }
        if (!system->Add(staying)) continue;
        if (bucket < shape.buckets[i]) thresholds->push_back(t);
        keys.insert(keys.end(), leaving.begin(), leaving.end());
        break;
      }
    }
    if (!last && keys.size() > 2 * (shape.starts[i + 1] + 64)) return false;
  }
  return true;
}

std::string Payload(const Shape& shape, const CompactBlocks& blocks,
                    uint64_t seed, const std::vector<uint64_t>& table,
                    const std::vector<uint64_t>& thresholds) {
  std::string payload;
  for (uint64_t block = 0; block < shape.blocks; ++block) {
    for (uint64_t column = 0; column < shape.Width(block); ++column) {
      std::bitset<64> word;
      for (size_t i = 0; i < 64; ++i) {
        word[i] = (table[block * 64 + i] >> column) % 2 != 0;
      }
      Append(word.to_ullong(), 8, &payload);
    }
  }
  for (size_t i = 0; i < thresholds.size(); i += 4) {
    uint64_t byte = 0;
    for (size_t j = i; j < i + 4 && j < thresholds.size(); ++j) {
      byte += thresholds[j] << (2 * (j - i));
    }
    Append(byte, 1, &payload);
  }
  uint64_t last = 0;
  while (last < 15 && (uint64_t{1} << last) <= blocks[2]) ++last;
  Append(blocks[0], 4, &payload);
  Append(blocks[1], 3, &payload);
  Append(last + 16 * seed, 1, &payload);
  return payload;
}

// The shape of a payload, if its fields agree.
std::optional<Shape> Read(std::string_view payload) {
  if (payload.size() < 8) return std::nullopt;
  const size_t sizes_at = payload.size() - 8;
  const uint64_t last = Number(payload, sizes_at + 7, 1) % 16;
  return ShapeOf(
      {Number(payload, sizes_at, 4), Number(payload, sizes_at + 4, 3),
       last == 0 ? 0 : uint64_t{1} << (last - 1)},
      payload.size());
}

}  // namespace

CompactBlocks CompactBlocksFor(uint64_t keys) {
  if (keys / 64 > 0xffffffff) return {0, 0, 0};
  const uint64_t rows = keys + keys / 100 + 14;
  const uint64_t count = std::max<uint64_t>((rows + 63) / 64, 2) - 1;
  CompactBlocks blocks = {count, 0, 0};
  if (count > 8) blocks = {count - 1, 1, 0};
  if (count >= 40) {
    const uint64_t rest = 2 + count / 64;
    uint64_t last = 1;
    while (last < 16384 && rest >= 33 * last) last *= 2;
    blocks = {count - rest, rest - last, last};
  }
  if (blocks[0] > 0xffffffff || blocks[1] > 0xffffff) return {0, 0, 0};
  return blocks;
}

uint64_t CompactFixedBytes(const CompactBlocks& blocks) {
  return 8 + ShapeOf(blocks).thresholds_size;
}

std::string BuildCompact(const std::vector<uint64_t>& hashes,
                         const CompactBlocks& blocks, uint64_t payload_size) {
  const std::optional<Shape> shape = ShapeOf(blocks, payload_size);
  if (!shape) return {};
  for (uint64_t seed = 0; seed < 16; ++seed) {
    System system(shape->blocks * 64);
    std::vector<uint64_t> thresholds;
    if (Insert(hashes, *shape, seed, &system, &thresholds)) {
      return Payload(*shape, blocks, seed, system.Solve(), thresholds);
    }
  }
  return {};
}

bool CompactIsValid(std::string_view payload) {
  return Read(payload).has_value();
}

bool CompactMayMatch(std::string_view payload, uint64_t hash) {
  const std::optional<Shape> shape = Read(payload);
  if (!shape) return true;
  const uint64_t seed = Number(payload, payload.size() - 1, 1) / 16;
  uint64_t i = 0;
  Place place = PlaceOf(hash, seed, i, shape->starts[i]);
  while (i + 1 < shape->layers()) {
    const uint64_t bucket = shape->first_bucket[i] + place.start / 128;
    const uint64_t byte = Number(payload, shape->words * 8 + bucket / 4, 1);
    if (place.start % 128 >= kLimits[(byte >> (bucket % 4 * 2)) % 4]) break;
    ++i;
    place = PlaceOf(hash, seed, i, shape->starts[i]);
  }
  const uint64_t first = shape->first_row[i] + place.start;
  for (uint64_t j = 0; j < shape->Width(first / 64); ++j) {
    uint64_t sum = 0;
    const uint64_t words[] = {
        Number(payload, 8 * shape->Word(first / 64, j), 8),
        Number(payload, 8 * shape->Word(first / 64 + 1, j), 8)};
    for (uint64_t k = 0; k < 64; ++k) {
      if (!place.equation.coefficients[k]) continue;
      const uint64_t row = first % 64 + k;
      sum ^= (words[row / 64] >> (row % 64)) % 2;
    }
    if (sum != (place.equation.fingerprint >> j) % 2) return false;
  }
  return true;
}

namespace {

// Bytes of the payload, or 0 where the layout local is to be built.
uint64_t CompactSize(uint64_t keys, uint32_t millibits) {
  const CompactBlocks blocks = CompactBlocksFor(keys);
  if (blocks[0] == 0) return 0;
  const uint64_t budget = keys * millibits / 8000;
  const uint64_t fixed = CompactFixedBytes(blocks);
  if (budget < fixed) return 0;
  const uint64_t all = blocks[0] + blocks[1] + blocks[2] + 1;
  const uint64_t words = std::min((budget - fixed) / 8, 32 * all);
  if (words < all) return 0;
  if (4000 * words < 3 * std::min<uint64_t>(millibits, 32000) * all) return 0;
  return words * 8 + fixed;
}

uint64_t PayloadSizeCompact(uint64_t keys, uint32_t millibits) {
  const uint64_t size = CompactSize(keys, millibits);
  return size != 0 ? size : kLocal.payload_size(keys, millibits);
}

std::string BuildRaw(const std::vector<std::string>& keys, uint32_t millibits,
                     uint64_t payload_size) {
  if (CompactSize(keys.size(), millibits) == 0) return {};
  std::vector<uint64_t> hashes;
  for (const std::string& key : keys) hashes.push_back(kLocal.hash(key));
  const std::string payload =
      BuildCompact(hashes, CompactBlocksFor(keys.size()), payload_size);
  return payload.empty() ? payload : payload + '\x80';
}

bool MayMatchRaw(std::string_view filter, std::string_view key) {
  return CompactMayMatch(filter.substr(0, filter.size() - 1), kLocal.hash(key));
}

}  // namespace

const Reference kCompact = {
    "compact", [](std::string_view key) { return kLocal.hash(key); },
    PayloadSizeCompact, BuildRaw, MayMatchRaw};

}  // namespace deltabloom::reference
