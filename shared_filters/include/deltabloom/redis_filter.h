// A Bloom filter in a Redis string, shared by processes in many languages. In
// the folder shared_filters, docs/guide.md says how to use it,
// docs/operations.md what can be lost, and docs/format.md defines every key,
// field and bit. Needs Redis 6.0 or later, alone or as a cluster. Link
// deltabloom::redis.
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

struct redisContext;  // of hiredis

namespace deltabloom {

enum class RedisError : uint8_t {
  kNone,
  kInvalidArgument,  // an option or a key is out of range; nothing was sent
  kUnavailable,      // no connection, or it broke, or the server is loading
  kTimeout,          // no answer in time; what was asked may still happen
  kCircuitOpen,      // not tried: the server failed several times in a row
  kAuthentication,   // user or password refused
  kNoPermission,     // the user may not run the command or touch the key
  kReadOnly,         // the server is a replica, and the call writes
  kOutOfMemory,      // the server has reached maxmemory, or Create would
  kClusterDown,      // the cluster does not serve the slot
  kWrongType,        // the key holds no string (or no hash)
  kWrongSize,        // the bitmap is not as long as the filter says
  kMissing,          // no such filter, or its bits are lost
  kExists,           // the name is taken
  kMismatch,         // the filter is another than the one described
  kBusy,             // another rebuild is running
  kServer,           // any other error of the server
  kCancelled,        // the caller cancelled the rebuild
  kUnverified,       // the server may lack acknowledged keys: see Confirm
};

// Returns the name of the error in words: "timeout", "wrong type".
DELTABLOOM_EXPORT const char* RedisErrorName(RedisError error);

// The result of a call. The message is one line, with host, port and key but
// never a password.
struct DELTABLOOM_EXPORT RedisStatus {
  RedisError error = RedisError::kNone;
  std::string message;

  bool ok() const { return error == RedisError::kNone; }
};

// The answer of Redis to one command.
struct DELTABLOOM_EXPORT RedisReply {
  enum class Kind : uint8_t { kNil, kInteger, kText, kArray, kError };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // of kText and kError
  std::vector<RedisReply> elements;
};

using RedisCommand = std::vector<std::string>;  // "GET", "key"

// One connection to one server. Derive from it to use a client of your own.
class RedisConnection {
 public:
  virtual ~RedisConnection() = default;

  // Sends the commands in one pipeline and reads one reply to each before
  // `deadline`. An error reply is a reply: the status is an error only if the
  // connection failed (kUnavailable, kTimeout); the object is destroyed then.
  // It must never reconnect, so that one server process answers all calls.
  // Called by one thread at a time; throws only std::bad_alloc.
  virtual RedisStatus Run(const std::vector<const RedisCommand*>& commands,
                          std::chrono::steady_clock::time_point deadline,
                          std::vector<RedisReply>* replies) = 0;
};

// Returns a connection that owns a hiredis context, which must be connected
// (with TLS, say).
DELTABLOOM_EXPORT std::unique_ptr<RedisConnection> RedisConnectionOf(
    redisContext* context);

struct DELTABLOOM_EXPORT RedisOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  std::string unix_socket;  // a path: used instead of host and port

  // True: the server is a node of a Redis Cluster. `more_nodes` ("host:port")
  // are others to ask if that one is away.
  bool cluster = false;
  std::vector<std::string> more_nodes;

  std::string username;  // empty: the default user
  std::string password;  // empty: no AUTH is sent
  uint32_t database = 0;

  // Opens connections in place of the library, for TLS or another client. For a
  // unix socket, `host` is its path and `port` 0. User, password and database
  // are sent if they are set.
  std::function<RedisStatus(const std::string& host, uint16_t port,
                            std::chrono::milliseconds timeout,
                            std::unique_ptr<RedisConnection>* connection)>
      connect;

  std::chrono::milliseconds connect_timeout{1000};
  // The time of one call from end to end, with retries, redirections and
  // batches.
  std::chrono::milliseconds command_timeout{1000};

  // After this many failures of a server in a row, calls fail at once for
  // circuit_open_for; then one call at a time tries again. If it is 0, each
  // call tries.
  uint32_t circuit_failures = 5;
  std::chrono::milliseconds circuit_open_for{1000};

  // Returns an empty string, or one line that says what is wrong.
  std::string Validate() const;
};

struct DELTABLOOM_EXPORT RedisFilterOptions {
  // The key of the bitmap. Legal: 1 to 1024 bytes, with '}' only as the end of
  // a hash tag, and not a hash tag alone.
  std::string name;

  // Decides which bits belong to a key:
  //   local             blocks of 64 bytes: one key, one GETRANGE
  //   go-murmur3        Murmur3 of the key and a byte that counts
  //   go-murmur3-14     the same with 14 probes
  //   guava-helper      Guava's MITZ_32 modulo a 32-bit number of bits
  //   php-named-hashes  string hashes with PHP's arithmetic, over 2^32 bits
  std::string scheme = "local";

