// One of the threads that write: it owns some keys, knows what they must have,
// and looks them up between its writes.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_WRITER_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/torture/database.h"
#include "db_bench_ext/torture/journal.h"
#include "db_bench_ext/torture/model.h"
#include "db_bench_ext/torture/plan.h"

namespace deltabloom::torture {

// What the threads of the working process share.
struct Workplace {
  const Plan* plan;
  const Folders* folders;
  const Sabotage* sabotage;
  Database* database;
  Journal* journal;
  const State* before;
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> transactions{0};  // numbers given

  // Reports a failure, unless a file operation failed on purpose before or
  // RocksDB refuses to write for a defect of its own; the thread must not go on
  // in any case.
  void Fail(const std::string& what);
};

class Writer {
 public:
  Writer(Workplace* work, uint32_t number);

  // Until work->stop, or something went wrong.
  void Run();

 private:
  struct Change {
    Record* record;
    uint32_t slot;
  };

  bool Step();
  bool WriteOne(uint32_t slot);
  bool WriteBatch(uint32_t slot);
  bool DeleteRange(uint32_t slot);
  bool Transact(uint32_t slot);
  bool Prepare(rocksdb::Transaction* transaction,
               const std::vector<Change>& changes, bool* committed);
  bool Ingest(uint32_t slot);
  bool LookUp(uint32_t slot);

  uint32_t OwnKey();
  std::string Text(uint32_t slot, uint32_t key);
  // What the key has now.
  Value& Current(uint32_t slot, uint32_t key);
  // Forgets the keys of a family that was dropped.
  void Adopt(uint32_t slot);
  Change NewChange(uint32_t slot, Kind kind, uint32_t key, bool synced);
  Kind DrawKind(uint32_t slot, uint32_t key);
  void Begin(const std::vector<Change>& changes);
  // Takes the changes over; false if the write failed.
  bool End(const std::vector<Change>& changes, const rocksdb::Status& status,
           const char* what);
  // They have not been done after all.
  void TakeBack(const std::vector<Change>& changes);
  rocksdb::WriteOptions Options(uint32_t slot, bool synced) const;

  Workplace* const work_;
  const uint32_t number_;
  bench::MixedNumbers numbers_;
  SlotState current_[kSlots];
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_WRITER_H_
