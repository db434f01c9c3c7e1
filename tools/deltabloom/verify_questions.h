// Questions to the filters of a table, and what the answers come to.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_QUESTIONS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_QUESTIONS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tools/deltabloom/verify_report.h"

namespace deltabloom::tools {

// One filter as the database asks it.
class AskedFilter {
 public:
  virtual ~AskedFilter() = default;
  virtual bool MayMatch(std::string_view key) = 0;
  // The same of several keys at once. False if there is no such way.
  virtual bool MayMatch(const std::string_view* keys, size_t n,
                        bool* may_match) = 0;
  // The range that holds this key and no other. True if there is no range part.
  virtual bool RangeOfKeyMayMatch(std::string_view) { return true; }
};

// The calls must match
//      (Begin (Key | Prefix | Absent)* End)*
class Questions {
 public:
  Questions(VerifyListener* listener, TableReport* report)
      : listener_(listener), report_(report) {}

  // The filter, and where it is in the file. It must live until End.
  void Begin(AskedFilter* filter, uint64_t offset);
  // What is in the table.
  void Key(std::string_view key) { Add(key, Kind::kKey); }
  void Prefix(std::string_view prefix) { Add(prefix, Kind::kPrefix); }
  // What is not.
  void Absent(std::string_view key) { Add(key, Kind::kAbsent); }
  // Keys and prefixes asked since Begin: what was added to the filter, if it
  // is sound.
  uint64_t keys_in_filter() const { return keys_in_filter_; }
  // `expected_rate`: of false positives, if it is known.
  void End(std::optional<double> expected_rate);

 private:
  enum class Kind : uint8_t { kKey, kPrefix, kAbsent };
  static constexpr size_t kBatch = 32;  // as in RocksDB's MultiGet

  void Add(std::string_view key, Kind kind);
  void Ask();
  void Judge(size_t i, bool alone, bool batched, bool in_range);

  VerifyListener* const listener_;
  TableReport* const report_;
  AskedFilter* filter_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t keys_in_filter_ = 0;
  uint64_t absent_in_filter_ = 0;
  // Absent keys times their filters' rates, until a rate is not known.
  std::optional<double> expected_ = 0;
  size_t size_ = 0;
  std::array<std::string, kBatch> keys_;
  std::array<Kind, kBatch> kinds_ = {};
};

// Keys that a table does not have, from those that follow each other in it. The
// same ones in every run.
class AbsentKeys {
 public:
  // The smaller one (in the order of bytes) and eight bytes at random, if that
  // lies between the two. No key of the table, in whatever order its keys are,
  // but for a chance of 2^-64 each.
  bool Between(std::string_view a, std::string_view b, std::string* key);

  // Of the length of the smaller one and strictly between the two in the order
  // of bytes; false if there is none or none is found.
  bool BetweenPrefixes(std::string_view a, std::string_view b,
                       std::string* prefix);

 private:
  uint64_t Next();

  uint64_t state_ = 0;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_QUESTIONS_H_
