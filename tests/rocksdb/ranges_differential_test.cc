// Scans with range filters against RocksDB's own iterator with the same bounds:
// random databases of every key shape, random writes of every kind, random
// moves in both directions. DELTABLOOM_RANGES sets the number of scans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/prefix_function.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "rocksdb/merge_operator.h"
#include "tests/random.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/range_scans.h"
#include "tests/rocksdb/ranges_db.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using test::FreshRandom;
using test::Random;

constexpr uint64_t kNumbers = 3000;

class Append : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "append"; }
  bool Merge(const Slice& /*key*/, const Slice* before, const Slice& operand,
             std::string* after, rocksdb::Logger* /*log*/) const override {
    *after = (before == nullptr ? "" : before->ToString()) + "," +
             operand.ToString();
    return true;
  }
};

uint64_t Scans() {
  const char* const wish = std::getenv("DELTABLOOM_RANGES");
  return wish == nullptr ? 16'000 : std::strtoull(wish, nullptr, 10);
}

// The order of keys.
enum class Order { kBytewise, kReverse, kIgnoreCase };

// The reverse order with timestamps of 8 bytes, which RocksDB has from 8.0 on.
class ReverseWithTimestamps final : public Comparator {
 public:
  ReverseWithTimestamps() : Comparator(sizeof(uint64_t)) {}

  const char* Name() const override {
    return "rocksdb.ReverseBytewiseComparator.u64ts";
  }
  int Compare(const Slice& a, const Slice& b) const override {
    const int order = CompareWithoutTimestamp(a, true, b, true);
    return order != 0 ? order : -CompareTimestamp(TimeOf(a), TimeOf(b));
  }
  int CompareWithoutTimestamp(const Slice& a, bool a_has_time, const Slice& b,
                              bool b_has_time) const override {
    return WithoutTime(b, b_has_time).compare(WithoutTime(a, a_has_time));
  }
  int CompareTimestamp(const Slice& a, const Slice& b) const override {
    return times_->CompareTimestamp(a, b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  Slice TimeOf(const Slice& key) const {
    return {key.data() + key.size() - timestamp_size(), timestamp_size()};
  }
  Slice WithoutTime(const Slice& key, bool has_time) const {
    return {key.data(), key.size() - (has_time ? timestamp_size() : 0)};
  }

  const Comparator* const times_ = TimestampComparator();
};

const TestComparator& IgnoreCase() {
  static const auto& comparator = *new TestComparator(kIgnoreCase);
  return comparator;
}

// The properties of a database. Each of them changes which tables, blocks and
// entries iterators meet.
struct Configuration {
  explicit Configuration(Random* random) {
    const auto maybe = [&](const char* what, uint64_t one_in = 3) {
      if (random->Below(one_in) != 0) return false;
      name += std::string(name.empty() ? "" : ", ") + what;
      return true;
    };
    options = MakeOptions({Deltabloom(), maybe("partitioned"), nullptr});
    timestamps = maybe("timestamps", 6);
    if (timestamps) {
      options.comparator = TimestampComparator();
    } else if (maybe("ignore case", 8)) {
      order = Order::kIgnoreCase;
      options.comparator = &IgnoreCase();
      // The policy would need the transform as well.
      options.table_factory.reset(rocksdb::NewBlockBasedTableFactory());
      ranges.key_transform = kIgnoreCase.transform;
    }
    if (order == Order::kBytewise && maybe("reverse order", 5)) {
      order = Order::kReverse;
      static const auto& with_timestamps = *new ReverseWithTimestamps();
      options.comparator =
          timestamps ? &with_timestamps : rocksdb::ReverseBytewiseComparator();
    }
    options.disable_auto_compactions = false;
    options.level0_file_num_compaction_trigger = 2;
    options.write_buffer_size = 64 << 10;
    options.target_file_size_base = 8 << 10;
    options.max_bytes_for_level_base = 32 << 10;
    options.max_bytes_for_level_multiplier = 3;
    options.avoid_unnecessary_blocking_io = true;
    if (maybe("universal")) {
      options.compaction_style = rocksdb::kCompactionStyleUniversal;
    }
    if (maybe("dynamic levels")) {
      options.level_compaction_dynamic_level_bytes = true;
    }
    // RocksDB 7.8.3 refuses tailing iterators range tombstones, but does not
    // see all of them, and they read blob files of versions that are gone.
    tailing = maybe("tailing", 4);
    if (!tailing && maybe("blobs")) {
      options.enable_blob_files = true;
      options.min_blob_size = 20;
    }
    if (order == Order::kBytewise && !timestamps) {
      // RocksDB 7.8.3 refuses merges into wide columns.
      wide_columns = maybe("wide columns");
      if (!wide_columns && !tailing) {
        options.merge_operator = std::make_shared<Append>();
      }
      if (!tailing && maybe("prefix extractor")) {
        options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(6));
        options.memtable_prefix_bloom_size_ratio = 0.1;
      }
    }
    ranges.bits_per_key = 4 + static_cast<double>(random->Below(12));
    if (maybe("max_table_bytes", 8)) ranges.max_table_bytes = 400;
    if (maybe("max_build_bytes", 8)) ranges.max_build_bytes = 20'000;
    // Delimiters of the key shapes, lengths of all of them, windows, functions.
    constexpr const char* kDeclarations[] = {"auto",
                                             "1",
                                             "8",
                                             "4,12",
                                             "'/'",
                                             "'/'x2",
                                             "':'",
                                             "20b,56b",
                                             "3b,60b",
                                             "'/'x1+2,':'x1+12b",
                                             "2,5,9",
                                             "0xff",
                                             "0x00x1",
                                             "groups_of_8",
                                             "kvrocks,1+groups_of_8",
                                             "test_thirds",
                                             "2+test_thirds,'/'",
                                             "'a'",
                                             "5,22b",
                                             "'~'x1+4",
                                             "300,7",
                                             "1,2,3,4,5,6,7,8,'-','.','!'"};
    ranges.prefixes = kDeclarations[random->Below(std::size(kDeclarations))];
    name += ", prefixes=" + ranges.prefixes;
    files = maybe("few open files", 6);
    if (files) options.max_open_files = 20;
  }

  Options options;
  RocksDBRangeOptions ranges;
  Order order = Order::kBytewise;
  bool timestamps = false;
  bool wide_columns = false;
  bool tailing = false;  // and neither merges nor range deletions
  bool files = false;
  std::string name;
};

class RangesDifferentialTest : public ::testing::TestWithParam<KeyShape> {
 protected:
  void Open(Random* random) {
    configuration_ = std::make_unique<Configuration>(random);
    ranges_ = NewRanges(configuration_->ranges);
    AddTo(ranges_.get(), &configuration_->options);
    single_.clear();
    time_ = 1;
    db_.Open(configuration_->options);
  }

