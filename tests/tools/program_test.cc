// Tests what all subcommands of deltabloom share: what they print, the frame
// that calls them (with commands made for this test), and the files that a
// command line names.
#include "tools/program/program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/folder.h"
#include "tests/random.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;
using test::ExpectHas;

// --- Escaped text ------------------------------------------------------------

TEST(Escaped, KnownAnswers) {
  const struct {
    std::string bytes;
    const char* text;
  } cases[] = {
      {"", ""},
      {"plain /path/000012.sst \"x\" 'y'", "plain /path/000012.sst \"x\" 'y'"},
      {std::string("\0", 1), "\\x00"},
      {"\t\r\n\x1b\x7f", "\\x09\\x0d\\x0a\\x1b\\x7f"},
      {"\\", "\\\\"},
      {"\\x1b", "\\\\x1b"},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\xb3", "ä€🌳"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // CSI, the 8-bit escape sequence
      {"\xc2\x80", "\\xc2\\x80"},
      {"\xc2\xa0", "\xc2\xa0"},
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},  // right-to-left override
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},  // line separator
      {"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},
      {"\xe2\x80\x8b", "\\xe2\\x80\\x8b"},  // zero-width space
      {"\xd8\x9c", "\\xd8\\x9c"},           // Arabic letter mark
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
      {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"},  // around them
      {"\x80", "\\x80"},
      {"\xff", "\\xff"},
      {"a\xc3", "a\\xc3"},
      {"\xc3(", "\\xc3("},
      {"\xc0\xaf", "\\xc0\\xaf"},  // '/' in two bytes
      {"\xc1\x9c", "\\xc1\\x9c"},  // a backslash in two bytes
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
      {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
      {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
      {"\xe2\x82", "\\xe2\\x82"},
  };
  for (const auto& c : cases) EXPECT_EQ(Escaped(c.bytes), c.text);
}

// The inverse, by the words of the header.
std::string Unescaped(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (text.at(++i) == '\\') {
      bytes += '\\';
    } else {
      EXPECT_EQ(text[i], 'x');
      bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return bytes;
}

std::string InJson(const std::string& text) {
  return internal::JsonWriter().String(text).text();
}

TEST(Escaped, RandomBytesCanBeToldAgain) {
  test::FreshRandom random;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = random.Key(random.Below(12));
    for (char& byte : bytes) {
      // More of what sequences are made of, and of what is escaped.
      if (random.Below(3) == 0)
        byte = "\\x\xe2\x80\xc2\x9b\xf0\xed"[random.Below(8)];
    }
    const std::string text = Escaped(bytes);
    EXPECT_EQ(Unescaped(text), bytes);
    for (const char c : text) {
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
    }
    // Both fail on what is not UTF-8.
    EXPECT_NO_THROW(nlohmann::json(text).dump());
    EXPECT_TRUE(nlohmann::json::accept(InJson(bytes)));
  }
}

TEST(JsonWriter, Utf8StaysAndOtherBytesAreReplaced) {
  EXPECT_EQ(InJson("a\"\\\n\x7fä€🌳\u2028"),
            "\"a\\u0022\\u005c\\u000a\x7fä€🌳\u2028\"");
  EXPECT_EQ(InJson("\xff\xe2\x82z\xed\xa0\x80"),
            "\"\ufffd\ufffd\ufffdz\ufffd\ufffd\ufffd\"");
}

// --- The console -------------------------------------------------------------

struct Captured {
  explicit Captured(size_t columns = 0, bool is_terminal = false,
                    std::chrono::milliseconds interval = {})
      : console({&out, &err, is_terminal, columns}, interval) {}
  std::ostringstream out;
  std::ostringstream err;
  Console console;
};

TEST(Console, JsonOfMembersAndElements) {
  Captured captured;
  Console& json = captured.console;
  json.StartJson();
  json.Add("name", "a\"b");
  json.StartArray("none");
  json.StartArray("list");
  json.AddElement({{"key", "\x1b"}, {"inner", Json::array({1, "\xff"})}});
  json.AddElement(Json::object());
  json.AddElement(nullptr);
  json.AddAll({{"big", UINT64_MAX}, {"not a number", std::nan("")}});
  json.Line("not shown");
  json.StartArray("last");
  json.AddElement(Json::array());
  EXPECT_TRUE(json.Finish());
  EXPECT_EQ(captured.out.str(), R"({
  "name": "a\"b",
  "none": [],
  "list": [
    {
      "key": "\\x1b",
      "inner": [
        1,
        "\\xff"
      ]
    },
    {},
    null
  ],
  "big": 18446744073709551615,
  "not a number": null,
  "last": [
    []
  ]
}
)");
}

TEST(Console, ResultsAndErrorsGoTheirWays) {
  Captured captured;
  captured.console.Line("result\n");
  captured.console.Add("not", "shown");
  captured.console.Error("error\x1b");
  captured.console.ShowProgress(1, 2, "files", "a");
  EXPECT_TRUE(captured.console.Finish());
  EXPECT_EQ(captured.out.str(), "result\\x0a\n");
  EXPECT_EQ(captured.err.str(), "error\\x1b\n");
}

TEST(Console, ProgressIsDrawnOverItselfAndCleared) {
  Captured captured(80);
  const auto drawn = [&] {
    std::string text = captured.err.str();
    captured.err.str("");
    return text;
  };
  captured.console.ShowProgress(1, 4, "files", "a\x1b");
  EXPECT_EQ(drawn(), "\r[#####               ] 1 of 4 files: a\\x1b\x1b[K");
  captured.console.ClearProgress();
  captured.console.ClearProgress();
  EXPECT_EQ(drawn(), "\r\x1b[K");
  captured.console.ShowProgress(0, 0, "files", "");
  EXPECT_EQ(drawn(), "\r[####################] 0 of 0 files: \x1b[K");
  captured.console.ShowProgress(3, Console::kUnknown, "keys", "b");
  EXPECT_EQ(drawn(), "\r3 keys: b\x1b[K");
  EXPECT_TRUE(captured.console.Finish());
  EXPECT_EQ(drawn(), "\r\x1b[K");
}

TEST(Console, ProgressStaysWithinTheTerminal) {
  const std::string name = "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac";
  for (size_t columns = 1; columns < 60; ++columns) {
    Captured captured(columns);
    captured.console.ShowProgress(1, 1, "files", name);
    const std::string drawn = captured.err.str();
    const std::string line = drawn.substr(1, drawn.size() - 4);
    EXPECT_LE(line.size(), columns);
    EXPECT_EQ(Escaped(line), line);  // no character was cut
  }
}

TEST(Console, ProgressIsNotDrawnTooOftenNorIntoADocument) {
  Captured slow(80, false, std::chrono::hours(1)), terminal(80, true);
  terminal.console.StartJson();
  for (Captured* captured : {&slow, &terminal}) {
    captured->console.ShowProgress(1, 4, "files", "a");
    EXPECT_EQ(captured->err.str(), "");
  }
}

// --- Programs and their command lines ----------------------------------------

// Prints --word or, with --json, writes it into the document.
RunFn AddEcho(CLI::App* app) {
  const auto word = std::make_shared<std::string>("nothing");
  app->add_option("--word", *word, "What to print")->type_name("WORD");
  return [word](Console* console) {
    console->Add("word", *word);
    console->Line(*word);
    return *word == "bad" ? kFailure : kSuccess;
  };
}

RunFn AddThrow(CLI::App*) {
  return [](Console* console) -> ExitCode {
    if (console->is_json()) throw std::bad_alloc();
    console->Error("about to fail");
    throw std::runtime_error("failed on\npurpose");
  };
}

constexpr char kNeeded[] = "librocksdb-dev and -DDELTABLOOM_X=ON";

const About kAbout = {"deltabloom", "Test", "\nOf all.\n"};

std::vector<Command> TestCommands() {
  Manual manual;
  manual.description = "\nFirst\n-paragraph.\n\n.Second paragraph with a \\.";
  manual.examples = {{"deltabloom echo --word x", "prints x"}};
  manual.success = "all printed";
  manual.failure = "a bad word";
  return {
      {"echo", "Print a word", AddEcho, {}, manual},
      {"throw", "Fail", AddThrow, {}, manual},
      {"verify", "Ask keys", nullptr, kNeeded},
  };
}

struct Result {
  int code;
  std::string out;
  std::string err;
};

Result Call(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"/usr/bin/deltabloom"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::ostringstream out;
  std::ostringstream err;
  Program program(kAbout, TestCommands());
  const int code = program.Run(arguments, {&out, &err, false, 0});
  return {code, out.str(), err.str()};
}

TEST(Program, RunsACommandAndEscapesWhatItPrints) {
  const struct {
    std::vector<std::string> words;
    int code;
    const char* out;
  } cases[] = {
      {{"echo", "--word", "hello"}, kSuccess, "hello\n"},
      {{"echo", "--word=bad"}, kFailure, "bad\n"},
      {{"echo", "--word", "\x1b[2J\nforged: ok\\"},
       kSuccess,
       "\\x1b[2J\\x0aforged: ok\\\\\n"},
      {{"echo", "--json", "--word", "x"},
       kSuccess,
       "{\n  \"word\": \"x\"\n}\n"},
      {{"echo", "--json", "--word", "\n\xff\"\\"},
       kSuccess,
       "{\n  \"word\": \"\\\\x0a\\\\xff\\\"\\\\\\\\\"\n}\n"},
  };
  for (const auto& c : cases) {
    const Result result = Call(c.words);
    EXPECT_EQ(result.code, c.code);
    EXPECT_EQ(result.out, c.out);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Program, WrongCommandLines) {
  const struct {
    std::vector<std::string> words;
    const char* error;
  } cases[] = {
      {{}, "deltabloom: expected a command, found none; see deltabloom --help"},
      {{""}, "deltabloom: expected a command, found none"},
      {{"ech"}, "deltabloom: expected a command, found ech; see"},
      {{"--verison"},
       "deltabloom: The following argument was not expected: --verison; see "
       "deltabloom --help"},
      {{"a\x1b"}, "deltabloom: expected a command, found a\\x1b; see"},
      {{"--word"}, "deltabloom: "},
      {{"--json", "echo"}, "deltabloom: "},
      {{"echo", "--nonsense"}, "deltabloom echo: "},
      {{"echo", "--nons\x1bnse"}, "nons\\x1bnse"},
      {{"echo", "--word"}, "deltabloom echo: --word"},
      {{"echo", "--word=", "x"}, "deltabloom echo: --word= needs a value;"},
      {{"echo", "verify"}, "deltabloom echo: "},
      {{"echo", "echo"}, "deltabloom echo: "},
  };
  for (const auto& c : cases) {
    const Result result = Call(c.words);
    EXPECT_EQ(result.code, kUsage) << c.error;
    EXPECT_EQ(result.out, "");
    ExpectHas(result.err, c.error);
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

TEST(Program, CommandsThatAreNotBuilt) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify"},
        {"verify", "--help"},
        {"verify", "a.sst", "--json", "--unknown"}}) {
    const Result result = Call(words);
    EXPECT_EQ(result.code, kUsage);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              "deltabloom verify: not in this build: it needs librocksdb-dev "
              "and -DDELTABLOOM_X=ON\n");
  }
}

