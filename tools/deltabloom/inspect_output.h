// The reports of deltabloom inspect, as text for people and as JSON for
// programs.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/deltabloom/console.h"
#include "tools/deltabloom/inspect_report.h"

namespace deltabloom::tools {

// Paths by what was found there.
struct InspectSummary {
  uint64_t sound = 0;  // and with a filter
  std::vector<std::string> without_filter;
  std::vector<std::string> not_sound;
  uint64_t gone = 0;  // vanished from their directories meanwhile
};

// Errors go to standard error as they come, and into the document if there is
// one. The calls must match
//      (BeginFile InspectListener* (EndFile | Gone))* Summary
class InspectOutput : public InspectListener {
 public:
  virtual void BeginFile(const std::string& path) = 0;
  // `error`: why the file could not be walked, or nothing.
  virtual void EndFile(const std::string& error) = 0;
  // The file vanished before its end was reached.
  virtual void Gone() = 0;
  virtual void Summary(const InspectSummary& summary) = 0;
};

std::unique_ptr<InspectOutput> NewInspectOutput(Console* console);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_
