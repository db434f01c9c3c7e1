#include "db_bench_ext/demo/range_filters.h"

#include <rocksdb/slice_transform.h>
#include <rocksdb/version.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/demo/schemas.h"
#include "deltabloom/rocksdb_ranges.h"

#if ROCKSDB_MAJOR >= 9
#include <rocksdb/experimental.h>

#include <functional>
#include <type_traits>
#endif

namespace deltabloom::demo {
namespace {

constexpr char kNone[] = "none";
constexpr char kPrefixBloom[] = "rocksdb-bloom-prefix";
#if ROCKSDB_MAJOR >= 9
constexpr char kSegments[] = "rocksdb-segments";
#endif
constexpr char kCappedBloom[] = "rocksdb-bloom-capped";
constexpr char kFixedBloom[] = "rocksdb-bloom-fixed";
constexpr char kOurs[] = "deltabloom-ranges";
constexpr char kOursAuto[] = "deltabloom-ranges-auto";

rocksdb::ReadOptions WithBounds(const RangeFilter::Bounds& bounds) {
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &bounds.lower;
  options.iterate_upper_bound = &bounds.upper;
  return options;
}

// --- Prefixes in RocksDB's Bloom filter -------------------------------------

class SchemaPrefix final : public rocksdb::SliceTransform {
 public:
  explicit SchemaPrefix(const Schema& schema) : schema_(schema) {}

  const char* Name() const override { return schema_.name; }
  bool InDomain(const rocksdb::Slice&) const override { return true; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), schema_.prefix(key.ToStringView())};
  }

 private:
  const Schema& schema_;
};

class PrefixBloom final : public RangeFilter {
 public:
  explicit PrefixBloom(const Schema& schema)
      : prefix_(std::make_shared<SchemaPrefix>(schema)) {}

  void AddTo(rocksdb::Options* options) const override {
    options->prefix_extractor = prefix_;
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator(
      rocksdb::DB* db, const Bounds& bounds) override {
    rocksdb::ReadOptions options = WithBounds(bounds);
    options.prefix_same_as_start = true;
    return std::unique_ptr<rocksdb::Iterator>(db->NewIterator(options));
  }

  // RocksDB's SeekToLast would take the prefix of the upper bound.
  void SeekToLast(const Bounds& bounds,
                  rocksdb::Iterator* iterator) const override {
    iterator->SeekForPrev(prefix_->Transform(bounds.lower).ToString() +
                          std::string(16, '\xff'));
  }

 private:
  const std::shared_ptr<const SchemaPrefix> prefix_;
};

// RocksDB's own prefix extractors, which it uses as far as both bounds have one
// prefix.
class SizedPrefixBloom final : public RangeFilter {
 public:
  explicit SizedPrefixBloom(
      std::shared_ptr<const rocksdb::SliceTransform> prefix)
      : prefix_(std::move(prefix)) {}

