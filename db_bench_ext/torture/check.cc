#include "db_bench_ext/torture/check.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "db_bench_ext/torture/reader.h"

namespace deltabloom::torture {

using rocksdb::Status;

namespace {

class Check {
 public:
  Check(const Plan& plan, Ending ending, const Folders& folders,
        const Sabotage& sabotage, Journal* journal)
      : plan_(plan),
        journal_(journal),
        before_(State::Load(folders.state)),
        ending_(ending),
        numbers_(SeedFor(plan, Purpose::kCheck)),
        database_(folders.database, plan.engine,
                  DrawConfiguration(numbers_.Next(), sabotage.policy), nullptr),
        reader_(&database_, &journal->totals, numbers_.Next()) {}

  // False after a failure.
  bool Run(State* state) {
    journal_->Begin("opening the database");
    if (!Ok(database_.Open(Database::Mode::kReadWrite), "opening it") ||
        !ResolveTransactions()) {
      return false;
    }
    // Only now, for the journal knows now of what became of transactions.
    const Model model(&before_, journal_, ending_);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (!JudgeSlot(model, slot, &state->slots[slot])) return false;
    }
    journal_->Begin("lookups before the flush");
    if (!LookUpAll(*state) || !Settle()) return false;
    journal_->Begin("lookups after the flush");
    if (!LookUpAll(*state)) return false;
    journal_->Begin("making column families");
    for (uint32_t slot = 1; slot < kSlots; ++slot) {
      if (!MakeIfMissing(slot, &state->slots[slot])) return false;
    }
    CountTables();
    database_.CountFilters(&journal_->totals);
    journal_->totals.lookups += reader_.lookups();
    journal_->Begin("closing the database");
    return Ok(database_.Close(), "closing it");
  }

 private:
  bool Fail(const std::string& problem) {
    if (!problem.empty()) journal_->Fail(problem);
    return problem.empty();
  }
  bool Ok(const Status& status, const char* what) {
    if (TellsOfMisorder(status.ToString())) {
      ++journal_->totals.abandoned;
      journal_->abandoned = true;
      return false;
    }
    return Fail(status.ok() ? ""
                            : std::string("after the end of the process, ") +
                                  what + " fails: " + status.ToString());
  }

  bool ResolveTransactions() {
    if (database_.transactions() == nullptr) return true;
    journal_->Begin("ending prepared transactions");
    const Model model(&before_, journal_, ending_);
    std::vector<rocksdb::Transaction*> prepared;
    database_.transactions()->GetAllPreparedTransactions(&prepared);
    for (rocksdb::Transaction* const pointer : prepared) {
      const std::unique_ptr<rocksdb::Transaction> transaction(pointer);
      ++journal_->totals.transactions_recovered;
      const auto number =
          static_cast<uint32_t>(std::stoul(transaction->GetName().substr(1)));
      if (model.MustBeCommitted(number)) {
        return Fail("transaction " + std::to_string(number) +
                    " was committed, and is only prepared");
      }
      const bool commit = numbers_.Below(2) == 0;
      const Status status =
          commit ? transaction->Commit() : transaction->Rollback();
      if (!Ok(status, "ending a prepared transaction")) return false;
      for (uint32_t i = 0; i < journal_->size(); ++i) {
        Record& record = journal_->at(i);
        if (record.begin == 0 || record.transaction != number) continue;
        record.stays = true;
        journal_->End(&record, commit ? Outcome::kDone : Outcome::kUndone);
      }
    }
    return true;
  }

  bool JudgeSlot(const Model& model, uint32_t slot, SlotState* state) {
    journal_->Begin("reading slot " + std::to_string(slot));
    const Family& family = database_.family(slot);
    state->exists = family.handle != nullptr;
    state->generation = family.generation;
    if (!Fail(model.JudgeSlot(slot, state->exists, state->generation))) {
      return false;
    }
    if (!state->exists) return true;
    if (!Fail(reader_.Scan(slot, &state->values))) return false;
    for (uint32_t key = 0; key < kKeys; ++key) {
      if (!Fail(
              model.Judge(slot, family.generation, key, state->values[key]))) {
        return false;
      }
    }
    journal_->totals.keys_checked += kKeys;
    return true;
  }

  bool LookUpAll(const State& state) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (database_.family(slot).handle == nullptr) continue;
      const std::vector<Value>& values = state.slots[slot].values;
      std::vector<uint32_t> keys(kKeys);
      for (uint32_t i = 0; i < kKeys; ++i) keys[i] = i;
      for (uint32_t i = kKeys - 1; i > 0; --i) {
        std::swap(keys[i], keys[numbers_.Below(i + 1)]);
      }
      if (!Fail(reader_.Get(slot, keys, values)) ||
          !Fail(reader_.MultiGet(slot, keys, values))) {
        return false;
      }
      for (uint32_t i = 0; i < kKeys; i += kKeysPerGroup) {
        if (!Fail(reader_.IterateGroup(slot, keys[i], values))) return false;
      }
    }
    return true;
  }

  // All into tables, for a filter knows of no other keys; and every log made
  // obsolete, for the next process may have another engine. A flush of nothing
  // would keep the logs, hence the deletions.
  bool Settle() {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      rocksdb::ColumnFamilyHandle* const family = database_.family(slot).handle;
      if (family == nullptr) continue;
      if (!Ok(database_.db()->Delete(rocksdb::WriteOptions(), family,
                                     AbsentKeyText(slot, 0)),
              "a write")) {
        return false;
      }
    }
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      rocksdb::ColumnFamilyHandle* const family = database_.family(slot).handle;
      if (family == nullptr) continue;
      journal_->Begin("a flush of slot " + std::to_string(slot));
      if (!Ok(database_.db()->Flush(rocksdb::FlushOptions(), family),
              "a flush")) {
        return false;
      }
      if (numbers_.Below(6) != 0) continue;
      journal_->Begin("a compaction of slot " + std::to_string(slot));
      if (!Ok(database_.db()->CompactRange(rocksdb::CompactRangeOptions(),
                                           family, nullptr, nullptr),
              "a compaction")) {
        return false;
      }
    }
    return true;
  }

  bool MakeIfMissing(uint32_t slot, SlotState* state) {
    if (state->exists) return true;
    state->exists = true;
    state->generation = static_cast<uint32_t>(plan_.cycle) * 1000 + 1000;
    return Ok(database_.CreateFamily(slot, state->generation),
              "making a column family");
  }

  void CountTables() {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      rocksdb::TablePropertiesCollection tables;
      rocksdb::ColumnFamilyHandle* const family = database_.family(slot).handle;
      if (!database_.db()->GetPropertiesOfAllTables(family, &tables).ok()) {
        continue;
      }
      for (const auto& [unused, properties] : tables) {
        if (properties->filter_size == 0) continue;
        const bool ours = properties->filter_policy_name.find("deltabloom") !=
                          std::string::npos;
        ++(ours ? journal_->totals.filters_of_deltabloom
                : journal_->totals.filters_of_rocksdb);
      }
    }
  }

  const Plan& plan_;
  Journal* const journal_;
  const State before_;
  const Ending ending_;
  bench::MixedNumbers numbers_;
  Database database_;
  Reader reader_;
};

}  // namespace

void RunCheck(const Plan& plan, Ending ending, const Folders& folders,
              const Sabotage& sabotage, Journal* journal) {
  State state;
  {
    Check check(plan, ending, folders, sabotage, journal);
    if (!check.Run(&state)) return;
  }
  CheckDamaged(plan, folders, sabotage, state, journal);
  if (!journal->failed()) state.Save(folders.state);
}

}  // namespace deltabloom::torture
