// The text of Ceph's option bluestore_rocksdb_cfs, which also is the argument
// of `ceph-bluestore-tool reshard --sharding`.
#pragma once

#include <string>
#include <vector>

namespace deltabloom::tools {

struct CephFamily {
  std::string name;     // as in the text, without shards
  std::string filters;  // the policy with all its options; empty: not ours
};

// Returns the column families that the text names, with what Ceph and RocksDB
// make of their options. Throws std::runtime_error with one line if an OSD
// would not open with the text, as far as RocksDB decides that, or if no family
// gets filters of Deltabloom. Of block_cache, the options that Ceph itself
// reads are not checked.
std::vector<CephFamily> FamiliesOfCephText(const std::string& text);

}  // namespace deltabloom::tools
