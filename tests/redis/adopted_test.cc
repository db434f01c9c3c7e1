// Bitmaps that programs in other languages fill.
#include <gtest/gtest.h>

#include "tests/redis/expect_failure.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

TEST(Adopted, TheWeakerPromise) {
  Server server;
  std::unique_ptr<RedisFilter> filter;
  RedisFilterOptions options = Small("theirs");
  RedisStatus status = RedisFilter::Adopt(server.Options(), options, &filter);
  ASSERT_TRUE(status.ok()) << status.message;
  // Nobody has written yet, or it was lost: who knows.
  ExpectFailure(filter.get(), RedisError::kMissing, PlaceOf(server),
                "'theirs'");
  ASSERT_TRUE(filter->Add("ours").ok());
  EXPECT_EQ(server.Run({"DBSIZE"}), "1") << "no descriptor, no marker";
  bool found = false;
  ASSERT_TRUE(filter->Check("ours", &found).ok());
  EXPECT_TRUE(found);
  ASSERT_TRUE(filter->Check("others", &found).ok());
  EXPECT_FALSE(found);
  RedisFilterInfo info;
  ASSERT_TRUE(filter->Info(&info).ok());
  EXPECT_TRUE(info.adopted);
  EXPECT_EQ(info.set_bits, info.probes);
  options.scheme = "local";
  EXPECT_EQ(RedisFilter::Adopt(server.Options(), options, &filter).error,
            RedisError::kInvalidArgument);
  Create(server.Options(), Small("ours"));
  EXPECT_EQ(RedisFilter::Adopt(server.Options(), Small("ours"), &filter).error,
            RedisError::kMismatch);
}

// 512 MiB in Redis, and the last offset it has: of a bitmap of ours the marker
// is there.
TEST(Adopted, PhpReachesTheLastBit) {
  Server server;
  {
    RedisFilterOptions ours;
    ours.name = "ours";
    ours.scheme = "php-named-hashes";
    auto filter = Create(server.Options(), ours);
    EXPECT_EQ(server.Run({"BITPOS", "ours", "1"}), "4294967295");
    ASSERT_TRUE(filter->Add("user:1").ok());
    RedisFilterInfo info;
    ASSERT_TRUE(filter->Info(&info).ok());
    EXPECT_EQ(info.set_bits, 3u);
    EXPECT_EQ(info.hashes, (std::vector<std::string>{"BKDR", "SDBM", "JS"}));
    EXPECT_LT(info.occupancy, 0.5);
    std::unique_ptr<RedisFilter> again;
    const RedisStatus status =
        RedisFilter::Open(server.Options(), "ours", &again);
    ASSERT_TRUE(status.ok()) << status.message;
    bool found = false;
    ASSERT_TRUE(again->Check("user:1", &found).ok());
    EXPECT_TRUE(found);
    ASSERT_TRUE(again->Check("user:2", &found).ok());
    EXPECT_FALSE(found);
    server.Run({"DEL", "ours"});
    EXPECT_EQ(again->Check("user:2", &found).error, RedisError::kMissing);
  }
  RedisFilterOptions options;
  options.name = "php";
  options.scheme = "php-named-hashes";
  std::unique_ptr<RedisFilter> filter;
  ASSERT_TRUE(RedisFilter::Adopt(server.Options(), options, &filter).ok());
  ASSERT_TRUE(filter->Add("user:1").ok());
  bool found = false;
  ASSERT_TRUE(filter->Check("user:1", &found).ok());
  EXPECT_TRUE(found);
  ASSERT_TRUE(filter->Check("user:2", &found).ok());
  EXPECT_FALSE(found);
}

}  // namespace
}  // namespace deltabloom::test
