// A Bloom filter in a Redis string, shared by processes in many languages:
// made here or adopted from others, asked, filled, rebuilt and rotated.
// docs/shared_filters.md, chapters "Redis ...", defines every key, field and
// bit, and what is atomic.
//
// Needs Redis 6.0 or later, alone or as a cluster. Link deltabloom::redis.
#ifndef DELTABLOOM_REDIS_FILTER_H_
#define DELTABLOOM_REDIS_FILTER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/export.h"

namespace deltabloom {

enum class RedisError : uint8_t {
  kNone,
  kInvalidArgument,  // an option or a key is out of range; nothing was sent
  kUnsupported,      // this build or this kind of filter cannot do it
  kUnavailable,      // no connection, or it broke, or the server is loading
  kTimeout,          // no answer in time; what was asked may still happen
  kCircuitOpen,      // not tried: too many failures just before
  kAuthentication,   // user or password refused
  kNoPermission,     // the user may not run the command or touch the key
  kReadOnly,         // the server is a replica
  kOutOfMemory,      // the server has reached maxmemory
  kClusterDown,      // the cluster does not serve the slot
  kWrongType,        // the key holds no string (or no hash)
  kWrongSize,        // the bitmap is not as long as the filter says
  kMissing,          // no such filter, or its bits are lost
  kExists,           // there is something under that name already
  kMismatch,         // the filter is another than the one described
  kBusy,             // another rebuild is running
  kNotReplicated,    // done, but fewer replicas than asked for have it
  kServer,           // any other error of the server
  kCancelled,        // the caller's own wish
};

// "timeout", "wrong type", ...
DELTABLOOM_EXPORT const char* RedisErrorName(RedisError error);

// The message is one line with host, port and key, never a password.
struct DELTABLOOM_EXPORT RedisStatus {
  RedisError error = RedisError::kNone;
  std::string message;

  bool ok() const { return error == RedisError::kNone; }
};

struct DELTABLOOM_EXPORT RedisTls {
  bool enabled = false;     // needs a build with hiredis 1.0 or later
  std::string ca_file;      // empty: the system's
  std::string certificate;  // of the client, with `key`; empty: none
  std::string key;
  std::string server_name;  // empty: the host
};

struct DELTABLOOM_EXPORT RedisOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  std::string unix_socket;  // a path: used instead of host and port

  // A Redis Cluster of which host and port are one node, and `more_nodes`
  // ("host:port") others to ask when that one is away.
  bool cluster = false;
  std::vector<std::string> more_nodes;

  std::string username;  // empty: the default user
  std::string password;  // empty: no AUTH is sent
  uint32_t database = 0;
  RedisTls tls;

  std::chrono::milliseconds connect_timeout{1000};
  // For one call from end to end: retries, redirections and batches included.
  std::chrono::milliseconds command_timeout{1000};

  // After this many failures of a server one after the other, calls fail at
  // once for circuit_open_for; then one call at a time tries again.
  uint32_t circuit_failures = 5;  // 0: never
  std::chrono::milliseconds circuit_open_for{1000};

  // Adds wait until this many replicas have them (WAIT), at most for
  // replica_timeout.
  uint32_t wait_replicas = 0;
  std::chrono::milliseconds replica_timeout{100};

  // Empty when a connection can be tried; else what is wrong, in one line.
  std::string Validate() const;
};

struct DELTABLOOM_EXPORT RedisFilterOptions {
  // The key of the bitmap. 1 to 1024 bytes; '}' only as the end of a hash tag,
  // and more than a hash tag.
  std::string name;

  // Which bits belong to a key:
  //   local             blocks of 64 bytes: one key, one GETRANGE
  //   go-murmur3        Murmur3 of the key and a byte that counts
  //   go-murmur3-14     the same with 14 probes
  //   guava-helper      Guava's MITZ_32 modulo a 32-bit number of bits
  //   php-named-hashes  string hashes with PHP's arithmetic, over 2^32 bits
  std::string scheme = "local";

  // The size, either for this many keys at this rate, by the formulas of the
  // scheme (local and go-murmur3: the rate is kept) ...
  uint64_t expected_keys = 0;
  double false_positive_rate = 0.01;
  // ... or as it is, with expected_keys = 0. Bits: local a multiple of 512, at
  // most 2^48; guava-helper at most 2^31 - 1; go-murmur3 at most 2^32 - 1;
  // php-named-hashes always 2^32. Probes: local 1 to 8, others 1 to 255.
  uint64_t bits = 0;
  uint32_t probes = 0;

