// The range part of a filter: the keys that make it, the filter from builder to
// reader, and the bounds that the extractor passes to a filter in a seek.
#include <thread>

#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/range/ranges.h"
#include "tests/range/subject.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using testing::NumberKey;
using State = RangeKeys::State;

// Calls an extractor as RocksDB does for a seek.
class SeekCalls : public ::testing::Test {
 protected:
  explicit SeekCalls(bool trusts = true) {
    if (trusts) extractor_.Trust();
  }

  // Makes calls, by default those of RocksDB in a seek before it looks the
  // result up in the filter. In pairs: I, InDomain, or T, Transform; of the
  // lower or the upper bound, or of a copy of the upper. Returns the result of
  // the first Tl.
  Slice Seek(const std::string& calls = "IlIlTlIuTu") {
    const std::string copy = upper_;
    Slice prefix;
    for (size_t i = 0; i < calls.size(); i += 2) {
      const char bound = calls[i + 1];
      const std::string& key =
          bound == 'l' ? lower_ : (bound == 'u' ? upper_ : copy);
      if (calls[i] == 'I') {
        extractor_.InDomain(key);
      } else if (const Slice result = extractor_.Transform(key);
                 bound == 'l' && prefix.data() == Slice().data()) {
        prefix = result;
      }
    }
    return prefix;
  }

  static bool IsRange(const Slice& prefix) {
    Bounds bounds;
    return TakeBounds(prefix, &bounds);
  }

  RangeExtractor extractor_;
  std::string lower_ = "b";
  std::string upper_ = "d";
};

using RangeExtractorTest = SeekCalls;

TEST_F(RangeExtractorTest, EveryKeyHasTheEmptyPrefix) {
  EXPECT_STREQ(extractor_.Name(), "deltabloom.Range");
  EXPECT_EQ(extractor_.GetId(), "deltabloom.Range");
  EXPECT_EQ(extractor_.AsString(), "deltabloom.Range");
  for (const std::string& key :
       {std::string(), lower_, std::string(999, 'x')}) {
    EXPECT_TRUE(extractor_.InDomain(key));
    EXPECT_EQ(extractor_.Transform(key).size(), 0u);
    EXPECT_NE(extractor_.Transform(key).data(), nullptr);
  }
  size_t length = 0;
  EXPECT_FALSE(extractor_.FullLengthEnabled(&length));
}

TEST_F(RangeExtractorTest, ASeekPassesItsBounds) {
  const Slice prefix = Seek();
  Bounds bounds;
  ASSERT_TRUE(TakeBounds(prefix, &bounds));
  EXPECT_EQ(bounds.lower, "b");
  EXPECT_EQ(bounds.upper, "d");
  EXPECT_FALSE(TakeBounds(prefix, &bounds)) << "once for each seek";
}

TEST_F(RangeExtractorTest, EveryPlaceIsAnother) {
  std::vector<const char*> places;
  for (int i = 0; i < 10000; ++i) {
    places.push_back(extractor_.Transform(lower_).data());
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());
}

TEST_F(RangeExtractorTest, OnlyForThePrefixOfTheLowerBound) {
  for (const Slice& other :
       {Slice(""), Slice(), Slice(lower_.data(), 0), Slice(upper_.data(), 0)}) {
    Seek();
    EXPECT_FALSE(IsRange(other));
  }
  const Slice before = Seek();
  Seek();
  EXPECT_FALSE(IsRange(before)) << "of another seek";
  Seek("IlTlIu");
  EXPECT_FALSE(IsRange(extractor_.Transform(upper_))) << "of the upper bound";
  const Slice prefix = Seek();
  EXPECT_FALSE(IsRange({prefix.data(), 1})) << "no empty one";
}

