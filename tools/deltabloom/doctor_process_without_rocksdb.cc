#include "tools/deltabloom/doctor_report.h"
#include "util/cpu.h"

namespace deltabloom::tools {

ProcessReport LookAtProcess() {
  ProcessReport report;
  report.cpu = internal::CpuLevelName(internal::LevelOf(internal::ActiveCpu()));
  return report;
}

}  // namespace deltabloom::tools
