#include "db_bench_ext/demo/interrupt.h"

#include <signal.h>

#include <atomic>
#include <initializer_list>

namespace deltabloom::demo {

namespace {

std::atomic<int> pending{0};
static_assert(std::atomic<int>::is_always_lock_free);

void Note(int signal_number) { pending = signal_number; }

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = Note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal_number, nullptr, &before);
    // nohup asks to outlive the terminal.
    if (signal_number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaction(signal_number, &action, nullptr);
  }
  // A reader that goes away is a failed write, after which all is cleaned up.
  signal(SIGPIPE, SIG_IGN);
}

int PendingInterrupt() { return pending; }

void ThrowIfInterrupted() {
  if (pending != 0) throw Interrupted();
}

}  // namespace deltabloom::demo
