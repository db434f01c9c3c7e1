// deltabloom check: says what the text of a policy means, before it is used.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/policy.h"
#include "tools/deltabloom/commands.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

struct CheckOptions {
  std::string text;
};

// OPTIONS files have the name of the option before the text.
std::string WithoutName(const std::string& text) {
  for (const std::string name :
       {"filter_policy=", "table_properties_collectors="}) {
    if (text.compare(0, name.size(), name) == 0)
      return text.substr(name.size());
  }
  return text;
}

RunFn AddCheckOptions(CLI::App* app) {
  const auto options = std::make_shared<CheckOptions>();
  app->add_option("TEXT", options->text,
                  "The text of a filter policy or of a collector of range "
                  "filters, as OPTIONS files have it")
      ->required();
  return [options](Console* console) {
    std::string error;
    const std::string full =
        CheckRocksDBText(WithoutName(options->text), &error);
    const std::string version = internal::HeadersVersion();
    console->Add("rocksdb", version);
    console->Add("valid", error.empty());
    if (!error.empty()) {
      console->Add("error", error);
      console->Line(error);
      return kFailure;
    }
    console->Add("options", full);
    console->Line(full);
    console->Line("valid, as RocksDB " + version + " parses it");
    return kSuccess;
  };
}

}  // namespace

Command CheckCommand() {
  Command command = {"check",
                     "Say whether the text of a filter policy is right",
                     AddCheckOptions};
  command.manual.description = R"(
deltabloom check TEXT parses the text that an option filter_policy has, or a
collector of range filters in table_properties_collectors, in the way that
RocksDB does, and prints all options that it sets. RocksDB and most programs
around it take a text that is wrong, or that names an unknown policy, for "no
filter" without an error; this command ends with an error then, also if the
text names another policy than Deltabloom's.

Key transforms are registered by programs, so a text that names one is an error
here.)";
  command.manual.examples = {
      {"deltabloom check deltabloom:10",
       "10 bits per key, the rest by default"},
      {"deltabloom check 'filter_policy={id=deltabloom;layout=compact;}'",
       "a line of an OPTIONS file"}};
  command.manual.success = "the text is right";
  command.manual.failure = "it is wrong, or names no policy of Deltabloom";
  return command;
}

}  // namespace deltabloom::tools
