// No stored key is lost, and filters do their work, on every way by which
// RocksDB asks them.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 3000;

// Parameters: partitioned, compatibility, bits per key.
class LookupTest : public ::testing::TestWithParam<
                       std::tuple<bool, RocksDBCompatibility, double>> {
 protected:
  DbConfig MakeConfig() const {
    DbConfig config;
    config.partitioned = std::get<0>(GetParam());
    config.policy =
        Deltabloom(std::get<2>(GetParam()), std::get<1>(GetParam()));
    return config;
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Filters, LookupTest,
    ::testing::Combine(::testing::Bool(),
                       ::testing::Values(RocksDBCompatibility::kBuiltin,
                                         RocksDBCompatibility::kOwn),
                       ::testing::Values(10, 9.9)));

TEST_P(LookupTest, GetAndMultiGet) {
  const auto db = Open(MakeOptions(MakeConfig()), dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  ExpectFiltered(MultiGetAll(db.get(), 0, kKeys), kKeys);
}

TEST_P(LookupTest, AfterReopen) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  auto db = Open(options, dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  db.reset();
  db = Open(options, dir_.Path("db"));
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
}

}  // namespace
}  // namespace deltabloom::testing
