// TLS, where the build has it; else that this is said.
#include "shared_filters/redis/tls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/redis/expect_failure.h"
#include "tests/redis/server.h"

namespace deltabloom::test {
namespace {

TEST(Tls, AskedOfABuildWithoutIt) {
  if (internal::WhyNoTls().empty()) GTEST_SKIP() << "this build has TLS";
  RedisOptions redis;
  redis.tls.enabled = true;
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kUnsupported);
  EXPECT_NE(status.message.find("hiredis 1.0"), std::string::npos);
}

// A certificate that vouches for itself.
bool MakeCertificate(const std::string& directory) {
  const std::string command =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
      "-keyout " +
      directory + "/key.pem -out " + directory + "/cert.pem >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

TEST(Tls, IsSpoken) {
  if (!internal::WhyNoTls().empty()) GTEST_SKIP() << internal::WhyNoTls();
  const std::string directory =
      std::filesystem::temp_directory_path() /
      ("deltabloom-tls-" + std::to_string(FreePort()));
  std::filesystem::create_directory(directory);
  if (!MakeCertificate(directory)) GTEST_SKIP() << "no openssl";
  const uint16_t port = FreePort();
  const Server server({"--tls-port", std::to_string(port), "--tls-cert-file",
                       directory + "/cert.pem", "--tls-key-file",
                       directory + "/key.pem", "--tls-ca-cert-file",
                       directory + "/cert.pem"});
  RedisOptions redis = server.Options();
  redis.port = port;
  redis.host = "localhost";
  std::unique_ptr<RedisFilter> filter;
  // Without TLS, and without the client's certificate: neither gets in.
  redis.command_timeout = redis.connect_timeout = std::chrono::seconds(2);
  EXPECT_FALSE(RedisFilter::Create(redis, Small(), &filter).ok());
  redis.tls.enabled = true;
  redis.tls.ca_file = directory + "/cert.pem";
  EXPECT_FALSE(RedisFilter::Create(redis, Small(), &filter).ok());
  redis.tls.certificate = directory + "/cert.pem";
  redis.tls.key = directory + "/key.pem";
  redis.command_timeout = redis.connect_timeout = std::chrono::seconds(20);
  RedisStatus status = RedisFilter::Create(redis, Small(), &filter);
  ASSERT_TRUE(status.ok()) << status.message;
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(std::to_string(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = std::make_unique<bool[]>(views.size());
  ASSERT_TRUE(filter->Add(views.data(), views.size()).ok());
  ASSERT_TRUE(filter->Check(views.data(), views.size(), found.get()).ok());
  for (size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(found[i]);
  // Another authority vouches for nobody here.
  ASSERT_EQ(std::system(("mkdir " + directory + "/other").c_str()), 0);
  ASSERT_TRUE(MakeCertificate(directory + "/other"));
  redis.tls.ca_file = directory + "/other/cert.pem";
  status = RedisFilter::Open(redis, "f", &filter);
  EXPECT_EQ(status.error, RedisError::kUnavailable) << status.message;
  EXPECT_NE(status.message.find("TLS"), std::string::npos) << status.message;
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace deltabloom::test
