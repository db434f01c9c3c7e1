// The values that commands take from the command line, and the groups of
// options that several of them have.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "tools/program/program.h"

namespace deltabloom::tools {

// The password is read from this environment variable, or from a file.
inline constexpr char kPasswordVariable[] = "DELTABLOOM_REDIS_PASSWORD";

// The options of all commands together; each command sets its own.
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

inline constexpr char kSizeGroup[] = "Size and scheme";

// Adds options to a group of the help.
class Adder {
 public:
  Adder(CLI::App* app, const char* group) : app_(app), group_(group) {}

  CLI::Option* Flag(const char* name, bool* flag, const std::string& what) {
    return app_->add_flag(name, *flag, what)->group(group_);
  }
  CLI::Option* Duration(const char* name, std::chrono::milliseconds* time,
                        const std::string& what) {
    return AddDuration(app_, name, time, what)->group(group_);
  }
  // An unsigned number is not negative; each use of a list has one value.
  template <typename T>
  CLI::Option* Value(const char* name, T* value, const char* type,
                     const std::string& what) {
    CLI::Option* option = app_->add_option(name, *value, what)
                              ->type_name(type)
                              ->group(group_)
                              ->allow_extra_args(false);
    if constexpr (std::is_integral_v<T>) option->check(NotNegative());
    return option;
  }

 private:
  CLI::App* const app_;
  const char* const group_;
};

// Each adds a group of options to the command.
using AddOptionsFn = void (*)(CLI::App* app, SharedOptions* options);

// Server, password and timeout.
void AddRedisOptions(CLI::App* app, SharedOptions* options);
// Scheme and size of a filter that is made.
void AddSizeOptions(CLI::App* app, SharedOptions* options);
// --adopt, with which scheme and size describe a bitmap of others.
void AddAdoptOptions(CLI::App* app, SharedOptions* options);
// The file with keys, or keys themselves.
void AddKeyOptions(CLI::App* app, SharedOptions* options);
// Adds the options that say how a rebuild treats other writers.
void AddRebuildOptions(CLI::App* app, SharedOptions* options);

// Sets the password. Throws std::runtime_error if its file cannot be read.
void ReadPassword(SharedOptions* options);

}  // namespace deltabloom::tools
