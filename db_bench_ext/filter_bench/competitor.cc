#include "db_bench_ext/filter_bench/competitor.h"

#include <utility>

namespace deltabloom::bench {

std::unique_ptr<FilterBitsBuilder> PolicyCompetitor::NewBuilder() const {
  return internal::NewBitsBuilder(*policy_);
}

std::unique_ptr<FilterBitsReader> PolicyCompetitor::NewReader(
    const Slice& filter) const {
  return internal::NewBitsReader(*policy_, filter);
}

#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
void PlainBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  AddKey(key);
  AddKey(alt);
}
#endif

Slice PlainBuilder::Finish(std::unique_ptr<const char[]>* owner,
                           rocksdb::Status* status) {
  if (status != nullptr) *status = rocksdb::Status::OK();
  return Finish(owner);
}

rocksdb::Status PlainBuilder::MaybePostVerify(const Slice&) {
  return rocksdb::Status::OK();
}

void OneByOneReader::MayMatch(int n, Slice** keys, bool* may_match) {
  for (int i = 0; i < n; ++i) may_match[i] = MayMatch(*keys[i]);
}

const std::vector<CompetitorEntry>& AllCompetitors() {
  static const std::vector<CompetitorEntry> all = [] {
    std::vector<CompetitorEntry> entries;
    for (auto part :
         {RocksDBCompetitors, NativeRocksDBCompetitors, LevelDBCompetitors,
          NaiveCompetitors, DeltabloomCompetitors, LevelDBAdapters, Floors}) {
      for (CompetitorEntry& entry : part()) entries.push_back(std::move(entry));
    }
    return entries;
  }();
  return all;
}

}  // namespace deltabloom::bench
