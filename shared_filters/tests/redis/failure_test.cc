// Tests what can go wrong between a filter and its Redis: each failure is a
// clear error, and every check answers "may match".
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/tests/redis/server.h"

namespace deltabloom::test {
namespace {

class Failures : public testing::Test {
 protected:
  Failures() : redis_(server_.Options()) { redis_.circuit_failures = 0; }

  Server server_;
  RedisOptions redis_;
};

TEST(NoServer, IsNamed) {
  RedisOptions redis;
  redis.port = FreePort();
  std::string place = std::to_string(redis.port);
  for (int i = 0; i < 2; ++i) {
    for (const RedisStatus& status :
         {Make(RedisFilter::Create, redis, Small()),
          Make(RedisFilter::Adopt, redis, Small()), TryOpen(redis)}) {
      ExpectError(status, RedisError::kUnavailable, {place});
    }
    redis.unix_socket = place = "/nonexistent/redis.sock";
  }
}

// Requests too large for the socket's buffer meet a server that dies: no
// SIGPIPE may end the program.
TEST_F(Failures, LargeBatchesOnADeadConnection) {
  const TestFilter filter(redis_, Small());
  const std::vector<std::string_view> keys(50000, "key");
  const auto found = std::make_unique<bool[]>(keys.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(filter->Check(keys.data(), keys.size(), found.get()).ok());
    std::thread killer([&] {
      std::this_thread::sleep_for(milliseconds(5 * i));
      server_.Stop();
    });
    while (filter->Check(keys.data(), keys.size(), found.get()).ok()) {
    }
    killer.join();
    for (size_t k = 0; k < keys.size(); ++k) ASSERT_TRUE(found[k]);
    server_.Start();
    const TestFilter again(redis_, Small());
  }
}

TEST_F(Failures, SlowServer) {
  redis_.command_timeout = milliseconds(150);
  const TestFilter filter = TestFilter::Impatient(redis_, Small());
  server_.Pause();
  filter.ExpectFailure(RedisError::kTimeout, server_.Place());
  EXPECT_EQ(filter->Add("b").error, RedisError::kTimeout);
  server_.Resume();
  EXPECT_TRUE(WaitFor([&] { return filter.Error("x") == RedisError::kNone; }));
}

// A server that accepts and says nothing, or nonsense.
TEST(NotARedis, IsAnError) {
  RedisOptions redis;
  const int listener = Bind(&redis.port);
  ASSERT_EQ(listen(listener, 8), 0);
  redis.command_timeout = redis.connect_timeout = milliseconds(200);
  EXPECT_EQ(TryOpen(redis).error, RedisError::kTimeout);
  redis.command_timeout = redis.connect_timeout = milliseconds(20000);
  std::thread talker([&] {
    for (int i = 0; i < 2; ++i) {  // the first waits since the call above
      const int peer = accept(listener, nullptr, nullptr);
      const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
      if (write(peer, answer, sizeof(answer) - 1) < 0) perror("write");
      close(peer);
    }
  });
  EXPECT_EQ(TryOpen(redis).error, RedisError::kUnavailable);
  talker.join();
  close(listener);
}

TEST_F(Failures, AwayAndBackAgain) {
  redis_.circuit_failures = 3;
  redis_.circuit_open_for = milliseconds(1);
  const TestFilter prompt(redis_, Small());
  redis_.circuit_open_for = milliseconds(3600000);
  const TestFilter filter(redis_, "f");
  filter.Add({"a"});
  server_.Stop();
  filter.ExpectFailure(RedisError::kUnavailable, server_.Place());
  EXPECT_EQ(filter->Add("b").error, RedisError::kUnavailable);
  EXPECT_EQ(filter->Statistics().circuits_opened, 1u);
  filter.ExpectFailure(RedisError::kCircuitOpen, server_.Place());
  for (int i = 0; i < 4; ++i) EXPECT_NE(prompt.Error(), RedisError::kNone);
  server_.Start();
  // It came back without its data, which is another error than being away.
  EXPECT_TRUE(WaitFor([&] { return prompt.Error() == RedisError::kMissing; }));
  prompt.ExpectFailure(RedisError::kMissing, server_.Place());
  const TestFilter again(redis_, Small());
  prompt.Add({"c"});
  EXPECT_TRUE(again.Finds({"c"}));
}

TEST_F(Failures, Replica) {
  const Server replica;
  const TestFilter filter(redis_, Small());
  filter.Add({"a"});
  replica.Replicate(server_);
  const TestFilter reader(replica.Options(), "f");
  // It may lack keys that the master has acknowledged.
  reader.ExpectFailure(RedisError::kUnverified, replica.Place());
  ExpectError(reader->Add("c"), RedisError::kReadOnly,
              {replica.Place(), "'f'"});
  // A server that follows another one may lack keys of it, even before they
  // have met.
  server_.Run({"REPLICAOF", "127.0.0.1", "1"});
  TestFilter(redis_, "f")
      .ExpectFailure(RedisError::kUnverified, "the server is a replica");
  server_.Run({"REPLICAOF", "NO", "ONE"});
}

TEST_F(Failures, OutOfMemory) {
  const TestFilter filter(redis_, Small());
  // Redis would take the memory until the system kills it. Nothing is written
  // yet if a rebuild is to fill the filter.
  RedisFilterOptions huge = Sized("huge", "local", 1000000000000);
  huge.filled_by_rebuild = true;
  ExpectError(Make(RedisFilter::Create, redis_, huge), RedisError::kOutOfMemory,
              {"{huge}", "fewer keys"});
  EXPECT_EQ(server_.Run({"EXISTS", "{huge}:deltabloom"}), "0");
  server_.Run({"CONFIG", "SET", "maxmemory", "50mb"});
  EXPECT_EQ(
      Make(RedisFilter::Create, redis_, Sized("g", "local", 50000000)).error,
      RedisError::kOutOfMemory);
  server_.Run({"CONFIG", "SET", "maxmemory", "100000"});
  ExpectError(filter->Add("a"), RedisError::kOutOfMemory, {"'f'"});
  EXPECT_EQ(filter.Error("a"), RedisError::kNone);
  EXPECT_EQ(Make(RedisFilter::Create, redis_, Small("g")).error,
            RedisError::kOutOfMemory);
}

TEST_F(Failures, WrongTypeAndWrongSize) {
  TestFilter filter(redis_, Small());
  server_.Run({"DEL", "f"});
  server_.Run({"RPUSH", "f", "x"});
  filter.ExpectFailure(RedisError::kWrongType, server_.Place());
  EXPECT_EQ(filter->Add("a").error, RedisError::kWrongType);
  EXPECT_EQ(TryOpen(redis_).error, RedisError::kWrongType);
  server_.Run({"DEL", "f"});
  server_.Run({"SET", "f", std::string(7, 'x')});
  ExpectError(TryOpen(redis_), RedisError::kWrongSize, {"7 bytes"});
  server_.Run({"SET", "foreign", std::string(9000, 'x')});
  EXPECT_EQ(Make(RedisFilter::Adopt, redis_, Small("foreign")).error,
            RedisError::kWrongSize);
  // A block of local that is not whole.
  const TestFilter local(redis_, Sized("local", "local", 10));
  server_.Run({"SET", "local", std::string(63, '\xff')});
  local.ExpectFailure(RedisError::kWrongSize, server_.Place(), "'local'");
}

TEST_F(Failures, DescriptorsOfOthers) {
  EXPECT_EQ(TryOpen(redis_).error, RedisError::kMissing);
  const TestFilter filter(redis_, Small());
  const std::string key = "{f}:deltabloom";
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"version", {"2", ""}},
      {"id", {""}},
      {"scheme", {"none"}},
      {"bits", {"0", "-1", "4294967296", "99999999999999999999", "1x"}},
      {"probes", {"0", "256"}},
      {"shards", {"0", "7", "4000000000"}},
      {"hashes", {"JS,none"}},
      {"moved_to", {"a}b", "f"}},
  };
  for (const auto& [field, values] : cases) {
    const std::string old = server_.Run({"HGET", key, field});
    for (const char* value : values) {
      server_.Run({"HSET", key, field, value});
      EXPECT_EQ(TryOpen(redis_).error, RedisError::kMismatch) << field << value;
    }
    server_.Run(old == "(nil)" ? Words{"HDEL", key, field}
                               : Words{"HSET", key, field, old});
  }
  EXPECT_EQ(TryOpen(redis_).error, RedisError::kNone);
  server_.Run({"DEL", key});
  server_.Run({"SET", key, "x"});
  EXPECT_EQ(TryOpen(redis_).error, RedisError::kWrongType);
}

