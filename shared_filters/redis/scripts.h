// The Lua scripts that run inside Redis (docs/shared_filters_format.md,
// "Scripts"). CMake makes kScripts of the files in scripts/.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_

namespace deltabloom::internal {

// In the order of CMakeLists.txt.
enum ScriptNumber {
  kAddScript,
  kConfirmScript,
  kCreateScript,
  kRebuildBeginScript,
  kRebuildRenewScript,
  kRebuildFinishScript,
  kRebuildAbortScript,
  kRetireScript,
  kScriptCount
};

struct Script {
  const char* name;
  const char* body;
  const char* sha1;  // EVALSHA's name for it: 40 lower-case hexadecimal digits
};

extern const Script kScripts[kScriptCount];

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
