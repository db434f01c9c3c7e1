// The Lua scripts that run inside Redis (docs/shared_filters_format.md,
// "Scripts"): their texts and SHA-1s, by which EVALSHA names them. CMake makes
// both of the files in scripts/.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_

namespace deltabloom::internal {

struct Script {
  const char* name;
  const char* body;
  const char* sha1;  // 40 lower-case hexadecimal digits
};

extern const Script kAddScript;
extern const Script kConfirmScript;
extern const Script kCreateScript;
extern const Script kRebuildBeginScript;
extern const Script kRebuildRenewScript;
extern const Script kRebuildFinishScript;
extern const Script kRebuildAbortScript;
extern const Script kRetireScript;

// All of them.
inline const Script* const kScripts[] = {
    &kAddScript,          &kConfirmScript,      &kCreateScript,
    &kRebuildBeginScript, &kRebuildRenewScript, &kRebuildFinishScript,
    &kRebuildAbortScript, &kRetireScript,
};

// What scripts return instead of a result.
enum ScriptAnswer : int {
  kOtherFilter = -1,
  kNoMarker = -2,
  kRebuildRuns = -3,
  kRebuildLost = -4,
  kBadUpload = -5,
  kReplicates = -6,
  kServerChanged = -7,
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_SCRIPTS_H_
