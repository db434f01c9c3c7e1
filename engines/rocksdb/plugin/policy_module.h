// What a preloaded policy does without being asked by the program.
#pragma once

namespace deltabloom::internal {

// Prints errors in the text of a policy, and writes the file of
// DELTABLOOM_STATISTICS. Called once, after the registration.
void ServeEnvironment() noexcept;

}  // namespace deltabloom::internal
