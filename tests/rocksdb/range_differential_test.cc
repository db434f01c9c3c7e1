// Random ranges in random databases, compared with a std::map: no key may be
// lost, whatever RocksDB does between.
//
// DELTABLOOM_RANGES is the number of ranges in all (default 100,000).
#include <map>

#include "tests/range/schemas.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

using test::NumberOf;
using Model = std::map<std::string, std::string>;

struct Case {
  const char* name;
  const char* policy;
  bool partitioned = false;
  bool texts = false;  // keys are texts, not numbers
  bool timestamps = false;
  rocksdb::CompactionStyle style = rocksdb::kCompactionStyleLevel;
  const char* other_extractor = nullptr;  // that comes and goes
  bool composite = false;                 // keys are those of kPrefixScans
};

std::ostream& operator<<(std::ostream& out, const Case& that) {
  return out << that.name;
}

const Case kCases[] = {
    {"Numbers", "id=deltabloom:18;range=on"},
    {"NumbersPartitioned", "id=deltabloom:18;range=on", true},
    {"Texts", "id=deltabloom:18:compact;range=on", false, true},
    {"TextsPartitioned", "id=deltabloom:18:local;range=on", true, true},
    {"Universal", "id=deltabloom:20:classic;range=on", true, true, false,
     rocksdb::kCompactionStyleUniversal},
    {"Fifo", "id=deltabloom:24;range=on", false, false, false,
     rocksdb::kCompactionStyleFIFO},
    {"Timestamps", "id=deltabloom:18;range=on;payload_check=true", false, false,
     true},
    {"TimestampsPartitioned", "id=deltabloom:18;range=on;seeded=true", true,
     true, true},
    {"Levels", "id=deltabloom:18:auto:levels;range=on"},
    {"ExtractorChanges", "id=deltabloom:18;range=on", true, true, false,
     rocksdb::kCompactionStyleLevel, "rocksdb.CappedPrefix.2"},
    {"Composite", "id=deltabloom:18;range=on", false, true, false,
     rocksdb::kCompactionStyleLevel, nullptr, true},
    {"CompositePartitioned", "id=deltabloom:12;range=on;seeded=on", true, true,
     false, rocksdb::kCompactionStyleUniversal, nullptr, true},
};

constexpr uint64_t kPuts = 75;  // of a hundred writes
constexpr size_t kManyKeys = 3000;

class RangeDifferentialTest : public ::testing::TestWithParam<Case> {
 protected:
  RangeDifferentialTest() : seed_(test::SeedOfThisRun()), random_(seed_) {
    RecordProperty("seed", std::to_string(seed_));
    options_ = RangeOptions(GetParam().policy, GetParam().partitioned);
    options_.disable_auto_compactions = false;
    options_.write_buffer_size = 64 << 10;
    options_.target_file_size_base = 32 << 10;
    options_.max_bytes_for_level_base = 128 << 10;
    options_.level0_file_num_compaction_trigger = 3;
    options_.compaction_style = GetParam().style;
    // The memtable's Bloom filter calls the extractor as well. In RocksDB 7.8
    // it keeps a pointer to one that SetOptions replaced and destroyed.
    if (GetParam().texts && GetParam().other_extractor == nullptr) {
      options_.memtable_prefix_bloom_size_ratio = 0.1;
    }
    if (options_.compaction_style == rocksdb::kCompactionStyleFIFO) {
      options_.max_open_files = -1;
      options_.compaction_options_fifo.max_table_files_size = 1 << 30;
      options_.compaction_options_fifo.allow_compaction = true;
    }
    if (GetParam().timestamps) options_.comparator = TimestampComparator();
    db_.Open(options_);
  }

  // Near keys that are there, or anywhere.
  std::string AnyKey() {
    if (GetParam().texts) return AnyText();
    if (!model_.empty() && random_.Below(2) == 0) {
      const auto near = model_.lower_bound(NumberKey(random_.Next()));
      const uint64_t number =
          NumberOf((near == model_.end() ? model_.begin() : near)->first);
      const uint64_t far = uint64_t{1} << random_.Below(40);
      return NumberKey(number + random_.Below(2 * far) - far);
    }
    return NumberKey(random_.Below(2) == 0 ? random_.Next()
                                           : random_.Below(1 << 24) << 20);
  }

