#include "engines/rocksdb/base/process.h"

namespace deltabloom::internal {

Process& TheProcess() {
  static Process& process = *new Process;
  return process;
}

}  // namespace deltabloom::internal
