// Prefix functions, for range filters of keys whose components have neither a
// fixed length nor a delimiter. A prefix function returns the places at which
// the components of a key end. docs/format.md, "Which prefixes", says how range
// filters use them.
#ifndef DELTABLOOM_PREFIX_FUNCTION_H_
#define DELTABLOOM_PREFIX_FUNCTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/export.h"

namespace deltabloom {

struct PrefixFunction {
  // Appends the ends of the components of `key` to *ends, which is empty:
  // ascending, from 1 to the size of the key. Those beyond 1,024 are ignored.
  // - An end depends only on the bytes before it, not on those that follow.
  //   "After the last ':'" is not such a function: it returns 2 for "a:b" and 4
  //   for "a:b:c". Scans would lose keys.
  // - It takes any bytes: whole keys, and the bytes that all keys of a scan
  //   share, which may stop anywhere.
  // - Many threads call it at the same time. It must not use RocksDB.
  // - If it throws, or the ends do not ascend, a table gets no filter, and a
  //   scan skips no table.
  using Function =
      std::function<void(std::string_view key, std::vector<size_t>* ends)>;

  // The name: 1 to 64 letters, digits, '_', '-' and '.', of which the first is
  // a letter; not "auto".
  std::string name;
  // The version: 1 or more. Every change of the function's results needs a new
  // one.
  uint32_t version = 1;
  Function function;
};

// Registers a function, under its name and version, until the process ends.
// Call it before a database is opened whose OPTIONS name it. Returns false,
// with one line in *error, which may be null, if a field is invalid, or if name
// and version are registered already. Thread-safe.
//
// Registered from the start are version 1 of
// - groups_of_8: strings in groups of 8 bytes with a marker after each, as
//   TiDB's codec (util/codec/bytes.go) and MyRocks (rdb_datadic.cc,
//   RDB_ESCAPE_LENGTH) store them. A string continues after a marker of 255 or
//   9, and ends after one of 0 to 8 or 247 to 254. Other markers are not known.
// - kvrocks: keys of Apache Kvrocks without cluster slots (redis_metadata.cc,
//   InternalKey): a namespace after its size of 1 byte, a user key after its
//   size of 4 bytes, big-endian, and a version of 8 bytes.
DELTABLOOM_EXPORT bool RegisterPrefixFunction(const PrefixFunction& function,
                                              std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_PREFIX_FUNCTION_H_
