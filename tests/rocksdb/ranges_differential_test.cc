// Scans with range filters against RocksDB's own iterator with the same bounds:
// random databases of every key shape, random writes of every kind, random
// moves in both directions. DELTABLOOM_RANGES sets the number of scans.
#include <cstdlib>
#include <map>

#include "engines/rocksdb/ranges/property.h"
#include "rocksdb/comparator.h"
#include "rocksdb/merge_operator.h"
#include "tests/rocksdb/range_scans.h"

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

std::shared_ptr<RocksDBRanges> NewRanges(const RocksDBRangeOptions& options) {
  std::string error;
  auto ranges = RocksDBRanges::New(options, &error);
  EXPECT_NE(ranges, nullptr) << error;
  return ranges;
}

// A random configuration: each of these changes which tables, blocks and
// entries iterators meet.
Options RandomOptions(Random* random, std::string* name) {
  const auto maybe = [&](const char* what) {
    if (random->Below(3) != 0) return false;
    *name += std::string(name->empty() ? "" : ", ") + what;
    return true;
  };
  const bool partitioned = maybe("partitioned");
  Options options = MakeOptions({Deltabloom(), partitioned, nullptr});
  options.disable_auto_compactions = false;
  options.level0_file_num_compaction_trigger = 2;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 8 << 10;
  options.max_bytes_for_level_base = 32 << 10;
  options.max_bytes_for_level_multiplier = 3;
  options.merge_operator = std::make_shared<Append>();
  options.avoid_unnecessary_blocking_io = true;
  if (maybe("universal")) {
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
  }
  if (maybe("dynamic levels")) {
    options.level_compaction_dynamic_level_bytes = true;
  }
  if (maybe("blobs")) {
    options.enable_blob_files = true;
    options.min_blob_size = 20;
  }
  if (maybe("prefix extractor")) {
    options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(6));
    options.memtable_prefix_bloom_size_ratio = 0.1;
  }
  return options;
}

