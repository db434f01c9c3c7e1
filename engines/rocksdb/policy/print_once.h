// What a caller would not hear otherwise.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_PRINT_ONCE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_PRINT_ONCE_H_

namespace deltabloom::internal {

// Prints the line to standard error, and that there are no filters for it;
// nothing if this process did so before. Thread-safe.
void PrintOnce(const char* line) noexcept;

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_PRINT_ONCE_H_
