// State that all policies of the process share.
#pragma once

#include <mutex>

namespace deltabloom::internal {

// Access to the process's one T, locked as long as this lives. The T is never
// destroyed: databases, readers and threads may outlive static objects. The
// first access throws what making it throws.
template <typename T>
class ProcessWide {
 public:
  T* operator->() { return &guarded_.object; }
  T& operator*() { return guarded_.object; }

 private:
  struct Guarded {
    std::mutex mutex;
    T object;
  };

  static Guarded& The() {
    static Guarded& guarded = *new Guarded;
    return guarded;
  }

  Guarded& guarded_ = The();
  const std::lock_guard<std::mutex> lock_{guarded_.mutex};
};

}  // namespace deltabloom::internal
