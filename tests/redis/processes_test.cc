// One filter, filled and asked by several processes at once.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

constexpr int kProcesses = 4;
constexpr int kKeys = 500;  // of each

std::string KeyOf(int process, int i) {
  return std::to_string(process) + "/" + std::to_string(i);
}

// The exit code: 0 if all went well.
int FillAndAsk(const RedisOptions& redis, int process) {
  std::unique_ptr<RedisFilter> filter;
  if (!RedisFilter::Open(redis, "f", &filter).ok()) return 1;
  for (int i = 0; i < kKeys; ++i) {
    if (!filter->Add(KeyOf(process, i)).ok()) return 2;
    bool found = false;
    if (!filter->Check(KeyOf(process, i), &found).ok()) return 3;
    if (!found) return 4;
  }
  return 0;
}

TEST(Processes, FillOneFilterTogether) {
  Server server;
  for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
    server.Run({"FLUSHALL"});
    server.Run({"SCRIPT", "FLUSH"});  // all of them find it missing
    RedisFilterOptions options;
    options.name = "f";
    options.scheme = scheme;
    options.expected_keys = uint64_t{kProcesses} * kKeys;
    std::unique_ptr<RedisFilter> filter;
    ASSERT_TRUE(RedisFilter::Create(server.Options(), options, &filter).ok());
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process) {
      const pid_t child = fork();
      if (child == 0) _exit(FillAndAsk(server.Options(), process));
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int state = 0;
      waitpid(child, &state, 0);
      EXPECT_TRUE(WIFEXITED(state));
      EXPECT_EQ(WEXITSTATUS(state), 0) << scheme;
    }
    for (int process = 0; process < kProcesses; ++process) {
      for (int i = 0; i < kKeys; ++i) {
        bool found = false;
        ASSERT_TRUE(filter->Check(KeyOf(process, i), &found).ok());
        ASSERT_TRUE(found) << scheme << " " << KeyOf(process, i);
      }
    }
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_NEAR(info.keys_estimate, kProcesses * kKeys, 150);
  }
}

}  // namespace
}  // namespace deltabloom::test
