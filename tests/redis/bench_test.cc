// redis_bench runs through, loses no key, and says what it was asked for.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>

#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

struct Outcome {
  int code;
  std::string text;
};

Outcome Bench(const std::string& arguments) {
  const std::string command =
      std::string(DELTABLOOM_REDIS_BENCH) + " " + arguments + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  Outcome outcome{-1, ""};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.text.append(buffer, n);
  }
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

TEST(RedisBench, RunsThrough) {
  Server server;
  const Outcome outcome =
      Bench("--socket " + server.socket() +
            " --keys 5000 --upload-keys 5000 --seconds 0.01 --repeat 1 "
            "--connections 1,3");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  for (const char* part :
       {"Checks, 1 connection, 1 key per call", "RedisFilter, local",
        "Adds, 3 connections, 100 keys per call", "| guava-helper | 5000 |",
        "Errors and keys that were not found: 0"}) {
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
  }
  EXPECT_EQ(server.Run({"DBSIZE"}), "0");
}

TEST(RedisBench, ErrorsAreClear) {
  EXPECT_EQ(Bench("--keys 1").code, 2);
  EXPECT_EQ(Bench("--nonsense").code, 2);
  EXPECT_EQ(Bench("--help").code, 0);
  const Outcome away = Bench("--port " + std::to_string(FreePort()));
  EXPECT_EQ(away.code, 1);
  EXPECT_NE(away.text.find("unavailable: redis 127.0.0.1:"), std::string::npos)
      << away.text;
}

}  // namespace
}  // namespace deltabloom::test
