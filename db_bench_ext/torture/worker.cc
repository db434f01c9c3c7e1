#include "db_bench_ext/torture/worker.h"

#include <rocksdb/env.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "db_bench_ext/torture/admin.h"
#include "db_bench_ext/torture/database.h"
#include "db_bench_ext/torture/writer.h"

namespace deltabloom::torture {

namespace {

[[noreturn]] void WaitForDeath() {
  while (true) pause();
}

bool Enough(const Plan& plan, const Journal& journal) {
  return plan.max_writes != 0 && journal.acknowledged >= plan.max_writes;
}

}  // namespace

void RunWork(const Plan& plan, const Folders& folders, const Sabotage& sabotage,
             Journal* journal) {
  const State before = State::Load(folders.state);
  const auto disk = std::make_shared<Disk>(plan.disk, journal);
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
  Database database(
      folders.database, plan.engine,
      DrawConfiguration(SeedFor(plan, Purpose::kOpen), sabotage.policy),
      env.get());
  Workplace work;
  work.plan = &plan;
  work.folders = &folders;
  work.sabotage = &sabotage;
  work.database = &database;
  work.journal = journal;
  work.before = &before;
  const rocksdb::Status opened = database.Open(Database::Mode::kReadWrite);
  if (!opened.ok()) {
    work.Fail("the database cannot be opened: " + opened.ToString());
    journal->wants_to_die = true;
    WaitForDeath();
  }
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([&work, i] { Writer(&work, i).Run(); });
  }
  threads.emplace_back([&work] { Admin(&work).Run(); });
  const auto ended = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(plan.max_millis);
  while (!work.stop && !journal->failed() && !Enough(plan, *journal) &&
         std::chrono::steady_clock::now() < ended) {
    database.CountFilters(&journal->totals);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  database.CountFilters(&journal->totals);
  // Killed where it is: its threads go on until then.
  if (!plan.closes) {
    journal->wants_to_die = true;
    WaitForDeath();
  }
  work.stop = true;
  for (std::thread& thread : threads) thread.join();
  Record* const record = journal->New();
  if (record != nullptr) {
    record->kind = Kind::kClose;
    journal->Begin(record);
  }
  const rocksdb::Status closed = database.Close();
  if (!closed.ok())
    work.Fail("the database cannot be closed: " + closed.ToString());
  if (record != nullptr) journal->End(record, Outcome::kDone);
}

}  // namespace deltabloom::torture
