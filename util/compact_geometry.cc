#include "util/compact_geometry.h"

namespace deltabloom::internal {
namespace {

constexpr uint64_t kMaxFirstBlocks = 0xffffffff;
constexpr uint64_t kMaxSecondBlocks = 0xffffff;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

unsigned LayersOf(const CompactSizes& sizes) {
  return sizes.blocks[1] == 0 ? 1 : sizes.blocks[2] == 0 ? 2 : 3;
}

uint64_t ThresholdsBytes(const CompactSizes& sizes) {
  uint64_t buckets = 0;
  for (unsigned i = 0; i + 1 < LayersOf(sizes); ++i) {
    buckets += CeilDivide(sizes.blocks[i], kBucketStarts / kBlockRows);
  }
  return CeilDivide(buckets, 4);
}

}  // namespace

CompactSizes CompactSizesFor(uint64_t keys) {
  CompactSizes sizes;
  // More than any legal first layer, and no sum below overflows.
  if (keys / kBlockRows > kMaxFirstBlocks) return sizes;
  const uint64_t rows = keys + keys / 100 + 14;
  const uint64_t blocks =
      std::max<uint64_t>(CeilDivide(rows, kBlockRows), 2) - 1;
  if (blocks <= 8) {
    sizes.blocks[0] = blocks;
  } else if (blocks < 40) {
    sizes.blocks[0] = blocks - 1;
    sizes.blocks[1] = 1;
  } else {
    const uint64_t rest = 2 + blocks / 64;
    unsigned last_log2 = 0;
    while (last_log2 < kMaxLastLayerLog2 && (rest >> last_log2) > 32) {
      ++last_log2;
    }
    sizes.blocks[2] = uint64_t{1} << last_log2;
    sizes.blocks[1] = rest - sizes.blocks[2];
    sizes.blocks[0] = blocks - rest;
  }
  if (sizes.blocks[0] > kMaxFirstBlocks || sizes.blocks[1] > kMaxSecondBlocks) {
    return {};
  }
  return sizes;
}

uint64_t CompactFixedBytes(const CompactSizes& sizes) {
  return ThresholdsBytes(sizes) + kCompactSizesBytes;
}

bool MakeCompactGeometry(const CompactSizes& sizes, uint64_t payload_size,
                         CompactGeometry* geometry) {
  *geometry = {};
  if (sizes.blocks[0] == 0) return false;
  if (sizes.blocks[1] == 0 && sizes.blocks[2] != 0) return false;
  const uint64_t fixed_bytes = CompactFixedBytes(sizes);
  if (payload_size < fixed_bytes || (payload_size - fixed_bytes) % 8 != 0) {
    return false;
  }
  geometry->seed = sizes.seed;
  geometry->layers = LayersOf(sizes);
  uint64_t bucket = 0;
  for (unsigned i = 0; i < geometry->layers; ++i) {
    CompactLayer& layer = geometry->layer[i];
    layer.first_row = geometry->blocks * kBlockRows;
    layer.first_bucket = bucket;
    layer.starts = sizes.blocks[i] * kBlockRows;
    geometry->blocks += sizes.blocks[i];
    bucket += geometry->buckets(i);
  }
  geometry->blocks += 1;
  geometry->words = (payload_size - fixed_bytes) / 8;
  if (geometry->words < geometry->blocks ||
      geometry->words > geometry->blocks * kMaxCompactColumns) {
    return false;
  }
  geometry->columns =
      static_cast<unsigned>(CeilDivide(geometry->words, geometry->blocks));
  geometry->narrow = geometry->blocks * geometry->columns - geometry->words;
  geometry->thresholds_at = geometry->words * 8;
  geometry->thresholds_bytes = ThresholdsBytes(sizes);
  return true;
}

void StoreCompactSizes(const CompactSizes& sizes, unsigned char* to) {
  unsigned last = 0;  // 0 for none, else 1 + the logarithm
  while (last < 15 && sizes.blocks[2] >> last != 0) ++last;
  StoreFixed32(to, static_cast<uint32_t>(sizes.blocks[0]));
  StoreFixed32(to + 4,
               static_cast<uint32_t>(sizes.blocks[1] | uint64_t{last} << 24 |
                                     uint64_t{sizes.seed} << 28));
}

CompactSizes LoadCompactSizes(const unsigned char* from) {
  const uint32_t rest = LoadFixed32(from + 4);
  const unsigned last = rest >> 24 & 15;
  CompactSizes sizes;
  sizes.blocks[0] = LoadFixed32(from);
  sizes.blocks[1] = rest & kMaxSecondBlocks;
  sizes.blocks[2] = last == 0 ? 0 : uint64_t{1} << (last - 1);
  sizes.seed = rest >> 28;
  return sizes;
}

}  // namespace deltabloom::internal