TEST_F(RangeExtractorTest, OtherSequencesAreNoSeeks) {
  const auto is_range = [this](const std::string& calls) {
    return IsRange(Seek(calls));
  };
  EXPECT_TRUE(is_range("IlIlTlIuTu"));
  EXPECT_FALSE(is_range("IlIlTlIuTuIl")) << "a call between";
  EXPECT_FALSE(is_range("IlIlTlIuTuTl")) << "a call between";
  EXPECT_FALSE(is_range("IlTl")) << "without an upper bound";
  EXPECT_FALSE(is_range("TlTu")) << "as tailing iterators call it";
  EXPECT_FALSE(is_range("TlIcTu")) << "InDomain of another key";
  EXPECT_FALSE(is_range("TlIuIuTu")) << "twice, as before a seek";
  const Slice prefix = Seek();
  EXPECT_FALSE(IsRange(""));  // Get("") between
  EXPECT_FALSE(IsRange(prefix));
  // Two Gets without whole_key_filtering, or two Puts with a Bloom filter in
  // the memtable, make the same calls as a seek; each looks up its own prefix
  // before.
  EXPECT_FALSE(is_range("IlTl"));
  EXPECT_FALSE(is_range("IuTu"));
}

// A call from deeper in the stack than any of a seek's second one.
[[gnu::noinline]] void CallFromDeeper(const RangeExtractor& extractor,
                                      const std::string& key) {
  volatile char space[4096];
  space[0] = 1;
  extractor.InDomain(key);
  extractor.Transform(key);
  space[4095] = space[0];
}

// While a filter is read to look up a prefix, a Get or Put of something else in
// the same thread makes the calls of an upper bound.
TEST_F(RangeExtractorTest, NotFromDeeperInTheStack) {
  const Slice prefix = Seek("IlTl");
  CallFromDeeper(extractor_, upper_);
  EXPECT_FALSE(IsRange(prefix));
}

TEST_F(RangeExtractorTest, BoundsOutOfOrderAreNone) {
  std::swap(lower_, upper_);
  EXPECT_FALSE(IsRange(Seek()));
  upper_ = lower_;
  EXPECT_FALSE(IsRange(Seek()));
  lower_ = "b";
  upper_ = std::string("b\0", 2);
  EXPECT_TRUE(IsRange(Seek()));
  lower_ = "\x7f";
  upper_ = "\x80";
  EXPECT_TRUE(IsRange(Seek())) << "bytes are unsigned";
}

struct UnknownExtractorTest : SeekCalls {
  UnknownExtractorTest() : SeekCalls(false) {}
};

TEST_F(UnknownExtractorTest, NotOfAnUnknownOrOtherOrder) {
  EXPECT_FALSE(IsRange(Seek()));
  extractor_.Trust();
  EXPECT_TRUE(IsRange(Seek()));
  extractor_.Distrust();
  EXPECT_FALSE(IsRange(Seek()));
  extractor_.Trust();
  EXPECT_FALSE(IsRange(Seek())) << "for good";
}

TEST_F(RangeExtractorTest, NotOfTwoExtractorsOrThreads) {
  RangeExtractor other;
  other.Trust();
  Slice prefix = extractor_.Transform(lower_);
  other.InDomain(upper_);
  other.Transform(upper_);
  EXPECT_FALSE(IsRange(prefix));
  prefix = Seek();
  bool elsewhere = true;
  std::thread([&] { elsewhere = IsRange(prefix); }).join();
  EXPECT_FALSE(elsewhere);
  EXPECT_TRUE(IsRange(prefix));

  EXPECT_EQ(AsRangeExtractor(&other), &other);
  EXPECT_EQ(AsRangeExtractor(nullptr), nullptr);
  const std::unique_ptr<const rocksdb::SliceTransform> foreign(
      rocksdb::NewNoopTransform());
  EXPECT_EQ(AsRangeExtractor(foreign.get()), nullptr);
}

// A filter that a builder made of keys and their prefixes.
class RangeFilterTest : public SeekCalls {
 protected:
  static BuilderSettings Settings() {
    BuilderSettings settings;
    settings.layout = FindLayout(Layout::kLocal, Hash::kMurmurHash2, -1);
    settings.millibits_per_key = 30'000;
    settings.range = true;
    return settings;
  }

  static void Add(const std::vector<std::string>& keys, bool pairs,
                  BitsBuilder* builder) {
    for (const std::string& key : keys) {
      if (pairs) {
        builder->AddKeyAndAlt(key, Slice());
      } else {
        builder->AddKey(key);
        if (&key == &keys.front()) builder->AddKey(Slice());
      }
    }
  }

