// One line on the terminal that says what is going on; nothing elsewhere.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_

#include <string>

namespace deltabloom::bench {

// Replaces the line; empty text removes it. Not thread-safe.
void ShowProgress(const std::string& text);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_
