// Writes the statistics of the process to a file, as the environment variable
// DELTABLOOM_STATISTICS asks for it (docs/guide.md).
//
// A thread does it, so that no lookup and no flush waits for a file system that
// does not answer. The thread starts with the first policy that a process
// makes; nobody joins it, and the end of the program waits for its last file
// for a second at most. A forked child has no such thread until it makes a
// policy of its own.
#pragma once

namespace deltabloom::internal {

// Reads the environment, and prints what is wrong with it. Does nothing if the
// variable is not set. Nothing throws. Called once, before the first policy is
// made.
void StartStatisticsFile() noexcept;

}  // namespace deltabloom::internal
