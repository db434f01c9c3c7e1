#include "tests/sst/real_tables.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include <cstdio>
#include <cstdlib>

namespace deltabloom::test {
namespace {

template <typename Status>
void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "cannot write a table: %s\n", status.ToString().c_str());
  std::abort();
}

std::string Value(uint64_t i) {
  return std::string(20, static_cast<char>('a' + i % 26));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "sst_testXXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TableKey(uint64_t i) {
  char key[24];
  std::snprintf(key, sizeof(key), "key%06llu",
                static_cast<unsigned long long>(i));
  return key;
}

rocksdb::Options RocksTable::Options() const {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = static_cast<uint32_t>(format_version);
  table.checksum = checksum;
  table.filter_policy = policy;
  table.block_size = 512;
  table.optimize_filters_for_memory = false;  // the default since 9.2 is true
  if (partitioned) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = metadata_block_size;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 907
    table.decouple_partitioned_filters = decoupled;
#endif
  }
  rocksdb::Options options;
  options.db_host_id = "";  // else the tables name the machine
  options.compression = compression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

void RocksTable::Write(const std::string& path) const {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), Options());
  Require(writer.Open(path));
  for (uint64_t i = 0; i < keys; ++i) {
    Require(writer.Put(TableKey(i), Value(i)));
  }
  Require(writer.Finish());
}

rocksdb::TableProperties PropertiesOf(const std::string& path) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  Require(reader.Open(path));
  return *reader.GetTableProperties();
}

void LevelTable::Write(const std::string& path) const {
  leveldb::Options options;
  options.filter_policy = policy;
  options.compression =
      snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  leveldb::WritableFile* file = nullptr;
  Require(leveldb::Env::Default()->NewWritableFile(path, &file));
  const std::unique_ptr<leveldb::WritableFile> owner(file);
  leveldb::TableBuilder builder(options, file);
  for (uint64_t i = 0; i < keys; ++i) builder.Add(TableKey(i), Value(i));
  Require(builder.Finish());
  Require(file->Close());
}

}  // namespace deltabloom::test
