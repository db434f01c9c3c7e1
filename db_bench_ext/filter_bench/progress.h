// One line on the terminal that says what is going on; nothing elsewhere.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_

#include <string>

namespace deltabloom::bench {

// Replaces the line; empty text removes it. Not thread-safe.
void ShowProgress(const std::string& text);

// On Ctrl-C (and SIGTERM) the line is removed and the program ends at once with
// exit code 130. Nothing is half written: results appear under their names only
// when they are whole.
void HandleInterrupts();

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PROGRESS_H_
