// The grammar and what becomes of the options are those of Ceph 18.2.7
// (src/kv/RocksDBStore.cc): a text is families with a blank between them, a
// family is NAME, NAME(SHARDS) or NAME(SHARDS,FROM-TO), and options after "=".
// The option block_cache is Ceph's own; it replaces the options of tables.
#include "tools/deltabloom/check/ceph_sharding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

using internal::ParseNumber;
using internal::Quote;
using Options = std::unordered_map<std::string, std::string>;

[[noreturn]] void Refuse(const std::string& problem) {
  throw std::runtime_error("deltabloom: " + problem);
}

void RequireOk(const rocksdb::Status& status, const std::string& family) {
  if (status.ok()) return;
  // RocksDB's own words are around a line of the policy.
  const std::string line = status.ToString();
  const std::string ours = "deltabloom: ";
  const size_t at = line.find(ours);
  Refuse("family " + Quote(family) + ": " +
         (at == std::string::npos ? line : line.substr(at + ours.size())));
}

rocksdb::ConfigOptions Strict() {
  rocksdb::ConfigOptions config;
  config.input_strings_escaped = false;  // as in Ceph's calls
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

// True for "3" and "3,0-13" and "3,10-", the text in the parentheses.
bool IsValidSharding(std::string_view text) {
  uint32_t shards = 0;
  uint32_t from = 0;
  uint32_t to = std::numeric_limits<uint32_t>::max();
  const size_t comma = text.find(',');
  if (!ParseNumber(text.substr(0, comma), &shards) || shards == 0) return false;
  if (comma == std::string_view::npos) return true;
  const std::string_view hashed = text.substr(comma + 1);
  const size_t dash = hashed.find('-');
  if (dash == std::string_view::npos ||
      !ParseNumber(hashed.substr(0, dash), &from)) {
    return false;
  }
  const std::string_view end = hashed.substr(dash + 1);
  return (end.empty() || ParseNumber(end, &to)) && from < to;
}

// Splits NAME(SHARDS). Returns the name.
std::string NameOf(std::string_view family) {
  const std::string name(family.substr(0, family.find('(')));
  const std::string_view sharding = family.substr(name.size());
  if (name.empty()) {
    Refuse("a family has no name: one blank separates families");
  }
  if (name == "default") {
    Refuse(
        "family 'default' must not be named: Ceph opens it by itself, and an "
        "OSD whose text names it does not open any more");
  }
  if (!sharding.empty() &&
      (sharding.back() != ')' ||
       !IsValidSharding(sharding.substr(1, sharding.size() - 2)))) {
    Refuse("family " + Quote(family) +
           ": use NAME, NAME(SHARDS) or NAME(SHARDS,FROM-TO)");
  }
  return name;
}

// Parses the options of a family, the rest of its text, as Ceph does. Returns
// the text of its filters.
std::string FiltersOf(const std::string& name, const std::string& text) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(20));
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  Options options;
  RequireOk(rocksdb::StringToMap(text, &options), name);
  Options cached;
  const auto cache = options.find("block_cache");
  const bool has_cache = cache != options.end();
  if (has_cache) {
    if (options.count("block_based_table_factory") != 0) {
      Refuse("family " + Quote(name) +
             ": block_cache replaces block_based_table_factory: put the "
             "filter_policy into the braces of block_cache");
    }
    RequireOk(rocksdb::StringToMap(cache->second, &cached), name);
    options.erase(cache);
  }
  RequireOk(rocksdb::GetColumnFamilyOptionsFromMap(Strict(), family, options,
                                                   &family),
            name);
  if (has_cache) {
    for (const char* const of_ceph : {"type", "size", "shards", "high_ratio"}) {
      cached.erase(of_ceph);
    }
    RequireOk(rocksdb::GetBlockBasedTableOptionsFromMap(Strict(), table, cached,
                                                        &table),
              name);
    family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }
  // As DB::Open does: RocksDB drops the error of a wrong value before.
  RequireOk(family.table_factory->ValidateOptions(rocksdb::DBOptions(), family),
            name);
  std::string not_ours;
  return GetRocksDBFilters(family, &not_ours);
}

}  // namespace

std::vector<CephFamily> FamiliesOfCephText(const std::string& text) {
  if (text.find('\\') != std::string::npos) {
    Refuse(
        "a backslash before ';' is for the file ceph.conf alone: leave it out "
        "here, and for reshard");
  }
  RegisterRocksDB();
  std::vector<CephFamily> families;
  std::set<std::string> names;
  bool any = false;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string family = text.substr(begin, end - begin);
    const size_t equals = std::min(family.find('='), family.size());
    const std::string name = NameOf(family.substr(0, equals));
    if (!names.insert(name).second) {
      Refuse("family " + Quote(name) + " is named twice");
    }
    families.push_back(
        {name, equals == family.size()
                   ? ""
                   : FiltersOf(name, family.substr(equals + 1))});
    any = any || !families.back().filters.empty();
    begin = end + 1;
  }
  if (!any) Refuse("no family has a filter policy of Deltabloom");
  return families;
}

}  // namespace deltabloom::tools
