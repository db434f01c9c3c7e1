#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/mixing.h"
#include "tests/torture/torture.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kCyclesPerDatabase = 20;

// The end of a child process.
struct End {
  bool killed = false;  // because `kill` said so
  int status = 0;       // of waitpid
  // Empty if it ended by itself or was killed as it should be.
  std::string problem;
};

// Runs `body` in a child process, forked, not executed: it shares the journal.
// Kills it as soon as `kill_now` returns true.
template <typename Body, typename KillNow>
End RunProcess(const char* what, const std::string& notes,
               uint64_t timeout_seconds, Journal* journal, const Body& body,
               const KillNow& kill_now) {
  const std::string said = notes + "/stderr";
  const auto limit = Clock::now() + std::chrono::seconds(timeout_seconds);
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("no process can be made");
  if (process == 0) {
    bench::ForgetInterrupts();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::freopen(said.c_str(), "w", stderr) == nullptr) _exit(1);
    try {
      body();
    } catch (const std::exception& error) {
      journal->Fail(error.what());
    }
    // Leaves what belongs to the parent alone.
    _exit(0);
  }
  bench::SetChild(process);
  End end;
  bool late = false;
  while (waitpid(process, &end.status, WNOHANG) == 0) {
    end.killed = kill_now();
    late = Clock::now() > limit;
    if (end.killed || late) {
      kill(process, SIGKILL);
      waitpid(process, &end.status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  bench::SetChild(0);
  if (journal->failed()) {
    end.problem = journal->failure();
  } else if (late && !end.killed) {
    end.problem = std::string(what) + " has not ended after " +
                  std::to_string(timeout_seconds) +
                  " s; it was at: " + journal->step();
  } else if (end.status != 0 && !end.killed) {
    std::stringstream text;
    text << what << " ended with status " << end.status << " of waitpid ("
         << (WIFSIGNALED(end.status) ? strsignal(WTERMSIG(end.status))
                                     : "it exited")
         << ")\n"
         << std::ifstream(said).rdbuf();
    end.problem = text.str();
  }
  return end;
}

// Returns what is wrong, if anything.
std::string RunCycle(const Plan& plan, uint64_t timeout_seconds,
                     Journal* journal) {
  Totals* const totals = &journal->totals;
  journal->Clear();
  for (const std::string& folder : {plan.disk.notes, plan.copies}) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  // It may still be opening the database, or be in an operation that never
  // ends.
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(plan.max_millis);
  End end = RunProcess(
      "the working process", plan.disk.notes, timeout_seconds, journal,
      [&] { RunWork(plan, journal); },
      [&] {
        return journal->failed() || journal->wants_to_die ||
               (!plan.closes && Clock::now() > deadline);
      });
  // RocksDB asserts that a file is not written to after an error.
  const bool aborted = journal->write_failed && WIFSIGNALED(end.status) &&
                       WTERMSIG(end.status) == SIGABRT;
  if (!end.problem.empty() && (journal->failed() || !aborted)) {
    return end.problem;
  }
  totals->kills += end.killed;
  for (uint32_t i = 0; i < journal->size(); ++i) {
    const Record& record = journal->at(i);
    if (record.begin != 0 && record.end == 0 &&
        record.kind <= Kind::kDeleteRange) {
      ++totals->writes_in_flight;
    }
  }
  if (plan.power_loss) {
    ++totals->power_losses;
    LosePower(plan.disk);
  }
  end = RunProcess(
      "the check", plan.disk.notes, timeout_seconds, journal,
      [&] { RunCheck(plan, journal); }, [] { return false; });
  if (end.problem.empty()) ++totals->cycles;
  return end.problem;
}

}  // namespace

Plan DrawPlan(const RunOptions& options, uint64_t cycle) {
  Plan plan;
  plan.seed = bench::Mix(options.seed + bench::Mix(cycle));
  plan.cycle = cycle;
  plan.state = options.folder + "/state";
  plan.copies = options.folder + "/copies";
  plan.disk.database = options.folder + "/database";
  plan.disk.notes = options.folder + "/notes";
  plan.sabotage = options.sabotage;
  plan.disk.forget_syncs = options.sabotage.forget_syncs;
  bench::MixedNumbers numbers(plan.seed);
  plan.transactional = numbers.Below(2) == 0;
  plan.power_loss = numbers.Below(3) == 0;
  // Prepared transactions need the log.
  if (!plan.transactional && numbers.Below(3) == 0) {
    for (bool& no_log : plan.no_log) no_log = numbers.Below(2) == 0;
  }
  plan.max_millis = 150 + numbers.Below(1000);
  const uint64_t end = numbers.Below(8);
  if (end == 0) {
    plan.closes = true;
    plan.max_writes = 200 + numbers.Below(4000);
    plan.max_millis = 60'000;
  } else if (end < 4) {
    plan.disk.stop_at = 1 + numbers.Below(3000);
  } else if (end == 4) {
    plan.disk.fail_at = 1 + numbers.Below(1500);
    plan.disk.failures = 1 + numbers.Below(3);
  } else if (end == 5) {
    plan.max_writes = 1 + numbers.Below(5000);
  }
  return plan;
}

std::string Plan::Describe() const {
  std::ostringstream text;
  text << (transactional ? "transactions" : "no transactions");
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (no_log[slot]) text << ", no log of slot " << slot;
  }
  if (closes) {
    text << ", closed after " << max_writes << " writes";
  } else {
    text << ", killed after " << max_millis << " ms";
    if (max_writes != 0) text << " or " << max_writes << " writes";
    if (disk.stop_at != 0) text << " or in file operation " << disk.stop_at;
  }
  if (disk.fail_at != 0)
    text << ", file operation " << disk.fail_at << " fails";
  if (power_loss) text << ", then power is lost";
  return text.str();
}

uint64_t FirstOfDatabase(uint64_t cycle) {
  return cycle - cycle % kCyclesPerDatabase;
}

Failure Run(const RunOptions& options, Journal* journal) {
  bool begins = true;
  for (uint64_t i = 0; i < options.cycles; ++i) {
    const uint64_t cycle = options.first + i;
    const Plan plan = DrawPlan(options, cycle);
    if (begins || cycle == FirstOfDatabase(cycle)) {
      fs::remove_all(plan.disk.database);
      State().Save(plan.state);
    }
    if (options.before_cycle) options.before_cycle(cycle, plan.Describe());
    const std::string problem =
        RunCycle(plan, options.timeout_seconds, journal);
    if (!problem.empty()) {
      ++journal->totals.failures;
      return {cycle, plan.Describe() + "\n" + problem};
    }
    begins = journal->abandoned;
  }
  return {};
}

}  // namespace deltabloom::torture
