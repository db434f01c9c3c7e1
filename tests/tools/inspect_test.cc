// deltabloom inspect from the outside: what it prints and how it exits.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "tests/folder.h"
#include "tests/sst/real_tables.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using test::ExpectHas;
using test::ExpectHasAll;
using test::ExpectMembers;
using test::Result;

class Inspect : public test::ToolTest {
 protected:
  Inspect() : ToolTest("inspect") {}

  std::string Rocks(const std::string& name, bool partitioned,
                    std::shared_ptr<const rocksdb::FilterPolicy> policy =
                        std::shared_ptr<const rocksdb::FilterPolicy>(
                            rocksdb::NewBloomFilterPolicy(10))) const {
    test::RocksTable table;
    table.partitioned = partitioned;
    table.policy = std::move(policy);
    table.Write(File(name));
    return File(name);
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
  ExpectHasAll(
      result.out,
      {full + ": RocksDB table, format_version 5, checksums XXH3, 2000 keys in "
              "filters\n  full filter rocksdb.BuiltinBloomFilter: ",
       "checksum ok: RocksDB Bloom, 6 probes, ",
       "  partitioned filter rocksdb.BuiltinBloomFilter: ",
       " partitions, index of ",
       level + ": LevelDB table, format_version 0, checksums CRC32c\n"
               "  per-block filter leveldb.BuiltinBloomFilter2: ",
       "first filter: classic, 6 probes, "});

  const auto files = RunJson(all, 0).at("files");
  ASSERT_EQ(files.size(), 3u);
  const auto properties = test::PropertiesOf(full);
  ExpectMembers(files[0], {{"file", full},
                           {"engine", "RocksDB"},
                           {"format_version", 5},
                           {"checksum", "XXH3"},
                           {"keys", 2000}});
  const auto& filter = files[0].at("filters").at(0);
  ExpectMembers(filter, {{"kind", "full"},
                         {"policy", "rocksdb.BuiltinBloomFilter"},
                         {"bytes", properties.filter_size}});
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
  ExpectMembers(
      files[2],
      {{"engine", "LevelDB"}, {"keys", nullptr}, {"range_filter", nullptr}});
  EXPECT_TRUE(files[2].at("filters").at(0).at("bits_per_key").is_null());
}

TEST_F(Inspect, DeltabloomFilters) {
  RocksDBFilterOptions options;
  options.layout = Layout::kClassic;
  Rocks("a.sst", false, NewRocksDBFilterPolicy(options));
  options.layout = Layout::kLocal;
  options.key_transform = "ascii_lowercase";
  options.seeded = true;
  Rocks("b.sst", false, NewRocksDBFilterPolicy(options));
  const Result result = Run(File("a.sst") + " " + File("b.sst"));
  EXPECT_EQ(result.status, 0);
  ExpectHasAll(result.out,
               {"checksum ok: Deltabloom classic, 6 probes, ",
                " bits per key\n", "checksum ok: Deltabloom local, 6 probes, ",
                ", key transform 7802baa7, seeded"});
}

TEST_F(Inspect, RangeFilters) {
  rocksdb::Options options = test::RocksTable().Options();
  RocksDBRangeOptions ranges;
  ranges.prefixes = "8";
  ranges.key_transform = "ascii_lowercase";
  ASSERT_TRUE(RocksDBRanges::New(ranges)->AddTo(&options));
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_TRUE(writer.Open(File("a.sst")).ok());
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(writer.Put(test::TableKey(i), "value").ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  const size_t bytes = test::PropertiesOf(File("a.sst"))
                           .user_collected_properties.at("deltabloom.range")
                           .size();
  const auto file = RunJson(File("a.sst"), 0).at("files").at(0);
  const auto& filter = file.at("range_filter");
  ExpectMembers(filter, {{"bytes", bytes},
                         {"entries", 2000},
                         {"key_transform", "ascii_lowercase@1"}});
  EXPECT_DOUBLE_EQ(filter.at("bits_per_key"),
                   static_cast<double>(bytes) * 8 / 2000);
  EXPECT_EQ(filter.at("comparator"), "leveldb.BytewiseComparator");
  EXPECT_EQ(filter.at("timestamp_size"), 0);
  EXPECT_EQ(filter.at("layout").get<std::string>().rfind("prefixes=8, ", 0),
            0u);
  ExpectHasAll(
      Run(File("a.sst")).out,
      {", no filter\n  range filter: " + std::to_string(bytes) + " bytes, ",
       " bits per key, key transform ascii_lowercase@1: prefixes=8, "});
}

// --- Damaged and unreadable files --------------------------------------------

TEST_F(Inspect, DamagedFilterIsReportedAmongSoundOnes) {
  const std::string path = Rocks("damaged.sst", true);
  const auto before = RunJson(path, 0)["files"][0]["filters"][0]["parts"];
  const uint64_t at = before[1].at("offset");
  FlipBit(path, at);

  const Result result = Run(path);
  EXPECT_EQ(result.status, 1);
  const std::string place = "offset " + std::to_string(at);
  ExpectHasAll(result.out,
               {place + ", ", "checksum failed\n", "checksum ok: "});
  ExpectHas(result.err, path + ": " + place + ": expected a block of ");
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
  const auto index = RunJson(path, 0)["files"][0]["filters"][0]["index"];
  FlipBit(path, index.at("offset"));
  const auto document = RunJson(path, 1);
  ExpectHas(err_, path + ": offset " + index.at("offset").dump() + ": ");
  EXPECT_TRUE(document["files"][0].at("damaged"));
  EXPECT_EQ(document["summary"]["not_sound"].size(), 1u);
}

TEST_F(Inspect, UnreadableFilesAreNamedOthersAreStillListed) {
  const std::string good = Level("good.ldb"), text = File("notes.txt");
  Write(text, std::string(100, 'n'));
  Write(File("empty.sst"), "");
  const std::string files =
      File("missing") + " " + text + " " + File("empty.sst") + " " + good;
  const Result result = Run(files);
  EXPECT_EQ(result.status, 2);
  ExpectHasAll(result.err, {"missing: cannot be opened: No such file",
                            "notes.txt: offset 47: footer: expected the magic ",
                            "a table of at least 48 bytes, found 0"});
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 3);
  ExpectHasAll(
      result.out,
      {good + ": LevelDB table",
       "\n4 files: 1 with sound filters, 0 without a filter, 0 not sound, 3 "
       "unreadable, 0 being written, 0 gone meanwhile\n  unreadable: " +
           File("missing") + "\n  unreadable: " + text});

  const auto json = RunJson(files, 2);
  ASSERT_EQ(json.at("files").size(), 4u);
  EXPECT_TRUE(json["files"][0].contains("error"));
  EXPECT_FALSE(json["files"][0].contains("filters"));
  EXPECT_TRUE(json["files"][3].contains("filters"));
  ExpectMembers(json["summary"],
                {{"sound", 1},
                 {"not_sound", nlohmann::json::array()},
                 {"unreadable", {File("missing"), text, File("empty.sst")}}});
}

// --- Directories and names ---------------------------------------------------

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
  ExpectHas(
      result.out,
      "\n2 files: 1 with sound filters, 1 without a filter, 0 not sound, "
      "0 unreadable, 0 being written, 0 gone meanwhile\n  without a filter: " +
          database + "/a.ldb\nall filters: ");
  const auto json = RunJson(database, 0);
  EXPECT_EQ(json.at("filter_bytes"), json["files"][1]["filters"][0]["bytes"]);
  EXPECT_EQ(json.at("summary").dump(),
            "{\"being_written\":[],\"gone\":0,\"not_sound\":[],\"sound\":1,"
            "\"unreadable\":[],"
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
TEST_F(Inspect, NamesAreEscaped) {
  const test::NamedPolicy policy(
      "\x1b]0;owned\x07\nforged.sst: RocksDB table\xff\\");
  test::LevelTable table;
  table.policy = &policy;
  table.Write(File("\x1b[31m\n\xfe.ldb"));
  Write(File("\x1b[32m.sst"), "");
  const std::string file = File("\\x1b[31m\\x0a\\xfe.ldb");
  const std::string name =
      "\\x1b]0;owned\\x07\\x0aforged.sst: RocksDB table\\xff\\\\";
  Result result = Run(File(""));
  EXPECT_EQ(result.status, 2);
  ExpectHasAll(result.out,
               {file + ": LevelDB table", "  per-block filter " + name + ": "});
  ExpectHas(result.err, "/\\x1b[32m.sst: offset 0: expected a table");
  for (const std::string& text : {result.out, result.err}) {
    EXPECT_EQ(text.find_first_of("\x1b\x07\xff"), std::string::npos);
  }
  const auto json = RunJson(File(""), 2);
  EXPECT_EQ(json.at("files").at(0).at("file"), file);
  EXPECT_EQ(json["files"][0].at("filters").at(0).at("policy"), name);
}

// --- Command lines -----------------------------------------------------------

// Tests all commands that read tables.
class Usage : public test::ToolTest {
 protected:
  Usage() : ToolTest("") {}
};

TEST_F(Usage, HelpAndWrongCommandLines) {
  const std::string file = File("level.ldb");
  test::LevelTable().Write(file);
  const struct {
    std::string command;
    std::vector<std::string> help, wrong;
  } cases[] = {
      {"inspect ",
       {"PATH", "--json", "Exit status"},
       {"", "--json", "--nonsense x"}},
      {"verify ",
       {"--time-limit", "--byte-limit", "--show", "--json",
        "Exit status:", "DELTABLOOM_CPU"},
       {"", "--time-limit 5x " + file, "--byte-limit -1 " + file,
        "--byte-limit many " + file, "--show -1 " + file,
        "--nonsense " + file}},
  };
  for (const auto& [command, help, wrong] : cases) {
    Result result = Run(command + "--help");
    EXPECT_EQ(result.status, 0);
    ExpectHasAll(result.out, help);
    for (const std::string& arguments : wrong) {
      result = Run(command + arguments);
      EXPECT_EQ(result.status, 2) << command << arguments;
      EXPECT_NE(result.err, "");
      EXPECT_EQ(result.out, "") << command << arguments;
    }
    // A result that cannot be written is no failed check.
    result = Run(command + file + " >/dev/full");
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "deltabloom " +
                              command.substr(0, command.size() - 1) +
                              ": standard output: cannot be written: No space "
                              "left on device\n");
  }
}

}  // namespace
}  // namespace deltabloom