class RangesDifferentialTest : public ::testing::TestWithParam<KeyShape> {
 protected:
  // Of one database with random options.
  void RunDatabase(uint64_t scans, Random* random) {
    std::string configuration;
    Options options = RandomOptions(random, &configuration);
    RocksDBRangeOptions range_options;
    range_options.learning = random->Below(2) == 0;
    range_options.bits_per_key = 4 + static_cast<double>(random->Below(12));
    const auto ranges = NewRanges(range_options);
    std::string error;
    ASSERT_TRUE(ranges->AddTo(&options, &error)) << error;
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, configuration);
    options_ = options;
    db_.Open(options);
    for (uint64_t done = 0; done < scans && !HasFailure();) {
      const uint64_t batch = std::min<uint64_t>(scans - done, 200);
      Write(random);
      for (uint64_t i = 0; i < batch && !HasFailure(); ++i) {
        CompareScan(ranges.get(), random);
      }
      done += batch;
      if (random->Below(10) == 0) db_.Reopen();
    }
    const RocksDBRangeStatistics statistics = ranges->Statistics();
    rejected_ += statistics.tables_rejected;
    scans_ += statistics.scans;
    EXPECT_EQ(statistics.refused, 0u);
    db_.Close();
    EXPECT_OK(rocksdb::DestroyDB(db_.path(), options));
  }

  std::string KeyOf(Random* random) {
    return GetParam().key(random->Below(kNumbers));
  }

  // Some writes of every kind, and a flush, a compaction or an ingestion.
  void Write(Random* random) {
    for (uint64_t i = random->Below(600); i > 0; --i) {
      const std::string key = KeyOf(random);
      const std::string value = std::to_string(random->Below(1'000'000)) +
                                std::string(random->Below(40), 'v');
      switch (random->Below(20)) {
        case 0:
        case 1:
          EXPECT_OK(db_->Delete({}, key));
          break;
        case 2:
          // SingleDelete is legal for a key that was put once at most.
          if (single_.insert({key, false}).second) {
            EXPECT_OK(db_->Delete({}, key + "single"));
            EXPECT_OK(db_->Put({}, key + "single", value));
          } else if (!single_[key]) {
            EXPECT_OK(db_->SingleDelete({}, key + "single"));
            single_[key] = true;
          }
          break;
        case 3:
          EXPECT_OK(db_->Merge({}, key, value));
          break;
        case 4: {
          std::string end = KeyOf(random);
          if (random->Below(10) == 0 && key < end) {
            EXPECT_OK(
                db_->DeleteRange({}, db_->DefaultColumnFamily(), key, end));
          } else {
            EXPECT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), key,
                                       key + '\x01'));
          }
          break;
        }
        default:
          EXPECT_OK(db_->Put({}, key, value));
      }
    }
    switch (random->Below(8)) {
      case 0:
        EXPECT_OK(db_->CompactRange({}, nullptr, nullptr));
        break;
      case 1:
        Ingest(random);
        break;
      case 2:
        break;
      default:
        EXPECT_OK(db_->Flush({}));
    }
  }

  void Ingest(Random* random) {
    std::map<std::string, bool> keys;
    for (uint64_t i = 1 + random->Below(50); i > 0; --i) {
      keys.insert({KeyOf(random), true});
    }
    const std::string path = db_.Path("ingested.sst");
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_OK(writer.Open(path));
    for (const auto& [key, unused] : keys) {
      EXPECT_OK(writer.Put(key, "ingested"));
    }
    EXPECT_OK(writer.Finish());
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    EXPECT_OK(db_->IngestExternalFile({path}, how));
  }

  void CompareScan(RocksDBRanges* ranges, Random* random) {
    ScanBounds bounds = RandomBounds(GetParam(), kNumbers, random);
    ReadOptions read;
    // With a prefix extractor and neither of these a scan must stay within a
    // prefix.
    read.total_order_seek = random->Below(2) == 0;
    read.auto_prefix_mode = !read.total_order_seek;
    if (options_.prefix_extractor == nullptr && random->Below(2) == 0) {
      read.auto_prefix_mode = false;
    }
    const rocksdb::Snapshot* const snapshot =
        random->Below(3) == 0 ? db_->GetSnapshot() : nullptr;
    read.snapshot = snapshot;
    // The caller's own bounds narrow the scan.
    const std::string own_text = KeyOf(random);
    const Slice own(own_text);
    ScanBounds narrow = bounds;
    if (random->Below(8) == 0) {
      read.iterate_upper_bound = &own;
      if (!narrow.upper.has_value() || own_text < *narrow.upper) {
        narrow.upper = own_text;
      }
    } else if (random->Below(8) == 0) {
      read.iterate_lower_bound = &own;
      narrow.lower = std::max(narrow.lower, own_text);
    }
    const ::testing::ScopedTrace trace(
        __FILE__, __LINE__,
        Slice(narrow.lower).ToString(true) + " to " +
            (narrow.upper.has_value() ? Slice(*narrow.upper).ToString(true)
                                      : "the end"));
    {
      const auto scan =
          ranges->NewIterator(db_, read, db_->DefaultColumnFamily(),
                              bounds.lower, ViewOf(bounds.upper));
      if (narrow.upper.has_value() && narrow.lower >= *narrow.upper) {
        scan->SeekToFirst();
        EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
        scan->SeekToLast();
        EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
      } else {
        const Model model(db_, read, db_->DefaultColumnFamily(), narrow);
        ExpectSameMoves(
            scan.get(), model.get(), 6, random,
            [&] {
              return random->Below(2) == 0 ? KeyOf(random) : bounds.lower;
            },
            snapshot == nullptr);
      }
    }
    if (snapshot != nullptr) db_->ReleaseSnapshot(snapshot);
  }

  TestDb db_;
  Options options_;
  std::map<std::string, bool> single_;
  uint64_t rejected_ = 0;
  uint64_t scans_ = 0;
};

TEST_P(RangesDifferentialTest, FindsWhatRocksDBFinds) {
  FreshRandom random;
  const uint64_t scans = Scans() / std::size(kKeyShapes);
  const uint64_t databases =
      std::max<uint64_t>(1, std::min<uint64_t>(scans / 500, 100));
  for (uint64_t i = 0; i < databases && !HasFailure(); ++i) {
    single_.clear();
    RunDatabase(scans / databases, &random);
  }
  // The filters were used.
  EXPECT_GT(rejected_, scans_ / 10);
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