  // guava-helper: the funnel puts the string twice.
  bool doubled_string = false;

  // php-named-hashes: of JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV. Empty: BKDR,
  // SDBM, JS.
  std::vector<std::string> hashes;

  // The filter vanishes that long after its creation. 0: never.
  std::chrono::milliseconds expire_after{0};

  // There are no bits before the first rebuild has finished: until then checks
  // are answered "may match" with kMissing, as where bits were lost, and adds
  // fail. For filters of keys that exist already: empty, they would refuse
  // them all. One generation only.
  bool filled_by_rebuild = false;

  // 2 to 16: Rotate() lets keys go that are older than max_age. Each
  // generation is a bitmap of the full size; only Deltabloom reads all.
  uint32_t generations = 1;
  std::chrono::milliseconds max_age{0};

  // local: what is larger than this is cut into shards of so many bytes, a
  // multiple of 64, at most 512 MiB. `spread`: over the slots of a cluster;
  // else all on one.
  uint64_t shard_bytes = uint64_t{512} << 20;
  bool spread = false;

  // Empty when a filter can be made of them; else one line that names the
  // option, its value and what is legal.
  std::string Validate() const;
};

// What a filter is and holds.
struct DELTABLOOM_EXPORT RedisFilterInfo {
  std::string name;  // of the bitmap; after MoveTo the new one
  std::string scheme;
  uint64_t bits = 0;
  uint32_t probes = 0;
  std::vector<std::string> hashes;
  bool doubled_string = false;
  bool adopted = false;
  uint32_t shards = 1;
  bool spread = false;
  uint32_t generations = 1;
  std::chrono::milliseconds max_age{0};
  uint64_t expected_keys = 0;                // 0: was not said
  std::chrono::milliseconds expires_in{-1};  // -1: never
  bool rebuilding = false;
  uint64_t rebuilds = 0;

  // All of the newest generation.
  uint64_t stored_bytes = 0;       // as Redis stores them, overheads aside
  uint64_t set_bits = 0;           // markers aside
  double occupancy = 0;            // set_bits / bits; above 0.5 it is overfull
  double keys_estimate = 0;        // that explain the set bits
  double false_positive_rate = 0;  // that they mean
};

// Counted since the object exists.
struct DELTABLOOM_EXPORT RedisFilterStatistics {
  uint64_t checks = 0;       // keys
  uint64_t absent = 0;       // of these, certainly not added
  uint64_t adds = 0;         // keys acknowledged
  uint64_t failed_open = 0;  // keys answered "may match" for an error's sake
  uint64_t lost_bits = 0;    // calls that met a bitmap without its marker
  uint64_t redirections = 0;
  uint64_t scripts_loaded = 0;
  uint64_t reconnects = 0;
  uint64_t circuits_opened = 0;
  std::string last_error;
};

struct DELTABLOOM_EXPORT RedisRebuildOptions {
  // An adopted bitmap is replaced only if its other writers rest meanwhile;
  // else the keys are merely added to it, and no old one goes.
  bool writers_stopped = false;

  // Between the moment from which writers fill both bitmaps and the moment at
  // which StartRebuild returns: longer than a writer takes from Add to the
  // moment the key can be read where you read the keys from.
  std::chrono::milliseconds settle{0};

  // How long the temporary bitmap outlives a dead builder.
  std::chrono::milliseconds lease{60000};

  // Go on although another rebuild seems to run; that one will fail.
  bool take_over = false;

  // Called by Finish from time to time with the bytes of the bitmap that are
  // done, and all of them. Must not throw.
  std::function<void(uint64_t done, uint64_t all)> progress;

  // Asked several times a second while StartRebuild waits and Finish uploads:
  // true, and they give up with kCancelled, and the live bitmap is as it was
  // (but see Finish). Must not throw. The switch from one bitmap to the other
  // is not interrupted.
  std::function<bool()> cancelled;
};

struct DELTABLOOM_EXPORT RedisRebuildResult {
  bool replaced = false;  // else added to the live bitmap
  uint64_t keys = 0;      // given to Add, duplicates too
  uint64_t set_bits = 0;  // by them
  uint64_t uploaded_bytes = 0;
  std::chrono::milliseconds upload_time{0};
};

