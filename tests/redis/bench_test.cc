// redis_bench finds every key, and cleans up.
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

Outcome Bench(int port, const std::string& arguments) {
  const std::string command = "DELTABLOOM_REDIS_PORT=" + std::to_string(port) +
                              " " + DELTABLOOM_REDIS_BENCH + " " + arguments +
                              " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  Outcome outcome{-1, ""};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.text.append(buffer, n);
  }
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

TEST(RedisBench, ChecksAndAdds) {
  Server server;
  const Outcome outcome =
      Bench(server.port(),
            "'--benchmark_filter=RedisFilter.*threads:1$' "
            "--benchmark_min_time=0.01 --benchmark_repetitions=1 "
            "--benchmark_report_aggregates_only=false");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text.find("ERROR"), std::string::npos) << outcome.text;
  for (const char* part : {"check/RedisFilter, local/keys_per_call:1/",
                           "add/RedisFilter, go-murmur3/keys_per_call:100/",
                           "p99_us=", "server_us_per_key="}) {
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
  }
  EXPECT_EQ(server.Run({"DBSIZE"}), "0");
}

TEST(RedisBench, ErrorsAreClear) {
  EXPECT_EQ(Bench(FreePort(), "--nonsense").code, 2);
  const Outcome away = Bench(FreePort(), "");
  EXPECT_EQ(away.code, 1);
  EXPECT_NE(away.text.find("no Redis server at 127.0.0.1:"), std::string::npos)
      << away.text;
}

}  // namespace
}  // namespace deltabloom::test
