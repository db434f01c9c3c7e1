// The options of deltabloom shared, and a function for each of its actions.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_SHARED_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_SHARED_H_

#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "tools/deltabloom/console.h"
#include "tools/deltabloom/interrupt.h"

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

// Each action throws Interrupted if the user interrupts it, and
// std::runtime_error if a file or a key is wrong.
struct SharedContext {
  const std::string who;  // "deltabloom shared add", in front of errors
  const SharedOptions& options;
  Console* console;
  Interrupt* interrupt;
};

ExitCode SharedCreate(const SharedContext& context);
ExitCode SharedAdd(const SharedContext& context);
ExitCode SharedCheck(const SharedContext& context);
ExitCode SharedRebuild(const SharedContext& context);
ExitCode SharedInfo(const SharedContext& context);
ExitCode SharedConfirm(const SharedContext& context);
ExitCode SharedMove(const SharedContext& context);
ExitCode SharedDelete(const SharedContext& context);
ExitCode SharedExport(const SharedContext& context);
ExitCode SharedImport(const SharedContext& context);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_SHARED_H_
