#include "shared_filters/command/interrupt.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "shared_filters/command/whole_file.h"

namespace deltabloom::tools {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // One that is ignored (nohup, a job in the background) stays so.
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
  }
  descriptor_ = signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) throw SystemError("signalfd");
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interrupt::~Interrupt() {
  close(descriptor_);
  Release();
}

bool Interrupt::Came() {
  signalfd_siginfo info;
  if (signal_ == 0 && read(descriptor_, &info, sizeof(info)) == sizeof(info)) {
    signal_ = static_cast<int>(info.ssi_signo);
  }
  return signal_ != 0;
}

void Interrupt::Check() {
  if (Came()) throw Interrupted();
}

void Interrupt::EndProcess() {
  if (signal_ == 0) return;
  Release();
  raise(signal_);
}

}  // namespace deltabloom::tools
