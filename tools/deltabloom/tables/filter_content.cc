#include "tools/deltabloom/tables/filter_content.h"

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

using internal::SstFile;
using internal::SstFilter;

// A feature is on unless the table says otherwise, as in RocksDB.
bool Has(const SstFile& file, const char* property) {
  return TextOf(file, property) != "0";
}

// Returns why the prefixes are not known, or nothing.
std::string FindPrefixes(const SstFile& file, FilterContent* content) {
  const std::string name = TextOf(file, "rocksdb.prefix.extractor.name");
  if (!Has(file, "rocksdb.block.based.table.prefix.filtering") ||
      name.empty() || name == "nullptr") {
    return {};
  }
  const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
      rocksdb::ConfigOptions(), name, &content->prefixes);
  if (status.ok() && content->prefixes != nullptr) return {};
  content->prefixes = nullptr;
  return "prefixes: no prefix extractor known here has the name " + name;
}

}  // namespace

FilterContent FindContent(const SstFile& file, std::string* no_prefixes) {
  FilterContent content;
  content.comparator =
      TextOf(file, "rocksdb.comparator", "leveldb.BytewiseComparator");
  if (!rocksdb::Comparator::CreateFromString(rocksdb::ConfigOptions(),
                                             content.comparator, &content.order)
           .ok()) {
    content.order = nullptr;
  }
  if (content.order != nullptr) {
    content.timestamp_size = content.order->timestamp_size();
  } else {  // only tables with timestamps have this property
    content.timestamp_size = TextOf(file, "rocksdb.timestamp_min").size();
  }
  if (NumberOf(file, "rocksdb.user.defined.timestamps.persisted", 1) == 0) {
    content.timestamp_size = 0;
  }
  content.whole_keys =
      Has(file, "rocksdb.block.based.table.whole.key.filtering");
  *no_prefixes = FindPrefixes(file, &content);
  return content;
}

namespace {

// The properties of block-based tables whose names begin with "rocksdb.", in
// 7.0.3 to kLastKnownRocksDB (options_file.h; table/table_properties.cc,
// block_based_table_factory.cc, sst_file_writer_collectors.h,
// utilities/table_properties_collectors there), without that.
constexpr std::string_view kKnownProperties[] = {
    "block.based.table.decoupled.partitioned.filters",
    "block.based.table.index.type",
    "block.based.table.prefix.filtering",
    "block.based.table.whole.key.filtering",
    "column.family.id",
    "column.family.name",
    "comparator",
    "compression",
    "compression_options",
    "creating.db.identity",
    "creating.host.identity",
    "creating.session.identity",
    "creation.time",
    "data.block.restart.interval",
    "data.size",
    "data.unix.write.time.average",
    "data.unix.write.time.max",
    "data.unix.write.time.min",
    "deleted.keys",
    "external_sst_file.global_seqno",
    "external_sst_file.version",
    "file.creation.time",
    "filter.policy",
    "filter.size",
    "fixed.key.length",
    "format.version",
    "index.block.restart.interval",
    "index.key.is.user.key",
    "index.partitions",
    "index.size",
    "index.value.is.delta.encoded",
    "key.largest.seqno",
    "key.smallest.seqno",
    "lsm.info.at.creation",
    "merge.operands",
    "merge.operator",
    "newest.key.time",
    "num.data.blocks",
    "num.data.blocks.compression.bypassed",
    "num.data.blocks.compression.rejected",
    "num.entries",
    "num.filter_entries",
    "num.infinitely.old.entries",
    "num.range-deletions",
    "num.uniform.blocks",
    "oldest.key.time",
    "original.file.number",
    "prefix.extractor.name",
    "property.collectors",
    "raw.key.size",
    "raw.value.size",
    "sample_for_compression.fast.data.size",
    "sample_for_compression.slow.data.size",
    "separate.key.value.in.data.block",
    "seqno.time.map",
    "tail.start.offset",
    "timestamp_max",
    "timestamp_min",
    "top-level.index.size",
    "udi.is.primary.index",
    "uncompressed.data.size",
    "user.defined.timestamps.persisted"};

}  // namespace

std::string UnknownProperty(const SstFile& file) {
  constexpr std::string_view kOfRocksDB = "rocksdb.";
  for (const std::string& name : file.properties.Names()) {
    if (name.compare(0, kOfRocksDB.size(), kOfRocksDB) != 0) continue;
    const std::string_view rest =
        std::string_view(name).substr(kOfRocksDB.size());
    if (std::find(std::begin(kKnownProperties), std::end(kKnownProperties),
                  rest) == std::end(kKnownProperties)) {
      return name;
    }
  }
  return {};
}

std::string FilterContent::OrderProblem(const SstFilter& filter) const {
  if (order != nullptr || filter.partitions <= 1) return {};
  return "filter: the partition of a key depends on a comparator that is not "
         "known here, " +
         comparator;
}

}  // namespace deltabloom::tools
