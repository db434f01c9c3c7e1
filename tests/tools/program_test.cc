// The frame of deltabloom, with commands made up here: which are called, what
// goes where, how it ends.
#include "tools/deltabloom/program.h"

#include <gtest/gtest.h>

#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

namespace deltabloom::tools {
namespace {

// Prints --word or, with --json, writes it into the document.
RunFn AddEcho(CLI::App* app) {
  const auto word = std::make_shared<std::string>("nothing");
  app->add_option("--word", *word, "What to print")->type_name("WORD");
  return [word](Console* console) {
    if (console->json() != nullptr) {
      console->json()->Text("word", *word);
    } else {
      console->Line(*word);
    }
    return *word == "bad" ? kFailure : kSuccess;
  };
}

RunFn AddThrow(CLI::App*) {
  return [](Console* console) -> ExitCode {
    console->Error("about to fail");
    throw std::runtime_error("failed on\npurpose");
  };
}

RunFn AddNoMemory(CLI::App*) {
  return [](Console*) -> ExitCode { throw std::bad_alloc(); };
}

Implementation Described(RunFn (*add)(CLI::App*)) {
  Implementation implementation;
  implementation.manual.description = {"First -paragraph.",
                                       ".Second paragraph with a \\."};
  implementation.manual.examples = {{"deltabloom echo --word x", "prints x"}};
  implementation.manual.success = "all printed";
  implementation.manual.failure = "a bad word";
  implementation.add_options = add;
  return implementation;
}

std::vector<Command> TestCommands() {
  return {
      {"echo", "Print a word", [] { return Described(AddEcho); }, ""},
      {"throw", "Fail", [] { return Described(AddThrow); }, ""},
      {"memory", "Need too much", [] { return Described(AddNoMemory); }, ""},
      {"verify", "Ask keys", nullptr, "librocksdb-dev and -DDELTABLOOM_X=ON"},
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
  Program program(TestCommands());
  const int code = program.Run(arguments, {&out, &err, false, 0});
  return {code, out.str(), err.str()};
}

void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

void ExpectOneLine(const std::string& text) {
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

TEST(Program, RunsACommand) {
  Result result = Call({"echo", "--word", "hello"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(result.out, "hello\n");
  EXPECT_EQ(result.err, "");
  result = Call({"echo", "--word=bad"});
  EXPECT_EQ(result.code, kFailure);
  EXPECT_EQ(result.out, "bad\n");
}

TEST(Program, EscapesWhatCommandsPrint) {
  Result result = Call({"echo", "--word", "\x1b[2J\nforged: ok\\"});
  EXPECT_EQ(result.out, "\\x1b[2J\\x0aforged: ok\\\\\n");
  result = Call({"echo", "--json", "--word", "\x1b[2J\n\xff\"\\"});
  EXPECT_EQ(nlohmann::json::parse(result.out).at("word"),
            "\\x1b[2J\\x0a\\xff\"\\\\");
}

TEST(Program, JsonIsADocument) {
  const Result result = Call({"echo", "--json", "--word", "x"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(result.out, "{\n  \"word\": \"x\"\n}\n");
}

TEST(Program, WrongCommandLines) {
  const struct {
    std::vector<std::string> words;
    const char* error;
  } cases[] = {
      {{}, "deltabloom: expected a command, found none; see deltabloom --help"},
      {{""}, "deltabloom: expected a command, found none"},
      {{"ech"}, "deltabloom: expected a command, found ech; see"},
      {{"a\x1b"}, "deltabloom: expected a command, found a\\x1b; see"},
      {{"--word"}, "deltabloom: "},
      {{"--json", "echo"}, "deltabloom: "},
      {{"echo", "--nonsense"}, "deltabloom echo: "},
      {{"echo", "--nons\x1bnse"}, "nons\\x1bnse"},
      {{"echo", "--word"}, "deltabloom echo: --word"},
      {{"echo", "verify"}, "deltabloom echo: "},
      {{"echo", "echo"}, "deltabloom echo: "},
  };
  for (const auto& c : cases) {
    const Result result = Call(c.words);
    EXPECT_EQ(result.code, kUsage) << c.error;
    EXPECT_EQ(result.out, "");
    ExpectHas(result.err, c.error);
    ExpectOneLine(result.err);
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
  result = Call({"memory", "--json"});
  EXPECT_EQ(result.code, kFailure);
  EXPECT_EQ(result.err, "deltabloom memory: out of memory\n");
  EXPECT_EQ(result.out, "{}\n");
}

TEST(Program, OutputThatCannotBeWritten) {
  for (const char* option : {"--json", "--help"}) {
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(Program(TestCommands())
                  .Run({"deltabloom", "echo", option}, {&out, &err, false, 0}),
              kFailure);
    EXPECT_EQ(err.str(),
              "deltabloom echo: standard output: cannot be written\n");
  }
}

TEST(Documents, ManPages) {
  const Program program(TestCommands());
  const std::string page = ManPage(program);
  ExpectHas(page, ".TH \"DELTABLOOM\" 1 \"\" \"Deltabloom " DELTABLOOM_VERSION);
  ExpectHas(page, "\\fBdeltabloom\\-echo\\fR(1)\nPrint a word.\n");
  ExpectHas(page, "Not in this build: it needs librocksdb\\-dev");
  const std::string echo = ManPage(program.entries().front());
  ExpectHas(echo, "deltabloom\\-echo \\- print a word\n");
  ExpectHas(echo, "First \\-paragraph.\n.PP\n\\&.Second paragraph with a \\e.");
  ExpectHas(echo, ".TP\n\\fB\\-\\-word\\fR \\fIWORD\\fR\nWhat to print.\n");
  ExpectHas(echo, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n");
  ExpectHas(echo, ".TP\n\\fB0\\fR\nall printed\n");
}

TEST(Documents, Completion) {
  const std::string script = BashCompletion(Program(TestCommands()));
  ExpectHas(script, "['deltabloom']='echo throw memory --");
  ExpectHas(script, "['deltabloom echo']='--help --json --word '\n");
  EXPECT_EQ(script.find("verify"), std::string::npos);
}

}  // namespace
}  // namespace deltabloom::tools
