// RocksDB's lock of a database.
#pragma once

#include <memory>
#include <string>

namespace deltabloom::tools {

// Holds RocksDB's lock of the database, until it is destroyed. Null with an
// error if the database is open.
std::shared_ptr<void> LockDatabase(const std::string& path, std::string* error);

}  // namespace deltabloom::tools
