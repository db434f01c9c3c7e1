#include "tools/deltabloom/shared_options.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "tools/deltabloom/command.h"

namespace deltabloom::tools {
namespace {

using std::chrono::milliseconds;

constexpr char kSizeGroup[] = "Size and scheme";

}  // namespace

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
  const std::vector<CLI::Option*> all = app->get_options();
  for (size_t i = others; i < all.size(); ++i) all[i]->group(kRedisGroup);
}

void AddSizeOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  app->add_option("--scheme", filter->scheme,
                  "local (default), go-murmur3, go-murmur3-14, guava-helper or "
                  "php-named-hashes: whose bits they are")
      ->type_name("NAME")
      ->group(kSizeGroup);
  app->add_option("--keys", filter->expected_keys,
                  "Size it for this many keys, with --rate")
      ->type_name("N")
      ->check(NotNegative())
      ->group(kSizeGroup);
  app->add_option(
         "--rate", filter->false_positive_rate,
         "With --keys: the share of absent keys that may match; default: 0.01")
      ->type_name("P")
      ->group(kSizeGroup);
  app->add_option("--bits", filter->bits, "The size itself, instead of --keys")
      ->type_name("N")
      ->check(NotNegative())
      ->group(kSizeGroup);
  app->add_option("--probes", filter->probes, "Bits per key, with --bits")
      ->type_name("N")
      ->check(NotNegative())
      ->group(kSizeGroup);
  app->add_flag("--doubled-string", filter->doubled_string,
                "guava-helper: the funnel puts the string twice")
      ->group(kSizeGroup);
  app->add_option("--hashes", filter->hashes,
                  "php-named-hashes: of JS, PJW, ELF, BKDR, SDBM, DJB, DEK, "
                  "FNV, with commas between; default: BKDR,SDBM,JS")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kSizeGroup);
}

void AddCreateOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  AddDuration(app, "--expire", &filter->expire_after,
              "The filter vanishes that long after its creation; default: "
              "never")
      ->group(kSizeGroup);
  app->add_flag("--filled-by-rebuild", filter->filled_by_rebuild,
                "Until 'rebuild' has finished, all keys may match and none can "
                "be added: for keys that exist already")
      ->group(kSizeGroup);
  app->add_flag("--own-writers-only", filter->own_writers_only,
                "Every program that writes the bitmap uses Deltabloom or the "
                "protocol of its adds; else a rebuild without "
                "--writers-stopped keeps all bits. local: as if given")
      ->group(kSizeGroup);
  app->add_flag("--durable", filter->durable,
                "The server has appendonly yes, appendfsync always and no "
                "replicas: a restart needs no 'confirm'")
      ->group(kSizeGroup);
  app->add_option("--shard-bytes", filter->shard_bytes,
                  "local: cut what is larger into shards of so many bytes; "
                  "default: 536870912")
      ->type_name("N")
      ->check(NotNegative())
      ->group(kSizeGroup);
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

}  // namespace deltabloom::tools
