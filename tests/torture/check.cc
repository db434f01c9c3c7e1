// The process that opens a database after its end and judges it; and opens it
// again, with damage in the filters and indexes of its tables.
#include <rocksdb/version.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sst/sst.h"
#include "tests/torture/torture.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;

using internal::BlockHandle;

// RocksDB refuses the database for its own order: it cannot be judged.
struct Abandoned {};

class Check {
 public:
  Check(const Plan& plan, Journal* journal)
      : journal_(journal),
        before_(State::Load(plan.state)),
        ending_(plan.power_loss ? Ending::kPowerLost : Ending::kKilled),
        numbers_(plan.SeedFor(Plan::kCheck)),
        database_(plan.disk.database, plan.transactional, numbers_.Next(),
                  plan.sabotage, nullptr, &journal->totals) {}

  // Throws Abandoned, or std::runtime_error, which says what is wrong.
  State Run() {
    journal_->SetStep("opening the database");
    Verify(database_.Open(), "opening it");
    journal_->SetStep("ending prepared transactions");
    if (database_.transactions != nullptr) ResolveTransactions();
    State state;
    // The model is made only now, when the journal knows what became of
    // transactions.
    const Model model(&before_, journal_, ending_);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      journal_->SetStep("reading slot " + std::to_string(slot));
      state.slots[slot] = database_.Judge(model, slot);
    }
    journal_->SetStep("lookups before the flush");
    LookUpAll(state);
    Settle();
    journal_->SetStep("lookups after the flush");
    LookUpAll(state);
    database_.CountFilters();
    journal_->totals.lookups += database_.lookups;
    journal_->SetStep("closing the database");
    Verify(database_.Close(), "closing it");
    return state;
  }

 private:
  void Verify(const rocksdb::Status& status, const char* what) {
    if (status.ok()) return;
    if (IsMisorder(status.ToString())) throw Abandoned();
    throw std::runtime_error(std::string("after the end of the process, ") +
                             what + " fails: " + status.ToString());
  }

  void ResolveTransactions() {
    const Model model(&before_, journal_, ending_);
    std::vector<rocksdb::Transaction*> prepared;
    database_.transactions->GetAllPreparedTransactions(&prepared);
    for (rocksdb::Transaction* const pointer : prepared) {
      const std::unique_ptr<rocksdb::Transaction> transaction(pointer);
      ++journal_->totals.transactions_recovered;
      const auto number =
          static_cast<uint32_t>(std::stoul(transaction->GetName().substr(1)));
      if (model.MustBeCommitted(number)) {
        throw std::runtime_error("transaction " + std::to_string(number) +
                                 " was committed, and is only prepared");
      }
      const bool commit = numbers_.Below(2) == 0;
      Verify(commit ? transaction->Commit() : transaction->Rollback(),
             "ending a prepared transaction");
      for (uint32_t i = 0; i < journal_->size(); ++i) {
        Record& record = journal_->at(i);
        if (record.begin == 0 || record.transaction != number) continue;
        record.stays = true;
        journal_->End(&record, commit ? Outcome::kDone : Outcome::kUndone);
      }
    }
  }

  void LookUpAll(const State& state) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const Values& values = state.slots[slot];
      std::vector<uint32_t> keys(kKeys);
      for (uint32_t i = 0; i < kKeys; ++i) {
        keys[i] = i;
        std::swap(keys[i], keys[numbers_.Below(i + 1)]);
      }
      database_.LookUp(slot, keys, values);
      for (uint32_t i = 0; i < kKeys; i += kKeysPerGroup) {
        database_.Iterate(slot, keys[i], values);
      }
    }
  }

  // Puts all keys into tables, as a filter knows no others; and makes every log
  // obsolete, as the next process may have no transactions. A flush of nothing
  // would keep the logs, hence the deletions.
  void Settle() {
    rocksdb::DB* const db = database_.db.get();
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      Verify(
          db->Delete(rocksdb::WriteOptions(), database_.families[slot].handle,
                     AbsentKeyText(slot, 0)),
          "a write");
    }
    for (const Family& family : database_.families) {
      journal_->SetStep("flush and compaction of " + family.handle->GetName());
      Verify(db->Flush(rocksdb::FlushOptions(), family.handle), "a flush");
      if (numbers_.Below(6) != 0) continue;
      Verify(db->CompactRange(rocksdb::CompactRangeOptions(), family.handle,
                              nullptr, nullptr),
             "a compaction");
    }
  }

  Journal* const journal_;
  const State before_;
  const Ending ending_;
  bench::MixedNumbers numbers_;
  Database database_;
};

