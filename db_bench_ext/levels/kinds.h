// The filters that take part, each as a function of one number.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_KINDS_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_KINDS_H_

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>

#include <functional>
#include <memory>
#include <string>

namespace deltabloom::levels {

using PolicyPointer = std::shared_ptr<const rocksdb::FilterPolicy>;
using ListenerPointer = std::shared_ptr<rocksdb::EventListener>;

// How filter bytes are made. `bits` is what the policy is asked for, which need
// not be what it stores: RocksDB's Ribbon is asked for the bits of a Bloom
// filter with the same rate, and takes some 30 % less.
struct Kind {
  const char* name;
  double stored_share;  // of the bits asked for, roughly
  PolicyPointer (*make)(double bits);
  // The same bits on average, spread by the policy itself; null where the
  // policy cannot.
  PolicyPointer (*make_levels)(double bits);
};

// "rocksdb-bloom", "rocksdb-ribbon", "deltabloom-classic", "deltabloom-local",
// "deltabloom-compact", "deltabloom-auto". Null for another name.
const Kind* FindKind(const std::string& name);

// A policy whose filters are those of `choose(level_at_creation)`; null there
// is no filter. Filters are read by `reader`, which must know all of them. Only
// what RocksDB's public headers declare: what a user can do without Deltabloom.
PolicyPointer DelegateByLevel(
    PolicyPointer reader,
    std::function<const rocksdb::FilterPolicy*(int level)> choose);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_KINDS_H_
