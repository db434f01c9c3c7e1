#include "tests/torture/run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "db_bench_ext/common/files.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kCyclesPerDatabase = 20;

// How long the thread of the process that waited longest was ready and had no
// processor. 0 if it has ended or the kernel does not count.
std::chrono::nanoseconds WaitedForProcessor(pid_t process) {
  int64_t longest = 0;
  std::error_code ended;
  const fs::path threads = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator at(threads, ended), end; !ended && at != end;
       at.increment(ended)) {
    // Nanoseconds on a processor, then those of waiting for one.
    int64_t ran = 0;
    int64_t waited = 0;
    std::ifstream file(at->path() / "schedstat");
    if (file >> ran >> waited) longest = std::max(longest, waited);
  }
  return std::chrono::nanoseconds(longest);
}

// A child process. Forked, not executed: it shares the journal.
class Process {
 public:
  // Its standard error goes to the file `said`.
  Process(Journal* journal, std::string said, const std::function<void()>& body)
      : said_(std::move(said)) {
    pid_ = fork();
    if (pid_ < 0) {
      throw std::runtime_error(std::string("no process: ") +
                               std::strerror(errno));
    }
    if (pid_ == 0) {
      bench::ForgetInterrupts();
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (std::freopen(said_.c_str(), "w", stderr) == nullptr) _exit(1);
      try {
        body();
      } catch (const std::exception& error) {
        journal->Fail(error.what());
      }
      // Leaves what belongs to the parent alone.
      _exit(0);
    }
    bench::SetChild(pid_);
  }
  ~Process() {
    if (!ended_) Kill();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Whether it has had this much time.
  bool HasHad(std::chrono::seconds limit) {
    const auto now = Clock::now();
    if (now < look_again_) return false;
    const auto had = now - start_ - WaitedForProcessor(pid_);
    look_again_ = now + (limit - had);
    return had > limit;
  }
  bool HasEnded() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) Forget();
    return ended_;
  }
  void Kill() {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    Forget();
  }
  bool Aborted() const {
    return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGABRT;
  }
  // Empty if it ended by itself or by Kill().
  std::string Problem(bool killed) const {
    if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return "";
    std::string problem =
        "ended with exit code " + std::to_string(WEXITSTATUS(status_));
    if (WIFSIGNALED(status_)) {
      const int signal = WTERMSIG(status_);
      if (killed && signal == SIGKILL) return "";
      problem = "ended by signal " + std::to_string(signal) + " (" +
                strsignal(signal) + ")";
    }
    std::stringstream said;
    said << std::ifstream(said_).rdbuf();
    return problem + "\n" + said.str();
  }

 private:
  void Forget() {
    ended_ = true;
    bench::SetChild(0);
  }

  const std::string said_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point look_again_ = start_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

// One cycle. Functions return what is wrong, if anything.
class Cycle {
 public:
  Cycle(const RunOptions& options, const Folders& folders, const Plan& plan,
        Journal* journal)
      : options_(options), folders_(folders), plan_(plan), journal_(journal) {}

  std::string Run() {
    journal_->Clear();
    for (const std::string& folder : {folders_.notes, folders_.copies}) {
      fs::remove_all(folder);
      fs::create_directories(folder);
    }
    std::string problem = Work();
    if (!problem.empty()) return problem;
    for (uint32_t i = 0; i < journal_->size(); ++i) {
      const Record& record = journal_->at(i);
      if (record.begin != 0 && record.end == 0 &&
          record.kind <= Kind::kDeleteRange) {
        ++journal_->totals.writes_in_flight;
      }
    }
    Ending ending = Ending::kKilled;
    if (plan_.power_loss) {
      ending = Ending::kPowerLost;
      ++journal_->totals.power_losses;
      PowerLoss loss = plan_.loss;
      loss.forget_syncs = options_.sabotage.forget_syncs;
      journal_->totals.files_cut += LosePower(plan_.disk, loss);
    }
    problem = Judge(ending);
    if (problem.empty()) ++journal_->totals.cycles;
    return problem;
  }

 private:
  std::string Work() {
    Process process(journal_, folders_.notes + "/stderr", [&] {
      RunWork(plan_, folders_, options_.sabotage, journal_);
    });
    // It may still be opening the database, or be in an operation that never
    // ends.
    const auto kill =
        Clock::now() + std::chrono::milliseconds(plan_.max_millis);
    bool killed = false;
    while (!process.HasEnded()) {
      const auto now = Clock::now();
      if (journal_->failed() || journal_->wants_to_die ||
          (!plan_.closes && now > kill)) {
        killed = true;
        process.Kill();
      } else if (process.HasHad(Limit())) {
        return "the working process has not ended after " +
               std::to_string(options_.timeout_seconds) + " s";
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    }
    if (journal_->failed()) return journal_->failure();
    // RocksDB asserts that a file is not written to after an error.
    if (journal_->write_failed && process.Aborted()) {
      ++journal_->totals.aborts;
      return "";
    }
    const std::string problem = process.Problem(killed);
    if (!problem.empty()) return "the working process " + problem;
    if (killed) {
      ++journal_->totals.kills;
      if (plan_.disk.stop_at != 0 && journal_->wants_to_die) {
        ++journal_->totals.kills_in_file_system;
      }
    } else {
      ++journal_->totals.closes;
    }
    return "";
  }

  std::string Judge(Ending ending) {
    Process process(journal_, folders_.notes + "/stderr", [&] {
      RunCheck(plan_, ending, folders_, options_.sabotage, journal_);
    });
    while (!process.HasEnded()) {
      if (process.HasHad(Limit())) {
        // What it has found may be why it does not end.
        if (journal_->failed()) return journal_->failure();
        return "the check has not ended after " +
               std::to_string(options_.timeout_seconds) +
               " s; it was at: " + journal_->step();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (journal_->failed()) return journal_->failure();
    const std::string problem = process.Problem(false);
    return problem.empty() ? "" : "the checking process " + problem;
  }

  std::chrono::seconds Limit() const {
    return std::chrono::seconds(options_.timeout_seconds);
  }

  const RunOptions& options_;
  const Folders& folders_;
  const Plan& plan_;
  Journal* const journal_;
};

}  // namespace

uint64_t FirstOfDatabase(uint64_t cycle) {
  return cycle - cycle % kCyclesPerDatabase;
}

Failure Run(const RunOptions& options, Journal* journal) {
  const Folders folders(options.folder);
  bool begins = true;
  for (uint64_t i = 0; i < options.cycles; ++i) {
    const uint64_t cycle = options.first + i;
    if (begins || cycle == FirstOfDatabase(cycle)) {
      fs::remove_all(folders.database);
      State state;
      state.slots[0].exists = true;
      state.Save(folders.state);
    }
    const Plan plan = DrawPlan(options.seed, cycle, folders);
    if (options.before_cycle) options.before_cycle(plan.Describe());
    const std::string problem = Cycle(options, folders, plan, journal).Run();
    if (!problem.empty()) {
      ++journal->totals.failures;
      return {cycle, plan.Describe() + "\n" + problem};
    }
    begins = journal->abandoned;
    if (options.after_cycle) options.after_cycle();
  }
  return {};
}

}  // namespace deltabloom::torture
