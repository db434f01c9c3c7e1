// The frame of every command: opens the filter, reports, and turns errors and
// signals into messages and exit statuses.
#pragma once

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/interrupt.h"
#include "shared_filters/command/options.h"
#include "tools/program/program.h"

namespace deltabloom::tools {

struct Context {
  const std::string who;  // "deltabloom-shared add", in front of errors
  const SharedOptions& options;
  Console* console;
  Interrupt* interrupt;
};

// The work of a command. Throws Interrupted if the user interrupts it,
// RedisFailure, and std::runtime_error if a file or a key is wrong.
using Action = void (*)(const Context& context);

// Adds NAME, the groups of options and those of the server to the command,
// which runs `action`.
RunFn AddAction(CLI::App* app, std::initializer_list<AddOptionsFn> groups,
                Action action);

// The manual of a command: what is the same for all, and these. `success` says
// what exit status 0 means.
Manual ManualOf(const std::string& description,
                const std::vector<Term>& examples,
                const std::string& success = "it was done");

struct RedisFailure : std::runtime_error {
  explicit RedisFailure(const RedisStatus& status)
      : std::runtime_error(status.message), error(status.error) {}
  const RedisError error;
};

// Throws if the status is an error.
void Check(const RedisStatus& status);

// Throws std::runtime_error.
[[noreturn]] void Refuse(const std::string& what, const std::string& why);

using FilterPtr = std::unique_ptr<RedisFilter>;

// The filter that the options name: opened or, with --adopt, adopted.
RedisStatus TryToOpen(const SharedOptions& options, FilterPtr* filter);
FilterPtr OpenFilter(const SharedOptions& options);

// Prints the name of the filter and the result: members of the document, or a
// text.
void Report(const Context& context, const Json& members,
            const std::string& text);
void Report(const Context& context, const std::string& result);

// The options of the rebuild, with progress and interruption.
RedisRebuildOptions RebuildOptions(const Context& context);

}  // namespace deltabloom::tools