  // The size is given in one of two ways. Either for this many keys at this
  // rate, by the formulas of the scheme (docs/format.md, "Bitmaps in Redis");
  // with local and go-murmur3 the filter then has at most this rate.
  uint64_t expected_keys = 0;
  double false_positive_rate = 0.01;
  // Or as numbers. Legal bits: a multiple of 512 up to 2^48 for local, up to
  // 2^31 - 1 for guava-helper, up to 2^32 - 1 for go-murmur3, 2^32 for
  // php-named-hashes. Legal probes: 1 to 8 for local, 1 to 255 for others.
  uint64_t bits = 0;
  uint32_t probes = 0;

  // guava-helper: true if the funnel of the other programs puts the string
  // twice.
  bool doubled_string = false;

  // php-named-hashes: the names of its hashes, of JS, PJW, ELF, BKDR, SDBM,
  // DJB, DEK and FNV. Empty: BKDR, SDBM, JS.
  std::vector<std::string> hashes;

  // The filter expires this long after its creation. 0: never.
  std::chrono::milliseconds expire_after{0};

  // True for keys that exist already: until the first rebuild has finished,
  // checks answer "may match" with kMissing, and adds fail.
  bool filled_by_rebuild = false;

  // True if every program that writes the bitmap uses Deltabloom, or the
  // protocol of its adds. If false, a rebuild keeps all bits that are set,
  // unless the other writers are stopped. Scheme local is treated as if it were
  // true.
  bool own_writers_only = false;

  // True if a restart loses no key and so needs no Confirm: the server has
  // appendonly yes, appendfsync always, and rename-command PSYNC "" and SYNC
  // "", so that no replica can copy it. Create fails if replicas can, or
  // without AOF.
  bool durable = false;

  // local: a larger filter is cut into shards of this many bytes. Legal: a
  // multiple of 64, up to 512 MiB. All shards are in one slot.
  uint64_t shard_bytes = uint64_t{512} << 20;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// The properties and the contents of a filter.
struct DELTABLOOM_EXPORT RedisFilterInfo {
  std::string name;  // of the bitmap; after MoveTo the new one
  std::string scheme;
  uint64_t bits = 0;
  uint32_t probes = 0;
  std::vector<std::string> hashes;
  bool doubled_string = false;
  bool adopted = false;
  bool own_writers_only = false;
  bool durable = false;
  // True if this server is known to have every acknowledged key; otherwise
  // `unverified` says why that is not known. Never true for an adopted bitmap.
  bool verified = false;
  std::string unverified;
  uint32_t shards = 1;
  uint64_t expected_keys = 0;                // 0: not given
  std::chrono::milliseconds expires_in{-1};  // -1: never
  bool rebuilding = false;
  uint64_t rebuilds = 0;

  uint64_t stored_bytes = 0;       // as Redis stores them, overheads aside
  uint64_t set_bits = 0;           // markers aside
  double occupancy = 0;            // set_bits / bits; above 0.5 it is overfull
  double keys_estimate = 0;        // that set this many bits
  double false_positive_rate = 0;  // of a filter with this many set bits
};

// Counts since the object was made.
struct DELTABLOOM_EXPORT RedisFilterStatistics {
  uint64_t checks = 0;       // keys
  uint64_t absent = 0;       // of these, certainly not added
  uint64_t adds = 0;         // keys acknowledged
  uint64_t failed_open = 0;  // keys answered "may match" because of an error
  uint64_t lost_bits = 0;    // calls that met a bitmap without its marker
  uint64_t redirections = 0;
  uint64_t reconnects = 0;
  uint64_t circuits_opened = 0;
  std::string last_error;
};

struct DELTABLOOM_EXPORT RedisRebuildOptions {
  // True if no program without Deltabloom writes to the bitmap during the
  // rebuild. Only then a bitmap that is adopted, or was created without
  // own_writers_only, is replaced; otherwise the keys are added to it.
  bool writers_stopped = false;
  // True: the keys are added to those of the filter, as by Add, but faster.
  bool keep_keys = false;

  // How long StartRebuild waits once writers fill both bitmaps. It must be
  // longer than a writer takes from Add until the rebuild can read the key at
  // its source.
  std::chrono::milliseconds settle{0};

  // The time after which Redis drops the temporary bitmap of a dead builder.
  std::chrono::milliseconds lease{60000};
  // True: start although another rebuild seems to run; that one will fail.
  bool take_over = false;

  // Called by Finish with the bytes of the bitmap that are done, and all of
  // them. Must not throw.
  std::function<void(uint64_t done, uint64_t all)> progress;