  void Build(const std::vector<std::string>& keys,
             const BuilderSettings& settings = Settings(), bool pairs = false) {
    BitsBuilder builder(settings);
    Add(keys, pairs, &builder);
    Finish(&builder);
  }
  void Finish(BitsBuilder* builder) {
    filter_ = builder->Finish(&owner_);
    ReaderSettings reading;
    reading.range = true;
    reading.statistics = std::make_shared<PolicyStatistics>();
    reader_.reset(NewSealedBitsReader(filter_, reading));
  }

  bool HasRangePart() const {
    return !RangePartOf(filter_.ToStringView()).empty();
  }

  void ExpectAllMatch(const std::vector<std::string>& keys) {
    EXPECT_EQ(testing::Matches(reader_.get(), keys),
              static_cast<int>(keys.size()));
  }

  bool MayMatch(const std::string& lower, const std::string& upper) {
    lower_ = lower;
    upper_ = upper;
    return reader_->MayMatch(Seek());
  }

  static uint64_t Nth(uint64_t i) {
    return (i << 40) + test::Random(i).Below(uint64_t{1} << 39);
  }

  static std::vector<std::string> Numbers() {
    std::vector<std::string> keys;
    for (uint64_t i = 1; i <= 1000; ++i) keys.push_back(NumberKey(Nth(i)));
    return keys;
  }

