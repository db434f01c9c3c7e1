// The reports of deltabloom verify, as text for people and as JSON for
// programs.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/deltabloom/console.h"
#include "tools/deltabloom/verify_report.h"

namespace deltabloom::tools {

// One table that was looked at.
struct VerifiedTable {
  std::string path;
  TableReport report;
  std::vector<MissedKey> missed;  // the first ones
  std::string error;              // why it was not checked to its end
};

// Paths by what was found there; each path once, under the first that holds.
struct VerifySummary {
  std::vector<std::string> false_negatives;
  std::vector<std::string> not_checked;  // or in part
  std::vector<std::string> not_covered;  // or in part: a limit came first
  std::vector<std::string> without_filter;
  uint64_t sound = 0;
  uint64_t gone = 0;  // vanished from their directories meanwhile
};

// Errors go to standard error as they come, and into the document if there is
// one. The calls must match
//      Table* Summary
class VerifyOutput {
 public:
  virtual ~VerifyOutput() = default;
  virtual void Table(const VerifiedTable& table) = 0;
  virtual void Summary(const VerifySummary& summary) = 0;
};

std::unique_ptr<VerifyOutput> NewVerifyOutput(Console* console);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_OUTPUT_H_