  // Called several times a second by StartRebuild and Finish, which return
  // kCancelled if it returns true. Must not throw.
  std::function<bool()> cancelled;
};

struct DELTABLOOM_EXPORT RedisRebuildResult {
  bool replaced = false;  // else added to the live bitmap
  uint64_t keys = 0;      // calls of Add
  uint64_t set_bits = 0;  // by them
  uint64_t uploaded_bytes = 0;
  std::chrono::milliseconds upload_time{0};
};

// One rebuild. It collects a bitmap in memory and replaces the live one by it.
// The calls must match
//      (Add | AddBits)* Finish
// If it is destroyed before Finish, it changes nothing. Not thread-safe.
class DELTABLOOM_EXPORT RedisRebuild {
 public:
  ~RedisRebuild();
  RedisRebuild(const RedisRebuild&) = delete;
  RedisRebuild& operator=(const RedisRebuild&) = delete;

  // Adds a key. Returns true if no Add or AddBits before had set all bits of
  // it. Errors of Redis are returned by Finish.
  bool Add(std::string_view key);

  // Sets all bits that are set in `bits`, which has RedisFilterInfo::bits / 8
  // bytes, rounded up; bit p is bit p % 8 of byte p / 8. Returns false if it
  // has another size.
  bool AddBits(std::string_view bits);

  // Uploads, verifies and renames. After a failure the live bitmap is
  // unchanged; of a filter in shards each shard is either old or new. Returns
  // kUnverified if Redis restarted or failed over since the start: rebuild
  // again. Each shard may take 10 s or command_timeout, whichever is longer.
  RedisStatus Finish(RedisRebuildResult* result = nullptr);

 private:
  friend class RedisFilter;
  struct Rep;
  explicit RedisRebuild(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Thread-safe: each call takes a connection from a pool. Keys are any bytes, 0
// to 1 MiB each. Nothing but std::bad_alloc is thrown.
class DELTABLOOM_EXPORT RedisFilter {
 public:
  // Creates a filter. Returns kExists if its name is taken.
  static RedisStatus Create(const RedisOptions& redis,
                            const RedisFilterOptions& options,
                            std::unique_ptr<RedisFilter>* filter);

  // Opens a filter that Create made. Everything but its name is read from
  // Redis.
  static RedisStatus Open(const RedisOptions& redis, const std::string& name,
                          std::unique_ptr<RedisFilter>* filter);

  // Opens it without contacting Redis: each call tries to read the descriptor
  // until one succeeds. Only an illegal name or option is an error here.
  static RedisStatus OpenLazily(const RedisOptions& redis,
                                const std::string& name,
                                std::unique_ptr<RedisFilter>* filter);

  // Uses a bitmap that programs in other languages fill; it need not exist yet.
  // Its loss is detected only until another program writes to it, and a restart
  // of Redis not at all. Writes nothing.
  static RedisStatus Adopt(const RedisOptions& redis,
                           const RedisFilterOptions& options,
                           std::unique_ptr<RedisFilter>* filter);

  ~RedisFilter();
  RedisFilter(const RedisFilter&) = delete;
  RedisFilter& operator=(const RedisFilter&) = delete;

  // Returns false only if the key was not added: every failure means "may
  // match" and is counted. Takes one round trip.
  bool MayMatch(std::string_view key) {
    bool may_match = true;
    MayMatch(&key, 1, &may_match);
    return may_match;
  }
  void MayMatch(const std::string_view* keys, size_t n, bool* may_match);

  // Does what MayMatch does, but returns the failure, with *may_match true.
  RedisStatus Check(std::string_view key, bool* may_match) {
    return Check(&key, 1, may_match);
  }
  RedisStatus Check(const std::string_view* keys, size_t n, bool* may_match);

  // Adds keys. After OK their bits are set, also in the bitmap of a running
  // rebuild; after an error they may be set. *is_new[i] is true if some bit of
  // keys[i] was clear before the last try; a cluster may need several. Takes
  // one round trip.
  RedisStatus Add(std::string_view key, bool* is_new = nullptr) {
    return Add(&key, 1, is_new);
  }
  RedisStatus Add(const std::string_view* keys, size_t n,
                  bool* is_new = nullptr);

  // Returns kMissing if the bits are lost; *info then lacks only the contents.
  RedisStatus Info(RedisFilterInfo* info);

  // Deletes every key of the filter in Redis. Returns OK if there was none.
  RedisStatus Delete();

  // Starts a rebuild, in which other programs go on adding to the filter.
  // Returns kBusy if another one runs, unless options.take_over is true.
  RedisStatus StartRebuild(const RedisRebuildOptions& options,
                           std::unique_ptr<RedisRebuild>* rebuild);

  // Declares that this server has every acknowledged key. After a restart or a
  // failover of Redis, which may lose such keys, checks answer "may match" with
  // kUnverified. Call this if none is lost (a planned restart), or rebuild.
  // First make sure that no client can reach the old master: it lacks newer
  // keys. A `durable` filter loses that property on a server that replicas can
  // copy.
  RedisStatus Confirm();

  // Sends every user of this filter, this object included, to the filter
  // `name`, which must hold every key, and deletes the bits of this one.
  RedisStatus MoveTo(const std::string& name);

  // Reads all bits in the form that AddBits takes. Those of `local` include its
  // markers.
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
