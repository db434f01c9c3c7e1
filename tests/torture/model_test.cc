// What the model reports as lost, and what not.
#include "tests/torture/model.h"

#include <gtest/gtest.h>

#include <string>

namespace deltabloom::torture {
namespace {

constexpr uint32_t kKey = 42;

class TortureModelTest : public ::testing::Test {
 protected:
  TortureModelTest() {
    before_.slots[0].exists = true;
    before_.slots[0].values[kKey] = "old";
  }

  Record* Begin(Kind kind, uint64_t id = 0) {
    Record* const record = journal_->New();
    record->kind = kind;
    record->key = kKey;
    record->key_end = kKey + 1;
    record->id = id;
    journal_->Begin(record);
    return record;
  }
  Record* Do(Kind kind, uint64_t id = 0) {
    Record* const record = Begin(kind, id);
    journal_->End(record, Outcome::kDone);
    return record;
  }
  bool MayBe(Ending ending, const Value& value, uint64_t from = UINT64_MAX,
             uint64_t until = UINT64_MAX) {
    const Model model(&before_, journal_, ending, from, until);
    return model.Judge(0, 0, kKey, value).empty();
  }

  State before_;
  Journal* const journal_ = Journal::Create();
};

TEST_F(TortureModelTest, AcknowledgedIsThereAfterAKillAndInFlightMayBe) {
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
  Do(Kind::kPut, 1);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
  // Without power, only what was synced must be.
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_TRUE(MayBe(Ending::kPowerLost, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
  Begin(Kind::kMerge, 2);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_TRUE(MayBe(Ending::kKilled, Merged(ValueText(1), ValueText(2))));
  EXPECT_FALSE(MayBe(Ending::kKilled, Merged("old", ValueText(2))));
}

TEST_F(TortureModelTest, ASyncMakesEarlierWritesDurable) {
  Do(Kind::kPut, 1);
  Do(Kind::kClose);  // syncs no log
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  Record* const elsewhere = journal_->New();
  elsewhere->key = kKey + 1;
  elsewhere->synced = true;
  journal_->Begin(elsewhere);
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  journal_->End(elsewhere, Outcome::kDone);
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  Do(Kind::kDelete);
  EXPECT_TRUE(MayBe(Ending::kPowerLost, ValueText(1)));
  Do(Kind::kSync);
  EXPECT_FALSE(MayBe(Ending::kPowerLost, ValueText(1)));
  EXPECT_TRUE(MayBe(Ending::kPowerLost, std::nullopt));
}

TEST_F(TortureModelTest, WhatIsInNoLogNeedsAFlushOrAClose) {
  Do(Kind::kPut, 1)->no_log = true;
  Do(Kind::kSync);
  EXPECT_TRUE(MayBe(Ending::kKilled, "old"));
  Do(Kind::kFlush);
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  Do(Kind::kDeleteRange)->no_log = true;
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  Do(Kind::kClose);
  EXPECT_FALSE(MayBe(Ending::kKilled, ValueText(1)));
}

TEST_F(TortureModelTest, IngestedStaysAndRolledBackDoesNot) {
  Do(Kind::kPut, 1)->stays = true;
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  journal_->End(Begin(Kind::kPut, 2), Outcome::kUndone);
  EXPECT_FALSE(MayBe(Ending::kKilled, ValueText(2)));
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
}

// An ingested file is in no log.
TEST_F(TortureModelTest, ACopyMayMissAnIngestedFileAndHaveLaterWrites) {
  Do(Kind::kPut, 1);
  const uint64_t from = journal_->Now();
  Do(Kind::kPut, 2)->stays = true;
  Do(Kind::kMerge, 3);
  const uint64_t until = journal_->Now();
  Do(Kind::kPut, 4);
  const auto may_be = [&](const Value& value) {
    return MayBe(Ending::kKilled, value, from, until);
  };
  EXPECT_TRUE(may_be(ValueText(1)));
  EXPECT_TRUE(may_be(ValueText(2)));
  EXPECT_TRUE(may_be(Merged(ValueText(1), ValueText(3))));
  EXPECT_TRUE(may_be(Merged(ValueText(2), ValueText(3))));
  EXPECT_FALSE(may_be("old"));
  EXPECT_FALSE(may_be(ValueText(3)));
  EXPECT_FALSE(may_be(ValueText(4)));
  EXPECT_FALSE(MayBe(Ending::kKilled, Merged(ValueText(1), ValueText(3))));
}

TEST_F(TortureModelTest, ColumnFamilies) {
  const auto may_be = [&](bool exists, uint32_t generation) {
    const Model model(&before_, journal_, Ending::kPowerLost);
    return model.JudgeSlot(1, exists, generation).empty();
  };
  const auto begin = [&](Kind kind, uint32_t generation) {
    Record* const record = Begin(kind);
    record->slot = 1;
    record->generation = generation;
    return record;
  };
  before_.slots[1].exists = true;
  before_.slots[1].generation = 5;
  EXPECT_TRUE(may_be(true, 5));
  EXPECT_FALSE(may_be(true, 6));
  EXPECT_FALSE(may_be(false, 0));
  Record* const drop = begin(Kind::kDropFamily, 5);
  EXPECT_TRUE(may_be(true, 5));
  EXPECT_TRUE(may_be(false, 0));
  journal_->End(drop, Outcome::kDone);
  EXPECT_FALSE(may_be(true, 5));
  Record* const create = begin(Kind::kCreateFamily, 6);
  EXPECT_TRUE(may_be(false, 0));
  EXPECT_TRUE(may_be(true, 6));
  journal_->End(create, Outcome::kDone);
  EXPECT_FALSE(may_be(false, 0));
  EXPECT_TRUE(may_be(true, 6));
}

}  // namespace
}  // namespace deltabloom::torture
