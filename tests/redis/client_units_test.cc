// The parts of the client that need no server.
#include <gtest/gtest.h>

#include <iostream>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/keys.h"
#include "tests/random.h"

namespace deltabloom::internal {
namespace {

using std::chrono::milliseconds;

TEST(Circuit, OpensAfterFailuresInARow) {
  Circuit circuit(3, milliseconds(100));
  Circuit::Clock::time_point now{};
  EXPECT_FALSE(circuit.Failed(now));
  EXPECT_FALSE(circuit.Failed(now));
  circuit.Succeeded();
  EXPECT_FALSE(circuit.Failed(now));
  EXPECT_FALSE(circuit.Failed(now));
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_TRUE(circuit.Failed(now));
  EXPECT_FALSE(circuit.Allow(now));
  EXPECT_FALSE(circuit.Allow(now + milliseconds(99)));
}

TEST(Circuit, LetsOneTryAndClosesWhenItSucceeds) {
  Circuit circuit(1, milliseconds(100));
  Circuit::Clock::time_point now{};
  EXPECT_TRUE(circuit.Failed(now));
  now += milliseconds(100);
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_FALSE(circuit.Allow(now));  // one at a time
  EXPECT_FALSE(circuit.Failed(now)) << "it was open already";
  EXPECT_FALSE(circuit.Allow(now + milliseconds(99)));
  now += milliseconds(100);
  EXPECT_TRUE(circuit.Allow(now));
  circuit.Succeeded();
  EXPECT_TRUE(circuit.Allow(now));
  EXPECT_TRUE(circuit.Allow(now));
}

// One that tried and never reported back must not keep it open for ever.
TEST(Circuit, AnotherMayTryAfterAWhile) {
  Circuit circuit(1, milliseconds(100));
  Circuit::Clock::time_point now{};
  circuit.Failed(now);
  EXPECT_TRUE(circuit.Allow(now + milliseconds(100)));
  EXPECT_TRUE(circuit.Allow(now + milliseconds(200)));
}

TEST(Circuit, ZeroNeverOpens) {
  Circuit circuit(0, milliseconds(100));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(circuit.Failed({}));
  EXPECT_TRUE(circuit.Allow({}));
}

// From the Redis Cluster specification.
TEST(Slots, Crc16) {
  EXPECT_EQ(Crc16("123456789"), 0x31c3);
  EXPECT_EQ(Crc16(""), 0);
}

TEST(Slots, HashTags) {
  EXPECT_EQ(HashTag("{user1000}.following"), "user1000");
  EXPECT_EQ(HashTag("foo{}{bar}"), "foo{}{bar}");
  EXPECT_EQ(HashTag("foo{{bar}}zap"), "{bar");
  EXPECT_EQ(HashTag("foo{bar}{zap}"), "bar");
  EXPECT_EQ(HashTag("}foo{"), "}foo{");
  EXPECT_EQ(HashTag(""), "");
}

TEST(Keys, CompanionsAreOnTheSameSlot) {
  const uint64_t seed = test::SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  test::Random random(seed);
  size_t legal = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string name;
    for (uint64_t n = random.Below(8); n > 0; --n) {
      name += "ab{}:"[random.Below(5)];
    }
    if (!CheckName(name).empty()) continue;
    ++legal;
    EXPECT_EQ(SlotOf(Companion(name, ":deltabloom")), SlotOf(name)) << name;
    const ShardKeys keys(name, 3, 5);
    for (const std::string& key :
         {keys.live, keys.descriptor, keys.rebuild, keys.Upload("t")}) {
      EXPECT_EQ(SlotOf(key), SlotOf(name)) << name << " " << key;
    }
  }
  EXPECT_GT(legal, 5000u);
}

TEST(Redirections, AreParsed) {
  const Endpoint from{"here", 1, ""};
  Redirection redirection;
  ASSERT_TRUE(
      ParseRedirection("MOVED 3999 127.0.0.1:6381", from, &redirection));
  EXPECT_FALSE(redirection.ask);
  EXPECT_EQ(redirection.slot, 3999u);
  EXPECT_EQ(redirection.endpoint.Text(), "127.0.0.1:6381");
  ASSERT_TRUE(ParseRedirection("ASK 16383 ::1:7", from, &redirection));
  EXPECT_TRUE(redirection.ask);
  EXPECT_EQ(redirection.endpoint.Text(), "[::1]:7");
  ASSERT_TRUE(ParseRedirection("MOVED 0 :6381", from, &redirection));
  EXPECT_EQ(redirection.endpoint.Text(), "here:6381");
  for (const char* bad :
       {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 16384 a:1", "MOVED x a:1",
        "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED -1 a:1",
        "MOVED 1 a:1x", "OTHER 1 a:1", "moved 1 a:1"}) {
    EXPECT_FALSE(ParseRedirection(bad, from, &redirection)) << bad;
  }
}

// Any text: no crash, and whatever is accepted is in range.
TEST(Redirections, TakeAnyText) {
  const uint64_t seed = test::SeedOfThisRun();
  std::cout << "seed " << seed << "\n";
  test::Random random(seed);
  const std::string pieces[] = {"MOVED", "ASK", " ",  ":",     "@", "[",
                                "]",     "-1",  "16", "99999", "a", "::"};
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text = random.Below(2) == 0 ? "MOVED 1 a:7" : "";
    for (uint64_t n = random.Below(8); n > 0; --n) {
      text += random.Below(10) == 0 ? random.Key(random.Below(4))
                                    : pieces[random.Below(12)];
    }
    Redirection redirection;
    if (ParseRedirection(text, {"h", 1, ""}, &redirection)) {
      ++accepted;
      EXPECT_LT(redirection.slot, kSlots);
      EXPECT_NE(redirection.endpoint.port, 0);
    }
    ClassifyError(text);
    Printable(text);
  }
  EXPECT_GT(accepted, 100u);
}

