// A result file that appears complete or not at all.
#ifndef DELTABLOOM_DB_BENCH_EXT_WRITE_FILE_H_
#define DELTABLOOM_DB_BENCH_EXT_WRITE_FILE_H_

#include <functional>
#include <ostream>
#include <string>

namespace deltabloom::bench {

// Calls `write` for a file beside `path`, which then takes its place. Devices
// and pipes are written to directly. False, with errno set: `path` is as
// before.
bool WriteFile(const std::string& path,
               const std::function<void(std::ostream*)>& write);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_WRITE_FILE_H_
