// The process that works on a database until it is killed, or closes it.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_WORKER_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_WORKER_H_

#include "db_bench_ext/torture/journal.h"
#include "db_bench_ext/torture/plan.h"

namespace deltabloom::torture {

// Returns when the database is closed, or waits to be killed. Failures are in
// the journal.
void RunWork(const Plan& plan, const Folders& folders, const Sabotage& sabotage,
             Journal* journal);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_WORKER_H_
