// A circuit breaker for one server: after several failures in a row calls are
// refused without trying; after a while one at a time may try again, and the
// first that succeeds lets all through.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_CIRCUIT_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_CIRCUIT_H_

#include <chrono>
#include <cstdint>
#include <mutex>

namespace deltabloom::internal {

// Thread-safe.
class Circuit {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens after `failures` in a row, 0: never.
  Circuit(uint32_t failures, std::chrono::milliseconds open_for)
      : limit_(failures), open_for_(open_for) {}

  // May a call be tried? If so, Succeeded or Failed must follow.
  bool Allow(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (!open_) return true;
    if (now < retry_at_) return false;
    // This one tries; if it never comes back, another does after a while.
    retry_at_ = now + open_for_;
    return true;
  }

  void Succeeded() {
    const std::lock_guard lock(mutex_);
    failures_ = 0;
    open_ = false;
  }

  // True if this failure opened the circuit.
  bool Failed(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (limit_ == 0 || ++failures_ < limit_) return false;
    retry_at_ = now + open_for_;
    const bool opened = !open_;
    open_ = true;
    return opened;
  }

 private:
  const uint32_t limit_;
  const std::chrono::milliseconds open_for_;
  std::mutex mutex_;
  uint32_t failures_ = 0;
  bool open_ = false;
  Clock::time_point retry_at_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_CIRCUIT_H_
