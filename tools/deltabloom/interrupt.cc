#include "tools/deltabloom/interrupt.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace deltabloom::tools {

Interrupt::Interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // One that is ignored (nohup, a job in the background) stays so.
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw std::system_error(error, std::generic_category(), "signalfd");
  }
}

Interrupt::~Interrupt() {
  close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
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
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  raise(signal_);
}

}  // namespace deltabloom::tools
