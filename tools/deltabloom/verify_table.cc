// One table: which engine wrote it, and which filters it has.
#include <new>

#include "table/sst/sst.h"
#include "tools/deltabloom/verify_leveldb.h"
#include "tools/deltabloom/verify_report.h"
#include "tools/deltabloom/verify_rocksdb.h"

namespace deltabloom::tools {
namespace {

std::string Verify(const std::string& path, VerifyListener* listener,
                   TableReport* report) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  internal::SstFile file;
  error = internal::WalkSst(*source, &file);
  if (!error.empty()) return error;
  const bool rocksdb = file.format_version > 0 || !file.properties.empty();
  report->engine = rocksdb ? "RocksDB" : "LevelDB";
  std::string_view column_family;
  if (file.properties.Text("rocksdb.column.family.name", &column_family)) {
    report->column_family = column_family;
  }
  for (const internal::SstFilter& filter : file.filters) {
    report->filter +=
        (report->filter.empty() ? "" : ", ") +
        (internal::ScopeName(filter.scope) + (" filter " + filter.policy));
    error = (rocksdb ? VerifyRocksDB : VerifyLevelDB)(*source, file, filter,
                                                      listener, report);
    if (!error.empty()) return error;
  }
  return {};
}

}  // namespace

std::string VerifyTable(const std::string& path, VerifyListener* listener,
                        TableReport* report) {
  try {
    return Verify(path, listener, report);
  } catch (const std::bad_alloc&) {
    return path + ": no memory for what this file claims to hold";
  }
}

}  // namespace deltabloom::tools
