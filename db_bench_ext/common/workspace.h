// The folder that holds the databases of a program, and what must be true of it
// first.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_WORKSPACE_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_WORKSPACE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/interrupt.h"

namespace deltabloom::bench {

// Either a fresh temporary folder under $TMPDIR (or /tmp), removed at the end,
// or a folder of the user's, of which only what this run put there is removed,
// and only if the run did not get to its end. An interrupt is such an end.
class Workspace {
 public:
  // `dir` is the value of --db; empty means a temporary folder, called `name`
  // and some letters. Throws UsageError if `dir` exists and is not an empty
  // folder, std::runtime_error if it cannot be made.
  Workspace(const std::string& dir, const std::string& name);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Whether files here can be read and written past the page cache.
  bool SupportsDirectIo() const;

  // Throws std::runtime_error, with what to do, if fewer bytes are free.
  void RequireFreeBytes(uint64_t bytes) const;

  // Makes a folder for one database.
  std::filesystem::path Add(const std::string& name);

  // Removes it before the end: its place is needed.
  void Remove(const std::filesystem::path& path);

  // The run got to its end: the user's folder keeps its databases.
  void Keep();

 private:
  std::filesystem::path path_;
  std::unique_ptr<ScratchDirectory> scratch_;  // or
  std::vector<std::unique_ptr<Temporary>> added_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_WORKSPACE_H_
