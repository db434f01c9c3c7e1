// deltabloom verify from the outside: command line, directories, limits, what
// cannot be read; on tables of LevelDB, which every build can check.
#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/sst/real_tables.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ExpectHas;
using test::Result;

class Verify : public test::ToolTest {
 protected:
  Verify() : ToolTest("verify"), policy_(leveldb::NewBloomFilterPolicy(10)) {
    fs::create_directory(Path());
  }

  std::string Path() const { return File("db"); }

  std::string Table(const std::string& name) const {
    test::LevelTable table;
    table.policy = policy_.get();
    table.Write(Path() + "/" + name);
    return Path() + "/" + name;
  }

  const std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

void Damage(const std::string& table) {
  const internal::BlockHandle block = test::FilterBlocks(table).at(0);
  test::ClearABit(table, block, block.size / 2);
}

TEST_F(Verify, Text) {
  const std::string sound = Table("1.ldb");
  const std::string bad = Table("2.ldb");
  Damage(bad);
  test::LevelTable().Write(Path() + "/3.ldb");
  Result result = Run(sound);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  ExpectHas(result.out, sound +
                            ": LevelDB table, per-block filter "
                            "leveldb.BuiltinBloomFilter2\n"
                            "  asked: 2000 keys, no false negative\n"
                            "  absent: ");
  ExpectHas(result.out, " %, expected ");

  result = Run(Path());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "");
  ExpectHas(result.out, "\n  asked: 2000 keys, ");
  ExpectHas(result.out, "\n  false negative: filter at offset ");
  ExpectHas(result.out, ", key: key00");
  ExpectHas(result.out,
            "\n3 tables: 1 without a false negative, 1 with false negatives, "
            "1 without a filter, 0 not checked, 0 not covered, 0 gone "
            "meanwhile\n"
            "  with false negatives: " +
                bad + "\n  without a filter: " + Path() + "/3.ldb\n");
  result = Run("--show 0 " + Path());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out.find("false negative: filter at"), std::string::npos);
  ExpectHas(result.out, "more false negatives\n");
}

// Keys are others' bytes.
TEST_F(Verify, KeysAreEscaped) {
  const std::string path = Path() + "/evil.ldb";
  {
    leveldb::Options options;
    options.filter_policy = policy_.get();
    leveldb::WritableFile* file = nullptr;
    ASSERT_TRUE(leveldb::Env::Default()->NewWritableFile(path, &file).ok());
    const std::unique_ptr<leveldb::WritableFile> owner(file);
    leveldb::TableBuilder builder(options, file);
    builder.Add("\x1b]0;owned\x07\n\xff", "value");
    ASSERT_TRUE(builder.Finish().ok());
    ASSERT_TRUE(file->Close().ok());
  }
  test::ClearABit(path, test::FilterBlocks(path).at(0), 0);
  for (const char* option : {"", "--json "}) {
    const Result result = Run(option + path);
    EXPECT_EQ(result.status, 1);
    ExpectHas(result.out, *option == '\0'
                              ? ", key: \\x1b]0;owned\\x07\\x0a\\xff\n"
                              : "\"\\\\x1b]0;owned\\\\x07\\\\x0a\\\\xff\"");
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  }
}

TEST_F(Verify, ByteLimit) {
  uint64_t size = 0;
  for (const char* name : {"1.ldb", "2.ldb", "3.ldb"}) {
    size = fs::file_size(Table(name));
  }
  const Result result =
      Run("--json --byte-limit " + std::to_string(2 * size) + " " + Path());
  EXPECT_EQ(result.status, 0);
  json summary = json::parse(result.out).at("summary");
  EXPECT_EQ(summary.at("sound"), 2);
  EXPECT_EQ(summary.at("not_covered"), json({Path() + "/3.ldb"}));
  summary = json::parse(Run("--json --byte-limit 1k " + Path()).out)["summary"];
  EXPECT_EQ(summary.at("not_covered").size(), 3u);
  ExpectHas(Run("--byte-limit 1k " + Path()).out,
            "3 not covered, 0 gone meanwhile\n  not covered: ");
  summary = json::parse(Run("--json --byte-limit 1G " + Path()).out)["summary"];
  EXPECT_EQ(summary.at("sound"), 3);
}

// However long it takes: each table is in one list, and a limit is no error.
TEST_F(Verify, TimeLimit) {
  constexpr uint64_t kTables = 30;
  for (uint64_t i = 0; i < kTables; ++i) {
    Table(std::to_string(i) + ".ldb");
  }
  for (const char* limit : {"1ms", "10ms", "1h"}) {
    const Result result =
        Run(std::string("--json --time-limit ") + limit + " " + Path());
    EXPECT_EQ(result.status, 0);
    const json summary = json::parse(result.out).at("summary");
    EXPECT_EQ(
        summary.at("sound").get<uint64_t>() + summary.at("not_covered").size(),
        kTables);
    if (limit == std::string("1h")) {
      EXPECT_EQ(summary.at("sound"), kTables);
    }
  }
}