TEST(Passwords, AreCheckedAndNotShown) {
  Server server({"--requirepass", "swordfish"});
  RedisOptions redis = server.Options();
  const struct {
    const char *username, *password;
  } wrong[] = {{"", ""}, {"", "wrong-password"}, {"unknown", "swordfish"}};
  for (const auto& [username, password] : wrong) {
    redis.username = username;
    redis.password = password;
    const RedisStatus status = TryOpen(redis);
    EXPECT_EQ(status.error, RedisError::kAuthentication);
    EXPECT_FALSE(Contains(status.message, "swordfish")) << status.message;
    EXPECT_FALSE(Contains(status.message, "wrong-password")) << status.message;
  }
  redis.username = "";
  EXPECT_EQ(Make(RedisFilter::Create, redis, Small()).error, RedisError::kNone);
}

// Users with the rights that the documents name, and no others.
TEST_F(Failures, Users) {
  const TestFilter filter(redis_, Small());
  filter.Add({"a"});
  const auto user = [this](const char* name, const Words& rights) {
    Words words = {"ACL", "SETUSER", name, "on", ">pw", "~f", "~{f}:*"};
    words.insert(words.end(), rights.begin(), rights.end());
    EXPECT_EQ(server_.Run(words), "OK");
    redis_.username = name;
    redis_.password = "pw";
    return TestFilter(redis_, "f");
  };
  const Words reading = {"+getrange", "+bitfield_ro", "+hget", "+hgetall",
                         "+hmget",    "+strlen",      "+info"};
  const TestFilter reader = user("reader", reading);
  EXPECT_TRUE(reader.Finds({"a"}, {"b"}));
  EXPECT_EQ(reader->Add("b").error, RedisError::kNoPermission);
  // A client without INFO cannot know whether the server has every key.
  user("reader", {"-info"}).ExpectFailure(RedisError::kUnverified, "NOPERM");
  user("writer",
       {"+hgetall", "+strlen", "+evalsha", "+eval", "+hmget", "+bitfield"})
      .Add({"b"});
}

// EVALSHA would never find a script whose name is not its text's.
TEST_F(Failures, ScriptsAreNamedByTheirText) {
  for (const internal::Script& script : internal::kScripts) {
    EXPECT_EQ(server_.Run({"SCRIPT", "LOAD", script.body}), script.sha1)
        << script.name;
  }
}

}  // namespace
}  // namespace deltabloom::test
