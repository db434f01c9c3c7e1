// Each bit of a filter is flipped in turn, and the filter is cut at every
// length; all its keys are looked up each time. No reader crashes or reads out
// of bounds, and a key is lost only where nothing protects it. For the figures
// of docs/trust.md, of filters of 0 to 300 keys: DELTABLOOM_DAMAGE_KEYS=300.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "tests/filters.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::test {
namespace {

using Strings = std::vector<std::string>;
using Policy = testing::PolicyPtr;

// Changes, and those of them that lose a key.
struct Count {
  int changes = 0;
  int losing = 0;

  void Add(bool loses) {
    ++changes;
    losing += loses;
  }
  double Percent() const { return 100.0 * losing / std::max(changes, 1); }
};

struct Kind {
  std::string name;
  size_t framing_size;  // bytes after the payload
  Policy policy;        // null: raw filters
  Layout layout = Layout::kClassic;
  Count payload_flips{}, framing_flips{}, truncations{};

  std::string Build(const Strings& keys) const {
    return policy == nullptr ? RawFilter(keys, OptionsOf(layout))
                             : testing::Build(*policy, keys);
  }

  // The answers for the keys.
  std::vector<bool> Ask(const std::string& filter, const Strings& keys) const {
    // A copy of its own, so that sanitizers see the end.
    const std::vector<char> bytes(filter.begin(), filter.end());
    std::vector<bool> answers;
    if (policy == nullptr) {
      const Filter view({bytes.data(), bytes.size()});
      for (const auto& key : keys) answers.push_back(view.MayMatch(key));
    } else {
      const auto reader =
          internal::NewBitsReader(*policy, {bytes.data(), bytes.size()});
      for (const auto& key : keys) answers.push_back(reader->MayMatch(key));
    }
    return answers;
  }

  bool Loses(const std::string& filter, const Strings& keys) const {
    const std::vector<bool> answers = Ask(filter, keys);
    return std::count(answers.begin(), answers.end(), false) > 0;
  }

  void Damage(const Strings& keys) {
    const std::string filter = Build(keys);
    ASSERT_FALSE(Loses(filter, keys)) << name;
    const size_t framing = std::min(filter.size(), framing_size);
    for (size_t bit = 0; bit < 8 * filter.size(); ++bit) {
      std::string changed = filter;
      changed[bit / 8] ^= static_cast<char>(1 << bit % 8);
      Count& flips =
          bit / 8 + framing < filter.size() ? payload_flips : framing_flips;
      flips.Add(Loses(changed, keys));
    }
    for (size_t size = 0; size < filter.size(); ++size) {
      truncations.Add(Loses(filter.substr(0, size), keys));
    }
  }
};

Policy Sealed(Layout layout, bool check, RocksDBCompatibility compatibility) {
  RocksDBFilterOptions options;
  options.layout = layout;
  options.payload_check = check;
  options.compatibility = compatibility;
  return NewRocksDBFilterPolicy(options);
}

Kind RocksDBBloom() { return {"RocksDB Bloom", 5, testing::RocksDBBloom()}; }

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = {RocksDBBloom(),
                             {"RocksDB Ribbon", 5, testing::RocksDBRibbon()}};
  for (const Layout layout : AllLayouts()) {
    const std::string name = LayoutName(layout);
    const size_t plain = internal::kSealedFramingSize, checked = plain + 8;
    const auto builtin = RocksDBCompatibility::kBuiltin;
    const auto own = RocksDBCompatibility::kOwn;
    kinds.push_back(
        {"raw " + name, internal::kRawFramingSize, nullptr, layout});
    kinds.push_back({"sealed " + name, plain, Sealed(layout, false, builtin)});
    kinds.push_back(
        {"checked sealed " + name, checked, Sealed(layout, true, builtin)});
    kinds.push_back(
        {"checked sealed own " + name, checked, Sealed(layout, true, own)});
  }
  return kinds;
}

// The numbers of keys give some small filters, and one that is large enough to
// be compact.
std::vector<size_t> NumbersOfKeys() {
  const char* const most = std::getenv("DELTABLOOM_DAMAGE_KEYS");
  if (most == nullptr) return {0, 1, 2, 3, 5, 8, 13, 21, 240};
  std::vector<size_t> numbers(std::strtoul(most, nullptr, 10) + 1);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

bool Has(const Kind& kind, const char* word) {
  return kind.name.find(word) != std::string::npos;
}

TEST(Damage, WhatTheSealPromises) {
  FreshRandom random;
  for (Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const size_t n : NumbersOfKeys()) kind.Damage(random.Keys(n, 16));
    std::printf("%-26s payload %.3g %%, framing %.3g %%, truncations %.3g %%\n",
                kind.name.c_str(), kind.payload_flips.Percent(),
                kind.framing_flips.Percent(), kind.truncations.Percent());
    EXPECT_GT(kind.payload_flips.changes, 2000);
    EXPECT_GT(kind.truncations.changes, 300);
    EXPECT_TRUE(kind.framing_flips.losing == 0 || !Has(kind, "sealed"));
    EXPECT_TRUE(kind.truncations.losing == 0 || !Has(kind, "own"));
    if (Has(kind, "checked")) {
      EXPECT_EQ(kind.payload_flips.losing, 0);
    } else {
      // Bits that are set, at least, for some key needs each of them.
      EXPECT_GT(kind.payload_flips.Percent(), 5);
      EXPECT_LT(kind.payload_flips.Percent(), 80);
    }
  }
}

// If a filter under RocksDB's family name has lost its trailer, RocksDB's
// reader answers for it.
TEST(Damage, TruncatedFiltersAreRocksDBsToJudge) {
  FreshRandom random;
  const Kind rocksdb = RocksDBBloom();
  for (const Kind& kind : Kinds()) {
    if (!Has(kind, "sealed") || Has(kind, "own")) continue;
    for (const size_t n : NumbersOfKeys()) {
      const Strings keys = random.Keys(n, 16);
      const std::string filter = kind.Build(keys);
      for (size_t size = 0; size < filter.size(); ++size) {
        const std::string cut = filter.substr(0, size);
        // If the filter is too short to be one of its own, RocksDB says that
        // there is no key.
        const auto expected =
            size <= 5 ? std::vector<bool>(n, true) : rocksdb.Ask(cut, keys);
        ASSERT_EQ(kind.Ask(cut, keys), expected) << kind.name << ' ' << size;
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