  Slice filter_;
  std::unique_ptr<const char[]> owner_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

TEST_F(RangeFilterTest, AnswersRangesAndKeys) {
  for (const bool pairs : {false, true}) {
    Build(Numbers(), Settings(), pairs);
    ASSERT_TRUE(HasRangePart());
    int negatives = 0;
    for (uint64_t i = 1; i <= 1000; ++i) {
      const uint64_t key = Nth(i);
      EXPECT_TRUE(MayMatch(NumberKey(key), NumberKey(key + 1)));
      EXPECT_TRUE(MayMatch(NumberKey(key - 5), NumberKey(key + 5)));
      EXPECT_TRUE(reader_->MayMatch(NumberKey(key)));
      if (!MayMatch(NumberKey(key + 1), NumberKey(key + 1000))) ++negatives;
    }
    EXPECT_GT(negatives, 900);
    EXPECT_FALSE(reader_->MayMatch(NumberKey(77)) &&
                 reader_->MayMatch(NumberKey(78)) &&
                 reader_->MayMatch(NumberKey(79)));
  }
}

TEST_F(RangeFilterTest, MayMatchWhatItCannotDeny) {
  Build(Numbers());
  EXPECT_TRUE(MayMatch("", NumberKey(1)));
  EXPECT_TRUE(MayMatch("", std::string(1, '\0')));
  EXPECT_TRUE(reader_->MayMatch(Slice("")));
  // What may be in the next partition.
  const uint64_t last = Nth(1000);
  EXPECT_TRUE(MayMatch(NumberKey(last + 1), NumberKey(last + 2)));
  EXPECT_TRUE(MayMatch(NumberKey(last + (uint64_t{1} << 50)), "\xff"));
  // A batch is of keys: the empty prefix is a key of the filter.
  ASSERT_FALSE(MayMatch(NumberKey(5), NumberKey(6)));
  Slice prefix = Seek();
  Slice* keys[1] = {&prefix};
  bool may_match[1] = {false};
  reader_->MayMatch(1, keys, may_match);
  EXPECT_TRUE(may_match[0]);
  // A reader without ranges.
  reader_.reset(NewSealedBitsReader(filter_, {}));
  EXPECT_TRUE(MayMatch(NumberKey(5), NumberKey(6)));
}

TEST_F(RangeFilterTest, NoRangePartWithoutTheExtractor) {
  BitsBuilder builder(Settings());
  for (const std::string& key : Numbers()) builder.AddKey(key);
  Finish(&builder);
  EXPECT_FALSE(HasRangePart());
  EXPECT_GT(filter_.size() * 8, 1000u * 29) << "all bits go to the keys";
  for (int i = 0; i < 3; ++i) builder.AddKey("");  // prefixes alone
  Finish(&builder);
  EXPECT_FALSE(HasRangePart());
  EXPECT_TRUE(MayMatch("a", "b"));
}

// bits_per_key are those of both parts, and so are the sizes planned. Equal
// keys count once.
TEST_F(RangeFilterTest, SizesCountBothParts) {
  std::vector<std::string> keys;
  for (const std::string& key : Numbers()) keys.insert(keys.end(), 3, key);
  Build(keys);
  ASSERT_TRUE(HasRangePart());
  EXPECT_LT(filter_.size() * 8, 1000u * 31 + 8 * 200);
  Build(Numbers());
  EXPECT_GT(filter_.size() * 8, 1000u * 27);
  EXPECT_LT(filter_.size() * 8, 1000u * 30 + 8 * 256);
  BitsBuilder builder(Settings());
  const size_t planned = builder.CalculateSpace(1000);
  EXPECT_GE(planned + 64, filter_.size());
  EXPECT_LT(planned, filter_.size() + filter_.size() / 4);
  const size_t fit = builder.ApproximateNumEntries(filter_.size() + 256);
  EXPECT_GT(fit, 900u);
  EXPECT_LT(fit, 1150u);
}

TEST_F(RangeFilterTest, LimitsTakeTheRangePartFirstAndTheLogSaysSoOnce) {
  const auto log_of = [this](const std::vector<std::string>& keys,
                             BuilderSettings settings) {
    testing::LineLogger log;
    settings.log = &log;
    for (int filter = 0; filter < 2; ++filter) Build(keys, settings, true);
    const auto lines = log.Lines("range=on, and a filter has no range part");
    EXPECT_EQ(lines.size(), HasRangePart() ? 0u : 1u);
    return lines.empty() ? "" : lines[0];
  };
  EXPECT_EQ(log_of(Numbers(), Settings()), "");
  EXPECT_CONTAINS(log_of({"b", "a"}, Settings()), "do not ascend bytewise");
  BuilderSettings settings = Settings();
  settings.max_filter_bytes = 3000;
  EXPECT_CONTAINS(log_of(Numbers(), settings), "would not fit");
  EXPECT_LE(filter_.size(), 3000u);
  settings = Settings();
  settings.max_build_bytes = 9000;  // as much as the hashes take
  EXPECT_CONTAINS(log_of(Numbers(), settings), "would not fit");
  ExpectAllMatch(Numbers());
  settings = Settings();
  settings.millibits_per_key = 5'900;  // few bits are for the keys
  Build(Numbers(), settings);
  EXPECT_FALSE(HasRangePart());
}

TEST_F(RangeFilterTest, SeededAndChecked) {
  BuilderSettings settings = Settings();
  HashedKeys keys;
  keys.seeded = true;
  settings.mapping = KeyMapping(nullptr, keys);
  settings.seal.payload_check = true;
  Build(Numbers(), settings);
  ASSERT_TRUE(HasRangePart());
  EXPECT_FALSE(MayMatch(NumberKey(5), NumberKey(6)));
  ExpectAllMatch(Numbers());
}

TEST_F(RangeFilterTest, ABuilderFinishesManyTimesAndFindsAChangedRangePart) {
  BuilderSettings settings = Settings();
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  for (int part = 0; part < 3; ++part) {
    Add(Numbers(), part == 1, &builder);
    Finish(&builder);
    ASSERT_TRUE(HasRangePart());
    EXPECT_TRUE(builder.MaybePostVerify(filter_).ok());
  }
  Add(Numbers(), false, &builder);
  Finish(&builder);
  const std::string_view part = RangePartOf(filter_.ToStringView());
  const_cast<char&>(part[part.size() / 2]) ^= 1;
  EXPECT_TRUE(builder.MaybePostVerify(filter_).IsCorruption());
}

// Filters of a builder that gets the extractor's prefixes, as from RocksDB.
class LearningFilterTest : public RangeFilterTest {
 protected:
  // Keys of even groups.
  LearningFilterTest() {
    test::Random random(3);
    for (uint64_t i = 0; i < 5000; ++i) {
      keys_.insert(Group(2 * random.Below(1000)) + testing::NumberKey(i));
    }
  }

  static std::string Group(uint64_t number) {
    return "group" + std::to_string(number) + "/";
  }

  std::string Build(const BuilderSettings& settings) {
    BitsBuilder builder(settings);
    for (const std::string& key : keys_) {
      builder.AddKey(key);
      if (key == *keys_.begin()) builder.AddKey(extractor_.Transform(key));
    }
    Finish(&builder);
    return filter_.ToString();
  }

