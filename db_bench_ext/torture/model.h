// What a database must hold: the state at the beginning of a cycle, and what
// the journal says was done to it.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_MODEL_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db_bench_ext/torture/journal.h"
#include "db_bench_ext/torture/keys.h"

namespace deltabloom::torture {

using Value = std::optional<std::string>;

struct SlotState {
  bool exists = false;
  uint32_t generation = 0;
  std::vector<Value> values = std::vector<Value>(kKeys);
};

// What a database holds.
struct State {
  SlotState slots[kSlots];

  // Throw std::runtime_error.
  void Save(const std::string& path) const;
  static State Load(const std::string& path);
};

// What happened to the process, or to the copy, that is judged.
enum class Ending : uint8_t {
  kKilled,     // what was written to files is there
  kPowerLost,  // what was synced is there
};

class Model {
 public:
  // `from` and `until` are times of the journal, for a copy made between them:
  // what was done before the first is there, what was begun after the second
  // is not.
  Model(const State* before, const Journal* journal, Ending ending,
        uint64_t from = UINT64_MAX, uint64_t until = UINT64_MAX);

  // Empty if the slot may be as it is, else what is wrong.
  std::string JudgeSlot(uint32_t slot, bool exists, uint32_t generation) const;

  // Empty if the key of that generation may have that value; else what is
  // wrong: the values it may have, and the records that say so.
  std::string Judge(uint32_t slot, uint32_t generation, uint32_t key,
                    const Value& found) const;

  // Whether the prepared transaction must have been committed.
  bool MustBeCommitted(uint32_t transaction) const;

 private:
  struct Step {
    const Record* record;
    bool must;  // be there
  };

  bool MustBeThere(const Record& record) const;
  std::vector<Value> MayHave(uint32_t slot, uint32_t generation, uint32_t key,
                             std::vector<Step>* steps) const;

  const State* const before_;
  const Journal* const journal_;
  const Ending ending_;
  const uint64_t from_;
  const uint64_t until_;
  // By key: the records of writes to it.
  std::vector<std::vector<const Record*>> by_key_[kSlots];
  uint64_t last_sync_ = 0;  // begin of the last acknowledged
  uint64_t last_flush_[kSlots] = {};
  uint64_t last_close_ = 0;
};

// The value after a write of a key that had `before`.
Value After(const Value& before, const Record& record);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_MODEL_H_
