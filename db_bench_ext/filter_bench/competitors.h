// The filters that are compared, all called through RocksDB's own interface: a
// builder and a reader with virtual functions, so that all pay for the same
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::bench {

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBitsReader;
using rocksdb::Slice;

// A way to make filters with fixed bits per key. The functions are thread-safe.
struct Competitor {
  std::function<std::unique_ptr<FilterBitsBuilder>()> new_builder;

  // The bytes must outlive the reader.
  std::function<std::unique_ptr<FilterBitsReader>(const Slice& filter)>
      new_reader;

  // The false-positive rate of a filter of `keys` keys by its formula; nothing
  // if there is none.
  std::function<std::optional<double>(const Slice& filter, uint64_t keys)> rate;
};

struct CompetitorEntry {
  std::string name;
  // Throws std::runtime_error if it cannot run here.
  std::function<Competitor(double bits_per_key)> make;
  // Takes part only where its name is given.
  bool only_named = false;
};

// Returns all competitors in the order of tables.
const std::vector<CompetitorEntry>& AllCompetitors();

// RocksDB's Bloom filter compiled for this CPU; none without AVX2.
std::vector<CompetitorEntry> NativeRocksDBCompetitors();

}  // namespace deltabloom::bench