  void AddTo(rocksdb::Options* options) const override {
    options->prefix_extractor = prefix_;
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator(
      rocksdb::DB* db, const Bounds& bounds) override {
    rocksdb::ReadOptions options = WithBounds(bounds);
    options.auto_prefix_mode = true;
    return std::unique_ptr<rocksdb::Iterator>(db->NewIterator(options));
  }

 private:
  const std::shared_ptr<const rocksdb::SliceTransform> prefix_;
};

// --- RocksDB's SstQueryFilterConfigs ----------------------------------------

#if ROCKSDB_MAJOR >= 9

using TableFilter = std::function<bool(const rocksdb::TableProperties&)>;

// ReadOptions::table_filter is a function up to RocksDB 11.8, and a pointer to
// one from then on.
template <typename Field>
void SetTableFilter(const TableFilter* filter, Field* field) {
  if constexpr (std::is_pointer_v<Field>) {
    *field = filter;
  } else {
    *field = *filter;
  }
}

// The prefix of a key and the bytes after it.
class SchemaSegments final
    : public rocksdb::experimental::KeySegmentsExtractor {
 public:
  explicit SchemaSegments(const Schema& schema) : schema_(schema) {}

  const char* Name() const override { return schema_.name; }
  void Extract(const rocksdb::Slice& key, KeyKind,
               Result* result) const override {
    const auto size = static_cast<uint32_t>(key.size());
    if (schema_.prefix != nullptr) {
      result->segment_ends.push_back(
          static_cast<uint32_t>(schema_.prefix(key.ToStringView())));
    }
    result->segment_ends.push_back(size);
  }

 private:
  const Schema& schema_;
};

class Segments final : public RangeFilter {
 public:
  explicit Segments(const Schema& schema) {
    using namespace rocksdb::experimental;
    SstQueryFilterConfigs configs;
    configs.extractor = std::make_shared<SchemaSegments>(schema);
    configs.filters = {MakeSharedBytewiseMinMaxSQFC(SelectKeySegment(0)),
                       MakeSharedBytewiseMinMaxSQFC(SelectKeySegment(1))};
    std::shared_ptr<SstQueryFilterConfigsManager> manager;
    rocksdb::Status status = SstQueryFilterConfigsManager::MakeShared(
        {{1, {{"scans", configs}}}}, &manager);
    if (status.ok()) status = manager->MakeSharedFactory("scans", 1, &factory_);
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  void AddTo(rocksdb::Options* options) const override {
    options->table_properties_collector_factories.push_back(factory_);
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator(
      rocksdb::DB* db, const Bounds& bounds) override {
    rocksdb::ReadOptions options = WithBounds(bounds);
    filter_ = [this, filter = factory_->GetTableFilterForRangeQuery(
                         bounds.lower, bounds.upper)](
                  const rocksdb::TableProperties& properties) {
      ++asked_;
      return filter(properties);
    };
    SetTableFilter(&filter_, &options.table_filter);
    return std::unique_ptr<rocksdb::Iterator>(db->NewIterator(options));
  }

  uint64_t TablesAsked() const override { return asked_; }
  std::string Property() const override { return "rocksdb.sqfc"; }

 private:
  std::shared_ptr<rocksdb::experimental::SstQueryFilterConfigsManager::Factory>
      factory_;
  // The state of the iterator, of which there is one at a time.
  TableFilter filter_;
  uint64_t asked_ = 0;
};

#endif  // ROCKSDB_MAJOR >= 9

// --- Deltabloom's table property --------------------------------------------

class Ours final : public RangeFilter {
 public:
  Ours(double bits_per_key, const std::string& prefixes) {
    RocksDBRangeOptions options;
    options.bits_per_key = bits_per_key;
    options.prefixes = prefixes;
    std::string error;
    ranges_ = RocksDBRanges::New(options, &error);
    if (ranges_ == nullptr) throw std::runtime_error(error);
  }

  void AddTo(rocksdb::Options* options) const override {
    std::string error;
    if (!ranges_->AddTo(options, &error)) throw std::runtime_error(error);
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator(
      rocksdb::DB* db, const Bounds& bounds) override {
    return ranges_->NewIterator(db, {}, db->DefaultColumnFamily(),
                                bounds.lower.ToStringView(),
                                bounds.upper.ToStringView());
  }

  uint64_t TablesAsked() const override { return ranges_->Statistics().tables; }
  std::string Property() const override { return "deltabloom.range"; }

 private:
  std::shared_ptr<RocksDBRanges> ranges_;
};

}  // namespace

const std::vector<std::string>& RangeFilterNames() {
  static const auto& names = *new std::vector<std::string> {
    kNone, kPrefixBloom, kCappedBloom, kFixedBloom,
#if ROCKSDB_MAJOR >= 9
        kSegments,
#endif
        kOurs, kOursAuto
  };
  return names;
}

void RangeFilter::AddTo(rocksdb::Options*) const {}

std::unique_ptr<rocksdb::Iterator> RangeFilter::NewIterator(
    rocksdb::DB* db, const Bounds& bounds) {
  return std::unique_ptr<rocksdb::Iterator>(
      db->NewIterator(WithBounds(bounds)));
}

void RangeFilter::SeekToLast(const Bounds&, rocksdb::Iterator* iterator) const {
  iterator->SeekToLast();
}

std::unique_ptr<RangeFilter> NewRangeFilter(const std::string& name,
                                            const Schema& schema,
                                            double bits_per_key) {
  if (name == kPrefixBloom) {
    if (schema.prefix == nullptr) return nullptr;
    return std::make_unique<PrefixBloom>(schema);
  }
#if ROCKSDB_MAJOR >= 9
  if (name == kSegments) return std::make_unique<Segments>(schema);
#endif
  if (name == kNone) return std::make_unique<RangeFilter>();
  // Sizes that paths and addresses have.
  if (name == kCappedBloom) {
    return std::make_unique<SizedPrefixBloom>(
        std::shared_ptr<const rocksdb::SliceTransform>(
            rocksdb::NewCappedPrefixTransform(40)));
  }
  if (name == kFixedBloom) {
    return std::make_unique<SizedPrefixBloom>(
        std::shared_ptr<const rocksdb::SliceTransform>(
            rocksdb::NewFixedPrefixTransform(8)));
  }
  return std::make_unique<Ours>(bits_per_key,
                                name == kOurs ? schema.prefixes : "auto");
}

}  // namespace deltabloom::demo