  void Destroy() {
    const RocksDBRangeStatistics statistics = ranges_->Statistics();
    rejected_ += statistics.tables_rejected;
    scans_ += statistics.scans;
    EXPECT_EQ(statistics.refused, 0u);
    db_.Close();
    EXPECT_OK(rocksdb::DestroyDB(db_.path(), configuration_->options));
  }

  // Makes `scans` scans of one database with random options.
  void RunDatabase(uint64_t scans, Random* random) {
    Open(random);
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       configuration_->name);
    for (uint64_t done = 0; done < scans && !HasFailure();) {
      const uint64_t batch = std::min<uint64_t>(scans - done, 200);
      // This scan lives on while tables change.
      Pair lasting(this, random);
      Write(random);
      lasting.Move(random);
      for (uint64_t i = 0; i < batch && !HasFailure(); ++i) {
        Pair(this, random).Move(random);
      }
      const bool by_prefix = configuration_->order != Order::kIgnoreCase &&
                             !configuration_->timestamps;
      for (int i = 0; i < 3 && !HasFailure() && by_prefix; ++i) {
        ScanPrefix(random);
      }
      lasting.Move(random);
      done += batch;
      if (random->Below(10) == 0) {
        lasting.Close();
        db_.Reopen();
      }
    }
    Destroy();
  }

  std::string KeyOf(Random* random) const {
    std::string key = GetParam().key(random->Below(kNumbers));
    if (configuration_->order == Order::kIgnoreCase) {
      key = kIgnoreCase.spell(key, static_cast<unsigned>(random->Below(64)));
    }
    return key;
  }