// Before 8.7 iterators silently pass over tables that cannot be opened,
// where there are range deletions (RocksDB's HISTORY.md).
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 807
constexpr bool kIteratorsReport = true;
#else
constexpr bool kIteratorsReport = false;
#endif

// Damage in a block of a filter or of the index of a table in the folder; none
// if no table has such blocks.
Fault DrawFault(const std::string& folder, bench::MixedNumbers* numbers) {
  std::vector<std::string> tables;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  }
  if (tables.empty()) return {};
  std::sort(tables.begin(), tables.end());
  const std::string& table = tables[numbers->Below(tables.size())];
  std::string error;
  const auto source = internal::OpenSstFile(table, &error);
  internal::SstFile file;
  if (source == nullptr || !WalkSst(*source, &file).empty()) return {};
  std::vector<std::pair<const char*, BlockHandle>> blocks = {
      {"the index", file.index}};
  for (const internal::SstFilter& filter : file.filters) {
    if (filter.scope != internal::FilterScope::kPartitioned) {
      blocks.emplace_back("the filter", filter.handle);
      continue;
    }
    blocks.emplace_back("the index of filters", filter.handle);
    const auto add = [&](std::string_view, const BlockHandle& partition) {
      blocks.emplace_back("a partition of the filter", partition);
      return std::string();
    };
    static_cast<void>(ForEachPartition(*source, file, filter, add));
  }
  const auto& [what, handle] = blocks[numbers->Below(blocks.size())];
  const uint64_t size = handle.size + internal::kBlockTrailerSize;
  Fault fault{fs::path(table).filename(), what, handle.offset, size};
  if (numbers->Below(3) != 0) {
    fault.offset += numbers->Below(size);
    fault.size = 1;
    fault.bit = static_cast<int>(numbers->Below(8));
  }
  return fault;
}

// Opens a closed database some times with damage and looks its keys up: each
// must be found, or an error reported.
void CheckDamaged(const Plan& plan, const State& state, Journal* journal) {
  bench::MixedNumbers numbers(plan.SeedFor(Plan::kDamage));
  Totals* const totals = &journal->totals;
  for (int i = 0; i < 6; ++i) {
    DiskPlan disk;
    disk.fault = DrawFault(plan.disk.database, &numbers);
    const Fault& fault = disk.fault;
    if (fault.file.empty()) continue;
    ++(fault.bit < 0 ? totals->read_errors : totals->bit_flips);
    const std::unique_ptr<rocksdb::Env> env = NewDisk(disk, journal);
    Database database(plan.disk.database, false, numbers.Next(), plan.sabotage,
                      env.get(), totals,
                      /*errors_allowed=*/true);
    journal->SetStep("reading with " + fault.Describe());
    const bool opened = database.Open(/*read_only=*/true).ok();
    try {
      for (uint32_t slot = 0; opened && slot < kSlots; ++slot) {
        const Values& values = state.slots[slot];
        std::vector<uint32_t> keys(300);
        for (uint32_t& key : keys) {
          key = static_cast<uint32_t>(numbers.Below(kKeys));
        }
        database.LookUp(slot, keys, values);
        for (size_t k = 0; k < 10 && kIteratorsReport; ++k) {
          database.Iterate(slot, keys[k], values);
        }
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("with " + fault.Describe() + ": " +
                               error.what() + "\nopened for reading with\n" +
                               database.description);
    }
    totals->lookups_under_damage += database.lookups;
    totals->errors_under_damage += database.errors;
    if (opened) database.CountFilters();
    if (fault.bit >= 0 && (!opened || database.errors > 0)) {
      ++totals->bit_flips_reported;
    }
  }
}

}  // namespace

void RunCheck(const Plan& plan, Journal* journal) {
  try {
    const State state = Check(plan, journal).Run();
    CheckDamaged(plan, state, journal);
    state.Save(plan.state);
  } catch (const Abandoned&) {
    ++journal->totals.abandoned;
    journal->abandoned = true;
  }
}

}  // namespace deltabloom::torture
