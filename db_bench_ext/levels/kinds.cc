#include "db_bench_ext/levels/kinds.h"

#include <stdexcept>
#include <utility>

#include "deltabloom/rocksdb.h"

namespace deltabloom::levels {
namespace {

template <Layout kLayout,
          RocksDBAllocation kAllocation = RocksDBAllocation::kUniform>
PolicyPointer MakeDeltabloom(double bits) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits;
  options.layout = kLayout;
  options.allocation = kAllocation;
  std::string error;
  PolicyPointer policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return policy;
}

template <Layout kLayout>
PolicyPointer MakeLevels(double bits) {
  return MakeDeltabloom<kLayout, RocksDBAllocation::kLevels>(bits);
}

const Kind kKinds[] = {
    {"rocksdb-bloom", 1,
     [](double bits) {
       return PolicyPointer(rocksdb::NewBloomFilterPolicy(bits));
     },
     nullptr},
    // Ribbon at every level: by default RocksDB 7 flushes with Bloom.
    {"rocksdb-ribbon", 0.7,
     [](double bits) {
       return PolicyPointer(
           rocksdb::NewRibbonFilterPolicy(bits, /*bloom_before_level=*/-1));
     },
     nullptr},
    {"deltabloom-classic", 1, MakeDeltabloom<Layout::kClassic>,
     MakeLevels<Layout::kClassic>},
    {"deltabloom-local", 1, MakeDeltabloom<Layout::kLocal>,
     MakeLevels<Layout::kLocal>},
    {"deltabloom-compact", 1, MakeDeltabloom<Layout::kCompact>,
     MakeLevels<Layout::kCompact>},
    {"deltabloom-auto", 1, MakeDeltabloom<Layout::kAuto>,
     MakeLevels<Layout::kAuto>},
};

class LevelPolicy final : public rocksdb::FilterPolicy {
 public:
  LevelPolicy(PolicyPointer reader,
              std::function<const rocksdb::FilterPolicy*(int level)> choose)
      : reader_(std::move(reader)), choose_(std::move(choose)) {}

  const char* Name() const override { return "levels_bench.ByHand"; }
  const char* CompatibilityName() const override {
    return reader_->CompatibilityName();
  }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    const rocksdb::FilterPolicy* policy = choose_(context.level_at_creation);
    return policy == nullptr ? nullptr : policy->GetBuilderWithContext(context);
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    return reader_->GetFilterBitsReader(filter);
  }

 private:
  const PolicyPointer reader_;
  const std::function<const rocksdb::FilterPolicy*(int level)> choose_;
};

}  // namespace

const Kind* FindKind(const std::string& name) {
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

PolicyPointer DelegateByLevel(
    PolicyPointer reader,
    std::function<const rocksdb::FilterPolicy*(int level)> choose) {
  return std::make_shared<LevelPolicy>(std::move(reader), std::move(choose));
}

}  // namespace deltabloom::levels
