// A mutex with the annotations by which clang checks that what it guards is
// used with the mutex held (-Wthread-safety, which builds with clang have).
// Other compilers ignore them.
#pragma once

#include <mutex>

#if defined(__clang__)
#define DELTABLOOM_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define DELTABLOOM_THREAD_SAFETY(attribute)
#endif

// Behind a member or a variable: it is read and written with the mutex held.
#define DELTABLOOM_GUARDED_BY(mutex) DELTABLOOM_THREAD_SAFETY(guarded_by(mutex))
// Behind a function's parameters: it is called with the mutex held.
#define DELTABLOOM_WITH_LOCK(mutex) \
  DELTABLOOM_THREAD_SAFETY(requires_capability(mutex))

namespace deltabloom::internal {

class DELTABLOOM_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() DELTABLOOM_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() DELTABLOOM_THREAD_SAFETY(release_capability()) {
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

// Holds a mutex for as long as it lives.
class DELTABLOOM_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex)
      DELTABLOOM_THREAD_SAFETY(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() DELTABLOOM_THREAD_SAFETY(release_capability()) {
    mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace deltabloom::internal
