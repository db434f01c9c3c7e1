// The torture finds a filter that loses keys, a disk that loses what was
// synced, and a check that never ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/torture/database.h"
#include "db_bench_ext/torture/run.h"
#include "tests/random.h"
#include "tests/rocksdb/delegating_policy.h"

namespace deltabloom::torture {
namespace {

using rocksdb::FilterPolicy;
using rocksdb::Slice;

// Leaves out one key of forty.
class LosingBuilder : public testing::DelegatingBuilder {
 public:
  using DelegatingBuilder::DelegatingBuilder;

  void AddKey(const Slice& key) override {
    if (!Loses(key)) DelegatingBuilder::AddKey(key);
  }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    if (!Loses(key)) DelegatingBuilder::AddKeyAndAlt(key, alt);
  }
#endif

 private:
  // By the digits at the end of its number and what follows.
  static bool Loses(const Slice& key) {
    uint64_t sum = 0;
    for (const char byte : key.ToString()) {
      sum = sum * 31 + static_cast<unsigned char>(byte);
    }
    return sum % 40 == 0;
  }
};

// Never comes back from a lookup.
class HangingPolicy
    : public testing::DelegatingPolicy<testing::DelegatingBuilder> {
 public:
  using DelegatingPolicy::DelegatingPolicy;

  rocksdb::FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    while (true) pause();
  }
};

// Lets no database open, with what RocksDB says of its order of level 0.
class MisorderedPolicy
    : public testing::DelegatingPolicy<testing::DelegatingBuilder> {
 public:
  using DelegatingPolicy::DelegatingPolicy;

  rocksdb::Status ValidateOptions(
      const rocksdb::DBOptions&,
      const rocksdb::ColumnFamilyOptions&) const override {
    const bool is_open = asked_.exchange(true);
    return is_open ? rocksdb::Status::Corruption(kMisorder)
                   : rocksdb::Status::OK();
  }

  // RocksDB 7.8.3's words (db/version_builder.cc), with other numbers.
  static constexpr char kMisorder[] =
      "force_consistency_checks(VersionBuilder): L0 file #27 with seqno "
      "158 175 vs. file #24 with global_seqno 170 with fileNumber 27";

 private:
  // First when options are drawn.
  mutable std::atomic<bool> asked_{false};
};

RunOptions Drawn() {
  RunOptions options;
  options.seed = test::SeedOr(3);
  options.cycles = 20;
  return options;
}

Failure RunWith(const Sabotage& sabotage, RunOptions options = Drawn()) {
  const bench::ScratchDirectory folder("torture-test");
  options.folder = folder.path();
  options.sabotage = sabotage;
  Journal* const journal = Journal::Create();
  const Failure failure = Run(options, journal);
  EXPECT_EQ(journal->totals.failures, failure.what.empty() ? 0u : 1u);
  return failure;
}

TEST(SabotageTest, AFilterThatLosesKeysIsFound) {
  Sabotage sabotage;
  sabotage.policy = [](std::shared_ptr<const FilterPolicy> policy) {
    return std::make_shared<testing::DelegatingPolicy<LosingBuilder>>(
        std::move(policy));
  };
  const Failure failure = RunWith(sabotage);
  // Says which key, whoever comes upon it first.
  EXPECT_NE(failure.what.find("'k"), std::string::npos) << failure.what;
}

TEST(SabotageTest, ADiskThatLosesWhatWasSyncedIsFound) {
  Sabotage sabotage;
  sabotage.forget_syncs = true;
  const Failure failure = RunWith(sabotage);
  // Whoever comes upon it first: the model finds a key that must be there, a
  // transaction that was committed, or RocksDB itself what its tables tell of.
  EXPECT_NE(failure.what.find("then power is lost"), std::string::npos)
      << failure.what;
}

// RocksDB's own doing, before 7.10: counted, and the run goes on.
TEST(SabotageTest, ADatabaseThatRocksDBRefusesIsAbandoned) {
  if (!TellsOfMisorder(std::string("Corruption: ") +
                       MisorderedPolicy::kMisorder)) {
    GTEST_SKIP() << "this RocksDB keeps its order";
  }
  const bench::ScratchDirectory folder("torture-test");
  RunOptions options = Drawn();
  options.cycles = 3;
  options.folder = folder.path();
  options.sabotage.policy = [](std::shared_ptr<const FilterPolicy> policy) {
    return std::make_shared<MisorderedPolicy>(std::move(policy));
  };
  Journal* const journal = Journal::Create();
  EXPECT_EQ(torture::Run(options, journal).what, "");
  EXPECT_EQ(journal->totals.cycles, 3u);
  EXPECT_EQ(journal->totals.abandoned, 3u);
  EXPECT_EQ(journal->totals.keys_checked, 0u);
}

TEST(SabotageTest, OtherErrorsAreNotTakenForMisorder) {
  EXPECT_FALSE(TellsOfMisorder("Corruption: block checksum mismatch"));
  EXPECT_FALSE(TellsOfMisorder(
      "Corruption: force_consistency_checks(VersionBuilder): L1 has "
      "overlapping ranges"));
}

TEST(SabotageTest, ACheckThatHangsIsFound) {
  Sabotage sabotage;
  sabotage.policy = [](std::shared_ptr<const FilterPolicy> policy) {
    return std::make_shared<HangingPolicy>(std::move(policy));
  };
  RunOptions options = Drawn();
  // Who works is killed before that, unless he shall close the database.
  options.timeout_seconds = 2;
  while (DrawPlan(options.seed, 0, Folders("")).closes) ++options.seed;
  const Failure failure = RunWith(sabotage, options);
  EXPECT_NE(failure.what.find("the check has not ended after 2 s; it was at: "),
            std::string::npos)
      << failure.what;
}

}  // namespace
}  // namespace deltabloom::torture
