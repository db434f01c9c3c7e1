// deltabloom inspect from the outside: what it prints and how it exits.
#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>

#include <nlohmann/json.hpp>

#include "deltabloom/rocksdb.h"
#include "tests/sst/real_tables.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using test::ExpectHas;
using test::Result;

class Inspect : public test::ToolTest {
 protected:
  Inspect() : ToolTest("inspect") {}

  std::string Rocks(const std::string& name, bool partitioned,
                    std::shared_ptr<const rocksdb::FilterPolicy> policy) const {
    test::RocksTable table;
    table.partitioned = partitioned;
    table.policy = std::move(policy);
    table.Write(File(name));
    return File(name);
  }
  std::string Rocks(const std::string& name, bool partitioned) const {
    return Rocks(name, partitioned,
                 std::shared_ptr<const rocksdb::FilterPolicy>(
                     rocksdb::NewBloomFilterPolicy(10)));
  }

  std::string Level(const std::string& name) const {
    const std::unique_ptr<const leveldb::FilterPolicy> policy(
        leveldb::NewBloomFilterPolicy(10));
    test::LevelTable table;
    table.policy = policy.get();
    table.Write(File(name));
    return File(name);
  }
};

TEST_F(Inspect, TextAndJson) {
  const std::string full = Rocks("full.sst", false);
  const std::string partitioned = Rocks("partitioned.sst", true);
  const std::string level = Level("level.ldb");
  const std::string all = full + " " + partitioned + " " + level;
  const Result result = Run(all);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  ExpectHas(result.out, full +
                            ": RocksDB table, format_version 5, checksums "
                            "XXH3, 2000 keys in filters\n"
                            "  full filter rocksdb.BuiltinBloomFilter: ");
  ExpectHas(result.out, "checksum ok: RocksDB Bloom, 6 probes, ");
  ExpectHas(result.out, "  partitioned filter rocksdb.BuiltinBloomFilter: ");
  ExpectHas(result.out, " partitions, index of ");
  ExpectHas(result.out, level +
                            ": LevelDB table, format_version 0, checksums "
                            "CRC32c\n"
                            "  per-block filter leveldb.BuiltinBloomFilter2: ");
  ExpectHas(result.out, "first filter: classic, 6 probes, ");

  const auto files = RunJson(all, 0).at("files");
  ASSERT_EQ(files.size(), 3u);
  const auto properties = test::PropertiesOf(full);
  EXPECT_EQ(files[0].at("file"), full);
  EXPECT_EQ(files[0].at("engine"), "RocksDB");
  EXPECT_EQ(files[0].at("format_version"), 5);
  EXPECT_EQ(files[0].at("checksum"), "XXH3");
  EXPECT_EQ(files[0].at("keys"), 2000);
  const auto& filter = files[0].at("filters").at(0);
  EXPECT_EQ(filter.at("kind"), "full");
  EXPECT_EQ(filter.at("policy"), "rocksdb.BuiltinBloomFilter");
  EXPECT_EQ(filter.at("bytes"), properties.filter_size);
  EXPECT_DOUBLE_EQ(filter.at("bits_per_key"),
                   static_cast<double>(properties.filter_size) * 8 / 2000);
  EXPECT_EQ(filter.at("parts").size(), 1u);
  EXPECT_EQ(filter.at("parts").at(0).at("checksum"), "ok");

  const auto split = test::PropertiesOf(partitioned);
  const auto& parts = files[1].at("filters").at(0);
  EXPECT_EQ(parts.at("kind"), "partitioned");
  EXPECT_EQ(parts.at("parts").size(), split.index_partitions);
  uint64_t total = parts.at("index").at("bytes");
  for (const auto& part : parts.at("parts")) {
    total += part.at("bytes").get<uint64_t>();
  }
  EXPECT_EQ(total, split.filter_size);

  EXPECT_EQ(files[2].at("engine"), "LevelDB");
  EXPECT_TRUE(files[2].at("keys").is_null());
  EXPECT_TRUE(files[2].at("filters").at(0).at("bits_per_key").is_null());
}

