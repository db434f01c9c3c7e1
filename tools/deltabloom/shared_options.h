// The options of deltabloom shared: which there are, and for which actions.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_SHARED_OPTIONS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_SHARED_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"

namespace deltabloom::tools {

// Of all actions together; each sets its own.
struct SharedOptions {
  RedisOptions redis;
  std::string password_file;
  RedisFilterOptions filter;
  bool adopt = false;

  std::string keys_from = "-";
  std::vector<std::string> keys;
  bool null = false;
  std::string only;
  bool fail_closed = false;

  RedisRebuildOptions rebuild;
  bool replace = false;
  std::string to;    // another filter's name
  std::string file;  // of Guava's bytes
};

// The password comes from here, or from a file.
inline constexpr char kPasswordVariable[] = "DELTABLOOM_REDIS_PASSWORD";

void AddNameOption(CLI::App* app, SharedOptions* options);

// How to reach Redis: the same for all actions, in a group of its own.
inline constexpr char kRedisGroup[] = "Redis";
void AddRedisOptions(CLI::App* app, SharedOptions* options);

// Bits, probes and hashes: of a new filter, or of one that others fill.
void AddSizeOptions(CLI::App* app, SharedOptions* options);
void AddCreateOptions(CLI::App* app, SharedOptions* options);
void AddAdoptOptions(CLI::App* app, SharedOptions* options);

void AddKeyOptions(CLI::App* app, SharedOptions* options);
void AddRebuildOptions(CLI::App* app, SharedOptions* options);

// What the options do not hold themselves: the password. Throws
// std::runtime_error if its file cannot be read.
void ReadPassword(SharedOptions* options);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_SHARED_OPTIONS_H_
