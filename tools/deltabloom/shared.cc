// deltabloom shared: filters in Redis, from a shell.
#include <memory>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/shared_actions.h"

namespace deltabloom::tools {
namespace {

struct Action {
  const char* name;
  const char* summary;
  void (*add_options)(CLI::App* app, SharedOptions* options);
  ExitCode (*run)(const SharedContext& context);
};

void CreateOptions(CLI::App* app, SharedOptions* options) {
  AddSizeOptions(app, options);
  AddCreateOptions(app, options);
}

void AddingOptions(CLI::App* app, SharedOptions* options) {
  AddKeyOptions(app, options);
  AddAdoptOptions(app, options);
}

void CheckOptions(CLI::App* app, SharedOptions* options) {
  AddKeyOptions(app, options);
  app->add_option("--only", options->only,
                  "absent or may-match: print the keys of this answer and "
                  "nothing else, as they were read")
      ->type_name("ANSWER")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::string(text == "absent" || text == "may-match"
                                   ? ""
                                   : "absent or may-match, not " + text);
          },
          ""));
  app->add_flag("--fail-closed", options->fail_closed,
                "If Redis is away, or may have lost keys: an error, instead "
                "of the answer may match");
  AddAdoptOptions(app, options);
}

void RebuildingOptions(CLI::App* app, SharedOptions* options) {
  AddKeyOptions(app, options);
  AddRebuildOptions(app, options);
  AddAdoptOptions(app, options);
}

void NoOptions(CLI::App*, SharedOptions*) {}

void MoveOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("NEW", options->to, "A filter that holds every key by now")
      ->required();
}

void ExportOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("FILE", options->file, "Where to; - is standard output")
      ->required();
  AddAdoptOptions(app, options);
}

void ImportOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("FILE", options->file,
                  "What BloomFilter.writeTo wrote; - is standard input")
      ->required();
  CLI::Option* adopt =
      app->add_flag("--adopt", options->adopt,
                    "NAME is a bitmap that programs in other languages fill; "
                    "its size is that of FILE");
  app->add_flag("--replace", options->replace,
                "NAME is there already: its keys go and those of FILE come, "
                "while it is read and filled")
      ->excludes(adopt);
  AddRebuildOptions(app, options);
}

constexpr Action kActions[] = {
    {"create", "Make a filter", CreateOptions, SharedCreate},
    {"add", "Add keys", AddingOptions, SharedAdd},
    {"check", "Ask for keys", CheckOptions, SharedCheck},
    {"rebuild", "Replace all keys by those of a file, while it is used",
     RebuildingOptions, SharedRebuild},
    {"info", "Tell size, fill and rate", AddAdoptOptions, SharedInfo},
    {"confirm", "Say that Redis lost no key in a restart or failover",
     NoOptions, SharedConfirm},
    {"move", "Send its users to another filter, delete its bits", MoveOptions,
     SharedMove},
    {"export", "Write Guava's bytes (scheme guava-helper)", ExportOptions,
     SharedExport},
    {"import", "Make a filter of Guava's bytes", ImportOptions, SharedImport},
    {"delete", "Delete a filter, or a bitmap of others", AddAdoptOptions,
     SharedDelete},
};

ExitCode RunShared(const Action& action, SharedOptions* options,
                   Console* console) {
  const std::string who = std::string("deltabloom shared ") + action.name;
  Interrupt interrupt;
  try {
    ReadPassword(options);
    return action.run({who, *options, console, &interrupt});
  } catch (const Interrupted&) {
    console->Error(who + ": interrupted");
    console->Finish();
    interrupt.EndProcess();
    return kFailure;
  } catch (const std::runtime_error& error) {
    console->Error(who + ": " + error.what());
    return kFailure;
  }
}

RunFn AddOptions(CLI::App* app) {
  const auto options = std::make_shared<SharedOptions>();
  app->require_subcommand(1);
  for (const Action& action : kActions) {
    CLI::App* sub = app->add_subcommand(action.name, action.summary);
    AddNameOption(sub, options.get());
    action.add_options(sub, options.get());
    AddRedisOptions(sub, options.get());
  }
  return [app, options](Console* console) {
    const std::string name = app->get_subcommands().front()->get_name();
    for (const Action& action : kActions) {
      if (name == action.name) return RunShared(action, options.get(), console);
    }
    return kUsage;  // not reached: the names are those of kActions
  };
}

}  // namespace

Implementation SharedCommand() {
  Implementation command;
  command.manual.description = {
      "Bloom filters in Redis that programs in C++, Java, Go and PHP fill and "
      "ask together: docs/shared_filters.md says which scheme to take and "
      "defines every bit. A filter is named by the key of its bitmap. One that "
      "'create' or 'import' made is described in Redis, and its name is all "
      "that the other actions need; a bitmap that only other programs know is "
      "adopted (--adopt, --scheme, --bits, --probes).",
      std::string("The password is read from the environment variable ") +
          kPasswordVariable +
          " or from --password-file, never from the command line, which other "
          "users of the machine can read.",
      "'check' fails open: if Redis does not answer, the filter or its bits "
      "are lost, or Redis restarted or failed over and nobody has confirmed "
      "since that no key is lost, keys may match, and standard error says why; "
      "--fail-closed makes it an error. An interrupted 'add' has added the "
      "keys before; an interrupted "
      "'rebuild' or 'import' leaves what was there before, and drops its "
      "temporary keys.",
      "With --json, 'check' has \"keys\", each with \"key\" and \"answer\" "
      "(absent, may match), and the counts \"checked\", \"absent\" and "
      "\"failed_open\"; 'add' has \"name\", \"added\" and \"new\"; 'create' "
      "and "
      "'info' all that describes the filter; the others \"name\" and "
      "\"result\"."};
  command.manual.examples = {
      {"deltabloom shared create users --keys 10000000 --rate 0.01",
       "an empty filter"},
      {"deltabloom shared add users ids.txt",
       "the keys of a file, one per line"},
      {"deltabloom shared check users --key alice", "one key"},
      {"deltabloom shared check users --only absent < ids.txt > unknown.txt",
       "the keys that certainly were not added"},
      {"dump-ids | deltabloom shared rebuild users",
       "all keys anew, without deleted ones, while services go on"},
      {"deltabloom shared info users --json | jq .false_positive_rate",
       "for a program"},
      {"deltabloom shared check seen --key a --adopt --scheme go-murmur3-14 "
       "--bits 20000000",
       "a bitmap that go-zero fills"},
      {"deltabloom shared import users users.bloom",
       "a filter that a JVM wrote"}};
  command.manual.success =
      "it was done; of 'check': every key was answered, be it by failing open";
  command.manual.failure =
      "Redis, a file or a key stood in the way; standard error has a line "
      "with server and key";
  command.add_options = AddOptions;
  return command;
}

}  // namespace deltabloom::tools
