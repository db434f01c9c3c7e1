// What can go wrong between a filter and its Redis: each a clear error, and
// "may match" for whoever asks.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <string_view>
#include <thread>
#include <vector>

#include "shared_filters/redis/scripts.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

TEST(Failures, NobodyListens) {
  RedisOptions redis;
  redis.port = FreePort();
  std::unique_ptr<RedisFilter> filter;
  for (const RedisStatus& status :
       {RedisFilter::Create(redis, Small(), &filter),
        RedisFilter::Open(redis, "f", &filter),
        RedisFilter::Adopt(redis, Small(), &filter)}) {
    EXPECT_EQ(status.error, RedisError::kUnavailable);
    EXPECT_NE(status.message.find(std::to_string(redis.port)),
              std::string::npos)
        << status.message;
  }
  redis.unix_socket = "/nonexistent/redis.sock";
  const RedisStatus status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kUnavailable);
  EXPECT_NE(status.message.find("/nonexistent/redis.sock"), std::string::npos);
}

TEST(Failures, AwayAndBackAgain) {
  Server server;
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  auto filter = Create(redis, Small());
  ASSERT_TRUE(filter->Add("a").ok());
  server.Stop();
  ExpectFailure(filter.get(), RedisError::kUnavailable, PlaceOf(server));
  EXPECT_EQ(filter->Add("b").error, RedisError::kUnavailable);
  server.Start();
  // It came back without its data, which is another error than being away.
  ExpectFailure(filter.get(), RedisError::kMissing, PlaceOf(server));
  auto again = Create(redis, Small());
  ASSERT_TRUE(filter->Add("c").ok());
  bool found = false;
  EXPECT_TRUE(again->Check("c", &found).ok());
  EXPECT_TRUE(found);
}

// Requests too large for the socket's buffer meet a server that dies: no
// SIGPIPE may end the program.
TEST(Failures, LargeBatchesOnADeadConnection) {
  Server server;
  RedisOptions redis = server.Options();
  redis.circuit_failures = 0;
  auto filter = Create(redis, Small());
  const std::vector<std::string_view> keys(50000, "key");
  const auto found = std::make_unique<bool[]>(keys.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(filter->Check(keys.data(), keys.size(), found.get()).ok());
    std::thread killer([&] {
      std::this_thread::sleep_for(milliseconds(5 * i));
      server.Stop();
    });
    while (filter->Check(keys.data(), keys.size(), found.get()).ok()) {
    }
    killer.join();
    for (size_t k = 0; k < keys.size(); ++k) ASSERT_TRUE(found[k]);
    server.Start();
    Create(redis, Small());
  }
}

// A restart between two calls fails none: connections and scripts are made
// anew.
TEST(Failures, RestartWithoutLossIsNotNoticed) {
  Server server({"--appendonly", "yes", "--appendfsync", "always"});
  RedisFilterOptions options = Small();
  options.durable = true;
  auto filter = Create(server.Options(), options);
  ASSERT_TRUE(filter->Add("a").ok());
  const uint64_t loaded = filter->Statistics().scripts_loaded;
  server.Stop();
  server.Start();
  const RedisStatus status = filter->Add("b");
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(filter->Statistics().scripts_loaded, loaded + 1);
  EXPECT_EQ(filter->Statistics().reconnects, 1u);
  bool found = false;
  ASSERT_TRUE(filter->Check("a", &found).ok());
  EXPECT_TRUE(found);
  server.Run({"SCRIPT", "FLUSH"});
  ASSERT_TRUE(filter->Add("c").ok());
  EXPECT_EQ(filter->Statistics().scripts_loaded, loaded + 2);
}

TEST(Failures, SlowServer) {
  Server server;
  RedisOptions redis = server.Options();
  redis.command_timeout = milliseconds(150);
  redis.circuit_failures = 0;
  auto filter = Create(redis, Small());
  server.Pause();
  const auto start = std::chrono::steady_clock::now();
  ExpectFailure(filter.get(), RedisError::kTimeout, PlaceOf(server));
  EXPECT_EQ(filter->Add("b").error, RedisError::kTimeout);
  // Three calls of 150 ms; a stuck one would take for ever.
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(10000));
  server.Resume();
  bool found = true;
  RedisStatus status;
  for (int i = 0; i < 100 && !(status = filter->Check("x", &found)).ok(); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(status.ok()) << status.message;
}

