// Asks the range filter of a table about the keys of a scan.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engines/rocksdb/ranges/scan_range.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/comparator.h"
#include "rocksdb/table_properties.h"
#include "util/range/asked_filters.h"
#include "util/range/key_range.h"

namespace deltabloom::internal {

// Not thread-safe. The state, the range and the comparator must outlive it.
class TableQuestion {
 public:
  TableQuestion(const RangesState& state, const ScanRange& range,
                const rocksdb::Comparator& comparator);
  TableQuestion(const TableQuestion&) = delete;
  TableQuestion& operator=(const TableQuestion&) = delete;

  // Returns whether the table may be skipped, and if not why. Moving backward,
  // one whose keys all lie before the range is not skipped. Throws
  // std::bad_alloc.
  range::Answer Ask(const rocksdb::TableProperties& table, bool backward);

  // Notes an empty scan for which tables were let through.
  void NoteUseless(range::Suggestion* suggestion) const {
    if (usable_) suggestion->Note(keys_.common);
  }

 private:
  const ParsedRangeOptions& options_;
  const std::string_view comparator_;  // its name
  const size_t timestamp_size_;
  bool usable_ = true;                       // the keys of the scan are known
  std::string mapped_lower_, mapped_upper_;  // by the key transform
  range::KeyRange keys_;
  range::AskedFilters asked_;
};

}  // namespace deltabloom::internal
