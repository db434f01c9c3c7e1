// The thread that does to a database what an operator does: flushes,
// compactions, changed options, column families, checkpoints and backups.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_ADMIN_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_ADMIN_H_

#include <cstdint>
#include <string>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/torture/writer.h"

namespace deltabloom::torture {

class Admin {
 public:
  explicit Admin(Workplace* work);

  // Until work->stop, or something went wrong.
  void Run();

 private:
  bool Step();
  bool Flush(uint32_t slot);
  bool Sync();
  bool Compact(uint32_t slot);
  bool SetOptions(uint32_t slot);
  bool RemakeFamily(uint32_t slot);
  bool MakeCheckpoint();
  bool MakeBackup();
  bool CheckCopy(const char* what, const std::string& path, uint64_t from,
                 uint64_t until);
  // Whether it is; if not, it is a failure of what was done.
  bool Ok(const rocksdb::Status& status, const char* what);

  Workplace* const work_;
  bench::MixedNumbers numbers_;
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_ADMIN_H_