// A server that accepts and says nothing, or nonsense.
TEST(Failures, NotARedis) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  RedisOptions redis;
  redis.port = ntohs(address.sin_port);
  redis.command_timeout = redis.connect_timeout = milliseconds(200);
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kTimeout) << status.message;
  redis.command_timeout = milliseconds(20000);
  std::thread talker([&] {
    for (int i = 0; i < 2; ++i) {  // the first waits since the call above
      const int peer = accept(listener, nullptr, nullptr);
      const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
      if (write(peer, answer, sizeof(answer) - 1) < 0) perror("write");
      close(peer);
    }
  });
  status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kUnavailable) << status.message;
  talker.join();
  close(listener);
}

TEST(Failures, CircuitOpensAndCloses) {
  Server server;
  RedisOptions redis = server.Options();
  redis.circuit_failures = 3;
  redis.circuit_open_for = milliseconds(100);
  auto filter = Create(redis, Small());
  server.Stop();
  bool found = false;
  RedisStatus status;
  for (int i = 0; i < 3; ++i) status = filter->Check("x", &found);
  EXPECT_EQ(status.error, RedisError::kUnavailable);
  EXPECT_EQ(filter->Statistics().circuits_opened, 1u);
  ExpectFailure(filter.get(), RedisError::kCircuitOpen, PlaceOf(server));
  server.Start();
  Create(server.Options(), Small());
  for (int i = 0; i < 1000 && !filter->Check("x", &found).ok(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(filter->Check("x", &found).ok());
}

TEST(Failures, Replica) {
  Server master({"--repl-diskless-sync-delay", "0"});
  Server replica;
  auto filter = Create(master.Options(), Small());
  ASSERT_TRUE(filter->Add("a").ok());
  MakeReplica(replica, master);
  auto reader = Open(replica.Options(), "f");
  // It may lack keys that the master has acknowledged.
  ExpectFailure(reader.get(), RedisError::kUnverified, PlaceOf(replica));
  const RedisStatus status = reader->Add("c");
  EXPECT_EQ(status.error, RedisError::kReadOnly) << status.message;
  EXPECT_NE(status.message.find(PlaceOf(replica)), std::string::npos);
  EXPECT_NE(status.message.find("'f'"), std::string::npos);
}

TEST(Failures, OutOfMemory) {
  Server server;
  auto filter = Create(server.Options(), Small());
  server.Run({"CONFIG", "SET", "maxmemory", "1"});
  const RedisStatus status = filter->Add("a");
  EXPECT_EQ(status.error, RedisError::kOutOfMemory) << status.message;
  EXPECT_NE(status.message.find("'f'"), std::string::npos) << status.message;
  bool found = true;
  EXPECT_TRUE(filter->Check("a", &found).ok());
  std::unique_ptr<RedisFilter> other;
  EXPECT_EQ(RedisFilter::Create(server.Options(), Small("g"), &other).error,
            RedisError::kOutOfMemory);
}

TEST(Failures, WrongTypeAndWrongSize) {
  Server server;
  auto filter = Create(server.Options(), Small());
  server.Run({"DEL", "f"});
  server.Run({"RPUSH", "f", "x"});
  ExpectFailure(filter.get(), RedisError::kWrongType, PlaceOf(server));
  EXPECT_EQ(filter->Add("a").error, RedisError::kWrongType);
  std::unique_ptr<RedisFilter> other;
  EXPECT_EQ(RedisFilter::Open(server.Options(), "f", &other).error,
            RedisError::kWrongType);
  server.Run({"DEL", "f"});
  server.Run({"SET", "f", std::string(7, 'x')});
  const RedisStatus status = RedisFilter::Open(server.Options(), "f", &other);
  EXPECT_EQ(status.error, RedisError::kWrongSize);
  EXPECT_NE(status.message.find("7 bytes"), std::string::npos);
  server.Run({"SET", "foreign", std::string(9000, 'x')});
  EXPECT_EQ(
      RedisFilter::Adopt(server.Options(), Small("foreign"), &other).error,
      RedisError::kWrongSize);
  // A block of local that is not whole.
  RedisFilterOptions local = Small("local");
  local.scheme = "local";
  local.expected_keys = 10;
  filter = Create(server.Options(), local);
  server.Run({"SET", "local", std::string(63, '\xff')});
  ExpectFailure(filter.get(), RedisError::kWrongSize, PlaceOf(server),
                "'local'");
}

TEST(Failures, DescriptorsOfOthers) {
  Server server;
  std::unique_ptr<RedisFilter> filter;
  EXPECT_EQ(RedisFilter::Open(server.Options(), "f", &filter).error,
            RedisError::kMissing);
  Create(server.Options(), Small());
  const std::string key = "{f}:deltabloom";
  const auto error_with = [&](const char* field, const char* value) {
    const std::string old = server.Run({"HGET", key, field});
    server.Run({"HSET", key, field, value});
    const RedisStatus status =
        RedisFilter::Open(server.Options(), "f", &filter);
    if (old == "(nil)") {
      server.Run({"HDEL", key, field});
    } else {
      server.Run({"HSET", key, field, old});
    }
    EXPECT_FALSE(status.message.empty()) << field << " " << value;
    return status.error;
  };
  const struct {
    const char* field;
    const char* value;
  } cases[] = {
      {"version", "2"},
      {"version", ""},
      {"id", ""},
      {"scheme", "none"},
      {"bits", "0"},
      {"bits", "-1"},
      {"bits", "4294967296"},
      {"bits", "99999999999999999999"},
      {"bits", "1x"},
      {"probes", "0"},
      {"probes", "256"},
      {"shards", "0"},
      {"shards", "7"},
      {"shards", "4000000000"},
      {"generations", "2"},
      {"spread", "1"},
      {"hashes", "JS,none"},
      {"moved_to", "a}b"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(error_with(one.field, one.value), RedisError::kMismatch)
        << one.field << " " << one.value;
  }
  EXPECT_TRUE(RedisFilter::Open(server.Options(), "f", &filter).ok());
  server.Run({"HSET", key, "moved_to", "f"});
  EXPECT_EQ(RedisFilter::Open(server.Options(), "f", &filter).error,
            RedisError::kMismatch);
  server.Run({"DEL", key});
  server.Run({"SET", key, "x"});
  EXPECT_EQ(RedisFilter::Open(server.Options(), "f", &filter).error,
            RedisError::kWrongType);
}

TEST(Failures, PasswordsAndUsers) {
  static constexpr char kPassword[] = "swordfish";
  Server server({"--requirepass", kPassword});
  const auto error = [&](const RedisOptions& redis) {
    std::unique_ptr<RedisFilter> filter;
    const RedisStatus status = RedisFilter::Create(redis, Small(), &filter);
    for (const char* secret : {kPassword, "wrong-password"}) {
      EXPECT_EQ(status.message.find(secret), std::string::npos)
          << status.message;
    }
    return status.error;
  };
  RedisOptions redis = server.Options();
  EXPECT_EQ(error(redis), RedisError::kAuthentication);
  redis.password = "wrong-password";
  EXPECT_EQ(error(redis), RedisError::kAuthentication);
  redis.username = "nobody";
  EXPECT_EQ(error(redis), RedisError::kAuthentication);
  redis.username = "";
  redis.password = kPassword;
  EXPECT_EQ(error(redis), RedisError::kNone);

  // A reader with the rights that the documents name, and no others.
  Server with_users;
  auto filter = Create(with_users.Options(), Small());
  ASSERT_TRUE(filter->Add("a").ok());
  EXPECT_EQ(with_users.Run({"ACL", "SETUSER", "reader", "on", ">pw", "~f",
                            "~{f}:*", "+getrange", "+bitfield_ro", "+hget",
                            "+hgetall", "+hmget", "+strlen", "+info"}),
            "OK");
  redis = with_users.Options();
  redis.username = "reader";
  redis.password = "pw";
  std::unique_ptr<RedisFilter> reader;
  RedisStatus status = RedisFilter::Open(redis, "f", &reader);
  ASSERT_TRUE(status.ok()) << status.message;
  bool found = false;
  status = reader->Check("a", &found);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(found);
  EXPECT_FALSE(Finds(reader.get(), "b"));
  status = reader->Add("b");
  EXPECT_EQ(status.error, RedisError::kNoPermission) << status.message;
  // Without INFO it cannot know whether the server has every key.
  with_users.Run({"ACL", "SETUSER", "reader", "-info"});
  ASSERT_TRUE(RedisFilter::Open(redis, "f", &reader).ok());
  status = reader->Check("b", &found);
  EXPECT_EQ(status.error, RedisError::kUnverified) << status.message;
  EXPECT_NE(status.message.find("NOPERM"), std::string::npos);
  EXPECT_TRUE(found);
  EXPECT_EQ(with_users.Run({"ACL", "SETUSER", "writer", "on", ">pw", "~f",
                            "~{f}:*", "+hgetall", "+strlen", "+evalsha",
                            "+eval", "+hmget", "+bitfield"}),
            "OK");
  redis.username = "writer";
  std::unique_ptr<RedisFilter> writer;
  ASSERT_TRUE(RedisFilter::Open(redis, "f", &writer).ok());
  status = writer->Add("b");
  EXPECT_TRUE(status.ok()) << status.message;
}

// EVALSHA would never find a script whose name is not its text's.
TEST(Scripts, AreNamedByTheirText) {
  Server server;
  for (const internal::Script& script : internal::kScripts) {
    EXPECT_EQ(server.Run({"SCRIPT", "LOAD", script.body}), script.sha1)
        << script.name;
  }
}

}  // namespace
}  // namespace deltabloom::test
