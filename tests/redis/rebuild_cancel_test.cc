// Rebuilds that their caller wants no more, and those that a filter waits for.
#include <gtest/gtest.h>

#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

using std::chrono::milliseconds;

class RebuildCancelTest : public testing::Test {
 protected:
  RebuildCancelTest() {
    options_.cancelled = [this] { return stop_; };
    filter_options_.name = "f";
    filter_options_.scheme = "go-murmur3";
    filter_options_.bits = 100000;
    filter_options_.probes = 3;
  }

  void Create() {
    const RedisStatus status =
        RedisFilter::Create(server_.Options(), filter_options_, &filter_);
    ASSERT_TRUE(status.ok()) << status.message;
  }
  std::string AllKeys() const { return server_.Run({"KEYS", "*"}); }

  // A rebuild with a key, cancelled before its upload is through.
  RedisError CancelInFinish() {
    std::unique_ptr<RedisRebuild> rebuild;
    const RedisStatus status = filter_->StartRebuild(options_, &rebuild);
    EXPECT_TRUE(status.ok()) << status.message;
    rebuild->Add("comes");
    stop_ = true;
    return rebuild->Finish().error;
  }

  const Server server_;
  RedisFilterOptions filter_options_;
  RedisRebuildOptions options_;
  std::unique_ptr<RedisFilter> filter_;
  bool stop_ = false;
};

TEST_F(RebuildCancelTest, TheUpload) {
  Create();
  ASSERT_TRUE(filter_->Add("stays").ok());
  const std::string before = AllKeys();
  EXPECT_EQ(CancelInFinish(), RedisError::kCancelled);
  EXPECT_EQ(AllKeys(), before);
  EXPECT_TRUE(filter_->MayMatch("stays"));
  EXPECT_FALSE(filter_->MayMatch("comes"));
}

TEST_F(RebuildCancelTest, TheWaitBeforeTheFirstKey) {
  Create();
  const std::string before = AllKeys();
  options_.settle = milliseconds(3600000);
  stop_ = true;
  std::unique_ptr<RedisRebuild> rebuild;
  const RedisStatus status = filter_->StartRebuild(options_, &rebuild);
  EXPECT_EQ(status.error, RedisError::kCancelled);
  EXPECT_STREQ(RedisErrorName(status.error), "cancelled");
  EXPECT_NE(status.message.find("'f': the rebuild was cancelled"),
            std::string::npos)
      << status.message;
  EXPECT_EQ(rebuild, nullptr);
  EXPECT_EQ(AllKeys(), before);
}

// A bitmap of others is only added to: there is no temporary bitmap, but an
// upload.
TEST_F(RebuildCancelTest, AnUploadToAnAdoptedBitmap) {
  const RedisStatus status =
      RedisFilter::Adopt(server_.Options(), filter_options_, &filter_);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(CancelInFinish(), RedisError::kCancelled);
  EXPECT_EQ(AllKeys(), "[]");
}

// Made for keys that exist already, it refuses none before it has them all.
TEST(FilledByRebuild, MayMatchUntilItIs) {
  const Server server;
  for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
    RedisFilterOptions options;
    options.name = scheme;
    options.scheme = scheme;
    options.expected_keys = 1000;
    options.expire_after = milliseconds(3600000);
    options.filled_by_rebuild = true;
    std::unique_ptr<RedisFilter> filter;
    std::unique_ptr<RedisFilter> reader;
    RedisStatus status =
        RedisFilter::Create(server.Options(), options, &filter);
    ASSERT_TRUE(status.ok()) << status.message;
    status = RedisFilter::Open(server.Options(), scheme, &reader);
    ASSERT_TRUE(status.ok()) << status.message;
    std::unique_ptr<RedisRebuild> rebuild;
    ASSERT_TRUE(filter->StartRebuild({}, &rebuild).ok());
    bool may_match = false;
    EXPECT_EQ(reader->Check("any", &may_match).error, RedisError::kMissing);
    EXPECT_TRUE(may_match);
    EXPECT_EQ(reader->Add("any").error, RedisError::kMissing);
    rebuild->Add("key");
    ASSERT_TRUE(rebuild->Finish().ok());
    EXPECT_TRUE(reader->Check("any", &may_match).ok());
    EXPECT_FALSE(may_match);
    EXPECT_TRUE(reader->MayMatch("key"));
    EXPECT_TRUE(reader->Add("any").ok());
    EXPECT_TRUE(reader->MayMatch("any"));
    EXPECT_GT(std::stol(server.Run({"PTTL", scheme})), 3000000);
  }
}

}  // namespace
}  // namespace deltabloom::test
