#include "db_bench_ext/torture/starvation.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace deltabloom::torture {
namespace {

using std::chrono::nanoseconds;

TEST(StarvationTest, TwoThreadsOnOneProcessor) {
  if (!std::ifstream("/proc/self/schedstat")) {
    GTEST_SKIP() << "this kernel does not count";
  }
  const nanoseconds before = WaitedForProcessor(getpid());
  std::atomic<bool> stop{false};
  const auto run = [&stop] {
    cpu_set_t all, one;
    EXPECT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    size_t first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    while (!stop) {
    }
  };
  std::thread a(run), b(run);
  // Sooner or later one of them waits so long.
  while (WaitedForProcessor(getpid()) < before + std::chrono::milliseconds(20))
    std::this_thread::yield();
  stop = true;
  a.join();
  b.join();
}

TEST(StarvationTest, AProcessThatHasEnded) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(WaitedForProcessor(child), nanoseconds(0));
}

}  // namespace
}  // namespace deltabloom::torture