  // How many of the groups without keys pass.
  int Passing() {
    int passing = 0;
    for (uint64_t i = 1; i < 2000; i += 2) {
      passing += MayMatch(Group(i), test::NextPrefix(Group(i))) ? 1 : 0;
    }
    return passing;
  }

  std::set<std::string> keys_;
};

TEST_F(LearningFilterTest, TheSampleDecidesUnlessLearningIsOff) {
  BuilderSettings learns = Settings();
  learns.millibits_per_key = 10'000;
  BuilderSettings seeded = learns;
  HashedKeys keys;
  keys.seeded = true;
  seeded.mapping = KeyMapping(nullptr, keys);
  BuilderSettings off = learns;
  off.range_keys.learning = false;
  const std::string before = Build(learns);
  const std::string before_off = Build(off);
  EXPECT_EQ(Build(learns), before);
  const int passed = Passing();
  const std::string learned = Build(learns);
  EXPECT_NE(learned, before);
  EXPECT_LT(Passing(), 5) << "before: " << passed;
  EXPECT_EQ(Build(off), before_off);
  EXPECT_GE(Passing(), 5);
  Build(seeded);
  EXPECT_LT(Passing(), 20);
}

TEST_F(LearningFilterTest, BitsThatRangesDoNotNeedAreForKeys) {
  BuilderSettings settings = Settings();
  settings.millibits_per_key = 18'000;
  Build(settings);
  Passing();
  const size_t before = RangePartOf(filter_.ToStringView()).size();
  const size_t size = Build(settings).size();
  const size_t after = RangePartOf(filter_.ToStringView()).size();
  EXPECT_LT(after, before / 2);
  EXPECT_GT(size + 128, keys_.size() * 18 / 8);
  EXPECT_LT(size, keys_.size() * 18 / 8 + 128);
}

// A key that the part of the keys lets pass meets the deepest cut.
TEST_F(LearningFilterTest, CutsRejectAbsentKeysToo) {
  BuilderSettings settings = Settings();
  settings.millibits_per_key = 6'000;
  Build(settings);
  Passing();
  Build(settings);
  ReaderSettings without_ranges;
  const std::unique_ptr<rocksdb::FilterBitsReader> point_part(
      NewSealedBitsReader(filter_, without_ranges));
  std::vector<std::string> absent;
  for (int i = 0; i < 20'000; ++i) {
    absent.push_back(Group(2 * static_cast<uint64_t>(i % 1000) + 1) +
                     testing::NumberKey(static_cast<uint64_t>(i)));
  }
  const int passed = testing::Matches(point_part.get(), absent);
  EXPECT_GT(passed, 500);
  EXPECT_LT(testing::Matches(reader_.get(), absent), passed / 10);
  const std::vector<bool> batch = testing::MatchBatch(reader_.get(), absent);
  EXPECT_LT(std::count(batch.begin(), batch.end(), true), passed / 10);
  ExpectAllMatch({keys_.begin(), keys_.end()});
  ExpectAllMatch({""});
}

TEST_F(LearningFilterTest, TheLogHasTheChoiceOnceAndNoBounds) {
  testing::LineLogger log;
  BuilderSettings settings = Settings();
  settings.log = &log;
  Build(settings);
  EXPECT_TRUE(log.Lines("ranges, by a sample").empty());
  Passing();
  for (int filter = 0; filter < 3; ++filter) Build(settings);
  const auto lines = log.Lines("[deltabloom] ranges, by a sample of ");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_CONTAINS(lines[0], ": prefixes: ");
  EXPECT_CONTAINS(lines[0], "; at most 16.0 of 30.0 bits per key");
  EXPECT_LACKS(lines[0], "group");
}

TEST_F(LearningFilterTest, RangesThatNoCutCanRejectAreCounted) {
  Build(Settings());
  Passing();
  Build(Settings());
  const auto statistics = std::make_shared<PolicyStatistics>();
  ReaderSettings reading;
  reading.range = true;
  reading.statistics = statistics;
  reader_.reset(NewSealedBitsReader(filter_, reading));
  EXPECT_TRUE(MayMatch("group1", "group9"));
  EXPECT_FALSE(MayMatch("group1001/", "group10010"));
  const RocksDBFilterRow row = statistics->Get().Total();
  EXPECT_EQ(row.range_lookups, 2u);
  EXPECT_EQ(row.range_negatives, 1u);
  EXPECT_EQ(row.ranges_without_cut, 1u);
}

TEST(RangeLearningTest, BitsAreDividedByWhatIsLookedUp) {
  RangeLearning learning;
  int policy = 0, copy = 0;
  learning.CountLookups(&policy, 900, 0);
  EXPECT_EQ(learning.RangeBits(18), 10) << "too few";
  learning.CountLookups(&policy, 0, 1000);
  EXPECT_EQ(learning.RangeBits(30), 16 + 5);
  learning.CountLookups(&policy, 1000, 1000);
  EXPECT_EQ(learning.RangeBits(18), 10);
  learning.CountLookups(&copy, 0, 20'000);
  EXPECT_EQ(learning.RangeBits(18), 12);
  EXPECT_EQ(learning.RangeBits(6), 4) << "two are for keys";
  learning.CountLookups(&copy, 0, 900'000'000);
  EXPECT_EQ(learning.RangeBits(18), 16);
  learning.CountLookups(&copy, 900'000'000, 900'000'000);
  EXPECT_EQ(learning.RangeBits(18), 5);
  RangeLearning of_keys;
  of_keys.CountLookups(&policy, 1000, 0);
  EXPECT_EQ(of_keys.RangeBits(30), 16 - 5);
  EXPECT_EQ(of_keys.RangeBits(10), 4);
}

constexpr double kBitsPerKey = 20;

// Makes the calls of words: "k" adds a key, "." the extractor's prefix, "k." a
// key and then its prefix, "k|p" a key and a prefix in one call, "!" gives up.
void Call(const std::string& calls, RangeKeys* keys) {
  std::istringstream words(calls);
  for (std::string word; words >> word;) {
    const size_t bar = word.find('|');
    if (word == "!") {
      keys->Drop();
    } else if (bar != std::string::npos) {
      keys->AddKeyAndAlt(word.substr(0, bar), word.substr(bar + 1));
    } else {
      const std::string key = word.substr(0, word.find('.'));
      if (!key.empty()) keys->Add(key);
      if (key != word) keys->Add(Slice());
    }
  }
}

void ExpectNothing(RangeKeys* keys, State why) {
  std::string part = "before";
  EXPECT_FALSE(keys->Finish(&part));
  EXPECT_EQ(part, "before");
  EXPECT_EQ(keys->state(), why);
  EXPECT_EQ(keys->BuildBytes(), 0u);
}

// Works as after any failure, once it is Reset.
void ExpectAll(RangeKeys* keys) {
  keys->Reset();
  EXPECT_EQ(keys->state(), State::kTaken);
  EXPECT_EQ(keys->BuildBytes(), 0u);
  Call("a. b. b. c.", keys);
  EXPECT_GT(keys->BuildBytes(), 0u);
  std::string bytes;
  ASSERT_TRUE(keys->Finish(&bytes));
  const RangePart part(bytes);
  EXPECT_FALSE(part.AlwaysMatches());
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(part.MayMatch(key, std::string(key) + "x"));
  }
}

TEST(RangeKeysTest, TakesAllOrNothingUntilReset) {
  const std::string beyond_cuts(200, 'x');
  const std::pair<std::string, State> cases[] = {
      {"", State::kTaken},
      {".", State::kTaken},
      {"a", State::kNoExtractor},
      {"a. c. b.", State::kNotInOrder},
      {"a. c. b. d. e.", State::kNotInOrder},
      {"b| a|", State::kNotInOrder},
      {"a b", State::kNoExtractor},
      {"ab| ac|a", State::kNoExtractor},
      {"ab| ac|a ad|", State::kNoExtractor},
      {"a. b. !", State::kTooLarge},
      {"a. b. ! c.", State::kTooLarge},
      {beyond_cuts + ". " + beyond_cuts + "a.", State::kUnfit}};
  for (const auto& [calls, state] : cases) {
    SCOPED_TRACE(calls);
    RangeKeys keys({kBitsPerKey});
    Call(calls, &keys);
    ExpectNothing(&keys, state);
    ExpectAll(&keys);
    ExpectAll(&keys);
  }
  RangeKeys off({});
  Call("a. b. c|x", &off);
  ExpectNothing(&off, State::kOff);
  off.Reset();
  ExpectNothing(&off, State::kOff);
}

}  // namespace
}  // namespace deltabloom::internal
