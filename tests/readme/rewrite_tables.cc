// Does what RewriteTables of docs/operations.md does: opens the database that
// the first argument names with the OPTIONS file that the second names,
// rewrites the tables that are listed in the file that the third names, and
// says how many of them are below level 0, before and after, and how many bits
// per key the filters of each level then have. A key that is lost on the way is
// an error.
#include <deltabloom/rocksdb.h>
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace {

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

size_t CountNamed(rocksdb::DB* db, const std::set<std::string>& names) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db->GetLiveFilesMetaData(&tables);
  return static_cast<size_t>(
      std::count_if(tables.begin(), tables.end(), [&](const auto& table) {
        return table.level > 0 && names.count(table.relative_filename) > 0;
      }));
}

void PrintBits(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  Check(db->GetPropertiesOfAllTables(&tables));
  rocksdb::ColumnFamilyMetaData tree;
  db->GetColumnFamilyMetaData(&tree);
  for (const rocksdb::LevelMetaData& level : tree.levels) {
    double bytes = 0, keys = 0;
    for (const rocksdb::SstFileMetaData& file : level.files) {
      const auto& properties =
          *tables.at(file.directory + "/" + file.relative_filename);
      bytes += static_cast<double>(properties.filter_size);
      keys += static_cast<double>(properties.num_filter_entries);
    }
    if (keys == 0) continue;
    std::printf("level %d: %zu tables, %.0f keys, %.2f bits per key\n",
                level.level, level.files.size(), keys, 8 * bytes / keys);
  }
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
  std::string error;
  if (!deltabloom::RegisterRocksDB(&error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Check(rocksdb::LoadOptionsFromFile(rocksdb::ConfigOptions(), argv[2],
                                     &options, &families));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], families, &handles, &db));
  const size_t keys = Keys(db);
  std::ifstream list(argv[3]);
  const std::set<std::string> names{std::istream_iterator<std::string>(list),
                                    std::istream_iterator<std::string>()};
  const size_t before = CountNamed(db, names);
  const auto levels = static_cast<size_t>(db->NumberLevels(handles[0]));
  for (size_t level = 1; level < levels; ++level)
    Check(RewriteTables(db, handles[0], level, names));
  std::printf("%zu of other policies, then %zu\n", before,
              CountNamed(db, names));
  PrintBits(db);
  const bool lost = Keys(db) != keys;
  for (rocksdb::ColumnFamilyHandle* const handle : handles)
    Check(db->DestroyColumnFamilyHandle(handle));
  delete db;
  return lost ? 1 : 0;
}
