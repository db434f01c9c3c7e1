#include "tools/deltabloom/refilter/filter_maker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "table/framing.h"
#include "tools/deltabloom/refilter/choice.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::tools {

namespace {

using internal::BlockHandle;
using internal::SstFile;
using internal::SstSource;

}  // namespace

FilterMaker::FilterMaker(const RefilterOptions& options,
                         const RefilterTable& table, const SstSource& source,
                         const SstFile& file, const std::atomic<bool>& stop)
    : options_(options),
      table_(table),
      source_(source),
      file_(file),
      stop_(stop),
      filters_(std::max<uint64_t>(file.filters[0].partitions, 1)) {
  internal::HashedKeys keys;
  keys.seeded = options_.filter.seeded;
  if (keys.seeded && !internal::RandomSeed(&keys.seed)) {
    Check("the system gives no random bytes for a seed");
  }
  mapping_ = internal::KeyMapping(options_.filter.transform, keys);
}

bool FilterMaker::GoOn(const BlockHandle& data_block) {
  if (file_.checksum != internal::ChecksumType::kNone) {
    TakeUnchecked(data_block.offset);
    checked_ =
        data_block.offset + data_block.size + internal::kBlockTrailerSize;
  }
  return !stop_;
}

bool FilterMaker::Begin(size_t partition, const BlockHandle& handle) {
  old_ = ReadBlock(source_, file_, handle);
  internal::ReaderSettings reader;
  reader.builtin = builtin_.get();
  reader.transform = options_.filter.transform;
  old_reader_.reset(internal::NewSealedBitsReader(ToSlice(old_), reader));
  if (old_reader_ == nullptr) throw std::bad_alloc();
  partition_ = partition;
  builder_ = std::make_unique<internal::BitsBuilder>(
      SettingsFor(options_.filter, table_, mapping_, handle.size));
  return true;
}

void FilterMaker::Add(const std::string_view* key,
                      const std::string_view* prefix) {
  constexpr uint64_t kSample = 16;
  if (added_++ % kSample == 0) ExpectInOld({key, prefix});
  if (key != nullptr && prefix != nullptr) {
    builder_->AddKeyAndAlt(ToSlice(*key), ToSlice(*prefix));
  } else {
    builder_->AddKey(ToSlice(key != nullptr ? *key : *prefix));
  }
}

void FilterMaker::AddNeighbour(std::string_view prefix, bool /*is_there*/) {
  builder_->AddKey(ToSlice(prefix));
}

// A filter that holds no key, or matches more of them, does not replace the
// old one.
void FilterMaker::End() {
  const uint64_t keys = builder_->EstimateEntriesAdded();
  std::unique_ptr<const char[]> owner;
  rocksdb::Status status;
  const rocksdb::Slice built = builder_->Finish(&owner, &status);
  // Looks up the hash of each key.
  if (status.ok()) status = builder_->MaybePostVerify(built);
  if (!status.ok()) Check(source_.Name() + ": " + status.ToString());
  const auto weight = static_cast<double>(keys);
  const OldFilter old = LookAt(options_.filter, old_);
  const std::optional<double> old_rate =
      old.queried ? RateOfSealedFilter(old_, keys) : 1;
  keys_ += keys;
  before_.Add(old_rate, weight);
  const std::optional<double> rate =
      RateOfSealedFilter(built.ToStringView(), keys);
  // If memory runs out, a builder makes a filter that matches every key.
  if (keys > 0 && rate.value_or(0) == 1 &&
      PlanPart(SettingsFor(options_.filter, table_, mapping_, old_.size()),
               keys)
              .layout != nullptr) {
    throw std::bad_alloc();
  }
  if (keys > 0 && IsBetter(old.has_seed, rate, old_rate)) {
    after_.Add(rate, weight);
    all_have_seeds_ = all_have_seeds_ && old.has_seed;
    filters_[partition_] = built.ToString();
    kind_ = KindOfFilter(kFilterName, filters_[partition_]);
  } else {
    after_.Add(old_rate, weight);
  }
  builder_.reset();
}

void FilterMaker::Report(RefilterTable* table) const {
  if (kind_.empty()) {
    table->reason = "no better filter for its keys fits";
    return;
  }
  // 0 in older tables, which do not say it. In filters without whole keys
  // RocksDB before 9.5 also counts an empty prefix, and again the one after
  // it, once in each partition.
  const uint64_t counted = NumberOf(file_, "rocksdb.num.filter_entries");
  std::string ignored;
  uint64_t unasked =
      FindContent(file_, &ignored).whole_keys ? 0 : 2 * filters_.size();
  // A partition that is cut between two entries of a key leaves the key to the
  // next one, too, in which no lookup asks for it.
  if (TextOf(file_,
             "rocksdb.block.based.table.decoupled.partitioned.filters") ==
      "1") {
    unasked += filters_.size() - 1;
  }
  if (counted > keys_ + unasked && !options_.untested) {
    table->reason = "RocksDB counted " + std::to_string(counted) +
                    " keys and prefixes in its filter, and by the rules "
                    "known here it has " +
                    std::to_string(keys_) + " (--untested)";
    return;
  }
  table->keys = keys_;
  table->after = kind_;
  table->rate_before = before_.Rate();
  table->rate_after = after_.Rate().value_or(1);
  Decide(all_have_seeds_, table);
}

std::vector<BlockHandle> FilterMaker::Unchecked() {
  TakeUnchecked(source_.Size());
  return unchecked_;
}

bool FilterMaker::IsFilter(size_t partition, std::string_view bytes) const {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  internal::ParseSealed(bytes, internal::ActiveCpu(), &keys, &parsed, nullptr);
  const internal::HashedKeys& wanted = mapping_.keys();
  return bytes == filters_.at(partition) &&
         keys.transformed == wanted.transformed &&
         keys.transform_id == wanted.transform_id &&
         keys.seeded == wanted.seeded &&
         std::memcmp(&keys.seed, &wanted.seed, sizeof(keys.seed)) == 0;
}

// A filter without what a table like this has holds something else: keys
// without timestamps, say, or prefixes of another extractor of that name.
void FilterMaker::ExpectInOld(
    std::initializer_list<const std::string_view*> keys) const {
  for (const std::string_view* key : keys) {
    if (key == nullptr || old_reader_->MayMatch(ToSlice(*key))) continue;
    Check(source_.Name() + ": its filter denies what the table has");
  }
}

void FilterMaker::TakeUnchecked(uint64_t end) {
  if (end > checked_) unchecked_.push_back({checked_, end - checked_});
}

}  // namespace deltabloom::tools
