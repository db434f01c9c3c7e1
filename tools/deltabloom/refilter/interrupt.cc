#include "tools/deltabloom/refilter/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace deltabloom::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;
std::atomic<bool>* stop_at_interrupt = nullptr;

// Only calls what a signal handler may call.
void Interrupt(int signal) {
  constexpr char kLine[] =
      "\ndeltabloom refilter: interrupted: unfinished copies are removed, the "
      "tables that were not replaced stay as they were, and the next run goes "
      "on from there\n";
  interrupted = 1;
  stop_at_interrupt->store(true);
  if (::write(STDERR_FILENO, kLine, sizeof(kLine) - 1) < 0) return;
  std::signal(signal, SIG_DFL);  // the next one ends the program
}

}  // namespace

StopAtInterrupt::StopAtInterrupt(std::atomic<bool>* stop) {
  stop_at_interrupt = stop;
  for (const int signal : {SIGINT, SIGTERM}) {
    if (std::signal(signal, Interrupt) == SIG_IGN) {
      std::signal(signal, SIG_IGN);
    }
  }
}

StopAtInterrupt::~StopAtInterrupt() {
  for (const int signal : {SIGINT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) {
      std::signal(signal, SIG_IGN);
    }
  }
}

bool WasInterrupted() { return interrupted != 0; }

}  // namespace deltabloom::tools
