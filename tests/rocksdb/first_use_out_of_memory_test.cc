// What is done once in a process, with each allocation failing in turn: in a
// process of its own for each failure. With memory the next try goes well, so
// that no lack of memory is kept as an answer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "deltabloom/rocksdb.h"
#include "tests/util/replaced_new.h"

namespace deltabloom {
namespace {

enum Outcome { kNoFailure, kFailedAndTold, kNotTold, kNeverWell, kThrew };

// `action` returns whether it went well, or why not.
Outcome TryTwice(long number, const std::function<bool(std::string*)>& action) {
  try {
    std::string error;
    test::FailAllocation(number);
    const bool well = action(&error);
    const bool failed = test::AllocationFailed();
    test::FailAllocation(-1);
    if (!well && error.find("out of memory") == std::string::npos) {
      return kNotTold;
    }
    if (!action(&error)) return kNeverWell;
    return failed ? kFailedAndTold : kNoFailure;
  } catch (...) {
    return kThrew;
  }
}

void InChildren(const std::function<bool(std::string*)>& action) {
  int failures = 0;
  for (int outcome = kFailedAndTold; outcome != kNoFailure; ++failures) {
    ASSERT_LT(failures, 5000);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(TryTwice(failures, action));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << status << ", allocation " << failures;
    outcome = WEXITSTATUS(status);
    ASSERT_LE(outcome, kFailedAndTold) << "allocation " << failures;
  }
  EXPECT_GT(failures, 20);
}

TEST(FirstUseOutOfMemoryTest, Registration) {
  InChildren([](std::string* error) { return RegisterRocksDB(error); });
}

TEST(FirstUseOutOfMemoryTest, Policy) {
  InChildren([](std::string* error) {
    return NewRocksDBFilterPolicy({}, error) != nullptr;
  });
}

}  // namespace
}  // namespace deltabloom
