// deltabloom shared: filters in Redis, from a shell. Its options and manual.
#include "tools/deltabloom/shared.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "tools/deltabloom/command.h"

namespace deltabloom::tools {
namespace {

using std::chrono::milliseconds;

constexpr char kSizeGroup[] = "Size and scheme";
constexpr char kRedisGroup[] = "Redis";

// The options from the one with that number on.
void PutInGroup(CLI::App* app, size_t first, const char* group) {
  const std::vector<CLI::Option*> all = app->get_options();
  for (size_t i = first; i < all.size(); ++i) all[i]->group(group);
}

void AddNameOption(CLI::App* app, SharedOptions* options) {
  app->add_option("NAME", options->filter.name,
                  "The filter: the key of its bitmap in Redis")
      ->required();
}

void AddRedisOptions(CLI::App* app, SharedOptions* options) {
  RedisOptions* redis = &options->redis;
  redis->connect_timeout = redis->command_timeout = milliseconds(5000);
  const size_t others = app->get_options().size();
  app->add_option("--host", redis->host, "Default: 127.0.0.1")
      ->type_name("HOST");
  app->add_option("--port", redis->port, "Default: 6379")->type_name("PORT");
  app->add_option("--socket", redis->unix_socket,
                  "A Unix socket instead of host and port")
      ->type_name("PATH");
  app->add_flag("--cluster", redis->cluster,
                "A Redis Cluster, of which host and port are one node");
  app->add_option("--node", redis->more_nodes,
                  "Another node to ask when that one is away; may be "
                  "repeated")
      ->type_name("HOST:PORT")
      ->allow_extra_args(false);
  app->add_option("--user", redis->username, "Default: Redis's default user")
      ->type_name("NAME");
  app->add_option("--password-file", options->password_file,
                  std::string("The first line of this file is the password, "
                              "instead of the environment variable ") +
                      kPasswordVariable)
      ->type_name("FILE");
  app->add_option("--db", redis->database, "Number of the database; default: 0")
      ->type_name("N")
      ->check(NotNegative());
  AddDuration(app, "--timeout", &redis->command_timeout,
              "The longest that a batch of keys may take; default: 5s. Long "
              "work on the server has 10s at least")
      ->group(kRedisGroup);
  PutInGroup(app, others, kRedisGroup);
}

void AddSizeOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  const size_t others = app->get_options().size();
  app->add_option("--scheme", filter->scheme,
                  "local (default), go-murmur3, go-murmur3-14, guava-helper or "
                  "php-named-hashes: whose bits they are")
      ->type_name("NAME");
  app->add_option("--keys", filter->expected_keys,
                  "Size it for this many keys, with --rate")
      ->type_name("N")
      ->check(NotNegative());
  app->add_option(
         "--rate", filter->false_positive_rate,
         "With --keys: the share of absent keys that may match; default: 0.01")
      ->type_name("P");
  app->add_option("--bits", filter->bits, "The size itself, instead of --keys")
      ->type_name("N")
      ->check(NotNegative());
  app->add_option("--probes", filter->probes, "Bits per key, with --bits")
      ->type_name("N")
      ->check(NotNegative());
  app->add_flag("--doubled-string", filter->doubled_string,
                "guava-helper: the funnel puts the string twice");
  app->add_option("--hashes", filter->hashes,
                  "php-named-hashes: of JS, PJW, ELF, BKDR, SDBM, DJB, DEK, "
                  "FNV, with commas between; default: BKDR,SDBM,JS")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  PutInGroup(app, others, kSizeGroup);
}

void AddCreateOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  const size_t others = app->get_options().size();
  AddDuration(app, "--expire", &filter->expire_after,
              "The filter vanishes that long after its creation; default: "
              "never");
  app->add_flag("--filled-by-rebuild", filter->filled_by_rebuild,
                "Until 'rebuild' has finished, all keys may match and none can "
                "be added: for keys that exist already");
  app->add_flag("--own-writers-only", filter->own_writers_only,
                "Every program that writes the bitmap uses Deltabloom or the "
                "protocol of its adds; else a rebuild without "
                "--writers-stopped keeps all bits. local: as if given");
  app->add_flag("--durable", filter->durable,
                "The server has appendonly yes, appendfsync always and no "
                "replicas: a restart needs no 'confirm'");
  app->add_option("--shard-bytes", filter->shard_bytes,
                  "local: cut what is larger into shards of so many bytes; "
                  "default: 536870912")
      ->type_name("N")
      ->check(NotNegative());
  PutInGroup(app, others, kSizeGroup);
}

void AddAdoptOptions(CLI::App* app, SharedOptions* options) {
  CLI::Option* adopt = app->add_flag(
      "--adopt", options->adopt,
      "NAME is a bitmap that programs in other languages fill: size and "
      "scheme are to be given. Its loss is noticed only while nobody writes "
      "to it again");
  AddSizeOptions(app, options);
  for (const char* name : {"--scheme", "--keys", "--rate", "--bits", "--probes",
                           "--doubled-string", "--hashes"}) {
    app->get_option(name)->needs(adopt);
  }
}

void AddKeyOptions(CLI::App* app, SharedOptions* options) {
  CLI::Option* file =
      app->add_option("FILE", options->keys_from,
                      "Keys, one per line; default: -, standard input");
  app->add_option("--key", options->keys,
                  "This key, instead of a file; may be repeated")
      ->type_name("KEY")
      ->allow_extra_args(false)
      ->excludes(file);
  app->add_flag("-0,--null", options->null,
                "Keys end with a null byte instead of a line's end");
}

void AddRebuildOptions(CLI::App* app, SharedOptions* options) {
  RedisRebuildOptions* rebuild = &options->rebuild;
  app->add_flag("--writers-stopped", rebuild->writers_stopped,
                "Replace a bitmap that other programs may write, because none "
                "of them writes to it now. Without this option its keys stay, "
                "and the new ones are added");
  AddDuration(app, "--settle", &rebuild->settle,
              "Wait that long before the first key is read: longer than a "
              "writer takes from adding a key to storing it; default: 0s");
  AddDuration(app, "--lease", &rebuild->lease,
              "How long the temporary bitmap outlives a killed rebuild; "
              "default: 60s");
  app->add_flag("--take-over", rebuild->take_over,
                "Go on although another rebuild seems to run: that one fails");
}

void ReadPassword(SharedOptions* options) {
  std::string* password = &options->redis.password;
  if (options->password_file.empty()) {
    const char* value = std::getenv(kPasswordVariable);
    *password = value == nullptr ? "" : value;
    return;
  }
  std::ifstream file(options->password_file, std::ios::binary);
  if (!std::getline(file, *password)) {
    throw std::runtime_error(options->password_file +
                             ": no password can be read from it");
  }
  if (!password->empty() && password->back() == '\r') password->pop_back();
}

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