TEST_F(Inspect, DeltabloomFilters) {
  RocksDBFilterOptions options;
  options.layout = Layout::kClassic;
  Rocks("table.sst", false, NewRocksDBFilterPolicy(options));
  Result result = Run(File("table.sst"));
  EXPECT_EQ(result.status, 0);
  ExpectHas(result.out, "checksum ok: Deltabloom classic, 6 probes, ");
  ExpectHas(result.out, " bits per key\n");

  options.layout = Layout::kLocal;
  options.key_transform = "ascii_lowercase";
  options.seeded = true;
  Rocks("table.sst", false, NewRocksDBFilterPolicy(options));
  result = Run(File("table.sst"));
  EXPECT_EQ(result.status, 0);
  ExpectHas(result.out, "checksum ok: Deltabloom local, 6 probes, ");
  ExpectHas(result.out, ", key transform 7802baa7, seeded");
}

TEST_F(Inspect, DamagedFilterIsReportedAmongSoundOnes) {
  const std::string path = Rocks("damaged.sst", true);
  const auto before = RunJson(path, 0)["files"][0]["filters"][0]["parts"];
  const uint64_t at = before[1].at("offset");
  FlipBit(path, at);

  const Result result = Run(path);
  EXPECT_EQ(result.status, 1);
  ExpectHas(result.out, "offset " + std::to_string(at) + ", ");
  ExpectHas(result.out, "checksum failed\n");
  ExpectHas(result.out, "checksum ok: ");
  ExpectHas(result.err,
            path + ": offset " + std::to_string(at) + ": expected a block of ");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);

  const auto document = RunJson(path + " " + File("missing"), 1);
  const auto& parts = document["files"][0]["filters"][0]["parts"];
  EXPECT_EQ(parts[0]["checksum"], "ok");
  EXPECT_EQ(parts[1]["checksum"], "failed");
  EXPECT_TRUE(parts[1].contains("error"));
  EXPECT_FALSE(parts[1].contains("layout"));
  EXPECT_EQ(document["summary"]["not_sound"].dump(), "[\"" + path + "\"]");
}

TEST_F(Inspect, ADamagedIndexOfPartitionsIsADamagedFilter) {
  const std::string path = Rocks("damaged.sst", true);
  const auto before = RunJson(path, 0)["files"][0]["filters"][0]["index"];
  FlipBit(path, before.at("offset"));
  const auto document = RunJson(path, 1);
  ExpectHas(err_, path + ": offset " + before.at("offset").dump() + ": ");
  EXPECT_TRUE(document["files"][0].at("damaged"));
  EXPECT_EQ(document["summary"]["not_sound"].size(), 1u);
}

TEST_F(Inspect, UnreadableFilesAreNamedOthersAreStillListed) {
  const std::string good = Level("good.ldb");
  const std::string text = File("notes.txt");
  Write(text, std::string(100, 'n'));
  const std::string empty = File("empty.sst");
  Write(empty, "");
  const std::string files =
      File("missing") + " " + text + " " + empty + " " + good;
  const Result result = Run(files);
  EXPECT_EQ(result.status, 2);
  ExpectHas(result.err, "missing: cannot be opened: No such file");
  ExpectHas(result.err, "notes.txt: offset 47: footer: expected the magic ");
  ExpectHas(result.err, "a table of at least 48 bytes, found 0");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 3);
  ExpectHas(result.out, good + ": LevelDB table");
  ExpectHas(result.out,
            "\n4 files: 1 with sound filters, 0 without a filter, 0 not sound, "
            "3 unreadable, 0 gone meanwhile\n  unreadable: " +
                File("missing") + "\n  unreadable: " + text);

  const auto json = RunJson(files, 2);
  ASSERT_EQ(json.at("files").size(), 4u);
  EXPECT_TRUE(json["files"][0].contains("error"));
  EXPECT_FALSE(json["files"][0].contains("filters"));
  EXPECT_TRUE(json["files"][3].contains("filters"));
  EXPECT_EQ(json["summary"]["sound"], 1);
  EXPECT_EQ(json["summary"]["not_sound"].size(), 0u);
  EXPECT_EQ(json["summary"]["unreadable"].size(), 3u);
  EXPECT_EQ(json["summary"]["unreadable"][1], text);
}

