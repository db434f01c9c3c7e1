// The reader on bytes of every kind: what docs/format.md requires of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/rocksdb/policy/bits_reader.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::NewBitsBuilder;
using internal::NewBitsReader;
using rocksdb::FilterBitsReader;
using rocksdb::FilterPolicy;
using rocksdb::Slice;

std::string Build(const FilterPolicy& policy, int keys) {
  const auto builder = NewBitsBuilder(policy);
  for (int i = 0; i < keys; ++i) builder->AddKey(Key(2 * i));
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

int Matches(const FilterPolicy& policy, const std::string& filter, int begin,
            int end, int odd) {
  const auto reader = NewBitsReader(policy, filter);
  int matches = 0;
  for (int i = begin; i < end; ++i) {
    matches += reader->MayMatch(Key(2 * i + odd));
  }
  return matches;
}

// Answers of `policy` and of RocksDB's own reader to the same bytes.
void ExpectSameAnswers(const FilterPolicy& policy, const std::string& filter,
                       int keys) {
  static const PolicyPtr builtin = RocksDBBloom();
  const auto ours = NewBitsReader(policy, filter);
  const auto theirs = NewBitsReader(*builtin, filter);
  for (int i = 0; i < keys; ++i) {
    ASSERT_EQ(ours->MayMatch(Key(i)), theirs->MayMatch(Key(i))) << i;
  }
}

TEST(ReaderTest, EveryLengthAndLastByte) {
  const PolicyPtr family = Deltabloom();
  const PolicyPtr own = Deltabloom(10, RocksDBCompatibility::kOwn);
  for (const char fill : {'\0', '\x5a', '\xff'}) {
    for (size_t size = 0; size <= 64; ++size) {
      for (int last = 0; last < 256; ++last) {
        std::string filter(size, fill);
        if (size > 0) filter.back() = static_cast<char>(last);
        // No magic: for RocksDB's reader, unless it would lose keys.
        if (size > 5) {
          ExpectSameAnswers(*family, filter, 10);
        } else {
          EXPECT_EQ(Matches(*family, filter, 0, 20, 0), 20);
        }
        EXPECT_EQ(Matches(*own, filter, 0, 20, 0), 20);
      }
    }
  }
}

// The same with the magic and a check that holds, so that the last byte is
// what decides.
TEST(ReaderTest, EveryPayloadSizeAndLastByteSealed) {
  const PolicyPtr policy = Deltabloom();
  const PolicyPtr builtin = RocksDBBloom();
  for (size_t payload = 0; payload <= 48; ++payload) {
    for (int last = 0; last < 256; ++last) {
      std::string filter(payload + internal::kSealedFramingSize, '\xff');
      internal::Seal(reinterpret_cast<unsigned char*>(filter.data()), payload,
                     static_cast<uint8_t>(last),
                     internal::SealOptions{0, false});
      const int matches = Matches(*policy, filter, 0, 20, 0);
      if (payload == 0 && last == 0) {
        EXPECT_EQ(matches, 0);
      } else if (last <= 30) {
        EXPECT_EQ(matches, 20) << payload << " " << last;
      }
      // Stock RocksDB reads every key through any of them.
      EXPECT_EQ(Matches(*builtin, filter, 0, 20, 0), 20);
    }
  }
}

class LayoutReaderTest : public ::testing::TestWithParam<std::string> {
 protected:
  const PolicyPtr policy_ = PolicyFromString("deltabloom:10:" + GetParam());
};

INSTANTIATE_TEST_SUITE_P(Layouts, LayoutReaderTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(LayoutReaderTest, FindsItsKeysAndFewOthers) {
  for (const int keys : {1, 10, 1000, 20'000}) {
    const std::string filter = Build(*policy_, keys);
    EXPECT_EQ(Matches(*policy_, filter, 0, keys, 0), keys);
    EXPECT_LE(Matches(*policy_, filter, 0, keys, 1), keys / 20 + 1);
  }
}

TEST_P(LayoutReaderTest, StockRocksDBMatchesAlways) {
  for (const int keys : {0, 1, 10, 1000}) {
    const std::string filter = Build(*policy_, keys);
    for (const PolicyPtr& stock : {RocksDBBloom(), RocksDBRibbon()}) {
      EXPECT_EQ(Matches(*stock, filter, 0, 1000, 0), 1000);
      EXPECT_EQ(Matches(*stock, filter, 0, 1000, 1), 1000);
    }
  }
}

TEST_P(LayoutReaderTest, ReadsAnyLayoutUnderAnyPolicy) {
  const std::string filter = Build(*policy_, 1000);
  const PolicyPtr other = Deltabloom();
  EXPECT_EQ(Matches(*other, filter, 0, 1000, 0), 1000);
  EXPECT_LE(Matches(*other, filter, 0, 1000, 1), 50);
}

TEST_P(LayoutReaderTest, DamagedTrailerMatchesAlways) {
  const std::string sound = Build(*policy_, 100);
  for (size_t i = 1; i <= internal::kSealedFramingSize; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = sound;
      damaged[sound.size() - i] =
          static_cast<char>(damaged[sound.size() - i] ^ (1 << bit));
      EXPECT_EQ(Matches(*policy_, damaged, 0, 100, 0), 100) << i << " " << bit;
    }
  }
}

TEST_P(LayoutReaderTest, TruncatedOrExtendedLosesNothing) {
  const std::string sound = Build(*policy_, 100);
  const PolicyPtr own =
      PolicyFromString("id=deltabloom:10:" + GetParam() + ";compatibility=own");
  for (size_t cut = 1; cut < sound.size(); ++cut) {
    EXPECT_EQ(Matches(*own, sound.substr(cut), 0, 100, 0), 100) << cut;
    EXPECT_EQ(Matches(*own, sound.substr(0, cut), 0, 100, 0), 100) << cut;
  }
  EXPECT_EQ(Matches(*policy_, "x" + sound, 0, 100, 0), 100);
}

TEST_P(LayoutReaderTest, BatchesAnswerAsSingleKeys) {
  const std::string filter = Build(*policy_, 1000);
  const auto reader = NewBitsReader(*policy_, filter);
  constexpr int kMost = 70;
  for (int n = 0; n <= kMost; ++n) {
    std::vector<std::string> names;
    // Lengths differ within a batch; half of the keys are there.
    for (int i = 0; i < n; ++i) {
      names.push_back(Key(i * 7 % 2000) +
                      std::string(static_cast<size_t>(i % 5 / 4), 'x'));
    }
    std::vector<Slice> keys(names.begin(), names.end());
    std::vector<Slice*> pointers;
    for (Slice& key : keys) pointers.push_back(&key);
    for (const bool before : {false, true}) {
      bool answers[kMost + 1];
      std::fill(std::begin(answers), std::end(answers), before);
      reader->MayMatch(n, pointers.data(), answers);
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(answers[i], reader->MayMatch(keys[static_cast<size_t>(i)]))
            << n << " " << i;
      }
      EXPECT_EQ(answers[n], before);  // nothing is written past the batch
    }
  }
}

TEST(ReaderTest, BatchesOfConstantAnswers) {
  const PolicyPtr policy = Deltabloom();
  const std::string empty = Build(*policy, 0);
  const std::string few(3, 'x');
  for (const auto& [filter, answer] :
       {std::make_pair(empty, false), std::make_pair(few, true)}) {
    const auto reader = NewBitsReader(*policy, filter);
    Slice key("key");
    std::vector<Slice*> keys(33, &key);
    bool answers[33];
    std::fill(std::begin(answers), std::end(answers), !answer);
    reader->MayMatch(33, keys.data(), answers);
    for (const bool got : answers) EXPECT_EQ(got, answer);
  }
}

TEST(ReaderTest, BatchesOfNoKeys) {
  for (const char* text : {"id=deltabloom", "id=deltabloom;statistics=false",
                           "id=deltabloom;seeded=true",
                           "id=deltabloom;key_transform=ascii_lowercase"}) {
    const PolicyPtr policy = PolicyFromString(text);
    for (const auto& [filter, answer] :
         {std::make_pair(Build(*policy, 0), false),
          std::make_pair(Build(*policy, 1000), true),
          std::make_pair(std::string(3, 'x'), true)}) {
      const auto reader = NewBitsReader(*policy, filter);
      for (const int n : {0, -1}) reader->MayMatch(n, nullptr, nullptr);
      EXPECT_EQ(reader->MayMatch(Key(0)), answer) << text;
    }
  }
}

TEST(ReaderTest, HandsRocksDBsFiltersOn) {
  const PolicyPtr policy = Deltabloom();
  const PolicyPtr own = Deltabloom(10, RocksDBCompatibility::kOwn);
  for (const PolicyPtr& stock :
       {RocksDBBloom(), RocksDBRibbon(),
        PolicyFromString("rocksdb.internal.LegacyBloomFilter:10")}) {
    const std::string filter = Build(*stock, 3000);
    EXPECT_EQ(Matches(*policy, filter, 0, 3000, 0), 3000);
    EXPECT_LE(Matches(*policy, filter, 0, 3000, 1), 150);
    ExpectSameAnswers(*policy, filter, 1000);
    // Under a name of our own no filter of RocksDB's is expected.
    EXPECT_EQ(Matches(*own, filter, 0, 3000, 1), 3000);
  }
}

}  // namespace
}  // namespace deltabloom::testing
