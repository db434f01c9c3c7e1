// Sets of keys as databases have them, each with one kind of scan: all rows of
// a value of an index, the children of a folder, the last hour of a tenant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::demo {

// A scan of the keys k with lower <= k < upper.
struct Scan {
  std::string lower, upper;
};

// Keys belong to groups, which have a number. Each group has one scan.
struct Schema {
  const char* name;
  const char* scans;  // what a scan reads, in words
  Scan (*scan)(uint64_t group) = nullptr;
  // Key number i of those that the scan of the group finds.
  std::string (*found)(uint64_t group, uint64_t i) = nullptr;
  // Keys of the group that no scan finds: how many each group has, also one
  // whose scan is empty, and key number i of them.
  uint64_t others = 0;
  std::string (*other)(uint64_t group, uint64_t i) = nullptr;
  // The size of the beginning of a key that names its group, the whole key if
  // it is shorter: what a prefix extractor would take. Null: keys have no
  // prefix that all keys of a scan share.
  size_t (*prefix)(std::string_view key) = nullptr;
  // What a user would declare for these scans (rocksdb_ranges.h).
  std::string prefixes = "auto";
};

const std::vector<Schema>& Schemas();

// The number of keys that a scan finds. A third of the groups has each.
enum class Finds : uint8_t { kNone, kOne, kTen };
constexpr uint64_t kFinds = 3;

// Keys that nobody here made up.
struct FileKeys {
  std::string path;
  // Scans are of the keys that begin with a key and this byte, "has x
  // children?", and of those with the same bytes up to the last one before the
  // end, the siblings of a key; or, if it is a number, of those that share as
  // many bytes with a key.
  std::string delimiter;
};

// The keys of a schema, in the order in which they are written, and its scans.
class SchemaKeys {
 public:
  // Makes at most `most` keys, fewer by less than a group. REQUIRES: most >=
  // 1000.
  SchemaKeys(const Schema& schema, uint64_t most, uint64_t seed);

  // The keys of a file, a line each, of which a tenth is held out. `scans` says
  // which keys a scan reads: those that share a prefix.
  SchemaKeys(const Schema& schema, const FileKeys& file, uint64_t seed);

  const Schema& schema() const { return schema_; }
  uint64_t size() const { return keys_.size(); }
  const std::string& Key(uint64_t i) const { return keys_[i]; }
  const std::vector<std::string_view>& InOrder() const { return sorted_; }

  // Scan number i of those that find this number of keys; they repeat from some
  // number on.
  Scan ScanOf(Finds finds, uint64_t i) const;

  // The keys of a scan, in their order.
  std::vector<std::string_view> KeysIn(const Scan& scan) const;

 private:
  const Schema& schema_;
  const uint64_t seed_;
  void SetKeys(std::vector<std::string> keys);
  // Sorts scans by what they find, without those that find many.
  void AddScan(const std::string& prefix);

  uint64_t groups_ = 0;
  // Of a file: the scans that find none, a key, and more.
  std::array<std::vector<Scan>, kFinds> scans_;
  std::vector<std::string> keys_;
  std::vector<std::string_view> sorted_;
};

}  // namespace deltabloom::demo
