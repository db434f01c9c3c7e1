// What the model takes for lost, and what not.
#include "db_bench_ext/torture/model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "db_bench_ext/common/files.h"

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
  bool MayBe(Ending ending, const Value& value) {
    const Model model(&before_, journal_, ending);
    return model.Judge(0, 0, kKey, value).empty();
  }

  State before_;
  Journal* const journal_ = Journal::Create();
};

TEST_F(TortureModelTest, WhatWasNotTouchedStays) {
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
  EXPECT_FALSE(MayBe(Ending::kKilled, "other"));
}

TEST_F(TortureModelTest, AcknowledgedIsThereAfterAKill) {
  Do(Kind::kPut, 1);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
  // Without power, only what was synced must be.
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_TRUE(MayBe(Ending::kPowerLost, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
}

TEST_F(TortureModelTest, InFlightMayBeThere) {
  Do(Kind::kPut, 1);
  Begin(Kind::kMerge, 2);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_TRUE(MayBe(Ending::kKilled, Merged(ValueText(1), ValueText(2))));
  EXPECT_FALSE(MayBe(Ending::kKilled, Merged("old", ValueText(2))));
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
}

TEST_F(TortureModelTest, ASyncedWriteTakesTheEarlierOnesWithIt) {
  Do(Kind::kPut, 1);
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

TEST_F(TortureModelTest, ClosingSyncsNoLog) {
  Do(Kind::kPut, 1);
  Do(Kind::kClose);
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
}

TEST_F(TortureModelTest, IngestedStaysAndRolledBackDoesNot) {
  Do(Kind::kPut, 1)->stays = true;
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  journal_->End(Begin(Kind::kPut, 2), Outcome::kUndone);
  EXPECT_FALSE(MayBe(Ending::kKilled, ValueText(2)));
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
}

TEST_F(TortureModelTest, ACopyHasWhatWasDoneBeforeAndNothingFromAfterwards) {
  Do(Kind::kPut, 1);
  const uint64_t from = journal_->Now();
  Do(Kind::kPut, 2);
  const uint64_t until = journal_->Now();
  Do(Kind::kPut, 3);
  const Model model(&before_, journal_, Ending::kKilled, from, until);
  EXPECT_NE(model.Judge(0, 0, kKey, "old"), "");
  EXPECT_EQ(model.Judge(0, 0, kKey, ValueText(1)), "");
  EXPECT_EQ(model.Judge(0, 0, kKey, ValueText(2)), "");
  EXPECT_NE(model.Judge(0, 0, kKey, ValueText(3)), "");
}

// Of an ingested file the log says nothing.
TEST_F(TortureModelTest, ACopyMayMissAnIngestedFileAndHaveLaterWrites) {
  Do(Kind::kPut, 1);
  const uint64_t from = journal_->Now();
  Do(Kind::kPut, 2)->stays = true;
  Do(Kind::kMerge, 3);
  const uint64_t until = journal_->Now();
  const Model model(&before_, journal_, Ending::kKilled, from, until);
  const std::vector<Value> may = {ValueText(1), ValueText(2),
                                  Merged(ValueText(1), ValueText(3)),
                                  Merged(ValueText(2), ValueText(3))};
  for (const Value& value : may) {
    EXPECT_EQ(model.Judge(0, 0, kKey, value), "");
  }
  EXPECT_NE(model.Judge(0, 0, kKey, Merged("old", ValueText(3))), "");
  EXPECT_NE(model.Judge(0, 0, kKey, ValueText(3)), "");
  const Model after(&before_, journal_, Ending::kKilled);
  EXPECT_NE(after.Judge(0, 0, kKey, Merged(ValueText(1), ValueText(3))), "");
}

TEST_F(TortureModelTest, AFailureSaysWhatWasLost) {
  Do(Kind::kPut, 1);
  const Model model(&before_, journal_, Ending::kKilled);
  const std::string said = model.Judge(0, 0, kKey, std::nullopt);
  EXPECT_NE(said.find(KeyText(0, kKey)), std::string::npos) << said;
  EXPECT_NE(said.find("no value, and must have write 1"), std::string::npos)
      << said;
  EXPECT_NE(said.find("acknowledged: must be there"), std::string::npos)
      << said;
}

TEST_F(TortureModelTest, ColumnFamilies) {
  const auto may_be = [&](bool exists, uint32_t generation) {
    const Model model(&before_, journal_, Ending::kPowerLost);
    return model.JudgeSlot(1, exists, generation).empty();
  };
  before_.slots[1].exists = true;
  before_.slots[1].generation = 5;
  EXPECT_TRUE(may_be(true, 5));
  EXPECT_FALSE(may_be(true, 6));
  EXPECT_FALSE(may_be(false, 0));
  Record* const drop = Begin(Kind::kDropFamily);
  drop->slot = 1;
  drop->generation = 5;
  EXPECT_TRUE(may_be(true, 5));
  EXPECT_TRUE(may_be(false, 0));
  journal_->End(drop, Outcome::kDone);
  EXPECT_FALSE(may_be(true, 5));
  EXPECT_TRUE(may_be(false, 0));
  Record* const create = Begin(Kind::kCreateFamily);
  create->slot = 1;
  create->generation = 6;
  EXPECT_TRUE(may_be(false, 0));
  EXPECT_TRUE(may_be(true, 6));
  journal_->End(create, Outcome::kDone);
  EXPECT_FALSE(may_be(false, 0));
  EXPECT_TRUE(may_be(true, 6));
}

TEST_F(TortureModelTest, AStateIsReadAsItWasWritten) {
  const bench::ScratchDirectory folder("torture-test");
  before_.slots[2].exists = true;
  before_.slots[2].generation = 7;
  before_.slots[2].values[3] = "";
  before_.Save(folder.path() + "/state");
  const State state = State::Load(folder.path() + "/state");
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    EXPECT_EQ(state.slots[slot].exists, before_.slots[slot].exists);
    EXPECT_EQ(state.slots[slot].generation, before_.slots[slot].generation);
    EXPECT_EQ(state.slots[slot].values, before_.slots[slot].values);
  }
}

}  // namespace
}  // namespace deltabloom::torture
