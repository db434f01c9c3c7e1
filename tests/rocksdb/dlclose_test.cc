// RocksDB's registry keeps the factory of a plugin that is closed, so the code
// must stay.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"

namespace {

TEST(DlcloseTest, RegisteredPolicyStays) {
  void* const plugin = dlopen(DELTABLOOM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto load = reinterpret_cast<int (*)(const char*, char**)>(
      dlsym(plugin, "deltabloom_load"));
  ASSERT_NE(load, nullptr) << dlerror();
  char* error = nullptr;
  ASSERT_EQ(load(nullptr, &error), 1) << error;
  ASSERT_EQ(dlclose(plugin), 0) << dlerror();
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), "deltabloom:9.9", &policy);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->GetId(), "deltabloom");
}

}  // namespace
