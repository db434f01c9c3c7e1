// The process that opens a database after its end and judges it.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_CHECK_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_CHECK_H_

#include "db_bench_ext/torture/journal.h"
#include "db_bench_ext/torture/model.h"
#include "db_bench_ext/torture/plan.h"

namespace deltabloom::torture {

// Leaves the database closed, everything in its tables, and the new state in
// its file, unless it had to be abandoned. Failures are in the journal.
void RunCheck(const Plan& plan, Ending ending, const Folders& folders,
              const Sabotage& sabotage, Journal* journal);

// Opens a closed database some times with damage in the filters and indexes of
// its tables, and looks its keys up: each must be found, or an error reported.
void CheckDamaged(const Plan& plan, const Folders& folders,
                  const Sabotage& sabotage, const State& state,
                  Journal* journal);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_CHECK_H_