TEST(Program, Help) {
  Result result = Call({"--help"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(result.err, "");
  ExpectHas(result.out, "Print a word");
  ExpectHas(result.out, "Commands that are not in this build:\n  verify ");
  EXPECT_EQ(Call({"-h"}).out, result.out);
  result = Call({"echo", "--help"});
  EXPECT_EQ(result.code, kSuccess);
  for (const char* part :
       {"Print a word.\n\nFirst -paragraph.\n", "deltabloom echo [OPTIONS]",
        "--word WORD", "--json", "  deltabloom echo --word x\n      prints x\n",
        "  0 all printed\n", "  1 a bad word\n", "  2 the command line was"}) {
    ExpectHas(result.out, part);
  }
  result = Call({"--version"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(result.out, "deltabloom " DELTABLOOM_VERSION "\n");
}

TEST(Program, Exceptions) {
  Result result = Call({"throw"});
  EXPECT_EQ(result.code, kFailure);
  EXPECT_EQ(result.err,
            "about to fail\ndeltabloom throw: failed on\\x0apurpose\n");
  result = Call({"throw", "--json"});
  EXPECT_EQ(result.code, kFailure);
  EXPECT_EQ(result.err, "deltabloom throw: out of memory\n");
  EXPECT_EQ(result.out, "{}\n");
}

TEST(Program, OutputThatCannotBeWritten) {
  for (const char* option : {"--json", "--help"}) {
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(Program(kAbout, TestCommands())
                  .Run({"deltabloom", "echo", option}, {&out, &err, false, 0}),
              kFailure);
    EXPECT_EQ(err.str(),
              "deltabloom echo: standard output: cannot be written\n");
  }
}

// --- Documents and files -----------------------------------------------------

TEST(Documents, ManPages) {
  const Program program(kAbout, TestCommands());
  const std::string page = ManPage(program);
  ExpectHas(page, ".TH \"DELTABLOOM\" 1 \"\" \"Deltabloom " DELTABLOOM_VERSION);
  ExpectHas(page, ".SH DESCRIPTION\nOf all.\n.SH COMMANDS\n");
  ExpectHas(page, "\\fBdeltabloom\\-echo\\fR(1)\nPrint a word.\n");
  ExpectHas(page, "Not in this build: it needs librocksdb\\-dev");
  const std::string echo = ManPage(program, program.entries().front());
  ExpectHas(echo, "deltabloom\\-echo \\- print a word\n");
  ExpectHas(echo, "First \\-paragraph.\n.PP\n\\&.Second paragraph with a \\e.");
  ExpectHas(echo, ".TP\n\\fB\\-\\-word\\fR \\fIWORD\\fR\nWhat to print.\n");
  ExpectHas(echo, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n");
  ExpectHas(echo, ".TP\n\\fB0\\fR\nall printed\n");

  const std::string brief =
      ManPage(Program({"deltabloom", "Test", ""}, TestCommands()));
  EXPECT_EQ(brief.find("DESCRIPTION"), std::string::npos);
}

TEST(TableFiles, TablesOfADirectoryInOrderOthersAsNamed) {
  const test::TempDir folder;
  const fs::path directory = folder.path();
  std::ofstream(directory / "LOG") << "x";
  auto files = TableFiles({directory, "last"});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, directory);
  EXPECT_EQ(
      files[0].error,
      folder.path() + ": expected table files (*.sst, *.ldb), found none");

  for (const char* file : {"000010.sst", "000009.ldb", "MANIFEST-000001",
                           "x.sst.bak", "sst", "CURRENT", "000011.SST"}) {
    std::ofstream(directory / file) << "x";
  }
  fs::create_directory(directory / "000001.sst");
  fs::create_symlink("nowhere", directory / "000012.sst");
  const std::string expected[] = {"b",
                                  directory / "000009.ldb",
                                  directory / "000010.sst",
                                  directory / "000012.sst",
                                  "/no/such/file",
                                  directory / "000009.ldb"};
  files = TableFiles({"b", directory, "/no/such/file", expected[1]});
  ASSERT_EQ(files.size(), std::size(expected));
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i].path, expected[i]);
    EXPECT_EQ(files[i].error, "");
    // A name or a link that leads nowhere is an error when it is read.
    EXPECT_FALSE(IsGone(files[i]));
  }
  fs::remove(expected[1]);
  EXPECT_TRUE(IsGone(files[1]));
  EXPECT_FALSE(IsGone(files[5])) << "it was named";
}

}  // namespace
}  // namespace deltabloom::tools