TEST(Errors, AreClassified) {
  const struct {
    const char* reply;
    RedisError error;
  } cases[] = {
      {"WRONGTYPE Operation against a key holding the wrong kind of value",
       RedisError::kWrongType},
      {"OOM command not allowed when used memory > 'maxmemory'.",
       RedisError::kOutOfMemory},
      {"READONLY You can't write against a read only replica.",
       RedisError::kReadOnly},
      {"NOAUTH Authentication required.", RedisError::kAuthentication},
      {"WRONGPASS invalid username-password pair or user is disabled.",
       RedisError::kAuthentication},
      {"ERR invalid password", RedisError::kAuthentication},
      {"ERR Protocol error: unauthenticated multibulk length",
       RedisError::kAuthentication},
      {"NOPERM this user has no permissions", RedisError::kNoPermission},
      {"LOADING Redis is loading the dataset in memory",
       RedisError::kUnavailable},
      {"CLUSTERDOWN Hash slot not served", RedisError::kClusterDown},
      {"ERR Error running script (call to f_1): @user_script:1: -OOM command "
       "not allowed",
       RedisError::kOutOfMemory},
      {"ERR Error running script (call to f_1): @user_script: 1: WRONGTYPE "
       "Operation",
       RedisError::kWrongType},
      {"ERR syntax error", RedisError::kServer},
      {"ERR the BOOM word", RedisError::kServer},
      {"", RedisError::kServer},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(ClassifyError(one.reply), one.error) << one.reply;
  }
}

TEST(Errors, HaveTheirPlaceInOneLine) {
  const RedisStatus status =
      MakeStatus(RedisError::kTimeout, {"h", 7, ""}, "a\nb", "no answer");
  EXPECT_EQ(status.message, "redis h:7, key 'a\\x0ab': no answer");
  EXPECT_EQ(Printable(std::string(200, 'x')), std::string(100, 'x') + "...");
}

TEST(Requests, AreWords) {
  Request request("GET", "k", {10, "", std::string("a\0b", 3)});
  request.Append({true, std::string_view("c"), UINT64_MAX});
  EXPECT_EQ(request.words,
            (RedisCommand{"GET", "k", "10", "", std::string("a\0b", 3), "1",
                          "c", "18446744073709551615"}));
  EXPECT_EQ(request.key, "k");
  EXPECT_FALSE(request.UseWholeScript());
  Request call(kAddScript, {"k", "l"}, {"m"});
  const Script& script = kScripts[kAddScript];
  EXPECT_EQ(call.key, "k");
  EXPECT_EQ(call.words,
            (RedisCommand{"EVALSHA", script.sha1, "2", "k", "l", "m"}));
  EXPECT_TRUE(call.UseWholeScript());
  EXPECT_EQ(call.words,
            (RedisCommand{"EVAL", script.body, "2", "k", "l", "m"}));
  EXPECT_FALSE(call.UseWholeScript()) << "once";
}

TEST(Bits, AreInRedisOrder) {
  EXPECT_EQ(ReverseBits(0x80), 0x01);
  EXPECT_EQ(ReverseBits(0x35), 0xac);
}

TEST(Identity, IsReadFromInfo) {
  RedisReply server, replication, refused;
  server.text = "# Server\r\nredis_version:7\r\nrun_id:abc\r\ntcp_port:1\r\n";
  replication.text =
      "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
      "master_replid:def\r\nmaster_replid2:000\r\n";
  ServerIdentity identity;
  identity.ReadServer(server);
  identity.ReadReplication(replication);
  EXPECT_EQ(identity.run_id, "abc");
  EXPECT_EQ(identity.replid, "def");
  EXPECT_TRUE(identity.is_master);
  EXPECT_FALSE(identity.replicates);
  EXPECT_EQ(identity.error, "");
  refused.kind = RedisReply::Kind::kError;
  refused.text = "NOPERM";
  identity.ReadReplication(refused);
  EXPECT_EQ(identity.error, "INFO replication: NOPERM");
  EXPECT_FALSE(identity.is_master);
  identity.ReadReplication(replication);
  EXPECT_EQ(identity.error, "");
  replication.text = "role:slave\r\nconnected_slaves:1\r\nmaster_replid:d\r\n";
  identity.ReadReplication(replication);
  EXPECT_TRUE(identity.replicates);
  identity.ReadServer(refused);
  EXPECT_EQ(identity.error, "INFO server: NOPERM");
}

}  // namespace
}  // namespace deltabloom::internal