TEST_F(Inspect, Directories) {
  const std::string database = File("database");
  std::filesystem::create_directories(database + "/below.sst");
  const std::string full = Rocks("database/b.sst", false);
  test::LevelTable().Write(database + "/a.ldb");  // no filter is no error
  Level("database/below.sst/not-listed.ldb");
  Write(database + "/LOG", "not a table");
  Result result = Run(database);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out.rfind(database + "/a.ldb: ", 0), 0u) << result.out;
  ExpectHas(result.out, "checksums CRC32c, no filter\n");
  ExpectHas(result.out, "\n" + full + ": RocksDB table");
  ExpectHas(result.out,
            "\n2 files: 1 with sound filters, 1 without a filter, 0 not sound, "
            "0 unreadable, 0 gone meanwhile\n  without a filter: " +
                database + "/a.ldb\n");
  EXPECT_EQ(RunJson(database, 0).at("summary").dump(),
            "{\"gone\":0,\"not_sound\":[],\"sound\":1,\"unreadable\":[],"
            "\"without_filter\":[\"" +
                database + "/a.ldb\"]}");

  std::filesystem::create_directory(File("empty"));
  result = Run(File("empty") + " " + full);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, File("empty") +
                            ": expected table files (*.sst, *.ldb), found "
                            "none\n");
  ExpectHas(result.out, full + ": RocksDB table");
}

// Names of a file, of the policy in it, and of what is not there, cannot reach
// the terminal.
class EvilPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override {
    return "\x1b]0;owned\x07\nforged.sst: RocksDB table\xff\\";
  }
  void CreateFilter(const leveldb::Slice*, int,
                    std::string* dst) const override {
    *dst += "filter";
  }
  bool KeyMayMatch(const leveldb::Slice&,
                   const leveldb::Slice&) const override {
    return true;
  }
};

TEST_F(Inspect, NamesAreEscaped) {
  const EvilPolicy policy;
  test::LevelTable table;
  table.policy = &policy;
  table.Write(File("\x1b[31m\n\xfe.ldb"));
  Write(File("\x1b[32m.sst"), "");
  const std::string file = File("\\x1b[31m\\x0a\\xfe.ldb");
  const std::string name =
      "\\x1b]0;owned\\x07\\x0aforged.sst: RocksDB table\\xff\\\\";
  Result result = Run(File(""));
  EXPECT_EQ(result.status, 2);
  ExpectHas(result.out, file + ": LevelDB table");
  ExpectHas(result.out, "  per-block filter " + name + ": ");
  ExpectHas(result.err, "/\\x1b[32m.sst: offset 0: expected a table");
  for (const std::string* text : {&result.out, &result.err}) {
    EXPECT_EQ(text->find('\x1b'), std::string::npos);
    EXPECT_EQ(text->find('\x07'), std::string::npos);
    EXPECT_EQ(text->find('\xff'), std::string::npos);
  }
  const auto json = RunJson(File(""), 2);
  EXPECT_EQ(json.at("files").at(0).at("file"), file);
  EXPECT_EQ(json["files"][0].at("filters").at(0).at("policy"), name);
}

TEST_F(Inspect, Usage) {
  const Result help = Run("--help");
  EXPECT_EQ(help.status, 0);
  ExpectHas(help.out, "PATH");
  ExpectHas(help.out, "--json");
  ExpectHas(help.out, "Exit status");
  for (const char* arguments : {"", "--json", "--nonsense x"}) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 2) << arguments;
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "");
  }
  const std::string file = Level("level.ldb");
  const Result full = Run(file + " >/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_EQ(full.err,
            "deltabloom inspect: standard output: cannot be written: No space "
            "left on device\n");
}

}  // namespace
}  // namespace deltabloom
