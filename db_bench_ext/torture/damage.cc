#include <rocksdb/env.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "db_bench_ext/torture/check.h"
#include "db_bench_ext/torture/faults.h"
#include "db_bench_ext/torture/reader.h"
#include "table/sst/read_block.h"
#include "table/sst/sst.h"

namespace deltabloom::torture {

using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;

namespace {

// Before 8.7 iterators pass over tables that cannot be opened, in silence,
// where there are range deletions (RocksDB's HISTORY.md).
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 807
constexpr bool kIteratorsReport = true;
#else
constexpr bool kIteratorsReport = false;
#endif

constexpr int kFaults = 6;
constexpr size_t kLookups = 400;

struct Block {
  const char* what;
  BlockHandle handle;
};

// The blocks of filters and of the index of a table; none if it cannot be read.
std::vector<Block> FilterAndIndexBlocks(const std::string& path) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  SstFile file;
  std::vector<Block> blocks;
  if (source == nullptr || !WalkSst(*source, &file).empty()) return blocks;
  for (const SstFilter& filter : file.filters) {
    if (filter.scope != FilterScope::kPartitioned) {
      blocks.push_back({"the filter", filter.handle});
      continue;
    }
    blocks.push_back({"the index of filters", filter.handle});
    const auto add = [&](std::string_view, const BlockHandle& partition) {
      blocks.push_back({"a partition of the filter", partition});
      return std::string();
    };
    static_cast<void>(ForEachPartition(*source, file, filter, add));
  }
  blocks.push_back({"the index", file.index});
  return blocks;
}

// A table with its blocks, or none.
bool DrawFault(const std::string& folder, bench::MixedNumbers* numbers,
               Fault* fault) {
  std::vector<std::string> tables;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  }
  if (tables.empty()) return false;
  std::sort(tables.begin(), tables.end());
  const std::string& table = tables[numbers->Below(tables.size())];
  const std::vector<Block> blocks = FilterAndIndexBlocks(table);
  if (blocks.empty()) return false;
  const Block& block = blocks[numbers->Below(blocks.size())];
  const uint64_t size = block.handle.size + internal::kBlockTrailerSize;
  fault->file = std::filesystem::path(table).filename();
  fault->kind =
      numbers->Below(3) == 0 ? Fault::Kind::kReadError : Fault::Kind::kBitFlip;
  fault->block = block.what;
  fault->offset = block.handle.offset;
  fault->size = size;
  if (fault->kind == Fault::Kind::kBitFlip) {
    fault->offset += numbers->Below(size);
    fault->size = 1;
    fault->bit = static_cast<int>(numbers->Below(8));
  }
  return true;
}

// Keys of a slot in the range of the table; from anywhere, if it is none of the
// slot's.
std::vector<uint32_t> DrawKeys(Database* database, const std::string& table,
                               uint32_t slot, bench::MixedNumbers* numbers) {
  std::vector<rocksdb::LiveFileMetaData> files;
  database->db()->GetLiveFilesMetaData(&files);
  uint32_t first = 0;
  uint32_t last = kKeys - 1;
  size_t n = kLookups / 10;
  for (const rocksdb::LiveFileMetaData& file : files) {
    uint32_t its_slot = 0;
    uint32_t generation = 0;
    if (std::filesystem::path(file.name).filename() == table &&
        ParseFamilyName(file.column_family_name, &its_slot, &generation) &&
        its_slot == slot && ParseKey(slot, file.smallestkey, &first) &&
        ParseKey(slot, file.largestkey, &last)) {
      n = kLookups;
    }
  }
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < n; ++i) {
    keys.push_back(first + static_cast<uint32_t>(
                               numbers->Below(uint64_t{last} - first + 1)));
  }
  return keys;
}

// What is wrong, if anything.
std::string LookUp(Database* database, const State& state,
                   const std::string& table, Totals* totals, uint64_t seed,
                   uint64_t* errors) {
  Reader reader(database, totals, seed, true);
  bench::MixedNumbers numbers(seed);
  std::string problem;
  for (uint32_t slot = 0; slot < kSlots && problem.empty(); ++slot) {
    if (database->family(slot).handle == nullptr) continue;
    const std::vector<Value>& values = state.slots[slot].values;
    const std::vector<uint32_t> keys =
        DrawKeys(database, table, slot, &numbers);
    problem = reader.Get(slot, keys, values);
    if (problem.empty()) problem = reader.MultiGet(slot, keys, values);
    for (size_t i = 0; i < 10 && kIteratorsReport && problem.empty(); ++i) {
      problem = reader.IterateGroup(slot, keys[i], values);
    }
  }
  *errors = reader.errors();
  totals->lookups_under_damage += reader.lookups();
  totals->errors_under_damage += reader.errors();
  return problem;
}

}  // namespace

void CheckDamaged(const Plan& plan, const Folders& folders,
                  const Sabotage& sabotage, const State& state,
                  Journal* journal) {
  bench::MixedNumbers numbers(SeedFor(plan, Purpose::kDamage));
  Totals* const totals = &journal->totals;
  for (int i = 0; i < kFaults && !journal->failed(); ++i) {
    Fault fault;
    if (!DrawFault(folders.database, &numbers, &fault)) continue;
    const std::unique_ptr<rocksdb::Env> env =
        rocksdb::NewCompositeEnv(NewFaultyFileSystem(fault));
    Database database(folders.database, Engine::kPlain,
                      DrawConfiguration(numbers.Next(), sabotage.policy),
                      env.get());
    const bool flip = fault.kind == Fault::Kind::kBitFlip;
    ++(flip ? totals->bit_flips : totals->read_errors);
    uint64_t errors = 0;
    journal->Begin("reading with " + fault.Describe());
    const rocksdb::Status opened = database.Open(Database::Mode::kReadOnly);
    if (opened.ok()) {
      const std::string problem =
          LookUp(&database, state, fault.file, totals, numbers.Next(), &errors);
      if (!problem.empty()) {
        journal->Fail("with " + fault.Describe() + ": " + problem +
                      "\nopened for reading with\n" +
                      database.configuration().Describe());
      }
      database.CountFilters(totals);
    }
    if (flip && (!opened.ok() || errors > 0)) ++totals->bit_flips_reported;
  }
}

}  // namespace deltabloom::torture
