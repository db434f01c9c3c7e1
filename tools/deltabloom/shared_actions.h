// What deltabloom shared does: one function per action. Each throws Interrupted
// when the user wants no more, and std::runtime_error where a file or a key is
// wrong.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_SHARED_ACTIONS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_SHARED_ACTIONS_H_

#include <memory>
#include <string>

#include "deltabloom/redis_filter.h"
#include "tools/deltabloom/console.h"
#include "tools/deltabloom/interrupt.h"
#include "tools/deltabloom/shared_options.h"

namespace deltabloom::tools {

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

// The filter that the options name: opened, or adopted.
RedisStatus OpenFilter(const SharedOptions& options,
                       std::unique_ptr<RedisFilter>* filter);

// Reports the failure on standard error and tells the exit code.
ExitCode Fail(const SharedContext& context, const RedisStatus& status);

// The result of a call that gives no more than that: a line, or the members
// "name" and "result" of the document.
void Report(const SharedContext& context, const std::string& name,
            const std::string& result);

// Progress and interruption for a rebuild.
RedisRebuildOptions RebuildOptions(const SharedContext& context);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_SHARED_ACTIONS_H_
