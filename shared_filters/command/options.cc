#include "shared_filters/command/options.h"

#include <cstdlib>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <string>

#include "deltabloom/redis_filter.h"

namespace deltabloom::tools {
namespace {

constexpr char kRedisGroup[] = "Redis";

}  // namespace

void AddRedisOptions(CLI::App* app, SharedOptions* options) {
  RedisOptions* redis = &options->redis;
  redis->connect_timeout = redis->command_timeout =
      std::chrono::milliseconds(5000);
  Adder add(app, kRedisGroup);
  add.Value("--host", &redis->host, "HOST", "Default: 127.0.0.1");
  add.Value("--port", &redis->port, "PORT", "Default: 6379");
  add.Value("--socket", &redis->unix_socket, "PATH",
            "A Unix socket instead of host and port");
  add.Flag("--cluster", &redis->cluster,
           "A Redis Cluster, of which host and port are one node");
  add.Value("--node", &redis->more_nodes, "HOST:PORT",
            "Another node to ask when that one is away; may be repeated");
  add.Value("--user", &redis->username, "NAME",
            "Default: Redis's default user");
  add.Value("--password-file", &options->password_file, "FILE",
            std::string("The first line of this file is the password, instead "
                        "of the environment variable ") +
                kPasswordVariable);
  add.Value("--db", &redis->database, "N",
            "Number of the database; default: 0");
  add.Duration("--timeout", &redis->command_timeout,
               "The longest that a batch of keys may take; default: 5s. Long "
               "work on the server has 10s at least");
}

void AddSizeOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  Adder add(app, kSizeGroup);
  add.Value("--scheme", &filter->scheme, "NAME",
            "local (default), go-murmur3, go-murmur3-14, guava-helper or "
            "php-named-hashes: whose bits they are");
  add.Value("--keys", &filter->expected_keys, "N",
            "Size it for this many keys, with --rate");
  add.Value("--rate", &filter->false_positive_rate, "P",
            "With --keys: the share of absent keys that may match; default: "
            "0.01");
  add.Value("--bits", &filter->bits, "N", "The size itself, instead of --keys");
  add.Value("--probes", &filter->probes, "N", "Bits per key, with --bits");
  add.Flag("--doubled-string", &filter->doubled_string,
           "guava-helper: the funnel puts the string twice");
  add.Value("--hashes", &filter->hashes, "NAMES",
            "php-named-hashes: of JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV, "
            "with commas between; default: BKDR,SDBM,JS")
      ->delimiter(',');
}

void AddAdoptOptions(CLI::App* app, SharedOptions* options) {
  CLI::Option* adopt = app->add_flag(
      "--adopt", options->adopt,
      "NAME is a bitmap that programs in other languages fill: size and "
      "scheme are to be given. Its loss is detected only while no program "
      "writes to it again");
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
  Adder add(app, "Options");
  add.Value("--key", &options->keys, "KEY",
            "This key, instead of a file; may be repeated")
      ->excludes(file);
  add.Flag("-0,--null", &options->null,
           "Keys end with a null byte instead of a line's end");
}

void AddRebuildOptions(CLI::App* app, SharedOptions* options) {
  RedisRebuildOptions* rebuild = &options->rebuild;
  Adder add(app, "Options");
  add.Flag("--writers-stopped", &rebuild->writers_stopped,
           "Replace a bitmap that other programs may write, because none of "
           "them writes to it now. Without this option its keys stay, and the "
           "new ones are added");
  add.Duration("--settle", &rebuild->settle,
               "Wait that long before the first key is read: longer than a "
               "writer takes from adding a key to storing it; default: 0s");
  add.Duration("--lease", &rebuild->lease,
               "How long the temporary bitmap outlives a killed rebuild; "
               "default: 60s");
  add.Flag("--take-over", &rebuild->take_over,
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