// One rebuild: Add* Finish. Collects a bitmap of the filter's size in memory
// and puts it in the place of the live one, whole. Destroyed before Finish, it
// gives up and the live bitmap stays. Not thread-safe.
class DELTABLOOM_EXPORT RedisRebuild {
 public:
  ~RedisRebuild();
  RedisRebuild(const RedisRebuild&) = delete;
  RedisRebuild& operator=(const RedisRebuild&) = delete;

  // Sends something only to renew the lease; its failure shows in Finish.
  void Add(std::string_view key);

  // Sets all bits that are set in `bits`: info.bits / 8 bytes, rounded up, bit
  // p being bit p % 8 of byte p / 8. False if the size is another.
  bool AddBits(std::string_view bits);

  // Uploads, verifies and renames. After a failure the live bitmap is as it
  // was, but of a filter in shards each shard is either old or new. Timeouts
  // are 10 s or command_timeout, whichever is longer, for each shard.
  RedisStatus Finish(RedisRebuildResult* result = nullptr);

 private:
  friend class RedisFilter;
  struct Rep;
  explicit RedisRebuild(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Thread-safe: each call takes a connection of its own, from a pool. Keys are
// any bytes, 0 to 1 MiB each.
//
// No call throws anything but std::bad_alloc.
class DELTABLOOM_EXPORT RedisFilter {
 public:
  // Makes a filter. kExists if there is something under its name.
  static RedisStatus Create(const RedisOptions& redis,
                            const RedisFilterOptions& options,
                            std::unique_ptr<RedisFilter>* filter);

  // Opens a filter that Create made: all but its name is read from Redis.
  static RedisStatus Open(const RedisOptions& redis, const std::string& name,
                          std::unique_ptr<RedisFilter>* filter);

  // A bitmap that another language fills. It has no marker: that it was lost is
  // noticed only while nobody writes to it again. Writes nothing; the bitmap
  // need not exist yet. One generation, one shard, no expiry of ours.
  static RedisStatus Adopt(const RedisOptions& redis,
                           const RedisFilterOptions& options,
                           std::unique_ptr<RedisFilter>* filter);

  ~RedisFilter();
  RedisFilter(const RedisFilter&) = delete;
  RedisFilter& operator=(const RedisFilter&) = delete;

  // False only if the key was not added: every failure means "may match", and
  // is counted (fail open). One round trip.
  bool MayMatch(std::string_view key);
  void MayMatch(const std::string_view* keys, size_t n, bool* may_match);

  // The same, with the failure. *may_match is true then.
  RedisStatus Check(std::string_view key, bool* may_match);
  RedisStatus Check(const std::string_view* keys, size_t n, bool* may_match);

  // OK: the bits are set, and in a running rebuild's bitmap, too. After an
  // error they may be. One round trip. *is_new: some bit was not set before.
  RedisStatus Add(std::string_view key, bool* is_new = nullptr);
  RedisStatus Add(const std::string_view* keys, size_t n,
                  bool* is_new = nullptr);

  // kMissing if the bits are lost: *info then says what the filter is, and not
  // what it holds.
  RedisStatus Info(RedisFilterInfo* info);

  // Deletes every key of the filter. OK if there was none.
  RedisStatus Delete();

  RedisStatus StartRebuild(const RedisRebuildOptions& options,
                           std::unique_ptr<RedisRebuild>* rebuild);

  // Starts a new generation and lets the oldest go, if the newest is older than
  // max_age / (generations - 1), or at once with `force`. Any number of
  // processes may call it as often as they like. *rotated: it happened.
  RedisStatus Rotate(bool force = false, bool* rotated = nullptr);

  // Sends every user of this filter to the filter `name`, of another size or
  // scheme, and deletes the bits of this one. The other must hold every key by
  // now. This object goes with it.
  RedisStatus MoveTo(const std::string& name);

  // The bits of the newest generation, without markers: info.bits / 8 bytes,
  // rounded up, bit p being bit p % 8 of byte p / 8. For an export.
  RedisStatus ReadBits(std::string* bits);

  RedisFilterStatistics Statistics() const;

 private:
  friend class RedisRebuild;
  struct Rep;
  explicit RedisFilter(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_REDIS_FILTER_H_
