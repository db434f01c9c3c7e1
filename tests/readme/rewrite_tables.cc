// After RewriteTables of docs/operations.md: opens the database that the first
// argument names with the OPTIONS file that the second names, rewrites its
// levels, and says how many tables in them other policies wrote, before and
// after. A key that is lost on the way is an error.
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

size_t OfOtherPolicies(rocksdb::DB* db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db->GetLiveFilesMetaData(&tables);
  rocksdb::TablePropertiesCollection properties;
  Check(db->GetPropertiesOfAllTables(&properties));
  return static_cast<size_t>(
      std::count_if(tables.begin(), tables.end(), [&](const auto& table) {
        const auto& found =
            properties.at(table.directory + "/" + table.relative_filename);
        return table.level > 0 && found->filter_policy_name != "deltabloom";
      }));
}

size_t Keys(rocksdb::DB* db) {
  const std::unique_ptr<rocksdb::Iterator> it(
      db->NewIterator(rocksdb::ReadOptions()));
  size_t keys = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++keys;
  Check(it->status());
  return keys;
}

}  // namespace

int main(int, char** argv) {
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Check(rocksdb::LoadOptionsFromFile(rocksdb::ConfigOptions(), argv[2],
                                     &options, &families));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], families, &handles, &db));
  const size_t keys = Keys(db);
  const size_t before = OfOtherPolicies(db);
  const auto levels = static_cast<size_t>(db->NumberLevels(handles[0]));
  for (size_t level = 1; level < levels; ++level)
    Check(RewriteTables(db, handles[0], level));
  std::printf("%zu of other policies, then %zu\n", before, OfOtherPolicies(db));
  const bool lost = Keys(db) != keys;
  for (rocksdb::ColumnFamilyHandle* const handle : handles)
    Check(db->DestroyColumnFamilyHandle(handle));
  delete db;
  return lost ? 1 : 0;
}