  bool IsLess(const std::string& a, const std::string& b) const {
    return configuration_->options.comparator->CompareWithoutTimestamp(
               a, false, b, false) < 0;
  }

  // Makes some writes of every kind, and a flush, a compaction or an ingestion.
  void Write(Random* random) {
    const bool has_time = configuration_->timestamps;
    for (uint64_t i = random->Below(600); i > 0; --i) {
      if (has_time) {
        WriteAtTime(random);
      } else {
        WriteOne(random);
      }
    }
    switch (random->Below(8)) {
      case 0:
        EXPECT_OK(db_->CompactRange({}, nullptr, nullptr));
        break;
      case 1:
        if (!has_time) Ingest(random);
        break;
      case 2:
        break;
      default:
        EXPECT_OK(db_->Flush({}));
    }
  }

  static std::string RandomValue(Random* random) {
    return std::to_string(random->Below(1'000'000)) +
           std::string(random->Below(40), 'v');
  }

  // A short range beside a key, in the order of keys.
  std::pair<std::string, std::string> Near(const std::string& key) const {
    const std::string near = key + '\x01';
    return IsLess(near, key) ? std::pair(near, key) : std::pair(key, near);
  }

  void WriteOne(Random* random) {
    const std::string key = KeyOf(random);
    const std::string value = RandomValue(random);
    switch (random->Below(20)) {
      case 0:
      case 1:
        EXPECT_OK(db_->Delete({}, key));
        break;
      case 2:
        // SingleDelete is legal for a key that was put once at most.
        if (single_.insert({key, false}).second) {
          EXPECT_OK(db_->Put({}, key + "single", value));
        } else if (!single_[key]) {
          EXPECT_OK(db_->SingleDelete({}, key + "single"));
          single_[key] = true;
        }
        break;
      case 3:
        if (configuration_->options.merge_operator != nullptr) {
          EXPECT_OK(db_->Merge({}, key, value));
        }
        break;
      case 4: {
        const std::string end = KeyOf(random);
        const bool wide = random->Below(10) == 0 && IsLess(key, end);
        if (configuration_->tailing) break;
        const auto [from, to] = Near(key);
        EXPECT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(),
                                   wide ? key : from, wide ? end : to));
        break;
      }
      case 5:
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 7, 0)
        if (configuration_->wide_columns) {
          EXPECT_OK(db_->PutEntity({}, db_->DefaultColumnFamily(), key,
                                   {{"", "default"}, {"name", value}}));
          break;
        }
#endif
        [[fallthrough]];
      default:
        EXPECT_OK(db_->Put({}, key, value));
    }
  }

  void WriteAtTime(Random* random) {
    const std::string key = KeyOf(random);
    const std::string time = Timestamp(++time_);
    switch (random->Below(20)) {
      case 0:
      case 1:
        EXPECT_OK(db_->Delete({}, key, time));
        break;
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 8, 0)
      case 2:
        if (!configuration_->tailing) {
          const auto [from, to] = Near(key);
          EXPECT_OK(
              db_->DeleteRange({}, db_->DefaultColumnFamily(), from, to, time));
        }
        break;
#endif
      default:
        EXPECT_OK(db_->Put({}, key, time, RandomValue(random)));
    }
  }

  void Ingest(Random* random) {
    const auto less = [this](const std::string& a, const std::string& b) {
      return IsLess(a, b);
    };
    std::map<std::string, bool, decltype(less)> keys(less);
    for (uint64_t i = 1 + random->Below(50); i > 0; --i) {
      keys.insert({KeyOf(random), true});
    }
    const std::string path = db_.Path("ingested.sst");
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(),
                                  configuration_->options);
    EXPECT_OK(writer.Open(path));
    for (const auto& [key, unused] : keys) {
      EXPECT_OK(writer.Put(key, "ingested"));
    }
    EXPECT_OK(writer.Finish());
#if DELTABLOOM_ROCKSDB_HEADERS < DELTABLOOM_ROCKSDB_VERSION(7, 10, 0)
    // Universal compaction of files that were ingested while the memtable held
    // older keys is reported as corruption there (facebook/rocksdb#10922).
    if (configuration_->options.compaction_style ==
        rocksdb::kCompactionStyleUniversal) {
      EXPECT_OK(db_->Flush({}));
    }
