#include "tools/deltabloom/doctor/findings.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "tools/deltabloom/doctor/process.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

void Findings::Add(Severity severity, const char* code, std::string what,
                   std::string to_do) {
  findings_.push_back({severity, code, std::move(what), std::move(to_do)});
}

ExitCode Findings::Show(Console* console) {
  std::stable_sort(findings_.begin(), findings_.end(),
                   [](const Finding& a, const Finding& b) {
                     return a.severity != b.severity
                                ? a.severity > b.severity
                                : std::strcmp(a.code, b.code) < 0;
                   });
  constexpr const char* kNames[] = {"note", "unknown", "problem"};
  constexpr ExitCode kCodes[] = {kSuccess, kUndecided, kFailure};
  Json json = Json::array();
  console->Line("");
  if (findings_.empty()) console->Line("no problem found");
  for (size_t i = 0; i < findings_.size(); ++i) {
    const auto& [severity, code, what, to_do] = findings_[i];
    const std::string name = kNames[static_cast<size_t>(severity)];
    json.push_back({{"severity", name},
                    {"code", code},
                    {"what", what},
                    {"to_do", TextOrNull(to_do)}});
    console->Line(name + ": " + what);
    // Once for all column families.
    if (i + 1 < findings_.size() && findings_[i + 1].to_do == to_do) continue;
    if (!to_do.empty()) console->Line("  to do: " + to_do);
  }
  console->Add("findings", json);
  return findings_.empty() ? kSuccess
                           : kCodes[static_cast<size_t>(findings_[0].severity)];
}

void FindInProcess(const ProcessReport& process, Findings* findings) {
  if (process.built_for.empty()) {
    findings->Add(
        Severity::kUnknown, "no_rocksdb",
        "this deltabloom was built without RocksDB: whether programs can use "
        "the policy is not known",
        "build it with librocksdb-dev and -DDELTABLOOM_ROCKSDB=ON");
  } else if (!process.problem.empty()) {
    findings->Add(Severity::kProblem, "no_policy_in_process", process.problem,
                  "until this is solved, no program with this Deltabloom and "
                  "this RocksDB has a filter policy");
  }
}

}  // namespace deltabloom::tools