TEST_F(Verify, WhatCannotBeReadIsNamedOthersGoOn) {
  const std::string good = Table("good.ldb");
  const std::string fifo = Path() + "/fifo.ldb";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string text = Path() + "/text.sst";
  std::ofstream(text) << std::string(100, 'n');
  // Nobody is writing it.
  fs::last_write_time(text,
                      fs::last_write_time(text) - std::chrono::minutes(1));
  fs::create_symlink("nowhere", Path() + "/link.sst");
  Result result = Run(Path() + " " + File("missing"));
  EXPECT_EQ(result.status, 2);
  ExpectHas(result.err, fifo + ": expected a file, found a FIFO\n");
  ExpectHas(result.err, "/text.sst: offset 47: footer: expected the magic ");
  ExpectHas(result.err, "/link.sst: cannot be opened: No such file");
  ExpectHas(result.err, "missing: cannot be opened: No such file");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 4);
  ExpectHas(result.out, good + ": LevelDB table");
  ExpectHas(result.out, "4 not checked");
  result = Run("--json " + Path());
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(json::parse(result.out)["summary"]["not_checked"].size(), 3u);

  // A false negative is worse.
  Damage(good);
  EXPECT_EQ(Run(Path()).status, 1);

  fs::create_directory(File("empty"));
  result = Run(File("empty"));
  EXPECT_EQ(result.status, 2);
  ExpectHas(result.err, ": expected table files (*.sst, *.ldb), found none\n");
}

// A table that a database is writing has no end yet.
TEST_F(Verify, TablesThatAreBeingWritten) {
  Table("1.ldb");
  const std::string growing = Path() + "/2.ldb";
  std::ofstream(growing) << "the first of its data blocks";
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      std::ofstream(growing, std::ios::app) << "another data block";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const Result result = Run("--json " + Path());
  done = true;
  writer.join();
  EXPECT_EQ(result.status, 0) << result.err;
  const json summary = json::parse(result.out).at("summary");
  EXPECT_EQ(summary.at("sound"), 1);
  EXPECT_EQ(summary.at("not_covered"), json({growing}));
  // Nobody writes it any more.
  EXPECT_EQ(Run(Path()).status, 2);
}

// Tables vanish and appear while their directory is walked.
TEST_F(Verify, ADatabaseAtWork) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = policy_.get();
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  leveldb::DB* raw = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, Path(), &raw).ok());
  const std::unique_ptr<leveldb::DB> db(raw);
  uint64_t written = 0;
  const auto write = [&] {
    const uint64_t i = written++;
    const std::string key = test::TableKey(i * 7919 % 1000000);
    ASSERT_TRUE(db->Put({}, key, std::string(100, 'v')).ok());
  };
  while (written < 20000) write();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) write();
  });
  uint64_t sound = 0;
  for (int i = 0; i < 5; ++i) {
    const Result result = Run("--json " + Path());
    EXPECT_EQ(result.status, 0) << result.err;
    sound += json::parse(result.out)["summary"]["sound"].get<uint64_t>();
  }
  done = true;
  writer.join();
  EXPECT_GT(sound, 0u);
}

// Neither a byte nor a time stamp changes, and nothing new appears.
TEST_F(Verify, WritesNothing) {
  const std::string table = Table("1.ldb");
  Table("2.ldb");
  const auto state = [this] {
    std::map<std::string, std::pair<fs::file_time_type, std::string>> files;
    for (const auto& entry : fs::directory_iterator(Path())) {
      files[entry.path()] = {entry.last_write_time(),
                             test::ReadFile(entry.path())};
    }
    files[Path()] = {fs::last_write_time(Path()), {}};
    return files;
  };
  fs::permissions(table, fs::perms::owner_read);
  fs::permissions(Path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto before = state();
  const Result result = Run(Path());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(state(), before);
  fs::permissions(Path(), fs::perms::owner_all);
}

TEST_F(Verify, Usage) {
  const Result help = Run("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* part : {"--time-limit", "--byte-limit", "--show", "--json",
                           "Exit status:", "DELTABLOOM_CPU"}) {
    ExpectHas(help.out, part);
  }
  const std::string file = Table("1.ldb");
  for (const std::string& arguments :
       {std::string(), "--time-limit 5x " + file, "--byte-limit -1 " + file,
        "--byte-limit many " + file, "--show -1 " + file,
        "--nonsense " + file}) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 2) << arguments;
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "") << arguments;
  }
  // That it could not tell is not that all is well, nor a false negative.
  const Result full = Run(file + " >/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_EQ(full.err,
            "deltabloom verify: standard output: cannot be written\n");
}

}  // namespace
}  // namespace deltabloom
