// Range filters against a slow model of docs/format.md: no range that holds a
// key is denied, and what the model finds absent is denied.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/random.h"
#include "tests/range/declarations.h"
#include "tests/range/subject.h"
#include "tests/reference/reference.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"

namespace deltabloom::test {
namespace {

using internal::range::Answer;
using internal::range::AskedFilters;
using internal::range::KeyRange;
using internal::range::Order;

const std::vector<std::string>& Declarations() {
  static const auto& declarations = *new std::vector<std::string>{
      "8",
      "1,2,3",
      "'/'",
      "'/'x1,'/'x2,'/'x16",
      "'/'x1+1,'/'x2+3",
      "56b",
      "1b,9b,20b",
      "'/'x1+12b,'/'x3+3b,4",
      "0xff,0x00",
      "0x00x2,'a'",
      "300,600,1024",
      "8192b",
      "thirds@1",
      "2+thirds@1,'/'",
      "groups_of_8@1",
      "kvrocks@1",
      "1,2,3,4,5,6,7,8,9,10,'/','a','b','x'x3+4b,61b,thirds",
      "','x1,''',0x3b",
  };
  return declarations;
}

std::vector<size_t> EndsOf(const std::string& name, const std::string& text) {
  std::vector<size_t> ends;
  FindTestFunction(name)->prefix.function(text, &ends);
  return ends;
}

// The number of scans, or what DELTABLOOM_RANGES says.
uint64_t Scans() {
  const char* const wish = std::getenv("DELTABLOOM_RANGES");
  return wish == nullptr ? 200'000 : std::strtoull(wish, nullptr, 10);
}

// The keys of one table, its filter and the model of both.
class Table {
 public:
  Table(const std::string& declaration, Order order, Random* random)
      : order_(order),
        kind_(KeyKinds()[random->Below(KeyKinds().size())]),
        model_(declaration, EndsOf) {
    for (uint64_t i = 1 + random->Below(30); i > 0; --i) {
      keys_.insert(kind_.key(random));
    }
    in_order_.assign(keys_.begin(), keys_.end());
    for (const std::string& key : in_order_) {
      const auto of_key = model_.PrefixesOf(key);
      prefixes_.insert(of_key.begin(), of_key.end());
    }
    if (order == Order::kReverse) {
      std::reverse(in_order_.begin(), in_order_.end());
    }
    bytes_ = FilterOf(declaration, in_order_, 1000, order);
    std::sort(in_order_.begin(), in_order_.end());
    filter_ = std::make_unique<internal::range::Filter>(bytes_);
    EXPECT_TRUE(filter_->known());
  }

  void Scan(Random* random) {
    const Range near = RangeNear(in_order_, kind_, random);
    const bool reverse = order_ == Order::kReverse;
    const std::string& lower = reverse ? near.upper : near.lower;
    std::optional<std::string> upper = reverse ? near.lower : near.upper;
    if (random->Below(8) == 0) upper.reset();
    KeyRange range;
    std::vector<std::string> wanted;
    bool holds = false;
    if (random->Below(4) == 0) {
      range = internal::range::RangeOfPrefix(order_, lower);
      wanted = model_.AskedByPrefix(lower);
      const auto key = keys_.lower_bound(lower);
      holds = key != keys_.end() && key->compare(0, lower.size(), lower) == 0;
    } else {
      std::optional<std::string_view> end;
      if (upper) end = *upper;
      range = internal::range::RangeOfBounds(order_, lower, end);
      wanted = model_.AskedBy(lower, upper, reverse);
      holds = Holds(lower, upper);
    }
    const Answer answer = AskedFilters(FindTestFunction).Ask(*filter_, range);
    if (holds) {
      ASSERT_NE(answer, Answer::kNo)
          << "a key of " << kind_.name << " is lost: " << filter_->Describe()
          << "\nlower " << ::testing::PrintToString(lower) << "\nupper "
          << ::testing::PrintToString(upper.value_or("none"));
    }
    ASSERT_TRUE(answer != Answer::kNoPlace || wanted.empty());
    if (wanted.empty() || filter_->IsOutside(range)) return;
    const bool there = std::any_of(
        wanted.begin(), wanted.end(),
        [this](const auto& prefix) { return prefixes_.count(prefix) > 0; });
    ASSERT_TRUE(answer == Answer::kMayMatch || !there);
    if (!there) {
      ++absent;
      passed += answer == Answer::kMayMatch;
    }
  }

  uint64_t absent = 0, passed = 0;

 private:
  bool Holds(const std::string& lower,
             const std::optional<std::string>& upper) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const std::string& key) {
      if (order_ == Order::kBytewise) {
        return key >= lower && (!upper || key < *upper);
      }
      return key <= lower && (!upper || key > *upper);
    });
  }

  const Order order_;
  const KeyKind& kind_;
  const reference::RangePlaces model_;
  std::set<std::string> keys_, prefixes_;
  std::vector<std::string> in_order_;
  std::string bytes_;
  std::unique_ptr<internal::range::Filter> filter_;
};

TEST(RangeProperty, AgreesWithTheModel) {
  FreshRandom random;
  uint64_t absent = 0, passed = 0;
  constexpr uint64_t kScansOfTable = 50;
  for (uint64_t done = 0; done < Scans() && !HasFailure();
       done += kScansOfTable) {
    const std::string& declaration =
        Declarations()[random.Below(Declarations().size())];
    SCOPED_TRACE(declaration);
    const Order order =
        random.Below(2) == 0 ? Order::kBytewise : Order::kReverse;
    Table table(declaration, order, &random);
    for (uint64_t i = 0; i < kScansOfTable && !HasFailure(); ++i) {
      table.Scan(&random);
    }
    absent += table.absent;
    passed += table.passed;
  }
  // A filter with 16 bits passes one prefix in 65,536, and 8 of them one in
  // 8,192; small filters of layout local pass a few times as many.
  EXPECT_GT(absent, Scans() / 20);
  EXPECT_LT(passed, absent / 500 + 20);
}

}  // namespace
}  // namespace deltabloom::test
