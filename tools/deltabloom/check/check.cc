// deltabloom check: says what the text of a policy means, before it is used.
#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/policy.h"
#include "tools/deltabloom/check/ceph_sharding.h"
#include "tools/deltabloom/commands.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

struct CheckOptions {
  std::string text;
  bool ceph = false;
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

// Reports the result for the whole text. Returns the exit status.
ExitCode Report(const std::string& error, Console* console) {
  const std::string version = internal::HeadersVersion();
  console->Add("rocksdb", version);
  console->Add("valid", error.empty());
  if (error.empty()) {
    console->Line("valid, as RocksDB " + version + " parses it");
    return kSuccess;
  }
  console->Add("error", error);
  console->Line(error);
  return kFailure;
}

ExitCode CheckCeph(const std::string& text, Console* console) {
  std::vector<CephFamily> families;
  try {
    families = FamiliesOfCephText(text);
  } catch (const std::runtime_error& failure) {
    return Report(failure.what(), console);
  }
  console->StartArray("families");
  for (const CephFamily& family : families) {
    console->AddElement(
        {{"name", family.name}, {"options", TextOrNull(family.filters)}});
    console->Line(
        family.name + ": " +
        (family.filters.empty() ? "Ceph's own filters" : family.filters));
  }
  return Report({}, console);
}

ExitCode CheckPolicy(const std::string& text, Console* console) {
  std::string error;
  const std::string full = CheckRocksDBText(WithoutName(text), &error);
  if (error.empty()) {
    console->Add("options", full);
    console->Line(full);
  }
  return Report(error, console);
}

RunFn AddCheckOptions(CLI::App* app) {
  const auto options = std::make_shared<CheckOptions>();
  app->add_option("TEXT", options->text,
                  "The text of a filter policy or of a collector of range "
                  "filters, as OPTIONS files have it")
      ->required();
  app->add_flag("--ceph", options->ceph,
                "TEXT is that of Ceph's bluestore_rocksdb_cfs, or of "
                "ceph-bluestore-tool reshard --sharding");
  return [options](Console* console) {
    return options->ceph ? CheckCeph(options->text, console)
                         : CheckPolicy(options->text, console);
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

With --ceph the text names column families of BlueStore, as in docs/ceph.md, and
each is printed with its filters. An OSD whose text is wrong does not open. Of the
option block_cache, what Ceph itself reads (type, size, shards, high_ratio) is not
checked.

Key transforms are registered by programs, so a text that names one is an error
here.)";
  command.manual.examples = {
      {"deltabloom check deltabloom:10",
       "10 bits per key, the rest by default"},
      {"deltabloom check 'filter_policy={id=deltabloom;layout=compact;}'",
       "a line of an OPTIONS file"},
      {"deltabloom check --ceph "
       "'m(3)=block_based_table_factory={filter_policy=deltabloom:10} L P'",
       "families of Ceph's BlueStore"}};
  command.manual.success = "the text is right";
  command.manual.failure = "it is wrong, or names no policy of Deltabloom";
  return command;
}

}  // namespace deltabloom::tools
