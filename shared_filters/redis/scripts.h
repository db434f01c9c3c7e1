// The Lua scripts that run inside Redis (docs/shared_filters.md, "Redis
// scripts"): their texts, and the SHA-1 of them, by which EVALSHA names them.
// Both are made of the files in scripts/ when CMake configures.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_

namespace deltabloom::internal {

struct Script {
  const char* name;
  const char* body;
  const char* sha1;  // 40 lower-case hexadecimal digits
};

extern const Script kAddScript;
extern const Script kCreateScript;
extern const Script kRebuildBeginScript;
extern const Script kRebuildRenewScript;
extern const Script kRebuildFinishScript;
extern const Script kRebuildAbortScript;
extern const Script kMergeScript;
extern const Script kRotateScript;
extern const Script kRetireScript;

// All of them.
inline const Script* const kScripts[] = {
    &kAddScript,          &kCreateScript,        &kRebuildBeginScript,
    &kRebuildRenewScript, &kRebuildFinishScript, &kRebuildAbortScript,
    &kMergeScript,        &kRotateScript,        &kRetireScript,
};

// What scripts answer instead of a result.
enum ScriptAnswer : int {
  kOtherFilter = -1,
  kNoMarker = -2,
  kRebuildRuns = -3,
  kRebuildLost = -4,
  kBadUpload = -5,
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