#endif
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    EXPECT_OK(db_->IngestExternalFile({path}, how));
  }

  // Compares a scan of a prefix with all keys that RocksDB has with it: in the
  // reverse order there are no bounds that would say it.
  void ScanPrefix(Random* random) {
    const std::string key = KeyOf(random);
    std::string prefix = key.substr(0, random->Below(key.size() + 1));
    if (random->Below(8) == 0) prefix.assign(random->Below(3), '\xff');
    ReadOptions read;
    read.total_order_seek = true;
    Strings expected;
    const std::unique_ptr<Iterator> all(db_->NewIterator(read));
    for (all->SeekToFirst(); all->Valid(); all->Next()) {
      if (all->key().starts_with(prefix)) {
        expected.push_back(all->key().ToString());
      }
    }
    EXPECT_EQ(
        AllKeys(ranges_
                    ->NewPrefixIterator(db_.get(), read,
                                        db_->DefaultColumnFamily(), prefix)
                    .get()),
        expected)
        << Slice(prefix).ToString(true);
  }

  // A scan and the model that it must agree with.
  class Pair {
   public:
    Pair(RangesDifferentialTest* test, Random* random)
        : test_(test),
          db_(test->db_.get()),
          bounds_(RandomBounds(GetParam(), kNumbers, random)) {
      if (test->configuration_->order == Order::kReverse &&
          bounds_.upper.has_value()) {
        bounds_.lower.swap(*bounds_.upper);
      }
      DrawRead(random);
      narrow_ = bounds_;
      DrawOwnBounds(random);
      scan_ = test->ranges_->NewIterator(db_, read_, db_->DefaultColumnFamily(),
                                         bounds_.lower, ViewOf(bounds_.upper));
      empty_ = narrow_.upper.has_value() &&
               !test->IsLess(narrow_.lower, *narrow_.upper);
      // RocksDB's own iterators reject empty bounds, so there is no model.
      if (empty_) return;
      model_ = std::make_unique<Model>(db_, read_, db_->DefaultColumnFamily(),
                                       narrow_);
    }
    ~Pair() { Close(); }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    void Close() {
      scan_.reset();
      model_.reset();
      if (read_.snapshot != nullptr) db_->ReleaseSnapshot(read_.snapshot);
      read_.snapshot = nullptr;
    }

    void Move(Random* random) {
      const ::testing::ScopedTrace trace(
          __FILE__, __LINE__,
          mode_ + Slice(narrow_.lower).ToString(true) + " to " +
              (narrow_.upper.has_value() ? Slice(*narrow_.upper).ToString(true)
                                         : "the end"));
      if (empty_) {
        scan_->SeekToFirst();
        EXPECT_EQ(StateOf(scan_.get()), "invalid, OK");
        scan_->SeekToLast();
        EXPECT_EQ(StateOf(scan_.get()), "invalid, OK");
        return;
      }
      Moves moves;
      moves.refresh = read_.snapshot == nullptr && !read_.tailing &&
                      read_.timestamp == nullptr;
      moves.forward_only = read_.tailing || read_.iter_start_ts != nullptr;
      if (test_->configuration_->order == Order::kIgnoreCase) {
        moves.compared = kIgnoreCase.compared;
      }
      const auto target = [&] {
        const std::string key =
            random->Below(2) == 0 ? test_->KeyOf(random) : bounds_.lower;
        // A seek must stay within the prefix in this mode.
        return prefix_.empty() ? key : prefix_ + key.substr(0, 3);
      };
      ExpectSameMoves(scan_.get(), model_->get(), moves, random, target);
    }

   private:
    void DrawRead(Random* random) {
      const Configuration& configuration = *test_->configuration_;
      const auto maybe = [&](const char* what, uint64_t one_in) {
        if (random->Below(one_in) != 0) return false;
        mode_ += what + std::string(", ");
        return true;
      };
      if (maybe("snapshot", 3)) read_.snapshot = db_->GetSnapshot();
      if (maybe("read ahead", 6)) read_.readahead_size = 16 << 10;
      // RocksDB 7.8.3 writes into keys with timestamps that it has pinned.
      if (!configuration.timestamps && maybe("pinned", 6)) {
        read_.pin_data = true;
      }
      // ignore_range_deletions is not tested: a compaction between the making
      // of the two iterators drops what it would show.
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 3, 0)
      if (maybe("asynchronous", 10)) read_.async_io = true;
#endif
      if (configuration.timestamps) {
        time_ = Timestamp(1 + random->Below(test_->time_));
        if (maybe("now", 2)) time_ = Timestamp(test_->time_);
        read_.timestamp = &time_slice_;
        start_ = Timestamp(random->Below(test_->time_));
        if (maybe("iter_start_ts", 8)) read_.iter_start_ts = &start_slice_;
        time_slice_ = time_;
        start_slice_ = start_;
        return;
      }
      if (configuration.tailing && read_.snapshot == nullptr &&
          maybe("tailing", 6)) {
        read_.tailing = true;
      }
      const std::string key = test_->KeyOf(random);
      if (configuration.options.prefix_extractor == nullptr) {
        read_.total_order_seek = random->Below(2) == 0;
        read_.auto_prefix_mode = random->Below(2) == 0;
      } else if (key.size() > 6 && maybe("prefix mode", 3)) {
        // The whole scan is in one prefix.
        prefix_ = key.substr(0, 6);
        bounds_.lower = prefix_ + test_->KeyOf(random).substr(0, 2);
        bounds_.upper =
            prefix_ + (random->Below(2) == 0 ? std::string(8, '\xff')
                                             : test_->KeyOf(random));
        read_.prefix_same_as_start = maybe("same as start", 2);
      } else if (random->Below(2) == 0) {
        read_.total_order_seek = true;
      } else {
        read_.auto_prefix_mode = true;
      }
    }

    // The caller's own bounds narrow the scan.
    void DrawOwnBounds(Random* random) {
      if (!prefix_.empty()) return;
      own_ = test_->KeyOf(random);
      own_slice_ = own_;
      if (random->Below(8) == 0) {
        read_.iterate_upper_bound = &own_slice_;
        if (!narrow_.upper.has_value() || test_->IsLess(own_, *narrow_.upper)) {
          narrow_.upper = own_;
        }
      } else if (random->Below(8) == 0) {
        read_.iterate_lower_bound = &own_slice_;
        if (test_->IsLess(narrow_.lower, own_)) narrow_.lower = own_;
      }
    }

    RangesDifferentialTest* const test_;
    rocksdb::DB* const db_;
    ReadOptions read_;
    ScanBounds bounds_, narrow_;
    std::string prefix_, own_, time_, start_, mode_;
    Slice own_slice_, time_slice_, start_slice_;
    bool empty_ = false;
    std::unique_ptr<Iterator> scan_;
    std::unique_ptr<Model> model_;
  };

  TestDb db_;
  std::unique_ptr<Configuration> configuration_;
  RangesPtr ranges_;
  std::map<std::string, bool> single_;
  uint64_t time_ = 1;  // of the last write
  uint64_t rejected_ = 0;
  uint64_t scans_ = 0;
};

// "test_thirds" ends a component after every third byte.
void RegisterThirds() {
  PrefixFunction thirds;
  thirds.name = "test_thirds";
  thirds.function = [](std::string_view key, std::vector<size_t>* ends) {
    for (size_t i = 3; i <= key.size(); i += 3) ends->push_back(i);
  };
  static const bool done = RegisterPrefixFunction(thirds);
  EXPECT_TRUE(done);
}

TEST_P(RangesDifferentialTest, FindsWhatRocksDBFinds) {
  RegisterThirds();
  FreshRandom random;
  const uint64_t scans = Scans() / std::size(kKeyShapes);
  const uint64_t databases =
      std::max<uint64_t>(1, std::min<uint64_t>(scans / 500, 300));
  for (uint64_t i = 0; i < databases && !HasFailure(); ++i) {
    RunDatabase(scans / databases, &random);
  }
  // The filters were used, though not each declaration suits the keys.
  if (databases > 10) {
    EXPECT_GT(rejected_, scans_ / 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RangesDifferentialTest,
                         ::testing::ValuesIn(kKeyShapes),
                         [](const auto& shape) {
                           std::string name = shape.param.name;
                           for (char& byte : name) {
                             if (!std::isalnum(byte)) byte = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace deltabloom::testing
