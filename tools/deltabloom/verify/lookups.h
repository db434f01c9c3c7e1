// Lookups in the filters of a table, and their results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/deltabloom/verify/report.h"

namespace deltabloom::tools {

// A filter, read as the database reads it.
class TableFilter {
 public:
  virtual ~TableFilter() = default;
  virtual bool MayMatch(std::string_view key) = 0;
  // Looks up to Lookups::kBatch keys up at once. Returns false if the filter
  // has no such function.
  virtual bool MayMatch(const std::string_view*, size_t, bool*) {
    return false;
  }
  // Returns the expected rate with this many keys; nothing if it is not known.
  virtual std::optional<double> ExpectedRate(uint64_t keys) const = 0;
};

// Looks up keys in filters, and others that are not in the table, made from
// neighbours in it, the same ones in every run. Counts the results. The calls
// must match
//      (Begin (Key | Prefix)*)* End
class Lookups {
 public:
  static constexpr size_t kBatch = 32;  // as in RocksDB's MultiGet

  explicit Lookups(TableReport* report) : report_(report) {}

  // The filter and its offset in the file. It must live until End or the next
  // Begin.
  void Begin(TableFilter* filter, uint64_t offset);
  void End();
  // A key or prefix of the table; repeated ones are looked up once. `absent`:
  // with one between it and the one before.
  void Key(std::string_view key);
  void Prefix(std::string_view prefix, bool absent);

 private:
  enum class Kind : uint8_t { kKey, kPrefix, kAbsent };
  void Add(std::string_view key, Kind kind);
  void RunBatch();
  bool Between(std::string_view a, std::string_view b);
  bool BetweenPrefixes(std::string_view a, std::string_view b);
  uint64_t Random();

  TableReport* const report_;
  TableFilter* filter_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t keys_in_filter_ = 0;  // and prefixes
  uint64_t absent_in_filter_ = 0;
  std::optional<std::string> last_key_;  // since Begin
  std::optional<std::string> last_prefix_;
  std::string absent_;
  uint64_t random_ = 0;
  // The sum of absent keys times their filters' rates; nothing once a rate is
  // not known.
  std::optional<double> expected_ = 0;
  size_t size_ = 0;
  std::array<std::string, kBatch> keys_;
  std::array<Kind, kBatch> kinds_ = {};
};

}  // namespace deltabloom::tools