  std::string AnyText() {
    if (GetParam().composite) {
      const test::Schema& schema =
          test::kPrefixScans[random_.Below(std::size(test::kPrefixScans))];
      const std::string group = schema.group(random_.Below(400));
      return random_.Below(3) == 0 ? group : group + schema.rest(&random_);
    }
    static const char* const kParts[] = {"",     "a", "user/", "http://w", "zz",
                                         "\xff", "k", "user",  "b"};
    std::string text;
    for (uint64_t parts = random_.Below(5); parts > 0; --parts) {
      text += kParts[random_.Below(std::size(kParts))];
      if (random_.Below(3) == 0) text += std::to_string(random_.Below(300));
      if (random_.Below(20) == 0) text += '\0';
    }
    return text;
  }

  void Write() {
    const bool with_time = GetParam().timestamps;
    ++clock_;
    const std::string time = Timestamp(clock_);
    const std::string key = AnyKey();
    uint64_t kind = random_.Below(100);
    // So that a long run is no longer than its ranges.
    if (model_.size() > kManyKeys && random_.Below(2) == 0) {
      kind = kPuts + random_.Below(100 - kPuts);
    }
    if (kind < kPuts) {
      const std::string value = std::to_string(random_.Next());
      model_[key] = value;
      ASSERT_OK(with_time ? db_->Put({}, key, time, value)
                          : db_->Put({}, key, value));
    } else if (kind < 99 || with_time) {
      const auto found = model_.lower_bound(key);
      const std::string gone = found == model_.end() ? key : found->first;
      model_.erase(gone);
      ASSERT_OK(with_time ? db_->Delete({}, gone, time)
                          : db_->Delete({}, gone));
    } else {
      auto end = model_.lower_bound(key);
      for (uint64_t n = random_.Below(30); n > 0 && end != model_.end(); --n) {
        ++end;
      }
      if (end == model_.end() || end->first <= key) return;
      const std::string last = end->first;
      model_.erase(model_.lower_bound(key), end);
      ASSERT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), key, last));
    }
  }

  // FIFO compaction keeps every table, and every version of a key with a
  // timestamp is kept: long runs would be about ever larger databases.
  bool Grows() const {
    return options_.compaction_style == rocksdb::kCompactionStyleFIFO ||
           GetParam().timestamps;
  }

  void StartAgain() {
    model_.clear();
    db_.Close();
    ASSERT_OK(rocksdb::DestroyDB(db_.path(), options_));
    db_.Reopen();
  }

  void ChangeTree() {
    const bool fifo =
        options_.compaction_style == rocksdb::kCompactionStyleFIFO;
    const uint64_t kind = random_.Below(8);
    if (kind < 3) {
      db_.Flush();
    } else if (kind == 3 && !fifo) {
      db_.Compact();
    } else if (kind == 4) {
      db_.Reopen();
    } else if (kind == 5 && GetParam().other_extractor != nullptr) {
      ASSERT_OK(
          db_->SetOptions({{"prefix_extractor", GetParam().other_extractor}}));
    }
  }

  std::string Upper(const std::string& lower) {
    if (random_.Below(4) == 0) return AnyKey();
    if (GetParam().composite && random_.Below(4) != 0) {
      return test::NextPrefix(lower);
    }
    if (GetParam().texts) {
      return lower + static_cast<char>(random_.Below(256));
    }
    return NumberKey(NumberOf(lower) +
                     random_.Below(uint64_t{1} << random_.Below(40)));
  }

  // What an iterator finds has to be what is in the model from `at` on.
  void ExpectAt(Iterator* iterator, Model::const_iterator at,
                const std::string& upper, const std::string& what) {
    ASSERT_OK(iterator->status());
    const bool there = at != model_.end() && at->first < upper;
    ASSERT_EQ(iterator->Valid(), there) << what << ", seed " << seed_;
    if (!there) return;
    ASSERT_EQ(iterator->key().ToString(), at->first) << what << seed_;
    ASSERT_EQ(iterator->value().ToString(), at->second) << what << seed_;
  }

  void ExpectBefore(Iterator* iterator, Model::const_iterator at,
                    const std::string& upper, const std::string& what) {
    ASSERT_EQ(iterator->Valid(), at != model_.begin()) << what << seed_;
    if (at != model_.begin()) ExpectAt(iterator, --at, upper, what);
  }

  void LookAround(Iterator* iterator, const std::string& lower,
                  const std::string& upper) {
    iterator->Seek(lower);
    auto at = model_.lower_bound(lower);
    ExpectAt(iterator, at, upper, "Seek");
    if (HasFatalFailure()) return;
    for (uint64_t n = random_.Below(6); n > 0 && iterator->Valid(); --n) {
      iterator->Next();
      ExpectAt(iterator, ++at, upper, "Next");
      if (HasFatalFailure()) return;
    }
    if (iterator->Valid() && random_.Below(4) == 0) {
      iterator->Prev();
      ExpectBefore(iterator, at, upper, "Prev");
    }
    if (HasFatalFailure() || random_.Below(8) != 0 || !(lower < upper)) return;
    iterator->SeekForPrev(lower);
    ExpectBefore(iterator, model_.upper_bound(lower), upper, "SeekForPrev");
    if (HasFatalFailure()) return;
    iterator->SeekToLast();
    ExpectBefore(iterator, model_.lower_bound(upper), upper, "SeekToLast");
  }

  // Some ranges by one iterator, whose bound moves between seeks.
  void ScanRanges(size_t ranges) {
    ReadOptions read;
    read.auto_prefix_mode = random_.Below(8) != 0;
    read.total_order_seek = !read.auto_prefix_mode;
    ++clock_;
    const std::string time = Timestamp(clock_);
    const Slice at_time = time;
    if (GetParam().timestamps) read.timestamp = &at_time;
    std::string upper;
    Slice bound;
    read.iterate_upper_bound = &bound;
    const auto iterator = db_.NewIterator(read);
    for (size_t i = 0; i < ranges && !HasFatalFailure(); ++i) {
      const std::string lower = AnyKey();
      upper = Upper(lower);
      bound = upper;
      LookAround(iterator.get(), lower, upper);
      // Makes calls of the extractor between those of seeks.
      std::string value;
      const Status found = db_->Get(read, lower, &value);
      const auto expected = model_.find(lower);
      ASSERT_EQ(found.ok(), expected != model_.end()) << lower;
      if (found.ok()) {
        ASSERT_EQ(value, expected->second) << lower;
      }
    }
  }

  const uint64_t seed_;
  test::Random random_;
  Options options_;
  TestDb db_;
  Model model_;
  uint64_t clock_ = 1;
};

INSTANTIATE_TEST_SUITE_P(Cases, RangeDifferentialTest,
                         ::testing::ValuesIn(kCases), [](const auto& that) {
                           return std::string(that.param.name);
                         });

TEST_P(RangeDifferentialTest, FindsWhatIsThere) {
  constexpr size_t kAtATime = 20;
  const char* const wish = std::getenv("DELTABLOOM_RANGES");
  const size_t ranges =
      (wish == nullptr ? 100'000 : std::strtoull(wish, nullptr, 10)) /
      std::size(kCases);
  for (size_t done = 0; done < ranges; done += kAtATime) {
    for (uint64_t writes = random_.Below(40); writes > 0; --writes) Write();
    if (random_.Below(8) == 0) ChangeTree();
    if (Grows() && done % 10'000 == 9'980) StartAgain();
    if (HasFatalFailure()) return;
    ScanRanges(kAtATime);
    if (HasFatalFailure()) return;
  }
  if (ranges < 10'000 || GetParam().other_extractor != nullptr) return;
  if (GetParam().partitioned && !AsksPartitions()) return;
  EXPECT_GT(CountedBy(options_).range_negatives, ranges / 10);
}

}  // namespace
}  // namespace deltabloom::testing
